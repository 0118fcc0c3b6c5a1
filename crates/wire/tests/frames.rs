//! Writes one frame of each kind to `frames.pcap`, and the expected fields to `frames.json`.
//!
//! `python/tests/test_wire.py` checks that other programs (Wireshark) read these files as expected.
//! With UPDATE_DOCS=1 this test writes the files, otherwise it compares them with its output.

#[allow(dead_code)]
use std::fmt::Write as _;
use std::path::Path;

use crate::common::{SIZES, link};
use dataplane::classes::DATA_CLASS;
use dataplane::hop::bfc::{Bitmap, PauseFlow, PauseQueue};
use dataplane::hop::floodgate::{Credit, Credits, PauseDestination, SwitchSyn};
use dataplane::hop::pfc::PauseClasses;
use dataplane::ids::FlowSlot;
use dataplane::int::{IntFormat, IntHop, Layout};
use dataplane::link::cbfc::{CreditsConsumed, CreditsFreed};
use dataplane::packet::{Arena, Cold, Frame, Kind, Location, Packet, Stamp, flag};
use wire::frame::MOST_BYTES;
use wire::{Network, encode};

/// A packet, and the expected names and values of the fields of its frame in Wireshark.
struct Sample {
    name: &'static str,
    network: Network,
    packet: Packet,
    cold: Cold,
    list: Vec<u32>,
    stack: Option<(u16, Vec<IntHop>)>,
    trail: Vec<u16>,
    fields: Vec<(&'static str, String)>,
}

const PLAIN: Network = Network {
    v6: false,
    telemetry: IntFormat::Exact,
    link_numbers: false,
    trails: false,
    timed_pauses: false,
    sizes: SIZES,
};

fn expect(fields: &[(&'static str, u64)]) -> Vec<(&'static str, String)> {
    fields
        .iter()
        .map(|(name, value)| (*name, value.to_string()))
        .collect()
}

/// Creates a packet of flow 70 000 from endpoint 258 to endpoint 5.
fn flow(name: &'static str, kind: Kind, opcode: Option<u64>) -> Sample {
    let packet = Packet {
        flow: 70_000,
        psn: 3,
        hash: 0xdead_beef,
        dst: 5,
        upstream_queue: 17,
        flags: flag::INCAST,
        ..Packet::new(kind, DATA_CLASS + 3, 1048)
    };
    let cold = Cold {
        src: 258,
        slot: FlowSlot::new(12),
        sent_ps: 123_456_789_012_345,
        remaining: 5_000,
        payload: 301,
        stamp: Stamp::default(),
        ..Cold::default()
    };
    let mut expected = expect(&[
        ("vlan.priority", 3),
        ("ip.dsfield.dscp", 24),
        ("bw.message", kind as u64),
        ("bw.flow", 70_000),
        ("bw.number", 3),
        ("bw.hash", 0xdead_beef),
        ("bw.slot", 12),
        ("bw.incast", 1),
        ("bw.again", 0),
        ("bw.queue", 17),
    ]);
    expected.push(("ip.src", "10.0.1.2".into()));
    expected.push(("ip.dst", "10.0.0.5".into()));
    if let Some(opcode) = opcode {
        expected.extend(expect(&[("infiniband.bth.opcode", opcode)]));
    }
    Sample {
        name,
        network: PLAIN,
        packet,
        cold,
        list: Vec::new(),
        stack: None,
        trail: Vec::new(),
        fields: expected,
    }
}

/// Creates a control frame between neighbours with the expected fields.
fn near(
    name: &'static str,
    packet: Packet,
    list: &[u32],
    fields: &[(&'static str, u64)],
) -> Sample {
    let mut expected = expect(fields);
    if packet.size != SIZES.pause || fields.iter().any(|(name, _)| *name == "bwlink.scheme") {
        expected.extend(expect(&[("bwlink.line_bytes", packet.size.into())]));
    }
    Sample {
        list: list.to_vec(),
        packet,
        cold: Cold::default(),
        fields: expected,
        ..flow(name, Kind::Data, None)
    }
}

fn hops() -> Vec<IntHop> {
    (0..3)
        .map(|nth| IntHop {
            ts_ps: (10 + nth) * 1_000_000,
            tx_bytes: 1_280_000 * (nth + 1),
            qlen_bytes: 8_000 * nth as u32,
            rate_mbps: 100_000,
        })
        .collect()
}

fn list(values: impl IntoIterator<Item = u64>) -> String {
    let words: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    words.join(",")
}

fn with_telemetry(mut sample: Sample, network: Network, port: u64) -> Sample {
    sample.network = network;
    let hops = hops();
    sample.fields.extend(expect(&[
        ("udp.dstport", port),
        ("bwint.hops", 3),
        ("bwint.path", 0xabc),
    ]));
    let columns: [(&'static str, Vec<u64>); 4] = [
        ("bwint.hop.time", hops.iter().map(|hop| hop.ts_ps).collect()),
        (
            "bwint.hop.sent",
            hops.iter().map(|hop| hop.tx_bytes).collect(),
        ),
        (
            "bwint.hop.queue",
            hops.iter().map(|hop| hop.qlen_bytes.into()).collect(),
        ),
        (
            "bwint.hop.rate",
            hops.iter().map(|hop| hop.rate_mbps.into()).collect(),
        ),
    ];
    sample
        .fields
        .extend(columns.map(|(name, values)| (name, list(values))));
    sample.stack = Some((0xabc, hops));
    sample
}

fn flows() -> Vec<Sample> {
    let paper = Network {
        telemetry: IntFormat::Wire(Layout::new(1, 16)),
        ..PLAIN
    };
    let mut middle = flow("data", Kind::Data, Some(0x07));
    middle.packet.flags |= flag::CE | flag::ASKS;
    middle.fields.extend(expect(&[
        ("ip.dsfield.ecn", 3),
        ("infiniband.bth.a", 1),
        ("infiniband.bth.psn", 3),
        ("infiniband.bth.padcnt", 3),
        ("infiniband.bth.destqp", 70_000),
        ("bw.sent", 123_456_789_012_345),
        ("bw.remaining", 5_000),
    ]));
    let mut first = flow("first data", Kind::Data, Some(0x06));
    first.packet.psn = 0;
    first.fields.retain(|(name, _)| *name != "bw.number");
    first.fields.extend(expect(&[
        ("bw.number", 0),
        ("ip.dsfield.ecn", 2),
        ("infiniband.reth.dmalen", 5_000),
        ("infiniband.reth.r_key", 70_000),
    ]));
    let mut last = flow("last data in IPv6", Kind::Data, Some(0x08));
    last.network.v6 = true;
    last.cold.remaining = 301;
    last.fields.retain(|(name, _)| !name.starts_with("ip."));
    last.fields.push(("ipv6.src", "fd42:5700::102".into()));
    last.fields.push(("ipv6.dst", "fd42:5700::5".into()));
    last.fields.extend(expect(&[
        ("ipv6.tclass.dscp", 24),
        ("ipv6.tclass.ecn", 2),
        ("bw.remaining", 301),
    ]));
    let mut only = flow("only data, sent again", Kind::Data, Some(0x0a));
    (only.packet.psn, only.cold.remaining) = (0, 301);
    only.packet.flags = flag::RETRANSMITTED;
    only.fields
        .retain(|(name, _)| !matches!(*name, "bw.number" | "bw.again" | "bw.incast"));
    only.fields.extend(expect(&[
        ("bw.number", 0),
        ("bw.again", 1),
        ("bw.incast", 0),
    ]));

    let mut ack = flow("ACK of a whole flow", Kind::Ack, Some(0x11));
    ack.packet.flags |= flag::CE;
    (ack.cold.stamp, ack.cold.local_host_ps) = (Stamp::completion(77_000), 55);
    ack.fields.extend(expect(&[
        ("infiniband.aeth.syndrome", 0x1f),
        ("infiniband.bth.destqp", 12),
        ("ip.dsfield.ecn", 0),
        ("bw.done", 77_000),
        ("bw.host", 55),
    ]));
    let mut nak = flow("NAK", Kind::Nak, Some(0x11));
    nak.cold.stamp = Stamp::INCOMPLETE;
    nak.fields
        .extend(expect(&[("infiniband.aeth.syndrome", 0x60)]));
    let cnp = flow("CNP", Kind::Cnp, Some(0x81));
    let mut grant = flow("credit", Kind::Grant, None);
    (grant.cold.level, grant.cold.arrived_below) = (4, 6);
    grant.fields.extend(expect(&[
        ("udp.dstport", 49_792),
        ("bw.level", 4),
        ("bw.arrived_below", 6),
        ("bw.sent", 123_456_789_012_345),
    ]));
    let mut request = flow("request", Kind::Request, None);
    request.cold.credit = 9;
    request
        .fields
        .extend(expect(&[("udp.dstport", 49_792), ("bw.credit", 9)]));
    let mut header = flow("header of a trimmed packet", Kind::Header, Some(0x07));
    let mut returned = flow("header on its way back", Kind::Returned, Some(0x07));
    for cut in [&mut header, &mut returned] {
        // Sizes of UDP, BTH, extension header (fixed fields, queue, sent, remaining) and iCRC.
        let left = 8 + 12 + 24 + 4 + 8 + 8 + 4;
        cut.fields
            .extend(expect(&[("udp.length", left), ("ip.len", 20 + left)]));
    }
    let mut numbered = flow("data with a number of the link", Kind::Data, Some(0x07));
    numbered.network.link_numbers = true;
    numbered.network.trails = true;
    numbered.packet.location = Location::on_link(4_000_000_000);
    numbered.trail = vec![9, 65_000];
    numbered.cold.credit = 31;
    numbered.cold.stamp = Stamp::credit(44);
    numbered.fields.extend(expect(&[
        ("bw.link_number", 4_000_000_000),
        ("bw.way.switches", 2),
        ("bw.credit", 31),
        ("bw.done", 44),
    ]));
    numbered.fields.push(("bw.way.port", "9,65000".into()));
    let telemetry = [
        with_telemetry(
            flow("data with INT of the paper", Kind::Data, Some(0x07)),
            paper,
            49_790,
        ),
        with_telemetry(
            flow("ACK with INT of the paper", Kind::Ack, Some(0x11)),
            paper,
            49_790,
        ),
        with_telemetry(
            flow("data with INT-MD", Kind::Data, Some(0x07)),
            PLAIN,
            49_791,
        ),
        with_telemetry(
            flow("ACK with INT-MD", Kind::Ack, Some(0x11)),
            PLAIN,
            49_791,
        ),
    ];
    let mut all = vec![middle, first, last, only, ack, nak, cnp, numbered];
    all.extend(telemetry);
    all.extend([grant, request, header, returned]);
    all
}

fn neighbours() -> Vec<Sample> {
    let pause = |on| PauseClasses {
        on,
        classes: 0b1100 << DATA_CLASS,
    };
    let pfc = |on: bool| {
        [
            ("macc.opcode", 0x101),
            ("macc.cbfc.enbv", 0b1100),
            ("macc.cbfc.pause_time.c3", if on { 65_535 } else { 0 }),
            ("macc.cbfc.pause_time.c4", 0),
        ]
    };
    let scheme = |scheme: u64, frame: u64| [("bwlink.scheme", scheme), ("bwlink.frame", frame)];
    let with =
        |scheme: [(&'static str, u64); 2], more: &[(&'static str, u64)]| [&scheme, more].concat();
    let credit = Credit {
        dst: 70,
        units: 1_500,
        number: 4_000_000_000,
    };
    let mut bitmap = near("bitmap", Bitmap.packet(156), &[0, 9, 1023], &scheme(1, 2));
    bitmap.fields.push(("bwlink.paused", "0,9,1023".into()));
    let entries: Vec<u32> = Credits::list(&[credit, credit]).collect();
    let mut credits = near("credits", Credits.packet(78), &entries, &scheme(2, 1));
    credits.fields.push(("bwlink.destination", "70,70".into()));
    credits.fields.push(("bwlink.units", "1500,1500".into()));
    vec![
        near("XOFF", pause(true).packet(64), &[], &pfc(true)),
        near("XON", pause(false).packet(64), &[], &pfc(false)),
        near(
            "pause of a queue",
            PauseQueue {
                on: true,
                queue: 31,
            }
            .packet(64),
            &[],
            &with(scheme(1, 0), &[("bwlink.pause", 1), ("bwlink.queue", 31)]),
        ),
        near(
            "resume of a flow",
            PauseFlow {
                on: false,
                flow: 8,
                queue: 31,
            }
            .packet(64),
            &[],
            &with(
                scheme(1, 1),
                &[
                    ("bwlink.pause", 0),
                    ("bwlink.queue", 31),
                    ("bwlink.flow", 8),
                ],
            ),
        ),
        bitmap,
        near(
            "one credit",
            credit.packet(56),
            &[],
            &with(
                scheme(2, 0),
                &[
                    ("bwlink.destination", 70),
                    ("bwlink.units", 1_500),
                    ("bwlink.number", 4_000_000_000),
                ],
            ),
        ),
        credits,
        near(
            "switchSYN",
            SwitchSyn { dst: 70, number: 6 }.packet(64),
            &[],
            &with(
                scheme(2, 2),
                &[("bwlink.destination", 70), ("bwlink.number", 6)],
            ),
        ),
        near(
            "dstPause",
            PauseDestination { on: true, dst: 70 }.packet(64),
            &[],
            &with(
                scheme(2, 3),
                &[("bwlink.destination", 70), ("bwlink.pause", 1)],
            ),
        ),
        near(
            "CF_Update",
            CreditsFreed {
                class: DATA_CLASS + 2,
                credits: 0xf_ffff,
            }
            .packet(8),
            &[],
            &with(
                scheme(3, 0),
                &[("bwlink.class", 2), ("bwlink.credits", 0xf_ffff)],
            ),
        ),
        near(
            "CC_Update",
            CreditsConsumed {
                class: DATA_CLASS + 2,
                credits: 7,
            }
            .packet(64),
            &[],
            &with(scheme(3, 1), &[("bwlink.class", 2), ("bwlink.credits", 7)]),
        ),
    ]
}

fn emit(sample: &Sample) -> Vec<u8> {
    let mut arena = Arena::new();
    let id = arena.alloc(sample.packet, sample.cold);
    if let Some((path, hops)) = &sample.stack {
        arena.set_stack(id, *path, hops);
    }
    arena.set_list(id, &sample.list);
    for port in &sample.trail {
        arena.trail_mut(id).push(*port);
    }
    let mut place = vec![0; MOST_BYTES];
    let bytes = encode(&link(&sample.network), &arena, id, &mut place).unwrap();
    place.truncate(bytes);
    place
}

/// Compares `expected` with a file, or writes the file if UPDATE_DOCS is set.
fn check_file(name: &str, expected: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, expected).unwrap();
        return;
    }
    let found = std::fs::read(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{name} is stale: UPDATE_DOCS=1 cargo test -p backwater-wire --test all frames::"
    );
}

#[test]
fn files_have_one_frame_of_each_kind() {
    let samples: Vec<Sample> = flows().into_iter().chain(neighbours()).collect();
    // File header of the classic pcap format with nanosecond time stamps.
    let mut pcap = Vec::new();
    for word in [0xa1b2_3c4d_u32, 4 << 16 | 2, 0, 0, 65_535, 1] {
        pcap.extend(word.to_le_bytes());
    }
    let mut json = String::from("[\n");
    for (nth, sample) in samples.iter().enumerate() {
        let frame = emit(sample);
        let bytes = frame.len() as u32;
        for word in [0, nth as u32, bytes, bytes] {
            pcap.extend(word.to_le_bytes());
        }
        pcap.extend(frame);
        let fields: Vec<String> = sample
            .fields
            .iter()
            .map(|(name, value)| format!("\"{name}\": \"{value}\""))
            .collect();
        let comma = if nth + 1 < samples.len() { "," } else { "" };
        let fields = fields.join(", ");
        writeln!(
            json,
            "  {{\"name\": \"{}\", \"fields\": {{{fields}}}}}{comma}",
            sample.name
        )
        .unwrap();
    }
    json.push_str("]\n");
    check_file("frames.pcap", &pcap);
    check_file("frames.json", json.as_bytes());
}
