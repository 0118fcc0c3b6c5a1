//! A flow at its receiver: which packets have arrived, and when a CNP must report ECN marks.

use crate::config::NicConfig;
use crate::packet::{Packet, flag};
use crate::reliability::Received;
use crate::units::{NEVER, Time};

/// A flow at its receiver, until its last byte has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    pub received: Received,
    /// One above the highest packet number that arrived, if the sender sprays packets over paths.
    pub highest: u32,
    /// True if a marked packet has arrived since the last ACK.
    pub marked: bool,
    /// True if a marked packet has arrived in the current CNP interval (DCQCN-32).
    noted: bool,
    /// Time of the last CNP, or start of the current CNP interval if intervals run from the first
    /// packet on. [`NEVER`] before the first CNP or packet.
    notified_ps: Time,
}

impl Incoming {
    pub const NEW: Self = Self {
        received: Received::NEW,
        highest: 0,
        marked: false,
        noted: false,
        notified_ps: NEVER,
    };

    /// Returns true if a CNP must be sent for a packet.
    // NIC-11, DCQCN-23
    #[inline]
    pub fn notify(&mut self, now: Time, config: &NicConfig, packet: &Packet) -> bool {
        let marked = packet.has(flag::CE);
        if !(marked || config.host.cnp_cycle) || config.cnp_classes >> packet.class() & 1 == 0 {
            return false;
        }
        let Some(interval_ps) = config.cnp_interval_ps else {
            return false;
        };
        if config.host.cnp_cycle {
            return self.notify_in_cycle(now, interval_ps, marked);
        }
        let due = self.notified_ps == NEVER || now - self.notified_ps >= interval_ps;
        if due {
            self.notified_ps = now;
        }
        due
    }

    /// Like [`Self::notify`], if CNP intervals run from the flow's first packet on. A mark of the
    /// first packet causes a CNP at once. Later marks cause a CNP after the end of their interval.
    // DCQCN-32
    #[cold]
    #[inline(never)]
    fn notify_in_cycle(&mut self, now: Time, interval_ps: Time, marked: bool) -> bool {
        if self.notified_ps == NEVER {
            self.notified_ps = now;
            return marked;
        }
        let mut due = false;
        let over_ps = now - self.notified_ps;
        if over_ps >= interval_ps {
            self.notified_ps = now - over_ps % interval_ps.max(1);
            due = std::mem::take(&mut self.noted);
        }
        self.noted |= marked;
        due
    }
}
