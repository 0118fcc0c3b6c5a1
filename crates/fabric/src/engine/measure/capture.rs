//! Captures the bytes of frames on links, for programs that read packet captures (rules RCD-30 to
//! RCD-33 of `specs/record.md`).

use dataplane::event::EventSet;
use dataplane::ids::IndexVec;
use dataplane::param::{Kind, Param, Value as Given, Values};
use dataplane::units::Time;
use wire::frame::{MOST_BYTES, mac};
use wire::{Link, Network, encode};

use super::super::merge::Merged;
use super::{Event, LARGEST_BYTES, Measure, Sending, Setup, View, given_port, time};
use crate::ids::{LinkId, NodeId};
use crate::record::Table;
use crate::record::table::{Column, Format, Row};

/// Configuration of the capture of frames on links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Captured directions of links: the sending node and its port, ascending.
    pub links: Vec<(NodeId, u16)>,
    /// Start of the captured time, ps. Frames are captured if their transmission begins in the
    /// captured time.
    pub from_ps: Time,
    /// End of the captured time (not included), ps.
    pub until_ps: Time,
    /// Maximum number of captured bytes per frame.
    pub snaplen: u32,
    /// Maximum number of bytes of one file.
    pub limit_bytes: u64,
    /// Number of files. If it is above 1 and all files are full, the oldest is overwritten.
    pub files: u16,
}

/// Maximum number of files if the oldest file is overwritten when all are full.
const MOST_FILES: u64 = 99;

/// A captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFrame {
    /// Time at which the transmission began, ps.
    pub at_ps: Time,
    /// The link of the frame, as the global ID of the sending port.
    pub link: LinkId,
    /// Number of bytes of the frame.
    pub bytes: u32,
    /// The first bytes of the frame, at most `snaplen`.
    pub kept: Box<[u8]>,
}

impl Row for CapturedFrame {
    const TABLE: &'static str = "capture";
    const ABOUT: &'static str =
        "A frame on a link as its bytes; pcapng, which Wireshark and others read.";
    const COLUMNS: &'static [Column<Self>] = &[];
    const FORMAT: Format = Format::Frames {
        most: MOST_FILES as u16,
    };

    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|row| (row.at_ps, row.link));
    }
}

/// State of the capture: the captured frames of the chosen links.
pub(super) struct Capture {
    network: Network,
    window_ps: (Time, Time),
    snaplen: usize,
    /// Per port of the network, the MAC addresses of both ends of its link; `None`: the link is not
    /// captured.
    ends: IndexVec<LinkId, Option<[[u8; 6]; 2]>>,
    frames: Vec<CapturedFrame>,
    /// Buffer for the bytes of one frame.
    place: Vec<u8>,
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let frames = self.frames.len();
        f.debug_struct("Capture")
            .field("frames", &frames)
            .finish_non_exhaustive()
    }
}

impl Capture {
    /// Adds a frame between the MAC addresses of both ends of its link.
    // RCD-31: the first bytes of each frame
    fn add(&mut self, sending: &Sending, [from, to]: [[u8; 6]; 2], view: &View<'_>) {
        let link = sending.link;
        let direction = Link {
            network: &self.network,
            from,
            to,
        };
        let bytes = match encode(&direction, view.arena, sending.id, &mut self.place) {
            Ok(bytes) => bytes,
            Err(error) => panic!("a packet on link {link} fits no frame: {error}"),
        };
        self.frames.push(CapturedFrame {
            at_ps: view.now,
            link,
            bytes: bytes as u32,
            kept: self.place[..bytes.min(self.snaplen)].into(),
        });
    }
}

impl Measure for Capture {
    type Spec = Spec;
    const KEY: &'static str = "capture";
    const EXAMPLE: &'static str = "capture = { links = [\"leaf0->spine1\", \"host0:*\"] }";
    const ABOUT: &'static str =
        "Frames on links, for Wireshark: `capture.pcapng` (docs/captures.md).";
    const PARAMS: &'static [Param] = &[
        Param::list("links", &Kind::Links)
            .needed("[\"leaf0->spine1\"]")
            .about(
                "Which links, by patterns: `\"leaf*->spine1\"` from nodes to nodes, `\"host0:*\"` all links of \
                 nodes, both directions. `*` stands for any letters, `?` for one.",
            ),
        time("from", 0)
            .default("\"0us\"", "RCD-30", "from the start, our choice")
            .about("Frames count whose transmission begins from here."),
        time("until", 1)
            .or(&["end"])
            .default("\"end\"", "RCD-30", "to the end, our choice")
            .about("Up to here, not included; `\"end\"`: of the run."),
        Param::size("snaplen", 64, 262_144)
            .default("\"256B\"", "RCD-31", "all headers, our choice")
            .about("Bytes that are kept of a frame; payloads are zeros."),
        Param::size("limit", 10_000, LARGEST_BYTES)
            .default("\"1GB\"", "RCD-32", "our choice")
            .about("Bytes of one file."),
        Param::count("files", 1, MOST_FILES)
            .default("1", "RCD-32", "the beginning, our choice")
            .about("With one file frames are left out once it is full; of several the oldest is written over."),
    ];

    const WANTS: EventSet = Event::SENDING;

    fn tables() -> Vec<Table> {
        vec![Table::of::<CapturedFrame>()]
    }

    fn configure(values: &Values) -> Spec {
        let Some(Given::List(links)) = values.get("links") else {
            unreachable!("it is needed");
        };
        Spec {
            links: links.iter().filter_map(given_port).collect(),
            from_ps: values.time("from"),
            until_ps: values.some_time("until").unwrap_or(Time::MAX),
            snaplen: values.size("snaplen") as u32,
            limit_bytes: values.size("limit"),
            files: values.count("files") as u16,
        }
    }

    fn new(spec: &Spec, setup: &Setup<'_>) -> Self {
        let graph = setup.graph;
        let mut ends = IndexVec::from(vec![None; graph.port_count() as usize]);
        for &(node, port) in &spec.links {
            let link = graph.link(node, port);
            let far = graph.port(link);
            ends[link] = Some([mac(node.bits(), port), mac(far.peer.bits(), far.peer_port)]);
        }
        Self {
            network: setup.network,
            window_ps: (spec.from_ps, spec.until_ps),
            snaplen: spec.snaplen as usize,
            ends,
            frames: Vec::new(),
            place: vec![0; MOST_BYTES],
        }
    }

    // RCD-30: chosen links and times
    #[inline(always)]
    fn on(&mut self, event: &Event<'_>, view: &View<'_>) {
        if let Event::Sending(sending) = event
            && (self.window_ps.0..self.window_ps.1).contains(&view.now)
            && let Some(ends) = self.ends[sending.link]
        {
            self.add(sending, ends, view);
        }
    }

    fn probe(&mut self, _: Time, out: &mut Merged) {
        out.add(self.frames.drain(..));
    }

    fn finish(&mut self, _: Time, _: &View<'_>, out: &mut Merged) {
        out.add(self.frames.drain(..));
    }
}
