//! Tests of the criteria in public test plans for lossless switches. A switch runs on real frames
//! under a simulated clock. docs/conformance.md lists the criteria. The section "Bridging" tests
//! rules of `specs/wall-clock.md`.
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use dataplane::classes::DATA_CLASS;
use dataplane::packet::{Arena, Cold, Kind, Packet};
use dataplane::pause_time::pause_ps;
use dataplane::units::{MS, NEVER, Rate, Time, US};
use live::Error;
use live::plan::switch_of;
use live::switch::Snapshot;
use live::switch::classes::Classes;
use live::switch::counters::Counters;
use live::switch::node::Node;
use live::switch::plan::{Choices, switch_plan};
use live::wall::Machine;
use scenario::{Changes, Scenario};
use wire::ethernet::{Ethernet, Mac, Tag};
use wire::frame::MOST_BYTES;
use wire::ip::{Ends, Ip, ecn};
use wire::pause::Pause;
use wire::{Link, Network, Writer, decode, encode};

const RATE: Rate = Rate::from_gbps(10);
const DELAY_PS: Time = US;
/// Length of the test frames in bytes (without frame check sequence), and their serialisation time.
const BYTES: usize = 996;
const FRAME_PS: Time = 800_000;
const PORTS: u16 = 4;

fn station(port: u16) -> Mac {
    [2, 0, 0, 0, 1, port as u8]
}

/// A switch with four ports, and the frames that it sent with their times and ports.
struct Lab {
    node: Node,
    network: Network,
    now: Time,
    sent: Vec<(Time, u16, Vec<u8>)>,
}

fn choices(lossless: Option<u8>) -> Choices {
    Choices {
        classes: Classes::default(),
        lossless,
        mtu: 1500,
    }
}

fn scenario(more: &str) -> Scenario {
    let text = format!(
        "name = \"lab\"\n[topology]\nkind = \"star\"\nhosts = 4\nlink = {{ rate = \"10Gbps\", delay = \"1us\" }}\n\
         [switch]\nbuffer = \"1MB\"\n[[traffic]]\nname = \"none\"\npattern = \"list\"\n\
         flows = [{{ src = 0, dst = 1, bytes = \"1KB\" }}]\n{more}"
    );
    let changes = Changes::default();
    Scenario::parse(&text, "lab.toml", Path::new("."), &changes).unwrap_or_else(|e| panic!("{e}"))
}

/// A scheme with ECN marks above 20 KB and PFC pauses above 60 KB.
const LOSSLESS: &str = "[scheme]\npreset = \"dctcp\"\necn = { kmin = \"20KB\", kmax = \"20KB\" }\n\
                        pfc = { xoff = \"60KB\" }\n";

impl Lab {
    fn new(more: &str, lossless: Option<u8>) -> Self {
        let plan = scenario(more).build().unwrap().plan;
        let description = switch_of(&plan, None).unwrap_or_else(|why| panic!("{why}"));
        let network = description.node.network;
        let plan = switch_plan(description, &choices(lossless));
        let plan = plan.unwrap_or_else(|why| panic!("{why}"));
        let own: Vec<Mac> = (0..PORTS).map(|port| [2, 0, 0, 0, 0, port as u8]).collect();
        let mut node = Node::new(plan, &own);
        for port in 0..PORTS {
            node.give_station(station(port), port);
        }
        Self {
            node,
            network,
            now: 0,
            sent: Vec::new(),
        }
    }

    /// Runs the switch until time `until`.
    fn run(&mut self, until: Time) {
        while let Some(at) = self.node.next().filter(|&at| at <= until) {
            let sent = &mut self.sent;
            self.node
                .advance(at, &mut |port, frame| sent.push((at, port, frame.to_vec())));
        }
        self.now = until;
    }

    fn receive(&mut self, at: Time, port: u16, frame: &[u8]) {
        self.run(at);
        let sent = &mut self.sent;
        self.node.receive(at, port, frame, &mut |port, frame| {
            sent.push((at, port, frame.to_vec()));
        });
    }

    fn link(&mut self, at: Time, port: u16, up: bool) {
        self.run(at);
        let sent = &mut self.sent;
        self.node.link(at, port, up, &mut |port, frame| {
            sent.push((at, port, frame.to_vec()))
        });
    }

    fn pause(&mut self, at: Time, port: u16, pause: Pause) {
        self.receive(at, port, &bytes_of(pause));
    }

    /// Returns the times at which frames of a priority left by a port.
    fn times(&self, port: u16, priority: u8) -> Vec<Time> {
        let of = self.sent.iter().filter(|(_, by, frame)| {
            let tag = Ethernet::parse(frame).unwrap().0.tag;
            *by == port && tag.is_some_and(|tag| tag.priority == priority)
        });
        of.map(|(at, ..)| *at).collect()
    }

    /// Returns the PFC frames that left by a port: time, enabled priorities and pause times.
    fn pauses(&self, port: u16) -> Vec<(Time, u8, [u16; 8])> {
        let of = self.sent.iter().filter(|(_, by, _)| *by == port);
        of.filter_map(|(at, _, frame)| {
            pause_in(frame).map(|(enabled, quanta)| (*at, enabled, quanta))
        })
        .collect()
    }

    fn shown(&self) -> Snapshot {
        let shown = Snapshot::of_node(&self.node);
        assert_eq!(shown.broken, Vec::<String>::new());
        shown
    }
}

fn pause_in(frame: &[u8]) -> Option<(u8, [u16; 8])> {
    let (header, body) = Ethernet::parse(frame).unwrap();
    if header.ether_type != 0x8808 {
        return None;
    }
    assert_eq!((frame.len(), header.to), (60, wire::pause::TO));
    match Pause::parse(body).unwrap() {
        Pause::Priority { enabled, quanta } => Some((enabled, quanta)),
        Pause::Global { .. } => panic!("a switch with PFC sent an 802.3x pause"),
    }
}

fn bytes_of(pause: Pause) -> Vec<u8> {
    let mut place = [0; 60];
    pause.emit([2; 6], &mut Writer::new(&mut place)).unwrap();
    place.to_vec()
}

fn pause_of(priority: u8, quanta: u16) -> Pause {
    let mut all = [0; 8];
    all[usize::from(priority)] = quanta;
    Pause::Priority {
        enabled: 1 << priority,
        quanta: all,
    }
}

/// Builds a frame of this priority from the station at port `from` to the station at port `to`.
fn frame(from: u16, to: u16, priority: u8) -> Vec<u8> {
    frame_with(from, to, priority, ecn::CAPABLE)
}

fn frame_with(from: u16, to: u16, priority: u8, ecn: u8) -> Vec<u8> {
    let ip = Ip {
        ends: Ends::V4 {
            from: [10, 0, 0, from as u8].into(),
            to: [10, 0, 0, to as u8].into(),
        },
        dscp: 0,
        ecn,
        hops: 64,
        protocol: 17,
        payload_bytes: (BYTES - 18 - 20) as u16,
    };
    let header = Ethernet {
        to: station(to),
        from: station(from),
        tag: Some(Tag {
            priority,
            drop_eligible: false,
            vlan: 7,
        }),
        ether_type: ip.ether_type(),
    };
    let mut place = vec![0; BYTES];
    let mut out = Writer::new(&mut place);
    header.emit(&mut out).unwrap();
    ip.emit(&mut out).unwrap();
    place
}

fn marked(frame: &[u8]) -> bool {
    let (header, body) = Ethernet::parse(frame).unwrap();
    Ip::parse(header.ether_type, body).unwrap().0.ecn == ecn::CONGESTION
}

// --- Pauses ---

// Criterion 1. QNT-02: one priority
#[test]
fn a_paused_priority_delivers_nothing_and_the_others_keep_their_share() {
    let mut lab = Lab::new(LOSSLESS, Some(0xff));
    // Seven priorities, each with an eighth of the line rate.
    let rounds = 2_000;
    for round in 0..rounds {
        for priority in 1..8 {
            let at = round * 8 * FRAME_PS + u64::from(priority) * FRAME_PS;
            if priority == 1 && round % 20 == 0 {
                lab.pause(at, 1, pause_of(3, u16::MAX));
            }
            // The paused priority sends only as many frames as its ingress can store.
            if priority != 3 || round < 40 {
                lab.receive(at, 0, &frame(0, 1, priority));
            }
        }
    }
    lab.run(rounds * 8 * FRAME_PS + 10 * FRAME_PS);
    assert_eq!(
        lab.times(1, 3),
        Vec::<Time>::new(),
        "a paused priority sent"
    );
    for priority in [1, 2, 4, 5, 6, 7] {
        let got = lab.times(1, priority).len() as f64;
        assert!(
            (got / rounds as f64 - 1.0).abs() < 0.02,
            "priority {priority}: {got}"
        );
    }
    assert_eq!(lab.shown().counted("dropped"), 0);
}

// Criterion 2. QNT-01, QNT-03, QNT-04: pause time
#[test]
fn a_pause_lasts_for_its_quanta_and_a_resume_acts_at_once() {
    for (priority, quanta) in [(3, 1u16), (3, 100), (4, 1_000), (0, 65_535)] {
        let mut lab = Lab::new(LOSSLESS, Some(0xff));
        let start = 5 * US;
        lab.pause(start, 1, pause_of(priority, quanta));
        lab.receive(start, 0, &frame(0, 1, priority));
        let other = (priority + 2) % 8;
        lab.receive(start, 0, &frame(0, 1, other));
        lab.run(start + 10 * MS);
        assert_eq!(lab.times(1, other), [start], "another priority was delayed");
        // At the end of the pause, the port is possibly busy with a frame of another priority.
        let ends = start + pause_ps(RATE, quanta);
        assert_eq!(lab.times(1, priority), [ends.max(start + FRAME_PS)]);
    }
    let mut lab = Lab::new(LOSSLESS, Some(0xff));
    lab.pause(0, 1, pause_of(3, 65_535));
    lab.receive(0, 0, &frame(0, 1, 3));
    lab.pause(US, 1, pause_of(3, 0));
    lab.run(MS);
    assert_eq!(lab.times(1, 3), [US], "the resume did not act at once");
}

// Criterion 2, for several priorities with different pause times in one frame.
#[test]
fn one_frame_pauses_each_priority_for_its_own_time() {
    let mut lab = Lab::new(LOSSLESS, Some(0xff));
    let quanta = [0, 0, 0, 200, 400, 0, 0, 0];
    let enabled = 0b0001_1000;
    lab.pause(0, 1, Pause::Priority { enabled, quanta });
    for priority in [5, 4, 3] {
        lab.receive(0, 0, &frame(0, 1, priority));
    }
    lab.run(MS);
    assert_eq!(lab.times(1, 5), [0]);
    assert_eq!(lab.times(1, 3), [pause_ps(RATE, 200)]);
    assert_eq!(lab.times(1, 4), [pause_ps(RATE, 400)]);
}

/// A host that sends full frames of a priority at line rate, and reacts to pauses.
struct Host {
    priority: u8,
    left: u32,
    free_ps: Time,
    paused_until: Time,
}

/// Runs hosts at ports 0 to n, which all send to port 3. Pause frames of the switch reach the hosts
/// after the link delay.
fn overload(lab: &mut Lab, hosts: &mut [Host]) {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum Event {
        Pause(usize, u64),
        Start(usize),
        Frame(usize),
    }
    let mut events = BinaryHeap::new();
    (0..hosts.len()).for_each(|nth| events.push(Reverse((0, Event::Start(nth)))));
    let mut seen = 0;
    loop {
        let due = events.peek().map(|Reverse((at, _))| *at);
        let next = due.into_iter().chain(lab.node.next()).min();
        let Some(at) = next else { return };
        if due == Some(at) {
            let Some(Reverse((_, event))) = events.pop() else {
                return;
            };
            match event {
                Event::Frame(nth) => {
                    let bytes = frame(nth as u16, 3, hosts[nth].priority);
                    lab.receive(at, nth as u16, &bytes);
                }
                Event::Pause(nth, quanta) => {
                    hosts[nth].paused_until = at + pause_ps(RATE, quanta as u16);
                    events.push(Reverse((hosts[nth].paused_until, Event::Start(nth))));
                }
                Event::Start(nth) => {
                    let host = &mut hosts[nth];
                    if host.left > 0 && host.free_ps <= at && host.paused_until <= at {
                        host.left -= 1;
                        host.free_ps = at + FRAME_PS;
                        events.push(Reverse((host.free_ps, Event::Start(nth))));
                        events.push(Reverse((host.free_ps + DELAY_PS, Event::Frame(nth))));
                    }
                }
            }
        } else {
            lab.run(at);
        }
        for (sent_ps, port, bytes) in &lab.sent[seen..] {
            if let Some((_, quanta)) = pause_in(bytes)
                && usize::from(*port) < hosts.len()
            {
                let nth = usize::from(*port);
                let time = quanta[usize::from(hosts[nth].priority)];
                let arrives = sent_ps + RATE.serialisation_ps(64) + DELAY_PS;
                events.push(Reverse((arrives, Event::Pause(nth, time.into()))));
            }
        }
        seen = lab.sent.len();
    }
}

fn host(priority: u8, left: u32) -> Host {
    Host {
        priority,
        left,
        free_ps: 0,
        paused_until: 0,
    }
}

/// Returns the number of dropped packets of a traffic class.
fn dropped(counters: &Counters, class: u8) -> u64 {
    counters.dropped[usize::from(DATA_CLASS + class)]
        .iter()
        .sum()
}

// Criteria 3, 4 and 7. SW-11, QNT-05: pauses, marks
#[test]
fn twice_the_line_is_paused_marked_before_and_loses_nothing() {
    let mut lab = Lab::new(LOSSLESS, Some(1 << 3));
    let mut hosts = [host(3, 3_000), host(3, 3_000)];
    overload(&mut lab, &mut hosts);
    let shown = lab.shown();
    assert_eq!(
        shown.counted("dropped"),
        0,
        "frames that arrived after the pause must fit the headroom"
    );
    assert_eq!(lab.times(3, 3).len(), 6_000);
    for port in [0, 1] {
        let pauses = lab.pauses(port);
        let first = pauses[0];
        assert_eq!((first.1, first.2[3]), (1 << 3, u16::MAX));
        assert_eq!(pauses.last().unwrap().2[3], 0, "the last frame must resume");
        let mark = lab
            .sent
            .iter()
            .find(|(_, by, frame)| *by == 3 && marked(frame));
        assert!(mark.unwrap().0 < first.0, "marks must come before pauses");
        // The counters must agree with the captured frames.
        let resumes = pauses.iter().filter(|pause| pause.2[3] == 0).count() as u64;
        let counted = lab.node.port_counters(port);
        assert_eq!(counted.resumes_sent, resumes);
        assert_eq!(counted.pauses_sent, pauses.len() as u64 - resumes);
        assert_eq!(counted.received, 3_000);
    }
    assert_eq!(lab.node.port_counters(3).sent, 6_000);
    let marks = lab
        .sent
        .iter()
        .filter(|(_, by, frame)| *by == 3 && marked(frame));
    assert_eq!(marks.count() as u64, shown.counted("ecn_marked_frames"));
    assert_eq!(lab.pauses(3), [], "the receiver must not be paused");
}

// Criterion 5. SW-16: lossy priorities
#[test]
fn lossy_traffic_is_dropped_and_never_paused() {
    let mut lab = Lab::new(LOSSLESS, Some(1 << 3));
    let mut hosts = [host(5, 3_000), host(5, 3_000)];
    overload(&mut lab, &mut hosts);
    let shown = lab.shown();
    assert!(shown.counted("dropped") > 500);
    assert_eq!(dropped(lab.node.counters(), 5), shown.counted("dropped"));
    for port in 0..PORTS {
        assert_eq!(lab.pauses(port), []);
    }
}

// Criterion 5, with lossy and lossless traffic: congestion of lossy traffic must not affect
// lossless traffic.
#[test]
fn lossless_traffic_beside_lossy_congestion_loses_nothing() {
    let mut lab = Lab::new(LOSSLESS, Some(1 << 3));
    let mut hosts = [host(5, 3_000), host(3, 2_000), host(5, 3_000)];
    overload(&mut lab, &mut hosts);
    assert_eq!(lab.times(3, 3).len(), 2_000);
    let lost = lab.node.counters();
    assert_eq!(dropped(lost, 3), 0);
    assert!(dropped(lost, 5) > 0);
}

// Criterion 6. WSW-23: other pauses
#[test]
fn malformed_pauses_and_those_of_802_3x_change_nothing_and_are_counted() {
    let mut lab = Lab::new(LOSSLESS, Some(0xff));
    lab.pause(0, 1, Pause::Global { quanta: u16::MAX });
    let good = bytes_of(pause_of(3, u16::MAX));
    let (mut opcode, mut vector) = (good.clone(), good.clone());
    opcode[15] = 7;
    vector[16] = 1;
    for bad in [&opcode[..], &vector, &good[..20]] {
        lab.receive(0, 1, bad);
    }
    lab.receive(0, 1, &good[..9]);
    lab.receive(0, 0, &frame(0, 1, 3));
    assert_eq!(lab.times(1, 3), [0]);
    let counted = lab.node.port_counters(1);
    let seen = (
        counted.global_pauses,
        counted.malformed_pauses,
        counted.pauses_received,
    );
    assert_eq!(seen, (1, 3, 0));
    assert_eq!(
        lab.node.counters().malformed,
        1,
        "the frame without a header"
    );
}

// Criterion 7. WSW-40, LNK-21: link failure
#[test]
fn a_link_that_fails_under_a_pause_clears_it() {
    let mut lab = Lab::new(LOSSLESS, Some(0xff));
    lab.pause(0, 1, pause_of(3, u16::MAX));
    assert_eq!(lab.node.paused(1), 1 << 3);
    lab.receive(0, 0, &frame(0, 1, 3));
    lab.link(US, 1, false);
    assert_eq!(lab.node.paused(1), 0);
    assert_eq!(
        lab.shown().counted("dropped"),
        1,
        "the waiting frame is dropped"
    );
    lab.link(2 * US, 1, true);
    lab.receive(3 * US, 0, &frame(0, 1, 3));
    assert_eq!(lab.times(1, 3), [3 * US]);
    assert_eq!(lab.node.port_counters(1).link_changes, 2);
    lab.run(NEVER - 1);
    assert_eq!(lab.shown().counted("pfc_expiries"), 0);
}

// --- Bridging ---

// WSW-01, WSW-02, WSW-03, WSW-30: stations
#[test]
fn frames_leave_by_the_port_of_their_station_at_its_rate() {
    let mut lab = Lab::new(LOSSLESS, None);
    let unknown = [2, 9, 9, 9, 9, 9];
    let mut odd = frame(0, 1, 2);
    odd[..6].copy_from_slice(&unknown);
    lab.receive(0, 0, &odd);
    let ports: Vec<u16> = lab.sent.iter().map(|(_, port, _)| *port).collect();
    assert_eq!(ports, [1, 2, 3], "all ports except the port of arrival");
    assert!(
        lab.sent.iter().all(|(.., frame)| *frame == odd),
        "flooding must not change the frame"
    );
    let mut answer = frame(2, 0, 2);
    answer[6..12].copy_from_slice(&unknown);
    lab.sent.clear();
    lab.receive(MS, 2, &answer);
    lab.receive(2 * MS, 0, &odd);
    let ports: Vec<u16> = lab.sent.iter().map(|(_, port, _)| *port).collect();
    assert_eq!(ports, [0, 2], "the station was learned");
    // Ten frames that arrive at the same time leave one after the other.
    lab.sent.clear();
    for _ in 0..10 {
        lab.receive(3 * MS, 0, &frame(0, 1, 2));
    }
    lab.run(4 * MS);
    let times: Vec<Time> = (0..10).map(|nth| 3 * MS + nth * FRAME_PS).collect();
    assert_eq!(lab.times(1, 2), times);
    let mut bridge = frame(0, 1, 2);
    bridge[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, 0x0e]);
    lab.sent.clear();
    lab.receive(5 * MS, 0, &bridge);
    lab.receive(5 * MS, 0, &vec![0; 9_000]);
    lab.receive(5 * MS, 1, &frame(0, 1, 2));
    assert!(lab.sent.is_empty());
    let counted = lab.node.counters();
    assert_eq!(
        (counted.reserved, counted.oversized, counted.returned),
        (1, 1, 1)
    );
    lab.shown();
}

// WSW-12: frames of Backwater
#[test]
fn own_frames_follow_their_endpoint_and_keep_their_fields() {
    let mut lab = Lab::new(LOSSLESS, None);
    let mut arena = Arena::new();
    let packet = Packet {
        flow: 9,
        psn: 3,
        hash: 77,
        dst: 1,
        ..Packet::new(Kind::Data, 2, lab.network.sizes.data_header + 500)
    };
    let cold = Cold {
        src: 0,
        payload: 500,
        remaining: 500,
        ..Cold::default()
    };
    let id = arena.alloc(packet, cold);
    // The switch knows no port for this destination address, so only the endpoint in the frame
    // selects the port.
    let stranger = [2, 7, 7, 7, 7, 7];
    let link = Link {
        network: &lab.network,
        from: station(0),
        to: stranger,
    };
    let mut place = vec![0; MOST_BYTES];
    let bytes = encode(&link, &arena, id, &mut place).unwrap();
    let tagged = place[..bytes].to_vec();
    let untagged = [&tagged[..12], &tagged[16..]].concat();
    for (nth, frame) in [tagged, untagged].iter().enumerate() {
        lab.receive(nth as Time * MS, 0, frame);
        let (_, port, sent) = lab.sent.last().unwrap();
        assert_eq!((lab.sent.len(), *port), (nth + 1, 1));
        assert_eq!(sent[..14], frame[..14], "addresses, and the tag if any");
        let received = decode(&lab.network, sent, &mut arena).unwrap();
        let (hot, cold) = (*arena.hot(received), *arena.cold(received));
        assert_eq!((hot.flow, hot.psn, hot.hash, hot.dst), (9, 3, 77, 1));
        assert_eq!((hot.size, cold.src, cold.payload), (packet.size, 0, 500));
    }
    lab.shown();
}

// WSW-30: after a late call, the switch sends exactly the frames that were due.
#[test]
fn late_calls_do_not_change_the_rate_of_a_link() {
    let mut lab = Lab::new(LOSSLESS, None);
    for _ in 0..100 {
        lab.receive(0, 0, &frame(0, 1, 2));
    }
    let mut count = lab.times(1, 2).len();
    lab.node.advance(50 * FRAME_PS, &mut |port, _| {
        count += usize::from(port == 1)
    });
    assert_eq!(count, 51, "the first frame left at time 0");
}

// WSW-21: ECN
#[test]
fn frames_without_ecn_support_are_unchanged() {
    let mut lab = Lab::new(LOSSLESS, None);
    for nth in 0..60 {
        let bits = [ecn::NOT_CAPABLE, ecn::CAPABLE][nth % 2];
        lab.receive(0, 0, &frame_with(0, 1, 2, bits));
    }
    lab.run(MS);
    let shown = lab.shown();
    let (marks, none) = (
        shown.counted("ecn_marked_frames"),
        shown.counted("ecn_unmarkable"),
    );
    assert!(marks > 10 && none > 10, "{marks} {none}");
    assert_eq!(marks + none, shown.counted("ecn_marks"));
    let seen = lab.sent.iter().filter(|(.., frame)| marked(frame));
    assert_eq!(seen.count() as u64, marks);
}

// WSW-20, WSW-24: refused schemes
#[test]
fn a_scenario_that_cannot_run_with_real_hosts_is_refused() {
    let plan = |more: &str| scenario(more).build().unwrap().plan;
    let refused = |more: &str| {
        let description = switch_of(&plan(more), None).unwrap();
        switch_plan(description, &choices(None)).unwrap_err()
    };
    let ports = switch_of(&plan(LOSSLESS), None).unwrap().node;
    let three = ports.check_interfaces(3).unwrap_err();
    assert!(
        matches!(&three, Error::Interfaces { neighbours, given: 3, .. } if neighbours.len() == 4),
        "{three}"
    );
    let missing = switch_of(&plan(LOSSLESS), Some("spine9")).unwrap_err();
    assert!(
        matches!(&missing, Error::UnknownSwitch { name, .. } if name == "spine9"),
        "{missing}"
    );
    let trims = "[scheme]\npreset = \"ndp\"\n";
    assert!(matches!(refused(trims), Error::ReceiverDriven));
    let by_load = "[scheme]\npreset = \"hpcc\"\npath = \"flowlet\"\n";
    assert!(matches!(refused(by_load), Error::PathByLoad)); // WSW-24: no path choice by load
    let credits = "[scheme]\npreset = \"dcqcn+cbfc\"\n";
    assert!(matches!(refused(credits), Error::NeedsCredit("CBFC")));
    let replay = "[scheme]\npreset = \"dcqcn\"\nlink = \"llr\"\n"; // LLR-30: no replay
    assert!(matches!(refused(replay), Error::NeedsMoreThanFrames(why) if why.contains("preamble")));
    let narrow = LOSSLESS.replace("60KB", "5KB");
    let mut small = switch_of(&plan(&narrow), None).unwrap();
    small.config.mmu.buffer_bytes = 20_000;
    let full = switch_plan(small, &choices(Some(0xff))).unwrap_err();
    assert!(
        matches!(full, Error::Buffer { buffer: 20_000, .. }),
        "{full}"
    );
}

// WSW-43: metrics
#[test]
fn counters_have_the_format_of_prometheus() {
    let mut lab = Lab::new(LOSSLESS, Some(0xff));
    lab.pause(0, 1, pause_of(3, u16::MAX));
    lab.receive(0, 0, &frame(0, 1, 3));
    let text = lab.shown().prometheus();
    for line in text.lines() {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(
            name.starts_with("backwater_") && name.ends_with('}'),
            "{line}"
        );
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    assert!(
        text.contains("port_paused{switch=\"\",port=\"\",priority=\"3\"} 1"),
        "{text}"
    );
    assert!(text.contains("backwater_received_total"));
}
