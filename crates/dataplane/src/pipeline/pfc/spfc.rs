//! SPFC: detects ingress ports that carry victim flows, with the circuit of Fig. 10 of the paper
//! for every port. The rules are in `specs/spfc.md`. `thresholds.rs` applies the larger threshold
//! of victim ports.

mod spec;

use crate::classes::{ClassSet, class_labels};
use crate::config::{Departures, VictimConfig};
use crate::declaration::Counter;
use crate::units::{Rate, Time};
pub use spec::{ABOUT, Interval, VictimParams, WORD};

/// Counter: packets that victim ports accepted above the normal threshold without a pause.
pub(super) const SPARED: Counter = Counter::sum("spfc_spared");
/// Counter: maximum number of bytes of victim ports beyond the shared pool of a switch.
pub(super) const BESIDE: Counter = Counter::largest("spfc_beside_bytes");
/// Counter: pauses of ports that were victim ports until the pause.
pub(super) const VICTIM_PAUSES: Counter = Counter::sum("spfc_victim_pauses");

/// Circuit that detects a victim port: a timer, a rate counter and a state holder per ingress port
/// (Fig. 10 of the SPFC paper).
#[derive(Clone, Copy, Debug)]
struct Port {
    /// TC (timer): end of the current counting interval.
    ends_ps: Time,
    /// IRC (rate counter): departures in the current interval, in packets or bytes.
    departed: u64,
    /// Output of the rate counter at the end of the last interval.
    was_enough: bool,
    /// Counting number: number of departures from which the output of the rate counter is 1.
    enough: u64,
    /// SH (state holder): true for a victim port.
    is_victim: bool,
    /// Classes that the port pauses, as a bit set. While a class is paused, the port is no victim
    /// port (the state holder is reset).
    pausing: ClassSet,
    /// True before the first RESUME, if the configuration lets no port become a victim port before.
    awaits_resume: bool,
}

/// Detection of victim ports for all ports of a switch.
#[derive(Debug)]
pub(super) struct Victims {
    config: VictimConfig,
    ports: Vec<Port>,
}

/// SPFC-13, SPFC-14, SPFC-22: returns the number of departures per interval from which a port of
/// this rate is a victim port.
#[must_use]
pub fn counting_number(config: &VictimConfig, rate: Rate, max_frame: u16) -> u64 {
    let rate = config.rate.unwrap_or(rate);
    let bytes = u128::from(rate.bytes_in(config.interval_ps)) << 16;
    let unit = match config.count {
        Departures::Packets => u128::from(max_frame),
        Departures::Bytes => 1,
    };
    let number = bytes.div_ceil(u128::from(config.k.max(1)) * unit);
    (number as u64).max(1)
}

impl Victims {
    pub fn new(config: VictimConfig, rates: impl Iterator<Item = Rate>, max_frame: u16) -> Self {
        let port = |rate| Port {
            ends_ps: config.interval_ps,
            departed: 0,
            was_enough: false,
            enough: counting_number(&config, rate, max_frame),
            is_victim: false,
            pausing: 0,
            awaits_resume: config.unpaused_waits, // SPFC-16: before the first pause
        };
        Self {
            config,
            ports: rates.map(port).collect(),
        }
    }

    /// Ends all counting intervals up to `now`. At each end the port becomes a victim port if it
    /// had enough departures and pauses no class. Otherwise it becomes a normal port.
    // SPFC-10, SPFC-11, SPFC-19
    #[inline]
    fn advance(&mut self, now: Time, port: u16) {
        let interval_ps = self.config.interval_ps;
        let p = &mut self.ports[port as usize];
        if now < p.ends_ps {
            return;
        }
        let whole = (now - p.ends_ps) / interval_ps;
        // If several intervals have ended, the last one had no departures.
        p.was_enough = whole == 0 && p.departed >= p.enough;
        p.is_victim = p.pausing == 0 && !p.awaits_resume && p.was_enough;
        p.departed = 0;
        p.ends_ps += (whole + 1) * interval_ps;
    }

    /// Returns true if the port is a victim port now.
    #[inline]
    pub fn is_victim(&mut self, now: Time, port: u16) -> bool {
        self.advance(now, port);
        self.ports[port as usize].is_victim
    }

    /// Like [`Self::is_victim`], but changes no state. Used for reports.
    // SPFC-19
    pub fn looks_victim(&self, now: Time, port: u16) -> bool {
        let p = &self.ports[port as usize];
        match now.checked_sub(p.ends_ps) {
            None => p.is_victim,
            Some(over) => {
                let enough = over < self.config.interval_ps && p.departed >= p.enough;
                enough && p.pausing == 0 && !p.awaits_resume
            }
        }
    }

    /// Counts a packet from ingress `port` that leaves the switch.
    // SPFC-11, SPFC-15, SPFC-21
    #[inline]
    pub fn departed(&mut self, now: Time, port: u16, size: u64) {
        self.advance(now, port);
        let p = &mut self.ports[port as usize];
        p.departed += match self.config.count {
            Departures::Packets => 1,
            Departures::Bytes => size,
        };
        let is_reset = p.pausing != 0 || p.awaits_resume;
        p.is_victim |= self.config.detects_at_once && p.departed >= p.enough && !is_reset;
    }

    /// Records that the port pauses a class. Returns true if it was a victim port until now.
    // SPFC-12, SPFC-17
    pub fn paused(&mut self, now: Time, port: u16, class: u8) -> bool {
        self.advance(now, port);
        let p = &mut self.ports[port as usize];
        p.pausing |= 1 << class;
        std::mem::take(&mut p.is_victim)
    }

    /// Records that the port resumes a class.
    // SPFC-12, SPFC-16, SPFC-17, SPFC-20
    pub fn resumed(&mut self, now: Time, port: u16, class: u8) {
        self.advance(now, port);
        let at_once = self.config.resumes_at_once;
        let p = &mut self.ports[port as usize];
        p.pausing &= !(1 << class);
        p.awaits_resume = false;
        if at_once && p.pausing == 0 {
            p.is_victim = p.was_enough || p.departed >= p.enough;
        }
    }

    /// Compares the paused classes recorded here with those of PFC (`paused`, a bit set per port).
    /// Returns the description of a difference.
    // AUD-01
    pub fn audit(&self, paused: &[ClassSet]) -> Option<String> {
        let ports = (0u16..).zip(paused);
        let mut wrong = ports.filter(|&(port, &classes)| self.pausing(port) != classes);
        wrong.next().map(|(port, classes)| {
            format!(
                "port {port} pauses {}, and SPFC counts {}",
                class_labels(*classes),
                class_labels(self.pausing(port))
            )
        })
    }

    /// Returns the classes that a port pauses, as recorded here.
    pub fn pausing(&self, port: u16) -> ClassSet {
        self.ports[port as usize].pausing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Beside;
    use crate::units::US;
    use proptest::prelude::*;

    const RATE: Rate = Rate::from_gbps(100);

    fn config(interval_ps: Time, count: Departures) -> VictimConfig {
        VictimConfig {
            interval_ps,
            k: 5 << 16,
            rate: None,
            count,
            detects_at_once: false,
            unpaused_waits: false,
            resumes_at_once: false,
            beside: Beside::Bytes(0),
        }
    }

    /// Returns a port that becomes a victim port after 3 departures per interval.
    fn three() -> Victims {
        let config = VictimConfig {
            k: 1 << 16,
            ..config(80 * 3000, Departures::Packets)
        };
        let victims = Victims::new(config, [RATE].into_iter(), 1000);
        assert_eq!(victims.ports[0].enough, 3);
        victims
    }

    // SPFC-13, SPFC-14, SPFC-15, SPFC-18, SPFC-22
    #[test]
    fn the_counting_number_is_what_the_line_sends_in_tc_over_k() {
        // 4 round trips of 20 us at 100 Gbps are 1 MB, 1000 packets of 1000 B.
        let packets = config(80 * US, Departures::Packets);
        assert_eq!(counting_number(&packets, RATE, 1000), 200);
        assert_eq!(counting_number(&packets, Rate::from_gbps(400), 1000), 800);
        assert_eq!(counting_number(&packets, RATE, 1048), 191, "190.8 packets");
        let bytes = config(80 * US, Departures::Bytes);
        assert_eq!(counting_number(&bytes, RATE, 1048), 200_000);
        let common = VictimConfig {
            rate: Some(Rate::from_gbps(400)),
            ..packets
        };
        assert_eq!(counting_number(&common, RATE, 1000), 800);
        let short = config(1, Departures::Packets);
        assert_eq!(counting_number(&short, RATE, 1000), 1);
    }

    // SPFC-11, SPFC-12: truth table of the state holder (Fig. 10), for each previous state
    #[test]
    fn truth_table_of_the_state_holder() {
        for (reset, full, before, after) in [
            (false, false, false, false),
            (false, false, true, false),
            (false, true, false, true),
            (false, true, true, true),
            (true, false, false, false),
            (true, false, true, false),
            (true, true, false, false),
            (true, true, true, false),
        ] {
            let mut v = three();
            v.ports[0].is_victim = before;
            (0..if full { 3 } else { 2 }).for_each(|_| v.departed(10, 0, 1000));
            assert_eq!(v.is_victim(20, 0), before, "constant within the interval");
            if reset {
                assert_eq!(v.paused(30, 0, 2), before);
                assert!(!v.is_victim(30, 0), "a pause resets at once");
            }
            let end = v.ports[0].ends_ps;
            assert!(!reset || !v.is_victim(end - 1, 0));
            assert_eq!(v.is_victim(end, 0), after, "{reset} {full} {before}");
        }
    }

    // SPFC-12: after a RESUME the state holder changes only at the end of the interval.
    #[test]
    fn a_resume_frees_the_state_holder_but_sets_nothing() {
        let mut v = three();
        v.paused(5, 0, 2);
        (0..3).for_each(|_| v.departed(10, 0, 1000));
        v.resumed(20, 0, 2);
        let end = v.ports[0].ends_ps;
        assert!(!v.is_victim(end - 1, 0));
        assert!(v.is_victim(end, 0), "what departed during the pause counts");
        // The port is paused at the end of an interval: departures of that interval do not count.
        (0..3).for_each(|_| v.departed(end + 1, 0, 1000));
        v.paused(end + 2, 0, 2);
        assert!(!v.is_victim(2 * end, 0));
        v.resumed(2 * end, 0, 2);
        assert!(!v.is_victim(3 * end - 1, 0));
        assert!(!v.is_victim(3 * end, 0), "nothing departed in this one");
    }

    // SPFC-20
    #[test]
    fn a_resume_sets_the_state_at_once_where_told_by_this_interval_or_the_last() {
        let at_once = |departures: [usize; 2]| {
            let mut v = three();
            v.config.resumes_at_once = true;
            let end = v.ports[0].ends_ps;
            (0..departures[0]).for_each(|_| v.departed(10, 0, 1000));
            v.paused(end + 1, 0, 2);
            v.paused(end + 1, 0, 3);
            (0..departures[1]).for_each(|_| v.departed(end + 2, 0, 1000));
            v.resumed(end + 3, 0, 2);
            assert!(!v.is_victim(end + 3, 0), "class 3 is still paused");
            v.resumed(end + 4, 0, 3);
            (v.is_victim(end + 4, 0), v.is_victim(2 * end, 0))
        };
        assert_eq!(at_once([3, 2]), (true, false));
        assert_eq!(at_once([2, 3]), (true, true));
        assert_eq!(at_once([2, 2]), (false, false));
    }

    // SPFC-21
    #[test]
    fn the_departure_that_reaches_the_counting_number_makes_a_victim_at_once() {
        let mut v = three();
        v.config.detects_at_once = true;
        (0..2).for_each(|_| v.departed(10, 0, 1000));
        assert!(!v.is_victim(10, 0));
        v.departed(11, 0, 1000);
        assert!(v.is_victim(11, 0));
        assert!(v.paused(12, 0, 2), "a pause resets the state");
        v.departed(13, 0, 1000);
        assert!(
            !v.is_victim(13, 0),
            "the state stays reset until the RESUME"
        );
        v.resumed(14, 0, 2);
        assert!(!v.is_victim(14, 0));
        v.departed(15, 0, 1000);
        assert!(v.is_victim(15, 0));
    }

    // SPFC-17
    #[test]
    fn one_state_for_all_classes() {
        let mut v = three();
        v.paused(1, 0, 2);
        v.paused(2, 0, 3);
        v.resumed(3, 0, 2);
        (0..3).for_each(|_| v.departed(4, 0, 1000));
        let end = v.ports[0].ends_ps;
        assert!(!v.is_victim(end, 0), "class 3 is still paused");
        v.resumed(end, 0, 3);
        (0..3).for_each(|_| v.departed(end, 0, 1000));
        assert!(v.is_victim(2 * end, 0));
        assert_eq!(v.pausing(0), 0);
    }

    // SPFC-16
    #[test]
    fn a_port_that_was_never_paused_counts_as_resumed_unless_it_is_to_wait() {
        let mut v = three();
        (0..3).for_each(|_| v.departed(1, 0, 1000));
        let end = v.ports[0].ends_ps;
        assert!(v.is_victim(end, 0));
        let mut v = three();
        v.ports[0].awaits_resume = true;
        (0..3).for_each(|_| v.departed(1, 0, 1000));
        assert!(!v.is_victim(end, 0));
        v.paused(end + 1, 0, 2);
        v.resumed(end + 2, 0, 2);
        (0..3).for_each(|_| v.departed(end + 3, 0, 1000));
        assert!(v.is_victim(2 * end, 0));
    }

    #[derive(Clone, Copy, Debug)]
    enum Op {
        Depart,
        Pause,
        Resume,
    }

    /// Reference model: the same circuit, simulated in steps of one picosecond.
    struct Clocked {
        tc: Time,
        left: Time,
        irc: u64,
        sh: bool,
        reset: bool,
    }

    impl Clocked {
        fn tick(&mut self) {
            self.left -= 1;
            if self.left == 0 {
                self.sh = !self.reset && self.irc >= 3;
                self.irc = 0;
                self.left = self.tc;
            }
        }
    }

    proptest! {
        // SPFC-10, SPFC-11, SPFC-12, SPFC-19, SPFC-21
        #[test]
        fn doing_it_when_touched_is_as_good_as_a_clock(
            detects_at_once: bool,
            steps in proptest::collection::vec((0u64..40, prop_oneof![
                6 => Just(Op::Depart), 1 => Just(Op::Pause), 1 => Just(Op::Resume),
            ], any::<bool>()), 1..200),
        ) {
            let tc = 50;
            let mut v = three();
            v.config.interval_ps = tc;
            v.config.detects_at_once = detects_at_once;
            v.ports[0].ends_ps = tc;
            let mut c = Clocked { tc, left: tc, irc: 0, sh: false, reset: false };
            let mut now = 0;
            for (gap, op, look) in steps {
                (0..gap).for_each(|_| c.tick());
                now += gap;
                match op {
                    Op::Depart => {
                        v.departed(now, 0, 1000);
                        c.irc += 1;
                        c.sh |= detects_at_once && !c.reset && c.irc >= 3;
                    }
                    Op::Pause => {
                        prop_assert_eq!(v.paused(now, 0, 2), c.sh);
                        (c.sh, c.reset) = (false, true);
                    }
                    Op::Resume => {
                        v.resumed(now, 0, 2);
                        c.reset = false;
                    }
                }
                prop_assert_eq!(v.looks_victim(now, 0), c.sh);
                if look {
                    prop_assert_eq!(v.is_victim(now, 0), c.sh);
                }
            }
        }
    }
}
