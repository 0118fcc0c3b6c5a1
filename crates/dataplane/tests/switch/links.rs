//! Links of one switch that fail and recover (rules in `specs/links.md`).

use super::*;
use dataplane::packet::flag;
use dataplane::switch::{Holds, Stranded};

fn lossless(threshold: u64) -> SwitchConfig {
    let mut c = config();
    c.mmu.admission = Admission::Pfc(pfc(threshold, Some(5000)));
    c
}

impl Bench {
    pub fn link(&mut self, port: u16, up: bool, stranded: Stranded) {
        self.switch.link(
            self.now,
            port,
            (!up).then_some(stranded),
            &mut self.arena,
            &mut self.ears,
        );
    }

    /// Changes the routes: from now on, endpoint 4 is reached through these ports.
    fn route(&mut self, ports: &[u16]) {
        let routes = routes(ports);
        self.switch
            .reroute(self.now, routes, None, &mut self.arena, &mut self.ears);
    }

    fn buffered(&self, port: u16) -> u64 {
        self.switch.queued(port).0
    }
}

// LNK-20, LNK-23: a failed link drops queued and arriving packets
#[test]
fn a_port_whose_link_fails_gives_up_what_waits_and_what_comes() {
    let mut b = Bench::new(&lossless(2_500));
    for psn in 0..4 {
        b.receive(0, data(1, 2, psn));
    }
    assert_eq!(
        b.switch.hop_counters()["pfc_pauses"],
        1,
        "ingress 0 is over 2500 B"
    );
    b.link(2, false, Stranded::Drop);
    let lost: Vec<_> = (0..4).map(|psn| (psn, DropCause::Link)).collect();
    assert_eq!(b.ears.drops, lost);
    assert_eq!((b.buffered(2), b.switch.buffer_used()), (0, 0));
    b.sound();
    // The ingress is below its threshold again, and its own link is up, so a resume is sent to it.
    let told: Vec<u32> = b.all(0).iter().map(|p| p.psn).collect();
    assert_eq!(told, [1, 0]);
    b.receive(0, data(1, 2, 9));
    assert_eq!(b.ears.drops.last(), Some(&(9, DropCause::Link)));
    assert_eq!(
        b.switch.port_counters(2).dropped[DropCause::Link as usize],
        5
    );
    b.link(2, true, Stranded::Drop);
    b.receive(0, data(1, 2, 10));
    assert_eq!(b.all(2).len(), 1);
    b.sound();
}

// LNK-24: packets of a dead port use the new route
#[test]
fn what_waits_at_a_dead_port_goes_by_new_routes_and_stays_in_the_buffer() {
    let mut b = Bench::new(&lossless(2_500));
    b.route(&[2]);
    for psn in 0..3 {
        b.receive(0, data(1, 4, psn));
    }
    b.link(2, false, Stranded::Wait);
    b.receive(1, data(1, 4, 3));
    assert_eq!((b.buffered(2), b.ears.drops.len()), (4_000, 0));
    let used = b.switch.buffer_used();
    b.route(&[3]);
    assert_eq!((b.buffered(2), b.buffered(3)), (0, 4_000));
    assert_eq!(b.switch.buffer_used(), used);
    assert_eq!(b.switch.counters().rerouted, 4);
    b.sound();
    let order: Vec<u32> = b.all(3).iter().map(|p| p.psn).collect();
    assert_eq!(order, [0, 1, 2, 3]);
    assert_eq!(b.switch.buffer_used(), 0);
    b.sound();
}

// LNK-24, LNK-12: packets without a route are dropped
#[test]
fn what_waits_and_has_no_way_is_dropped_and_live_ports_keep_theirs() {
    let mut b = Bench::new(&config());
    b.route(&[2]);
    b.receive(0, data(1, 4, 0));
    b.route(&[3]);
    assert_eq!(b.buffered(2), 1_000, "port 2 is well, and sends it");
    b.link(2, false, Stranded::Wait);
    b.route(&[]);
    assert_eq!(b.ears.drops, [(0, DropCause::NoRoute)]);
    assert_eq!((b.arena.alive(), b.switch.counters().rerouted), (0, 0));
    b.sound();
}

// LNK-21: a link failure ends all pauses
#[test]
fn nobody_is_held_over_a_link_that_has_failed() {
    let mut b = Bench::new(&lossless(2_500));
    // Port 2 is paused, and its packets wait.
    b.receive(2, pause_classes(true, 1 << 2));
    for psn in 0..4 {
        b.receive(0, data(1, 2, psn));
    }
    assert_eq!(b.all(0).len(), 1, "the XOFF for ingress 0");
    assert!(b.all(2).is_empty());
    b.link(2, false, Stranded::Wait);
    assert_eq!(b.ears.pauses, [(2, 0, 4), (2, 4, 0)]);
    b.link(2, true, Stranded::Wait);
    // The link of ingress 0 fails while its upstream is paused: its bytes stay, but no more frames
    // are sent to it.
    b.link(0, false, Stranded::Wait);
    assert_eq!(b.all(2).len(), 4);
    assert_eq!(b.switch.hop_counters()["pfc_resumes"], 0);
    b.link(0, true, Stranded::Wait);
    assert!(b.all(0).is_empty(), "it is below its threshold");
    b.sound();
}

// LNK-22: pause after the recovery of a link
#[test]
fn an_ingress_above_its_threshold_is_held_with_the_first_frame() {
    let mut b = Bench::new(&lossless(2_500));
    for psn in 0..5 {
        b.receive(0, data(1, 2, psn));
    }
    b.all(0);
    b.link(0, false, Stranded::Drop);
    b.link(0, true, Stranded::Drop);
    let told = b.all(0);
    assert_eq!((told.len(), told[0].psn, told[0].hash), (1, 1, 1 << 2));
    // Two packets from before the failure use the headroom of 5000 B, so only three more fit.
    // Further packets count as losses of the link and do not violate losslessness.
    for psn in 5..9 {
        b.receive(0, data(1, 2, psn));
    }
    assert_eq!(b.ears.drops, [(8, DropCause::Link)]);
    assert_eq!(b.all(2).len(), 8);
    assert_eq!(
        b.all(0).iter().map(|p| p.psn).collect::<Vec<_>>(),
        [0],
        "and resumed"
    );
    b.sound();
}

// LNK-21: BFC counts no packets from before a link failure
#[test]
fn packets_of_a_failed_ingress_hold_nothing_by_bfc() {
    let mut c = config();
    c.classify = Classify::Dynamic {
        queues: 4,
        table: 400,
        sticky_ps: 4 * US,
    };
    c.schedule = Schedule::Drr { quantum: 1500 };
    c.hop = HopConfig::Bfc(BFC);
    let mut b = Bench::new(&c);
    for psn in 0..40 {
        b.receive(0, data(1, 2, psn));
    }
    assert_eq!(b.all(0).len(), 1, "one pause");
    let mut holds = Vec::new();
    b.switch.for_each_hold(&b.arena, |ingress, what, _, flow| {
        holds.push((ingress, what, flow))
    });
    assert_eq!(holds.len(), 14, "those that found more than 25 000 B");
    assert!(holds.iter().all(|h| *h == (0, Holds::Named(0), 1)));
    b.link(0, false, Stranded::Drop);
    b.switch
        .for_each_hold(&b.arena, |_, _, _, _| panic!("nothing holds anything"));
    for packet in b.all(2) {
        assert!(packet.flags & flag::OF_SWITCH == 0);
    }
    assert_eq!(b.switch.hop_counters()["bfc_resumes"], 0);
    b.sound();
    // The neighbour of port 2 pauses a queue. After the failure, all queues are resumed.
    b.receive(2, pause_queue(true, 2));
    b.receive(1, data(1, 2, 99));
    b.link(2, false, Stranded::Wait);
    b.link(2, true, Stranded::Wait);
    b.receive(1, data(2, 2, 100));
    assert_eq!(b.all(2).len(), 2);
}

// LNK-41: report of queues in a deadlock
#[test]
fn what_is_stuck_is_told_with_the_pauses_that_hold_it() {
    let mut b = Bench::new(&lossless(2_500));
    b.receive(0, data(1, 2, 0));
    assert!(!b.switch.may_be_stuck(2));
    b.receive(2, pause_classes(true, 1 << 2));
    assert!(b.switch.may_be_stuck(2));
    let mut stuck = Vec::new();
    b.switch.for_each_stuck(2, &b.arena, |q| stuck.push(q));
    assert_eq!(stuck.len(), 1);
    let of = stuck[0];
    assert_eq!(
        (of.class, of.bytes, of.by_class, of.by_name),
        (2, 1_000, true, None)
    );
    b.switch
        .for_each_hold(&b.arena, |_, _, _, _| panic!("ingress 0 is not paused"));
    for psn in 1..4 {
        b.receive(0, data(1, 2, psn));
    }
    let mut holds = 0;
    b.switch.for_each_hold(&b.arena, |ingress, what, queue, _| {
        assert_eq!((ingress, what, queue), (0, Holds::Class(2), of.queue));
        holds += 1;
    });
    assert_eq!(holds, 4);
}
