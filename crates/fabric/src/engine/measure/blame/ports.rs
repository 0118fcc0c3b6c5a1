//! Time that a port has spent sending, by kind of frame.

use dataplane::packet::{Kind, Packet, flag};
use dataplane::units::Time;

/// Kinds of frames that can delay a packet at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    #[default]
    Control,
    Other,
    Incast,
}

pub(super) const SORTS: usize = 3;

impl Sort {
    // BLM-21: packets wait behind incasts, other data and control frames
    pub fn of(packet: &Packet) -> Self {
        match packet.kind() {
            Kind::Data if packet.has(flag::INCAST) => Self::Incast,
            Kind::Data => Self::Other,
            _ => Self::Control,
        }
    }
}

/// Clock of a switch port: the time that the port has spent sending. It fits one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Port {
    /// Total time that the port has spent sending, by kind of frame. It includes the remaining time
    /// of the current frame.
    sent_ps: [Time; SORTS],
    /// Time at which the transmission of the current frame ends.
    until_ps: Time,
    sort: Sort,
    flow: u32,
    /// Number of followed packets that wait at the port and are not the only packets of their
    /// flows.
    pub not_alone: u32,
}

impl Port {
    /// Records that the port begins to send a frame. The transmission takes `takes_ps`.
    pub fn sends(&mut self, now: Time, packet: &Packet, takes_ps: Time) {
        self.until_ps = now + takes_ps;
        self.sort = Sort::of(packet);
        self.flow = packet.flow;
        self.sent_ps[self.sort as usize] += takes_ps;
    }

    /// Returns the time that the port has spent sending up to `now`, by kind of frame.
    pub fn sent_ps(&self, now: Time) -> [Time; SORTS] {
        let mut sent_ps = self.sent_ps;
        sent_ps[self.sort as usize] -= self.until_ps.saturating_sub(now);
        sent_ps
    }

    /// Returns the remaining transmission time of the current frame if it is a data packet of this
    /// flow, 0 otherwise.
    pub fn left_ps(&self, now: Time, flow: u32) -> Time {
        match self.flow == flow && self.sort != Sort::Control {
            true => self.until_ps.saturating_sub(now),
            false => 0,
        }
    }
}
