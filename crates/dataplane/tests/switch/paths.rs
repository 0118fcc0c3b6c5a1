//! Path policies of switches that use the load of ports (rules in `specs/paths-switch.md`).

use std::collections::BTreeMap;

use super::*;
use dataplane::hash::mix32;
use dataplane::switch::Stranded;
use proptest::prelude::*;

/// Creates a switch: endpoint 4 is reached through ports 1 to 3, endpoint 5 through ports 2 and 3,
/// endpoint 6 through port 1.
fn bench(path: PathChoice) -> Bench {
    let group = vec![0, 0, 0, 0, 1, 2, 3];
    let endpoints = Endpoints::new(4, group, vec![0, 1, 2, 3, 0, 0, 0], Vec::new());
    let sets = PortSets::from_iter([&[][..], &[1, 2, 3], &[2, 3], &[1]]);
    let ways = (vec![0, 1, 2, 3], sets);
    let routes = Routes::new(Arc::new(endpoints), 0, ways, (path, 1));
    let config = SwitchConfig { path, ..config() };
    Bench {
        switch: Switch::new(9, &config, &[LINK; PORTS as usize], routes),
        arena: Arena::new(),
        ears: Ears::default(),
        now: 0,
    }
}

impl Bench {
    fn waiting(&self) -> [u64; PORTS as usize] {
        std::array::from_fn(|port| self.switch.queued(port as u16).0)
    }

    /// Delivers a packet at port 0. Returns the port at which it is queued.
    fn port_of(&mut self, packet: Packet) -> u16 {
        let before = self.waiting();
        self.receive(0, packet);
        let after = self.waiting();
        let grown = (0..PORTS).find(|&port| after[port as usize] > before[port as usize]);
        grown.expect("the packet waits at a port")
    }
}

const LEAST_LOADED: PathChoice = PathChoice::LeastLoaded(LeastLoaded);

const fn flowlets(gap_ps: Time, entries: u32) -> PathChoice {
    PathChoice::Flowlet(FlowletConfig { gap_ps, entries })
}

// PTH-01, PTH-02: load of a port
#[test]
fn a_packet_takes_the_port_with_the_fewest_bytes_of_all_classes() {
    let mut b = bench(LEAST_LOADED);
    // 3000 B are queued at port 1, 2000 B at port 2, and 1000 B of the other class at port 3.
    for (dst, class, count) in [(1, 2, 3), (2, 2, 2), (3, 3, 1)] {
        for psn in 0..count {
            let packet = Packet {
                flow: 9,
                dst,
                psn,
                ..Packet::new(Kind::Data, class, 1000)
            };
            b.receive(0, packet);
        }
    }
    assert_eq!(b.port_of(data(1, 4, 0)), 3);
    let next = [1, 2].map(|psn| b.port_of(data(1, 4, psn)));
    assert_eq!(next[0] + next[1], 2 + 3, "2000 B wait at both ports");
    assert_eq!(b.waiting()[1..], [3000; 3]);
    assert_eq!(b.port_of(data(1, 6, 9)), 1, "endpoint 6 has one port");
    b.sound();
}

// PTH-02: ties of the load
#[test]
fn the_hash_chooses_among_equally_loaded_ports() {
    let mut taken = [0; PORTS as usize];
    for flow in 0..3_000 {
        let mut b = bench(LEAST_LOADED);
        let packet = data(flow, 4, flow);
        let by_hash = 1 + ((u64::from(mix32(packet.hash ^ 1)) * 3) >> 32) as u16;
        assert_eq!(
            b.port_of(packet),
            by_hash,
            "idle ports are chosen as by ECMP"
        );
        let other = b.port_of(packet);
        assert_ne!(other, by_hash);
        taken[usize::from(other)] += 1;
    }
    assert!(taken[1..].iter().all(|&n| n > 900), "{taken:?}");
}

// PTH-04: failed links
#[test]
fn a_port_whose_link_is_down_is_not_chosen() {
    for path in [LEAST_LOADED, flowlets(US, 16)] {
        let mut b = bench(path);
        let first = b.port_of(data(1, 4, 0));
        b.all(first);
        b.link(first, false, Stranded::Drop);
        for psn in 1..10 {
            assert_ne!(b.port_of(data(1, 4, psn)), first, "{path:?}");
        }
        assert_eq!(b.ears.drops, []);
        for port in 1..PORTS {
            b.link(port, false, Stranded::Drop);
        }
        let lost = b.ears.drops.len();
        b.receive(0, data(1, 4, 10));
        assert_eq!(b.ears.drops[lost..], [(10, DropCause::Link)]);
    }
}

// PTH-05: gap of a flowlet
#[test]
fn a_flow_changes_its_port_only_after_a_gap() {
    let mut b = bench(flowlets(10 * US, 4096));
    let first = b.port_of(data(1, 4, 0));
    for psn in 1..5 {
        b.now += 10 * US;
        assert_eq!(
            b.port_of(data(1, 4, psn)),
            first,
            "packet {psn} is within the gap"
        );
    }
    b.now += 10 * US + 1;
    assert_ne!(
        b.port_of(data(1, 4, 5)),
        first,
        "5000 B wait at the first port"
    );
}

/// An arrival: flow ID, time since the last arrival, and optionally a port that sends a packet
/// before the arrival.
type Arrival = (u32, Time, Option<u16>);

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let arrival = (0..12u32, 0..4 * US, prop::option::of(1..PORTS));
    prop::collection::vec(arrival, 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Packets of a flowlet use one port and stay in order. Flows share table entries and have
    /// different sets of ports, and ports send at any time.
    // PTH-05, PTH-06
    #[test]
    fn packets_of_a_flowlet_leave_by_one_port_in_order(arrivals in arrivals(), entries in 1..20u32) {
        const GAP: Time = 5 * US;
        let mut b = bench(flowlets(GAP, entries));
        // Per flow ID: time of the last arrival, port, and index of the flowlet.
        let mut last: BTreeMap<u32, (Time, u16, u32)> = BTreeMap::new();
        let mut flowlet_of = Vec::new();
        let mut sent = Vec::new();
        for (psn, (flow, wait, sends)) in (0..).zip(arrivals) {
            b.now += wait;
            sent.extend(sends.and_then(|port| b.send(port)));
            let port = b.port_of(data(flow, 4 + flow % 2, psn));
            let same = last.get(&flow).filter(|&&(at, ..)| b.now - at <= GAP);
            let number = same.map_or(psn, |&(.., number)| number);
            prop_assert!(same.is_none_or(|&(_, before, _)| port == before), "flow {}", flow);
            last.insert(flow, (b.now, port, number));
            flowlet_of.push(number);
        }
        for port in 1..PORTS {
            sent.extend(b.all(port));
        }
        prop_assert_eq!(sent.len(), flowlet_of.len());
        let mut newest = BTreeMap::new();
        for packet in sent {
            let before = newest.insert(flowlet_of[packet.psn as usize], packet.psn);
            prop_assert!(before.is_none_or(|psn| psn < packet.psn), "packet {}", packet.psn);
        }
    }
}
