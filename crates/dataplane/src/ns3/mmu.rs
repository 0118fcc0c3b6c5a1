//! Accounting of the shared buffer as in the ns-3 simulator of HPCC (rules in `specs/ns3.md`).
//!
//! It differs from `pipeline/mmu.rs` in three rules. A packet uses headroom if its ingress (port
//! and class) exceeds the threshold in the shared pool, even if the ingress is not paused. A port
//! faster than the NICs has a larger threshold. An ingress is paused at its threshold, not above
//! it.

use crate::config::{Accounting, Pfc, PfcThreshold};
use crate::event::Level;
use crate::space::{Excess, Space};
use crate::units::{NS, Rate, Time};

/// Returns the headroom of a port: `delays` times the bytes in flight on its link in one direction.
// NS3-10
#[must_use]
pub(crate) fn headroom_bytes(rate: Rate, delay_ps: Time, delays: u32) -> u64 {
    let in_flight = u128::from(rate.bps()) * u128::from(delay_ps / NS) / 8 / 1_000_000_000;
    in_flight as u64 * u64::from(delays)
}

/// Returns n for a port's threshold of 2^-n · free bytes.
// NS3-11
fn halvings(shift: u32, nic_bps: u64, port_bps: u64) -> u32 {
    let (mut shift, mut bps) = (shift, port_bps);
    while bps > nic_bps && shift > 0 {
        shift -= 1;
        bps /= 2;
    }
    shift
}

#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    /// Bytes of the ingress in its reserve and in the shared pool.
    bytes: u64,
    headroom: u64,
}

#[derive(Clone, Copy, Debug)]
struct Port {
    headroom_limit: u64,
    halvings: u32,
}

/// Byte counters and thresholds of the buffer of one switch.
#[derive(Debug)]
pub(crate) struct Books {
    ports: Vec<Port>,
    /// Byte counters per ingress port and class.
    ingress: Vec<Ingress>,
    classes: usize,
    reserved: u64,
    /// Bytes of the buffer that are neither reserve nor headroom.
    shared_bytes: u64,
    shared_used: u64,
    xon_offset: u64,
}

impl Books {
    /// Creates the byte counters of a switch, or returns `None` if its PFC has other accounting
    /// rules. `shared_bytes` is the size of the buffer without reserve and headroom.
    pub fn new(
        pfc: &Pfc,
        links: &[(Rate, Time)],
        classes: usize,
        reserved: u64,
        shared_bytes: u64,
    ) -> Option<Self> {
        let Accounting::Ns3 {
            shift,
            nic_bps,
            headroom_delays,
        } = pfc.accounting
        else {
            return None;
        };
        let port = |&(rate, delay_ps): &(Rate, Time)| Port {
            headroom_limit: pfc
                .headroom
                .unwrap_or_else(|| headroom_bytes(rate, delay_ps, headroom_delays)),
            halvings: match pfc.threshold {
                PfcThreshold::Dynamic(_) => halvings(shift, nic_bps, rate.bps()),
                PfcThreshold::Static(_) | PfcThreshold::Equal => 0, // refused by the scenario
            },
        };
        Some(Self {
            ports: links.iter().map(port).collect(),
            ingress: vec![Ingress::default(); links.len() * classes],
            classes,
            reserved,
            shared_bytes,
            shared_used: 0,
            xon_offset: pfc.xon_offset,
        })
    }

    fn at(&self, port: u16, class: u8) -> usize {
        port as usize * self.classes + class as usize
    }

    // NS3-11
    fn threshold(&self, port: u16) -> u64 {
        let free = self.shared_bytes.saturating_sub(self.shared_used);
        free >> self.ports[port as usize].halvings
    }

    fn beyond(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.reserved)
    }

    /// NS3-12: returns the space (pool or headroom) for a packet, or `None` if it must be dropped.
    pub fn verdict(&self, port: u16, class: u8, size: u64) -> Option<Space> {
        let ingress = &self.ingress[self.at(port, class)];
        let threshold = self.threshold(port);
        let no_headroom = ingress.headroom + size > self.ports[port as usize].headroom_limit;
        if no_headroom && self.beyond(ingress.bytes) + size > threshold {
            return None;
        }
        let bytes = ingress.bytes + size;
        if bytes > self.reserved && bytes - self.reserved > threshold {
            Some(Space::Headroom)
        } else {
            Some(Space::Pool)
        }
    }

    /// NS3-12: counts an accepted packet. Returns the bytes of its ingress beyond the reserve.
    pub fn enter(&mut self, port: u16, class: u8, size: u64, space: Space) -> Excess {
        let at = self.at(port, class);
        let before = self.beyond(self.ingress[at].bytes);
        match space {
            Space::Headroom => self.ingress[at].headroom += size,
            Space::Pool => {
                self.ingress[at].bytes += size;
                self.shared_used += self.beyond(self.ingress[at].bytes) - before;
            }
        }
        self.excess(port, class)
    }

    /// Subtracts a packet. Returns the bytes of its ingress that remain beyond the reserve.
    pub fn leave(&mut self, port: u16, class: u8, size: u64) -> Excess {
        let at = self.at(port, class);
        let before = self.beyond(self.ingress[at].bytes);
        let ingress = &mut self.ingress[at];
        let from_headroom = ingress.headroom.min(size);
        ingress.headroom -= from_headroom;
        ingress.bytes -= size - from_headroom;
        self.shared_used -= before - self.beyond(self.ingress[at].bytes);
        self.excess(port, class)
    }

    /// Returns the bytes of an ingress beyond its reserve, in the pool and in the headroom.
    pub fn excess(&self, port: u16, class: u8) -> Excess {
        let ingress = &self.ingress[self.at(port, class)];
        Excess {
            pool: self.beyond(ingress.bytes),
            headroom: ingress.headroom,
        }
    }

    /// NS3-13: returns true if an ingress with these bytes beyond its reserve must be paused.
    pub fn must_pause(&self, port: u16, excess: Excess) -> bool {
        excess.headroom > 0 || excess.pool >= self.threshold(port)
    }

    /// NS3-14: returns true if an ingress with these bytes beyond its reserve may be resumed.
    pub fn may_resume(&self, port: u16, excess: Excess) -> bool {
        let low = excess.pool == 0 || excess.pool + self.xon_offset <= self.threshold(port);
        excess.headroom == 0 && low
    }

    /// Returns the buffered bytes of an ingress and its threshold.
    // SPFC-40
    pub fn level(&self, port: u16, class: u8) -> Level {
        let ingress = &self.ingress[self.at(port, class)];
        Level {
            held_bytes: ingress.bytes + ingress.headroom,
            threshold_bytes: self.threshold(port),
            pool_bytes: self.shared_used,
            victim: false,
        }
    }

    /// Checks that the byte counters agree. `used` is the number of bytes in the whole buffer.
    pub fn audit(&self, used: u64) -> Result<(), String> {
        let held: u64 = self.ingress.iter().map(|i| i.bytes + i.headroom).sum();
        let shared: u64 = self.ingress.iter().map(|i| self.beyond(i.bytes)).sum();
        if held != used || shared != self.shared_used {
            return Err(format!(
                "ingresses hold {held} B, {shared} B of them in the pool; counted are {used} B and {} B",
                self.shared_used
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Alpha, PauseTime};
    use crate::units::US;

    const FAST: (Rate, Time) = (Rate::from_gbps(400), US);
    const PLAIN: (Rate, Time) = (Rate::from_gbps(100), US);

    fn books(shared: u64, links: &[(Rate, Time)]) -> Books {
        let pfc = Pfc {
            accounting: Accounting::Ns3 {
                shift: 3,
                nic_bps: 100_000_000_000,
                headroom_delays: 3,
            },
            threshold: PfcThreshold::Dynamic(Alpha::new(0.125)),
            victims: None,
            xon_offset: 3072,
            frame_bytes: 43,
            headroom: None,
            headroom_pool: None,
            headroom_beside: false,
            response_ps: 0,
            pause: PauseTime::UntilResumed,
        };
        Books::new(&pfc, links, 3, 4096, shared).unwrap()
    }

    // NS3-10, NS3-11
    #[test]
    fn headroom_and_share_follow_the_rate() {
        assert_eq!(headroom_bytes(PLAIN.0, PLAIN.1, 3), 37_500);
        assert_eq!(headroom_bytes(FAST.0, FAST.1, 3), 150_000);
        let b = books(800_000, &[PLAIN, FAST]);
        assert_eq!((b.threshold(0), b.threshold(1)), (100_000, 400_000));
        assert_eq!(halvings(3, 100, 25), 3, "slower ports are not punished");
        assert_eq!(halvings(3, 100, 101), 2);
        assert_eq!(halvings(3, 1, 1 << 20), 0);
    }

    // FGC-07
    #[test]
    fn headroom_is_as_many_delays_as_asked_for_in_whole_bytes() {
        const HOP: Time = 600_000;
        assert_eq!(headroom_bytes(PLAIN.0, HOP, 8), 60_000);
        assert_eq!(headroom_bytes(FAST.0, HOP, 8), 240_000);
        // 33 ns at 10 Gbps are 41.25 B in one direction, rounded down to 41 B before the
        // multiplication by 8.
        assert_eq!(headroom_bytes(Rate::from_gbps(10), 33_000, 8), 8 * 41);
    }

    // NS3-12, NS3-13, NS3-14
    #[test]
    fn at_the_threshold_it_pauses_then_fills_headroom_and_resumes_below() {
        let mut b = books(80_000, &[PLAIN, PLAIN]);
        let mut inside = 0;
        loop {
            assert_eq!(b.verdict(0, 2, 1000), Some(Space::Pool));
            let excess = b.enter(0, 2, 1000, Space::Pool);
            inside += 1000;
            if b.must_pause(0, excess) {
                break;
            }
        }
        // used >= (80 000 - used) / 8 is first true at 8904 B beyond the reserve.
        assert_eq!(inside, 13_000);
        // With one more packet, 9904 B would lie beyond the reserve, above the threshold of 8887 B.
        assert_eq!(b.verdict(0, 2, 1000), Some(Space::Headroom));
        for nth in 1..=37 {
            assert_eq!(b.verdict(0, 2, 1000), Some(Space::Headroom));
            assert_eq!(b.enter(0, 2, 1000, Space::Headroom).headroom, nth * 1000);
        }
        assert_eq!(b.verdict(0, 2, 1000), None, "38 000 are more than 37 500");
        assert_eq!(b.verdict(1, 2, 1000), Some(Space::Pool));
        for _ in 0..37 {
            let excess = b.leave(0, 2, 1000);
            assert!(!b.may_resume(0, excess), "headroom leaves first");
        }
        // The pool then has 7904, 6904, 5904 B. 5904 B is at least 3072 B below the threshold of
        // (80 000 - 5904) / 8 = 9262 B.
        for may_resume in [false, false, true] {
            let excess = b.leave(0, 2, 1000);
            assert_eq!(b.may_resume(0, excess), may_resume);
        }
        assert_eq!(b.shared_used, 5904);
        b.audit(10_000).unwrap();
    }
}
