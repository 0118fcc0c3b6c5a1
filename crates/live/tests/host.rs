//! Tests the rules of `specs/wall-clock-host.md` on hosts under a simulated clock. The hosts are
//! connected directly, or through the switch of the same scenario.

use std::path::Path;

use crate::common::{Random, mutate, repair};
use dataplane::ids::FlowSlot;
use dataplane::packet::Arena;
use dataplane::units::{MS, NS, Time, US};
use live::Error;
use live::host::description::HostDescription;
use live::host::node::Node;
use live::plan::host_of;
use live::wall::Machine;
use scenario::{Changes, Scenario};
use wire::Writer;
use wire::ethernet::Mac;
use wire::frame::{MOST_BYTES, mac};
use wire::pause::Pause;
use wire::{Link, Network, decode, encode};

/// One-way delay of a frame between hosts.
const DELAY_PS: Time = 10 * US;
const FIRST: u32 = 77;

fn scenario(scheme: &str, flows: &str) -> Scenario {
    let text = format!(
        "name = \"lab\"\n[topology]\nkind = \"star\"\nhosts = 3\nlink = {{ rate = \"1Gbps\", delay = \"5us\" }}\n\
         [[traffic]]\nname = \"list\"\npattern = \"list\"\nflows = [{flows}]\n[scheme]\nmtu = \"1000B\"\n{scheme}\n"
    );
    Scenario::parse(&text, "lab.toml", Path::new("."), &Changes::default())
        .unwrap_or_else(|e| panic!("{e}"))
}

fn address(host: u32) -> Mac {
    [2, 9, 9, 9, 9, host as u8]
}

fn plan_of(scenario: &Scenario, host: u32) -> Result<HostDescription, Error> {
    plan_with(scenario, host, &[])
}

fn plan_with(
    scenario: &Scenario,
    host: u32,
    peers: &[(&str, Mac)],
) -> Result<HostDescription, Error> {
    let plan = scenario.build().expect("a plan").plan;
    let mut description = host_of(plan, &format!("host{host}"))?;
    for &(name, address) in peers {
        description.set_address(name, address)?;
    }
    Ok(description)
}

fn node(scenario: &Scenario, host: u32, first: u32) -> Node {
    Node::new(
        plan_of(scenario, host).expect("a host"),
        &[address(host)],
        first,
    )
}

/// Hosts that are connected directly to each other.
struct Lab {
    hosts: Vec<Node>,
    now: Time,
    /// Frames in flight, in the order of sending: time of arrival, receiving host, and bytes.
    in_flight: Vec<(Time, usize, Vec<u8>)>,
    /// All sent frames, each with its sending host.
    sent: Vec<(usize, Vec<u8>)>,
}

impl Lab {
    fn new(hosts: Vec<Node>) -> Self {
        Self {
            hosts,
            now: 0,
            in_flight: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// Runs all hosts until time `until`.
    fn run(&mut self, until: Time) {
        loop {
            let arrival = self.in_flight.iter().map(|frame| frame.0).min();
            let due = self.hosts.iter().filter_map(Machine::next).min();
            let Some(at) = arrival
                .into_iter()
                .chain(due)
                .min()
                .filter(|&at| at <= until)
            else {
                self.now = until;
                return;
            };
            self.now = self.now.max(at);
            let mut left = Vec::new();
            if let Some(nth) = self.in_flight.iter().position(|frame| frame.0 <= at) {
                let (_, to, frame) = self.in_flight.remove(nth);
                let mut out = |_: u16, frame: &[u8]| left.push((to, frame.to_vec()));
                self.hosts[to].receive(self.now, 0, &frame, &mut out);
            }
            for (nth, host) in self.hosts.iter_mut().enumerate() {
                host.advance(self.now, &mut |_, frame| left.push((nth, frame.to_vec())));
            }
            for (from, frame) in left {
                let to = 1 - from;
                self.in_flight
                    .push((self.now + DELAY_PS, to, frame.clone()));
                self.sent.push((from, frame));
            }
        }
    }

    fn finished(&self, host: usize) -> u32 {
        self.hosts[host].flows().finished()
    }
}

const ONE_FLOW: &str = "{ src = 0, dst = 1, bytes = \"50KB\", start = \"100us\" }";

fn network(scenario: &Scenario) -> Network {
    plan_of(scenario, 0).expect("a host").node.network
}

// HST-01, HST-03, HST-05: flows
#[test]
fn flows_are_sent_at_the_rate_of_the_port_and_peers_are_learned() {
    let scenario = scenario(
        "preset = \"line-rate\"",
        "{ src = 0, dst = 1, bytes = \"50KB\", start = \"100us\" }, \
         { src = 0, dst = 1, bytes = \"1B\", start = \"5ms\" }, { src = 2, dst = 1, bytes = \"1KB\" }",
    );
    let mut lab = Lab::new(vec![node(&scenario, 0, FIRST), node(&scenario, 1, FIRST)]);
    lab.run(20 * MS);
    let flows = lab.hosts[0].flows();
    assert_eq!(
        (flows.started().len(), flows.finished()),
        (2, 2),
        "flows of other hosts must not count"
    );
    assert!(flows.are_done());
    let long = &flows.started()[0];
    // 49 packets at 1 Gbps are sent before the last one; then follow both delays. The test does not
    // simulate the serialisation of the last packet.
    let bytes = 49 * (1000 + 48);
    let took = long.fct_ps().expect("finished");
    assert_eq!(took, bytes * 8 * NS + 2 * DELAY_PS);
    assert_eq!(long.acked_ps, Some(took + 100 * US));
    let to = |nth: usize| <[u8; 6]>::try_from(&lab.sent[nth].1[..6]).expect("an address");
    assert_eq!(to(0), mac(1, 0), "before the first frame of the peer");
    let last = lab
        .sent
        .iter()
        .rposition(|(from, _)| *from == 0)
        .expect("some");
    assert_eq!(to(last), address(1));
    assert_eq!(&lab.sent[0].1[6..12], &address(0));
    assert_eq!(lab.hosts.iter().map(Node::records).sum::<u64>(), 0);
}

// HST-03: addresses
#[test]
fn frames_go_to_the_given_address_until_the_peer_is_learned() {
    let scenario = scenario("preset = \"line-rate\"", ONE_FLOW);
    let given = [2, 7, 7, 7, 7, 7];
    let plan = plan_with(&scenario, 0, &[("host1", given)]).expect("a host");
    let sender = Node::new(plan, &[address(0)], FIRST);
    let mut lab = Lab::new(vec![sender, node(&scenario, 1, FIRST)]);
    lab.run(5 * MS);
    let of_sender = lab.sent.iter().filter(|(from, _)| *from == 0);
    let to: Vec<&[u8]> = of_sender.map(|(_, frame)| &frame[..6]).collect();
    assert_eq!((to[0], to[to.len() - 1]), (&given[..], &address(1)[..]));
    let message = plan_with(&scenario, 0, &[("host9", given)]).expect_err("no such host");
    assert!(
        matches!(&message, Error::UnknownHost { name, .. } if name == "host9"),
        "{message}"
    );
}

// HST-04: restart
#[test]
fn flows_of_a_restarted_sender_are_new_flows() {
    let scenario = scenario("preset = \"line-rate\"", ONE_FLOW);
    let mut lab = Lab::new(vec![node(&scenario, 0, FIRST), node(&scenario, 1, FIRST)]);
    lab.run(5 * MS);
    assert_eq!(lab.finished(0), 1);
    lab.hosts[0] = node(&scenario, 0, FIRST + 1000);
    let before = lab.now;
    // The clock of the sender restarts at 0. The clock of the receiver continues.
    for host in &mut lab.hosts[..1] {
        host.advance(before, &mut |_, frame| {
            lab.in_flight.push((before + DELAY_PS, 1, frame.to_vec()));
        });
    }
    lab.run(before + 20 * MS);
    assert_eq!(lab.finished(0), 1);
    let delivered = lab.hosts[1].nic().counters().delivered_bytes;
    assert_eq!(delivered, 100_000, "all bytes must be delivered twice");
}

// HST-11: invalid replies
#[test]
fn replies_to_unsent_packets_change_nothing() {
    let scenario = scenario("preset = \"dcqcn\"", ONE_FLOW);
    let network = network(&scenario);
    let mut lab = Lab::new(vec![node(&scenario, 0, FIRST), node(&scenario, 1, FIRST)]);
    lab.run(200 * US);
    let (_, reply) = lab
        .sent
        .iter()
        .find(|(from, _)| *from == 1)
        .expect("an ACK")
        .clone();
    let mut arena = Arena::new();
    let mut place = vec![0; MOST_BYTES];
    let mut refused = 0;
    for fault in 0..6 {
        let id = decode(&network, &reply, &mut arena).expect("an ACK");
        match fault {
            0 => arena.hot_mut(id).psn = 51,
            1 => arena.hot_mut(id).flow ^= 1,
            2 => arena.cold_mut(id).slot = FlowSlot::from_bits(4_000_000),
            3 => arena.cold_mut(id).sent_ps = 3600 * 1000 * MS,
            4 => arena.cold_mut(id).local_host_ps = 3600 * 1000 * MS,
            _ => arena.cold_mut(id).src = 2,
        }
        let link = Link {
            network: &network,
            from: address(1),
            to: address(0),
        };
        let bytes = encode(&link, &arena, id, &mut place).expect("a frame");
        arena.free(id);
        lab.hosts[0].receive(lab.now, 0, &place[..bytes], &mut |_, _| {});
        refused += 1;
        assert_eq!(lab.hosts[0].counters().unexpected, refused, "fault {fault}");
    }
    lab.run(20 * MS);
    assert_eq!(lab.finished(0), 1);
}

// HST-10: foreign frames
#[test]
fn foreign_and_misdirected_frames_are_counted_and_dropped() {
    let scenario = scenario("preset = \"dcqcn\"", ONE_FLOW);
    let network = network(&scenario);
    let mut lab = Lab::new(vec![node(&scenario, 0, FIRST), node(&scenario, 1, FIRST)]);
    lab.run(150 * US);
    let data = lab.sent[0].1.clone();
    let mut third = node(&scenario, 2, FIRST);
    let mut none = |_: u16, _: &[u8]| panic!("the host replied");
    third.receive(lab.now, 0, &data, &mut none);
    assert_eq!(third.counters().misdirected, 1);
    let mut sender = node(&scenario, 0, FIRST);
    let mut arena = Arena::new();
    let mut place = vec![0; MOST_BYTES];
    let mut send = |node: &mut Node, change: &mut dyn FnMut(&mut Arena, u32)| {
        let id = decode(&network, &data, &mut arena).expect("data");
        change(&mut arena, id);
        let link = Link {
            network: &network,
            from: address(1),
            to: address(0),
        };
        let bytes = encode(&link, &arena, id, &mut place).expect("a frame");
        arena.free(id);
        node.receive(0, 0, &place[..bytes], &mut |_, _| {
            panic!("the host replied")
        });
        node.counters()
    };
    let to_us = |arena: &mut Arena, id: u32| arena.hot_mut(id).dst = 0;
    let seen = send(&mut sender, &mut |arena, id| to_us(arena, id));
    assert_eq!(seen.impostors, 1, "a packet from the host itself");
    let seen = send(&mut sender, &mut |arena, id| {
        to_us(arena, id);
        arena.cold_mut(id).src = 99;
    });
    assert_eq!(seen.impostors, 2, "a packet from an unknown host");
    let seen = send(&mut sender, &mut |arena, id| {
        to_us(arena, id);
        arena.cold_mut(id).src = 1;
        arena.cold_mut(id).payload = 1001;
    });
    assert_eq!(seen.unexpected, 1, "more than a full packet");
    let seen = send(&mut sender, &mut |arena, id| {
        to_us(arena, id);
        arena.cold_mut(id).src = 1;
        arena.cold_mut(id).remaining = 5_000_000_000_000;
    });
    assert_eq!(seen.unexpected, 2, "a flow without end");
    sender.receive(0, 0, &[0xff; 60], &mut |_, _| panic!("the host replied"));
    assert_eq!(sender.counters().others, 1);
    assert_eq!(sender.records(), 0);
}

// HST-20: pauses
#[test]
fn a_pause_stops_the_flow_exactly_for_its_time() {
    let scenario = scenario("preset = \"dcqcn\"", ONE_FLOW);
    let mut lab = Lab::new(vec![node(&scenario, 0, FIRST), node(&scenario, 1, FIRST)]);
    lab.run(200 * US);
    let mut place = [0; 64];
    let mut out = Writer::new(&mut place);
    let pause = Pause::Priority {
        enabled: 1,
        quanta: [20_000, 0, 0, 0, 0, 0, 0, 0],
    };
    pause.emit(address(9), &mut out).expect("room");
    lab.hosts[0].receive(lab.now, 0, &place[..60], &mut |_, _| {});
    let sent = lab.sent.len();
    // 20,000 quanta of 512 bits take 10.24 ms at 1 Gbps.
    lab.run(200 * US + 50 * US);
    let leaving = lab.sent.len();
    lab.run(200 * US + 10 * MS);
    let of_sender = lab.sent[leaving..].iter().filter(|(from, _)| *from == 0);
    assert_eq!(
        of_sender.count(),
        0,
        "the flow is paused; {sent} frames were sent before"
    );
    assert_eq!(lab.hosts[0].counters().pauses_obeyed, 1);
    assert_eq!(lab.finished(0), 0);
    lab.run(40 * MS);
    assert_eq!(lab.finished(0), 1);
    assert_eq!(lab.hosts[0].nic().expired_pauses(), 1);
}

// WSW-30: late actions
#[test]
fn work_of_a_line_faster_than_the_program_is_limited() {
    let flow = r#"{ src = 0, dst = 1, bytes = "4GB" }"#;
    let scheme = "preset = \"line-rate\"\ngo-back-n = { timeout = \"off\" }";
    let mut host = node(&scenario(scheme, flow), 0, FIRST);
    for seconds in [10, 20] {
        let now = seconds * 1000 * MS;
        let mut sent = 0;
        host.advance(now, &mut |_, _| sent += 1);
        // 1.2 million frames were due at this time.
        assert!((1_000..=10_001).contains(&sent), "{sent}");
        assert!(host.next().is_none_or(|at| at > now));
        assert_eq!(host.counters().overruns, seconds / 10);
    }
}

// HST-21: LNK-20
#[test]
fn a_link_failure_delays_a_flow_and_does_not_end_it() {
    let scenario = scenario("preset = \"dcqcn\"", ONE_FLOW);
    let mut lab = Lab::new(vec![node(&scenario, 0, FIRST), node(&scenario, 1, FIRST)]);
    lab.run(200 * US);
    let none = &mut |_: u16, _: &[u8]| {};
    lab.hosts[0].link(lab.now, 0, false, none);
    lab.in_flight.clear();
    let before = lab.sent.len();
    lab.run(2 * MS);
    let of_sender = lab.sent[before..].iter().filter(|(from, _)| *from == 0);
    assert_eq!(of_sender.count(), 0);
    lab.hosts[0].link(lab.now, 0, true, none);
    lab.run(200 * MS);
    assert_eq!(lab.finished(0), 1);
    let again = lab.hosts[0].nic().counters().retransmissions;
    assert!(again > 0);
    assert_eq!(
        u64::from(lab.hosts[0].flows().started()[0].retransmitted),
        again
    );
    assert_eq!(lab.hosts[0].counters().link_changes, 2);
}

// HST-10, HST-11: invalid frames never cause a panic
#[test]
fn a_host_survives_any_frame() {
    for scheme in ["dcqcn", "hpcc", "swift", "bfc", "dcqcn+floodgate"] {
        let scenario = scenario(&format!("preset = \"{scheme}\""), ONE_FLOW);
        let mut lab = Lab::new(vec![node(&scenario, 0, FIRST), node(&scenario, 1, FIRST)]);
        lab.run(5 * MS);
        assert_eq!(lab.finished(0), 1, "{scheme}");
        let frames = lab.sent.clone();
        let mut random = Random::new(7);
        let mut place = vec![0; MOST_BYTES];
        let mut victims = [node(&scenario, 0, FIRST), node(&scenario, 1, FIRST)];
        for turn in 0..20_000u64 {
            let now = 100 * US + turn * US;
            let (from, frame) = &frames[random.below(frames.len() as u64) as usize];
            place[..frame.len()].copy_from_slice(frame);
            let end = mutate(&mut random, &mut place, frame.len());
            repair(&mut place[..end]);
            victims[1 - from].receive(now, 0, &place[..end], &mut |_, _| {});
        }
        let seen = victims.iter().map(|host| host.counters());
        assert!(
            seen.map(|seen| seen.unexpected).sum::<u64>() > 0,
            "{scheme}"
        );
    }
}

// HST-02: refused scenarios
#[test]
fn a_scenario_that_needs_more_than_frames_is_refused() {
    let refused = |scheme: &str| plan_of(&scenario(scheme, ONE_FLOW), 0).expect_err(scheme);
    let receiver_driven = refused("preset = \"ndp\"");
    assert!(
        matches!(receiver_driven, Error::ReceiverDriven),
        "{receiver_driven}"
    );
    let credit = refused("preset = \"dcqcn+cbfc\"");
    assert!(matches!(credit, Error::NeedsCredit("CBFC")), "{credit}");
    let ideal = refused("preset = \"dcqcn\"\nrecovery = \"ideal\"");
    assert!(
        matches!(ideal, Error::NeedsMoreThanFrames(why) if why.contains("ideal retransmission")),
        "{ideal}"
    );
    let good = scenario("preset = \"dcqcn\"", ONE_FLOW);
    let message = plan_of(&good, 7).expect_err("no such host");
    assert_eq!(
        message.to_string(),
        "the scenario has no host host7; it has host0 to host2"
    );
}
