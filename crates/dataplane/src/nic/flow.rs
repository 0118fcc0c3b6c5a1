//! A flow at its sender.

use crate::flow::FlowStart;
use crate::ids::FlowSlot;
use crate::paths::Spray;
use crate::reliability::{Progress, Repair};
use crate::units::{NEVER, Time};
use crate::wait::Wait;

/// State of a flow at its sender: the reason why it waits, or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// May send, and is in the send ring of its port and class.
    Ready,
    /// Waits for its pacing time `next_ps`.
    Paced,
    /// Waits for an acknowledgement: its window is full, or all its packets have been sent.
    Blocked,
    /// Its queue, or the flow itself, is paused.
    Parked,
    /// Its destination is paused.
    Waiting,
    /// Its receiver cannot be reached, because links are down.
    Cut,
    /// Finished, but still linked in a send ring.
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
    /// Index of its queue at the port of the NIC.
    pub queue: u16,
    /// Index of its queue pair, which is also the index of the congestion control. Equals the slot
    /// of the flow if queue pairs are not shared.
    pub pair: u32,
    /// Number of packets of the whole flow.
    pub packets: u32,
    /// Next packet number to send.
    pub next: u32,
    /// All packets below this number are acknowledged.
    pub acked: u32,
    /// All packets below this number have been sent at least once.
    pub reached: u32,
    pub retransmitted: u32,
    /// Pacing time: earliest start of the next packet.
    pub next_ps: Time,
    /// Time at which the last new ACK arrived, or at which a packet was sent with none in flight.
    pub progress_ps: Time,
    /// Time at which the flow sent a packet that requests an acknowledgement and has not received
    /// it, or [`NEVER`] if there is no such packet.
    pub asked_ps: Time,
    /// True if the timer [`TimerKind::Rise`](super::timers::TimerKind::Rise) is set.
    pub rising: bool,
    /// State of the loss recovery.
    pub repair: Repair,
    /// Paths of the packets, if the sender chooses them.
    pub spray: Option<Box<Spray>>,
}

impl Flow {
    /// Returns the number of payload bytes that the flow must still send, or send again.
    // NIC-30
    pub const fn remaining(&self) -> u64 {
        let sent = self.next as u64 * self.start.path.mtu as u64;
        self.start.bytes.saturating_sub(sent)
    }

    /// Returns true if this flow has the ID `number` and has not finished.
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

    /// Returns the number of the packet to send now: a lost packet if there is one, else a new one.
    pub fn take_number(&mut self, now: Time) -> u32 {
        if let Some(psn) = self.repair.next_lost(self.acked) {
            self.repair.sent_again(now, psn);
            return psn;
        }
        self.next += 1;
        self.next - 1
    }

    /// Returns the reason for the wait of a flow that may not send: full window, or no data left.
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
