//! Credits of Floodgate at the downstream switch: credits of each ingress port for the upstream
//! switch, and the times at which they are sent.

use super::config::{Aggregation, CreditConfig};
use super::frames::Credit;
use crate::mixed::MixedMap;
use crate::units::{NEVER, Time};

/// Largest number of destinations in a credit frame.
// FG-25
const MOST_IN_FRAME: usize = 66;

/// Credits of one ingress port for one destination.
#[derive(Clone, Copy, Debug)]
struct Pending {
    dst: u32,
    /// Window units whose credit was earned but not sent yet.
    units: u32,
    /// Bytes of the packets that earned these units.
    bytes: u64,
    /// Sequence number of the last packet that arrived.
    seen: u32,
    /// Window units that arrived and whose credit is not earned yet.
    resident: u32,
}

/// Credit state of an ingress port.
#[derive(Clone, Debug, Default)]
struct Ingress {
    /// Indices of the entries of `Credits::pending` with unsent units, in the order in which their
    /// first unit was earned.
    due: Vec<u32>,
    /// Bytes of the entries in `due`, except bytes that were withheld when they were earned.
    ready_bytes: u64,
    /// Time of the last credit frame.
    last_ps: Time,
    /// Expiry of the timer; [`NEVER`] if it is not set.
    timer_ps: Time,
}

/// Credits of all ingress ports of a switch.
#[derive(Debug)]
pub(super) struct Credits {
    config: CreditConfig,
    ports: Vec<Ingress>,
    pending: Vec<Pending>,
    index: MixedMap<u64, u32>,
    /// Window units whose credit was earned but not sent yet, over all ports.
    pub owed: u64,
    /// Window units that arrived and whose credit is not earned yet, over all ports.
    pub resident: u64,
    pub arrived: u64,
    pub told: u64,
    /// Number of times that credits of a destination were due and withheld.
    pub withheld: u64,
}

#[inline]
const fn at(port: u16, dst: u32) -> u64 {
    (port as u64) << 32 | dst as u64
}

impl Aggregation {
    /// Returns the first expiry after `now` of the credit timer. Its period started at `last_ps`.
    // FG-23, FG-60
    fn next_ps(&self, last_ps: Time, now: Time) -> Time {
        let rounds = (now - last_ps) / self.interval_ps + 1;
        let Some(generator_ps) = self.generator_ps else {
            return last_ps + rounds * self.interval_ps;
        };
        let earliest = (last_ps + self.interval_ps).max(now + 1);
        earliest.next_multiple_of(generator_ps)
    }
}

impl Credits {
    pub fn new(config: CreditConfig, ports: usize) -> Self {
        let ingress = Ingress {
            timer_ps: NEVER,
            ..Ingress::default()
        };
        Self {
            config,
            ports: vec![ingress; ports],
            pending: Vec::new(),
            index: MixedMap::default(),
            owed: 0,
            resident: 0,
            arrived: 0,
            told: 0,
            withheld: 0,
        }
    }

    fn entry(&mut self, port: u16, dst: u32) -> u32 {
        let next = self.pending.len() as u32;
        let nth = *self.index.entry(at(port, dst)).or_insert(next);
        if nth == next {
            self.pending.push(Pending {
                dst,
                units: 0,
                bytes: 0,
                seen: 0,
                resident: 0,
            });
        }
        nth
    }

    /// Counts an arriving packet. `number` is the sequence number that the upstream switch gave to
    /// the packet, if it uses sequence numbers.
    // FG-30
    #[inline]
    pub fn arrived(&mut self, port: u16, dst: u32, units: u32, number: Option<u32>) {
        self.arrived += u64::from(units);
        self.resident += u64::from(units);
        if let Some(number) = number {
            let nth = self.entry(port, dst);
            let entry = &mut self.pending[nth as usize];
            entry.seen = number;
            entry.resident += units;
        }
    }

    /// Records the number in a switchSYN: the upstream switch has sent all window units up to this
    /// number.
    // FG-33
    pub fn asked(&mut self, port: u16, dst: u32, number: u32) {
        let nth = self.entry(port, dst);
        let entry = &mut self.pending[nth as usize];
        if number.wrapping_sub(entry.seen) as i32 > 0 {
            entry.seen = number;
        }
    }

    /// Adds the credit for a packet. Returns true if a credit frame is due immediately.
    // FG-20, FG-22, FG-24
    #[inline]
    pub fn earn(
        &mut self,
        port: u16,
        dst: u32,
        (units, bytes): (u32, u32),
        numbered: bool,
        withheld: bool,
    ) -> bool {
        let nth = self.entry(port, dst);
        let entry = &mut self.pending[nth as usize];
        if numbered {
            // FG-31: the number in a credit covers packets that have left this switch.
            debug_assert!(
                entry.resident >= units,
                "units of destination {dst} in this switch"
            );
            entry.resident -= units;
        }
        let ingress = &mut self.ports[port as usize];
        if entry.units == 0 {
            ingress.due.push(nth);
        }
        entry.units += units;
        entry.bytes += u64::from(bytes);
        debug_assert!(
            self.resident >= u64::from(units),
            "units of all destinations in this switch"
        );
        self.resident -= u64::from(units);
        self.owed += u64::from(units);
        if withheld {
            return false;
        }
        ingress.ready_bytes += u64::from(bytes);
        match self.config.aggregation {
            None => true,
            Some(Aggregation {
                byte_counter: Some(enough),
                ..
            }) => ingress.ready_bytes >= enough,
            Some(_) => false,
        }
    }

    /// Sets the timer of a port if it is not set. Returns its expiry, or `None` if the timer was
    /// set before or the configuration has no timer.
    // FG-23, FG-27
    #[inline]
    pub fn start_timer(&mut self, port: u16, now: Time) -> Option<Time> {
        let aggregation = self.config.aggregation?;
        let ingress = &mut self.ports[port as usize];
        if ingress.timer_ps != NEVER {
            return None;
        }
        ingress.timer_ps = aggregation.next_ps(ingress.last_ps, now);
        Some(ingress.timer_ps)
    }

    /// Returns true if the timer of a port expires now, and clears it.
    pub fn timer_ended(&mut self, port: u16, now: Time) -> bool {
        let ingress = &mut self.ports[port as usize];
        let ended = ingress.timer_ps == now;
        if ended {
            ingress.timer_ps = NEVER;
        }
        ended
    }

    /// Returns true if the port has credits for enough bytes to send a frame now. Credits that are
    /// withheld do not count.
    // FG-24
    pub fn has_enough(&mut self, port: u16, withheld: impl Fn(u32) -> bool) -> bool {
        let Some(Aggregation {
            byte_counter: Some(enough),
            ..
        }) = self.config.aggregation
        else {
            return self.config.aggregation.is_none();
        };
        let ingress = &mut self.ports[port as usize];
        let pending = ingress.due.iter().map(|&nth| &self.pending[nth as usize]);
        ingress.ready_bytes = pending.filter(|d| !withheld(d.dst)).map(|d| d.bytes).sum();
        ingress.ready_bytes >= enough
    }

    /// Moves all credits of a port that are not withheld to `out`, in the order in which they were
    /// first earned.
    // FG-23, FG-26, FG-31
    pub fn collect(
        &mut self,
        port: u16,
        now: Time,
        withheld: impl Fn(u32) -> bool,
        out: &mut Vec<Credit>,
    ) {
        let ingress = &mut self.ports[port as usize];
        let (pending, owed, told, kept) = (
            &mut self.pending,
            &mut self.owed,
            &mut self.told,
            &mut self.withheld,
        );
        ingress.due.retain(|&nth| {
            let entry = &mut pending[nth as usize];
            if withheld(entry.dst) {
                *kept += 1;
                return true;
            }
            out.push(Credit {
                dst: entry.dst,
                units: entry.units,
                number: entry.seen.wrapping_sub(entry.resident),
            });
            debug_assert!(
                *owed >= u64::from(entry.units),
                "units that no credit was sent for"
            );
            *owed -= u64::from(entry.units);
            *told += u64::from(entry.units);
            entry.units = 0;
            entry.bytes = 0;
            false
        });
        ingress.ready_bytes = 0;
        if !out.is_empty() {
            ingress.last_ps = now;
            // FG-23: the timer restarts with each frame, so its earlier expiry is cancelled.
            ingress.timer_ps = NEVER;
        }
    }

    /// Returns the credit that answers a switchSYN. If credits are withheld, it has 0 units and
    /// returns nothing to the window.
    // FG-33
    pub fn answer(&mut self, port: u16, dst: u32, withheld: bool) -> Credit {
        let nth = self.entry(port, dst);
        let entry = &mut self.pending[nth as usize];
        let number = entry.seen.wrapping_sub(entry.resident);
        if withheld {
            return Credit {
                dst,
                units: 0,
                number: number.wrapping_sub(entry.units),
            };
        }
        let units = std::mem::take(&mut entry.units);
        entry.bytes = 0;
        debug_assert!(
            self.owed >= u64::from(units),
            "units that no credit was sent for"
        );
        self.owed -= u64::from(units);
        self.told += u64::from(units);
        self.ports[port as usize].due.retain(|&due| due != nth);
        Credit { dst, units, number }
    }

    /// Returns true if a port has earned but not sent credits for a destination.
    pub fn owes(&self, port: u16, dst: u32) -> bool {
        let nth = self.index.get(&at(port, dst));
        nth.is_some_and(|&nth| self.pending[nth as usize].units > 0)
    }

    /// Returns the size of a credit frame with this number of destinations, in bytes.
    // FG-25
    pub const fn frame_bytes(&self, entries: usize) -> u16 {
        self.config.frame_bytes + self.config.entry_bytes * entries as u16
    }

    /// Splits credits into groups that each fit into one frame.
    pub fn frames(credits: &[Credit]) -> impl Iterator<Item = &[Credit]> {
        credits.chunks(MOST_IN_FRAME)
    }

    /// Returns the number of credit counters, for the report of memory.
    pub fn entries(&self) -> usize {
        self.pending.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::floodgate::config::CreditAt;
    use crate::units::US;

    fn credits(byte_counter: Option<u64>, generator_ps: Option<Time>) -> Credits {
        let config = CreditConfig {
            aggregation: Some(Aggregation {
                interval_ps: 10 * US,
                byte_counter,
                generator_ps,
            }),
            at: CreditAt::Departure,
            delay: None,
            frame_bytes: 34,
            entry_bytes: 22,
        };
        Credits::new(config, 2)
    }

    fn one(credits: &mut Credits, dst: u32) -> bool {
        credits.arrived(0, dst, 1, Some(1));
        credits.earn(0, dst, (1, 1000), true, false)
    }

    // FG-23: timer of credits
    #[test]
    fn the_timer_goes_round_without_frames_and_begins_anew_with_one() {
        let mut c = credits(None, None);
        assert!(!one(&mut c, 5));
        assert_eq!(c.start_timer(0, 34 * US), Some(40 * US));
        assert_eq!(c.start_timer(0, 35 * US), None, "it is set");
        assert!(!c.timer_ended(0, 39 * US));
        assert!(c.timer_ended(0, 40 * US));
        let mut out = Vec::new();
        c.collect(0, 40 * US, |_| false, &mut out);
        assert_eq!(out.len(), 1);
        assert!(!one(&mut c, 5));
        assert_eq!(c.start_timer(0, 40 * US), Some(50 * US));
        assert_eq!((c.owed, c.told), (1, 1));
    }

    // FG-24: credits for enough bytes do not wait
    #[test]
    fn enough_bytes_are_sent_at_once_and_the_timer_begins_then() {
        let mut c = credits(Some(2500), None);
        assert!(!one(&mut c, 5));
        assert!(!one(&mut c, 6));
        assert!(one(&mut c, 5));
        assert!(c.has_enough(0, |_| false));
        assert!(
            !c.has_enough(0, |dst| dst == 5),
            "withheld ones do not count"
        );
        assert_eq!(c.start_timer(0, 3 * US), Some(10 * US));
        let mut out = Vec::new();
        c.collect(0, 3 * US, |_| false, &mut out);
        let told: Vec<_> = out.iter().map(|c| (c.dst, c.units)).collect();
        assert_eq!(told, [(5, 2), (6, 1)]);
        one(&mut c, 5);
        assert_eq!(c.start_timer(0, 4 * US), Some(13 * US));
        assert!(!c.timer_ended(0, 10 * US), "the old end is none");
        assert!(c.timer_ended(0, 13 * US));
    }

    // FG-26: withheld credits
    #[test]
    fn withheld_credits_stay_in_line() {
        let mut c = credits(None, None);
        one(&mut c, 5);
        one(&mut c, 6);
        let mut out = Vec::new();
        c.collect(0, 10 * US, |dst| dst == 5, &mut out);
        assert_eq!(out.iter().map(|c| c.dst).collect::<Vec<_>>(), [6]);
        assert!(c.owes(0, 5) && !c.owes(0, 6));
        assert_eq!((c.owed, c.withheld), (1, 1));
    }

    // FG-60: packet generator
    #[test]
    fn a_generator_rounds_up_to_its_next_packet() {
        let a = Aggregation {
            interval_ps: 10 * US,
            byte_counter: None,
            generator_ps: Some(3 * US),
        };
        assert_eq!(a.next_ps(0, US), 12 * US);
        assert_eq!(a.next_ps(0, 34 * US), 36 * US, "T has long passed");
        assert_eq!(a.next_ps(30 * US, 36 * US), 42 * US);
    }

    // FG-25: size of a credit frame
    #[test]
    fn a_frame_has_34_bytes_and_22_for_each_destination() {
        let c = credits(None, None);
        assert_eq!((c.frame_bytes(1), c.frame_bytes(66)), (56, 1486));
        let many: Vec<_> = (0..67)
            .map(|dst| Credit {
                dst,
                units: 1,
                number: 0,
            })
            .collect();
        assert_eq!(
            Credits::frames(&many).map(<[_]>::len).collect::<Vec<_>>(),
            [66, 1]
        );
    }

    // FG-31, FG-33: sequence number of a credit
    #[test]
    fn a_credit_tells_the_last_number_less_what_is_still_here() {
        let mut c = credits(None, None);
        c.arrived(0, 5, 1, Some(1));
        c.arrived(0, 5, 1, Some(4)); // the packets 2 and 3 were lost
        c.arrived(0, 5, 1, Some(5));
        c.earn(0, 5, (1, 1000), true, false);
        let told = c.answer(0, 5, true);
        assert_eq!(
            (told.units, told.number),
            (0, 2),
            "three are here or withheld"
        );
        let told = c.answer(0, 5, false);
        assert_eq!((told.units, told.number), (1, 3), "two are here");
        c.asked(0, 5, 9); // the packets 6 to 9 were lost
        c.asked(0, 5, 7); // an outdated switchSYN
        assert_eq!(c.answer(0, 5, false).number, 7);
        assert_eq!((c.owed, c.resident), (0, 2));
    }
}
