//! A flow at its sender.

use crate::flow::FlowStart;
use crate::ids::FlowSlot;
use crate::paths::Spray;
use crate::reliability::{Progress, Repair};
use crate::units::{NEVER, Time};
use crate::wait::Wait;

/// Reason for which a flow waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It is in the ring.
    Ready,
    /// Must not send before `next_ps`.
    Paced,
    /// It has no packet that it may send until an acknowledgement arrives.
    Blocked,
    /// Its queue is paused.
    Parked,
    /// Its destination is paused.
    Waiting,
    /// Its receiver cannot be reached.
    Cut,
    /// Finished, but still linked in a ring.
    Leaving,
    /// The slot is free.
    Free,
}

#[derive(Debug)]
pub(super) struct Flow {
    pub start: FlowStart,
    pub state: State,
    /// Next slot in the ring, among the parked flows of its queue, or among the free slots.
    pub link: FlowSlot,
    /// Class of its frames.
    pub class: u8,
    /// Queue of the NIC that it uses.
    pub queue: u16,
    /// Index of its queue pair and of the control of the queue pair. A flow that shares no queue
    /// pair: its slot.
    pub pair: u32,
    /// Number of packets.
    pub packets: u32,
    /// Next packet number to send.
    pub next: u32,
    /// All packets below this number are acknowledged.
    pub acked: u32,
    /// All packets below this number have been sent at least once.
    pub reached: u32,
    pub retransmitted: u32,
    /// Earliest start of the next packet.
    pub next_ps: Time,
    /// Time of the last progress: an ACK, or a first packet in flight.
    pub progress_ps: Time,
    /// Time at which the packet was sent that requests an acknowledgement and has none; [`NEVER`]:
    /// no packet does.
    pub asked_ps: Time,
    /// True if a timer [`TimerKind::Rise`](super::timers::TimerKind::Rise) is set.
    pub rising: bool,
    /// State of the loss recovery.
    pub repair: Repair,
    /// Paths of the packets, if the sender chooses them.
    pub spray: Option<Box<Spray>>,
}

impl Flow {
    /// Returns the payload bytes that it has not sent yet, or must send again.
    // NIC-30
    pub const fn remaining(&self) -> u64 {
        let sent = self.next as u64 * self.start.path.mtu as u64;
        self.start.bytes.saturating_sub(sent)
    }

    /// Returns true if this is the flow with this number, and it has not finished.
    #[inline]
    pub const fn is_open(&self, number: u32) -> bool {
        self.start.flow == number && !matches!(self.state, State::Free | State::Leaving)
    }

    /// Returns true if packets are in flight and more must be sent, but no packet in flight
    /// requests an acknowledgement, because the window has shrunk since.
    // NIC-09
    pub const fn must_ask(&self) -> bool {
        self.asked_ps == NEVER && self.next < self.packets && self.next > self.acked
    }

    /// Returns true if all packets have been sent at least once.
    pub const fn has_sent_all(&self) -> bool {
        self.next >= self.packets
    }

    /// Returns the number of the packet that is sent now: a lost one, or a new one.
    pub fn take_number(&mut self, now: Time) -> u32 {
        if let Some(psn) = self.repair.next_lost(self.acked) {
            self.repair.sent_again(now, psn);
            return psn;
        }
        self.next += 1;
        self.next - 1
    }

    /// Returns what a flow waits for that may send no packet.
    pub const fn blocked_by(&self) -> Wait {
        if self.next < self.packets {
            Wait::Window
        } else {
            Wait::Answers
        }
    }

    pub const fn progress(&self, mtu: u16) -> Progress {
        Progress {
            acked: self.acked,
            next: self.next,
            packets: self.packets,
            mtu,
        }
    }
}
