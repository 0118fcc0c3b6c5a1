//! Pause storms, which the PFC watchdog ends.

use super::*;
use dataplane::switch::Stranded;
use dataplane::watchdog::{Action, StormCounters, WatchdogConfig};

const DETECTION: Time = 10 * US;
const RESTORATION: Time = 4 * US;

fn bench(action: Action) -> Bench {
    let watchdog = WatchdogConfig {
        detection_ps: DETECTION,
        restoration_ps: RESTORATION,
        action,
    };
    Bench::new(&SwitchConfig {
        guard: Some(watchdog),
        ..config()
    })
}

impl Bench {
    fn timer_at(&mut self, now: Time) {
        self.now = now;
        self.switch.timer(now, &mut self.arena, &mut self.ears);
    }

    fn storms(&self) -> StormCounters {
        let mut queues = self.switch.storms();
        let counters = queues.next().map(|(_, _, counters)| *counters);
        assert!(queues.next().is_none(), "only one class is ever paused");
        counters.unwrap_or_default()
    }
}

// PFCWD-01, PFCWD-03, PFCWD-04, PFCWD-08: detection and restoration
#[test]
fn a_class_in_a_storm_sends_until_the_pauses_stop() {
    let mut b = bench(Action::Forward);
    b.receive(0, data(1, 3, 0));
    b.receive(3, pause_classes(true, 1 << 2));
    assert_eq!(b.ears.wakes, [DETECTION]);
    b.timer_at(DETECTION - 1);
    assert!(b.all(3).is_empty());
    b.timer_at(DETECTION);
    assert_eq!(b.all(3).len(), 1, "the pause is ignored");
    assert_eq!((b.storms().storms, b.storms().drops), (1, 0));
    // A repeated pause frame continues the storm.
    b.now = DETECTION + RESTORATION - 1;
    b.receive(3, pause_classes(true, 1 << 2));
    b.receive(0, data(1, 3, 1));
    b.timer_at(DETECTION + RESTORATION);
    assert_eq!(b.all(3).len(), 1);
    let end = DETECTION + 2 * RESTORATION - 1;
    b.timer_at(end);
    assert_eq!(b.storms().restorations, 1);
    // PFCWD-05: the neighbour still pauses the class.
    b.receive(0, data(1, 3, 2));
    assert!(b.all(3).is_empty());
    b.timer_at(end + DETECTION);
    assert_eq!((b.storms().storms, b.all(3).len()), (2, 1));
    b.sound();
}

// PFCWD-02, PFCWD-05: drops during a storm
#[test]
fn a_storm_drops_what_waits_and_what_arrives() {
    let mut b = bench(Action::Drop);
    for psn in 0..3 {
        b.receive(0, data(1, 3, psn));
    }
    b.receive(0, data(2, 2, 7));
    b.receive(3, pause_classes(true, 1 << 2));
    b.timer_at(DETECTION);
    b.receive(0, data(1, 3, 3));
    let lost = [0, 1, 2, 3].map(|psn| (psn, DropCause::Link));
    assert_eq!(b.ears.drops, lost);
    assert_eq!(b.storms().drops, 4);
    assert_eq!(b.all(2).len(), 1, "other ports are not concerned");
    b.sound();
    b.receive(3, pause_classes(false, 1 << 2));
    b.timer_at(DETECTION + RESTORATION);
    b.receive(0, data(1, 3, 4));
    assert_eq!(b.all(3).len(), 1);
    b.sound();
}

// PFCWD-01: conditions of a storm
#[test]
fn no_storm_begins_without_packets_or_after_a_resume() {
    let mut b = bench(Action::Drop);
    b.receive(3, pause_classes(true, 1 << 2));
    b.timer_at(DETECTION);
    assert_eq!(b.storms().storms, 0, "nothing waits");
    b.receive(0, data(1, 3, 0));
    b.receive(3, pause_classes(false, 1 << 2));
    b.now += 1;
    b.receive(3, pause_classes(true, 1 << 2));
    b.timer_at(2 * DETECTION);
    assert_eq!(b.storms().storms, 0, "the timer began anew");
    b.timer_at(2 * DETECTION + 1);
    assert_eq!(b.storms().storms, 1);
    b.sound();
}

// PFCWD-06: a link failure ends a storm
#[test]
fn a_link_that_fails_ends_a_storm() {
    let mut b = bench(Action::Forward);
    b.receive(0, data(1, 3, 0));
    b.receive(3, pause_classes(true, 1 << 2));
    b.timer_at(DETECTION);
    for up in [false, true] {
        b.switch.link(
            b.now,
            3,
            (!up).then_some(Stranded::Wait),
            &mut b.arena,
            &mut b.ears,
        );
    }
    b.receive(3, pause_classes(true, 1 << 2));
    assert!(b.all(3).is_empty(), "the class is paused again");
    b.timer_at(DETECTION + RESTORATION);
    assert_eq!(b.storms().restorations, 0);
    b.sound();
}
