//! Sequence numbers of data and credits between two switches. They restore windows after losses.

use crate::mixed::MixedMap;
use crate::units::Time;

/// Sequence numbers of the data that one egress port sends to one destination.
#[derive(Clone, Copy, Debug)]
struct Stream {
    port: u16,
    dst: u32,
    /// Units sent so far (serial number of 32 bits).
    sent: u32,
    /// Units credited so far (serial number of 32 bits).
    credited: u32,
    /// Time of the last credit or switchSYN; before the first, the time of the first packet in
    /// flight.
    credited_ps: Time,
    /// True if a timer is set for this stream.
    has_timer: bool,
}

/// Action at the expiry of a stream's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// No action: the stream has no data in flight.
    Over,
    /// Check again at this time.
    Until(Time),
    /// Send a switchSYN with (port, destination, last number sent), and check again at the time in
    /// the fourth field.
    Ask(u16, u32, u32, Time),
}

/// Sequence numbers of all streams that a switch sends.
#[derive(Debug)]
pub(super) struct Numbers {
    timeout_ps: Time,
    streams: Vec<Stream>,
    index: MixedMap<u64, u32>,
    /// Units sent but not credited, over all streams.
    pub in_flight: u64,
}

impl Numbers {
    pub fn new(timeout_ps: Time) -> Self {
        Self {
            timeout_ps,
            streams: Vec::new(),
            index: MixedMap::default(),
            in_flight: 0,
        }
    }

    /// Assigns a sequence number to a packet that is sent. Returns the number and, if a timer must
    /// be set, its expiry and the index of the stream.
    // FG-30, FG-33
    pub fn send(
        &mut self,
        now: Time,
        port: u16,
        dst: u32,
        units: u32,
    ) -> (u32, Option<(Time, u32)>) {
        let next = self.streams.len() as u32;
        let key = u64::from(port) << 32 | u64::from(dst);
        let nth = *self.index.entry(key).or_insert(next);
        if nth == next {
            self.streams.push(Stream {
                port,
                dst,
                sent: 0,
                credited: 0,
                credited_ps: now,
                has_timer: false,
            });
        }
        let stream = &mut self.streams[nth as usize];
        if stream.sent == stream.credited {
            stream.credited_ps = now;
        }
        stream.sent = stream.sent.wrapping_add(units);
        self.in_flight += u64::from(units);
        let timer = (!stream.has_timer).then_some((now + self.timeout_ps, nth));
        stream.has_timer = true;
        (stream.sent, timer)
    }

    /// Processes the sequence number of a credit. Returns the units to refund to the window.
    // FG-31, FG-32
    pub fn credited(&mut self, now: Time, port: u16, dst: u32, number: u32) -> u32 {
        let key = u64::from(port) << 32 | u64::from(dst);
        let Some(&nth) = self.index.get(&key) else {
            return 0;
        };
        let stream = &mut self.streams[nth as usize];
        stream.credited_ps = now;
        let units = number.wrapping_sub(stream.credited);
        if units > stream.sent.wrapping_sub(stream.credited) {
            return 0; // an outdated credit
        }
        stream.credited = number;
        debug_assert!(self.in_flight >= u64::from(units), "units in flight"); // FG-31
        self.in_flight -= u64::from(units);
        units
    }

    /// Treats the data in flight of the streams (port, destination) that `is_over` selects as lost.
    /// Returns pairs of destination and units that must be refunded.
    // LNK-27
    pub fn forget(&mut self, is_over: impl Fn(u16, u32) -> bool) -> Vec<(u32, u32)> {
        let mut over = Vec::new();
        for stream in &mut self.streams {
            if !is_over(stream.port, stream.dst) {
                continue;
            }
            let units = stream.sent.wrapping_sub(stream.credited);
            stream.credited = stream.sent;
            debug_assert!(self.in_flight >= u64::from(units), "units in flight");
            self.in_flight -= u64::from(units);
            if units > 0 {
                over.push((stream.dst, units));
            }
        }
        over
    }

    /// Returns the action at the expiry of a stream's timer.
    // FG-33
    pub fn silence(&mut self, now: Time, nth: u32) -> Silence {
        let stream = &mut self.streams[nth as usize];
        if stream.sent == stream.credited {
            stream.has_timer = false;
            return Silence::Over;
        }
        let until = stream.credited_ps + self.timeout_ps;
        if until > now {
            return Silence::Until(until);
        }
        stream.credited_ps = now;
        Silence::Ask(stream.port, stream.dst, stream.sent, now + self.timeout_ps)
    }

    /// Returns the number of streams, for the report of memory.
    pub fn len(&self) -> usize {
        self.streams.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::US;

    // FG-30, FG-31, FG-32: credits are cumulative
    #[test]
    fn credits_that_were_lost_are_in_the_next_and_old_ones_say_nothing() {
        let mut n = Numbers::new(1000 * US);
        for number in 1..=5 {
            assert_eq!(n.send(0, 1, 7, 1).0, number);
        }
        assert_eq!(n.send(0, 2, 7, 1).0, 1, "each port counts by itself");
        assert_eq!(n.in_flight, 6);
        assert_eq!(
            n.credited(1, 1, 7, 3),
            3,
            "also if the credits of 1 and 2 were lost"
        );
        assert_eq!(n.credited(1, 1, 7, 2), 0);
        assert_eq!(n.credited(1, 1, 7, 9), 0, "never sent");
        assert_eq!(n.credited(1, 1, 7, 5), 2);
        assert_eq!(n.in_flight, 1);
    }

    // LNK-27: streams of a failed link
    #[test]
    fn what_was_sent_by_a_link_that_failed_is_over_and_late_credits_say_nothing() {
        let mut n = Numbers::new(US);
        for _ in 0..5 {
            n.send(0, 1, 7, 1);
        }
        n.send(0, 1, 8, 2);
        n.send(0, 2, 7, 1);
        n.credited(1, 1, 7, 2);
        assert_eq!(n.forget(|port, _| port == 1), [(7, 3), (8, 2)]);
        assert_eq!(n.in_flight, 1, "by the other port");
        assert_eq!(n.forget(|port, _| port == 1), []);
        assert_eq!(n.credited(2, 1, 7, 4), 0, "of before");
        assert_eq!(n.send(3, 1, 7, 1).0, 6);
        assert_eq!(n.credited(4, 1, 7, 5), 0);
        assert_eq!(n.credited(4, 1, 7, 6), 1);
    }

    // FG-30: overflow of sequence numbers
    #[test]
    fn numbers_go_round() {
        let mut n = Numbers::new(US);
        n.send(0, 0, 1, u32::MAX);
        assert_eq!(n.credited(0, 0, 1, u32::MAX), u32::MAX);
        assert_eq!(n.send(0, 0, 1, 3).0, 2);
        assert_eq!(n.credited(0, 0, 1, 2), 3);
        assert_eq!(n.in_flight, 0);
    }

    // FG-33: timeout without credits
    #[test]
    fn silence_is_asked_about_until_nothing_is_in_flight() {
        let mut n = Numbers::new(10 * US);
        let (_, timer) = n.send(US, 3, 7, 2);
        assert_eq!(timer, Some((11 * US, 0)));
        assert_eq!(n.send(2 * US, 3, 7, 2).1, None, "one timer is enough");
        n.credited(5 * US, 3, 7, 1);
        assert_eq!(n.silence(11 * US, 0), Silence::Until(15 * US));
        assert_eq!(n.silence(15 * US, 0), Silence::Ask(3, 7, 4, 25 * US));
        assert_eq!(n.silence(25 * US, 0), Silence::Ask(3, 7, 4, 35 * US));
        n.credited(26 * US, 3, 7, 4);
        assert_eq!(n.silence(35 * US, 0), Silence::Over);
        assert_eq!(n.send(50 * US, 3, 7, 1).1, Some((60 * US, 0)));
    }
}
