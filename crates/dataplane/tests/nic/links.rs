//! Links of one host that fail and recover (rules in `specs/links.md`).

use std::sync::Arc;

use super::*;
use dataplane::nic::{CUT_OFF, OUT_OF_REACH};

/// Returns a flow from endpoint 0 to endpoint `dst`.
fn to(dst: u32, start: FlowStart) -> FlowStart {
    FlowStart {
        src: 0,
        dst,
        ..start
    }
}

impl Bench {
    fn link(&mut self, up: bool) -> u64 {
        self.nic
            .link(self.now, 0, up, &mut self.arena, &mut self.ears)
    }

    fn reach(&mut self, parts: &[u32]) {
        let parts: Arc<[u32]> = parts.into();
        self.nic.reach(self.now, Some(&parts), &mut self.ears);
    }
}

// LNK-20, LNK-21: a link failure ends PFC pauses
#[test]
fn a_link_that_fails_takes_pfcs_pause_with_it() {
    let mut b = Bench::new(&config());
    b.start(1, 5_000);
    b.pause_classes(true, 0b1100);
    assert!(!b.nic.waiting(0));
    b.link(false);
    assert_eq!(b.ears.pauses, [(0, 0, 0b1100), (0, 0b1100, 0)]);
    b.link(true);
    assert_eq!(b.ears.kicks.last(), Some(&0));
    assert_eq!(b.send_all().len(), 5);
    assert_eq!(b.nic.counters().repeated_pauses, 0);
}

// LNK-21: a link failure ends BFC pauses
#[test]
fn queues_and_flows_that_bfc_held_go_on() {
    let mut config = super::config();
    config.queues = 8;
    let mut b = Bench::new(&config);
    b.start(1, 2_000);
    b.start(2, 2_000);
    b.pause_queue(true, 0);
    let by_flow = PauseFlow {
        on: true,
        flow: 2,
        queue: 1,
    };
    b.receive(by_flow.packet(64), Cold::default());
    assert!(b.send_all().is_empty());
    b.link(false);
    b.link(true);
    assert_eq!(b.send_all().len(), 4);
}

// LNK-27: a link failure ends pauses of destinations
#[test]
fn destinations_that_were_paused_are_free_again() {
    let mut b = Bench::new(&config());
    b.start_with(to(1, start(1, 2_000)));
    b.start_with(to(2, start(2, 2_000)));
    for dst in [1, 2] {
        let frame = PauseDestination { on: true, dst };
        b.receive(frame.packet(64), Cold::default());
    }
    assert!(b.send_all().is_empty());
    b.link(false);
    b.link(true);
    assert_eq!(b.send_all().len(), 4);
    assert_eq!(b.nic.counters().repeated_pauses, 0);
}

// LNK-23: a link failure drops queued replies
#[test]
fn replies_that_wait_at_a_dead_port_are_lost() {
    let mut b = Bench::new(&config());
    for psn in 0..3 {
        let data = Packet {
            flow: 9,
            psn,
            ..Packet::new(Kind::Data, 2, 1048)
        };
        let cold = Cold {
            remaining: 9_000,
            payload: 1_000,
            ..Cold::default()
        };
        b.receive(data, cold);
    }
    assert_eq!(b.nic.queued_replies(&b.arena), 3);
    assert_eq!(b.link(false), 3);
    assert_eq!(b.ears.drops, [1, 2, 3], "what the ACKs acknowledged");
    assert_eq!((b.nic.queued_replies(&b.arena), b.arena.alive()), (0, 0));
    assert!(!b.nic.waiting(0));
}

// LNK-13: a flow without a route to its receiver
#[test]
fn a_flow_waits_while_its_receiver_is_out_of_reach() {
    let mut b = Bench::new(&config());
    b.reach(&[0, 0, 7]);
    b.start_with(to(2, start(1, 3_000)));
    b.start_with(to(1, start(2, 1_000)));
    let sent = b.send_all();
    assert_eq!(sent.iter().map(|p| p.flow).collect::<Vec<_>>(), [2]);
    let mut why = Vec::new();
    b.nic.for_each_flow(|flow| why.push(flow.why));
    assert_eq!(why, [OUT_OF_REACH, "waits for an acknowledgement"]);
    b.reach(&[0, 0, CUT_OFF]);
    assert!(b.send_all().is_empty());
    b.ears.kicks.clear();
    b.reach(&[0, 0, 0]);
    assert_eq!(b.ears.kicks, [0]);
    assert_eq!(b.send_all().len(), 3);
    // The host's own link is down.
    b.reach(&[CUT_OFF, 0, 0]);
    b.start_with(to(1, start(3, 1_000)));
    assert!(b.send_all().is_empty());
    b.nic.reach(b.now, None, &mut b.ears);
    assert_eq!(b.send_all().len(), 1);
}
