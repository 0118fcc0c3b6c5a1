//! Sends and receives of a rank.

use super::{Rank, Timer};
use crate::operation::{Receive, Send, Work};
use crate::operations::actions::Actions;
use crate::operations::matching::Arrived;
use crate::operations::message::{Message, MessageId, Role, Scope};
use crate::operations::options::{Matching, SendEnd};
use crate::operations::resources::Turn;
use crate::operations::window::{Phase, SlotNumber};
use kernel::Time;
use std::cmp::Reverse;

impl Rank {
    /// Returns the bytes that a send first puts on its NIC. The flag is true if they are the
    /// request of a rendezvous, and false if they are the payload.
    pub(super) fn first_bytes(&self, send: &Send) -> (u64, bool) {
        let limit = self.options().rendezvous_above_bytes;
        if limit.is_some_and(|limit| send.bytes > limit) {
            (self.options().rendezvous_message_bytes, true)
        } else {
            (send.bytes, false)
        }
    }

    pub(super) fn begin_send(
        &mut self,
        slot: SlotNumber,
        send: &Send,
        now: Time,
        actions: &mut impl Actions,
    ) {
        let (bytes, _) = self.first_bytes(send);
        let options = &self.workload.options;
        let rest_ps = options.overhead_per_byte.times(bytes.saturating_sub(1));
        // OPS-16, OPS-17: the message departs after the host overhead and the latency
        let depart = now + send.latency_ps + options.overhead_ps;
        let nic = self.window.get(slot).nic;
        self.nics.occupy(nic, false, now + send.latency_ps, bytes);
        if depart == now {
            self.depart(slot, now, actions);
        } else {
            self.set_timer(depart, Timer::Depart(slot));
        }
        if depart + rest_ps == now {
            self.handed_over(slot);
        } else {
            self.set_timer(depart + rest_ps, Timer::HandedOver(slot));
        }
    }

    /// Sends the message of a send operation, or the request of its rendezvous. // OPS-13
    pub(super) fn depart(&mut self, slot: SlotNumber, _: Time, actions: &mut impl Actions) {
        let Work::Send(send) = self.window.get(slot).work else {
            return;
        };
        let (bytes, request) = self.first_bytes(&send);
        let role = if request {
            Role::Request { bytes: send.bytes }
        } else {
            Role::Data
        };
        actions.send(self.message(slot, &send, bytes, role));
    }

    pub(super) fn message(&self, slot: SlotNumber, send: &Send, bytes: u64, role: Role) -> Message {
        let operation = self.window.get(slot);
        Message {
            id: MessageId {
                rank: self.number,
                index: operation.index,
                part: 0,
                role,
            },
            from: self.number,
            to: send.to,
            bytes,
            scope: Scope::Program,
            tag: send.tag,
            channel: send.channel,
            nic: operation.nic,
            class: send.class,
            on_received: send.on_received,
        }
    }

    pub(super) fn handed_over(&mut self, slot: SlotNumber) {
        self.window.get_mut(slot).handed_over = true;
        if !self.options().send_holds_to_end {
            // OPS-22: a send occupies its resource only during the overhead
            self.free_resource(slot);
        }
        self.end_send_if_over(slot);
    }

    /// Ends a send if the message has left the host and the event that ends a send has occurred.
    // OPS-14
    pub(super) fn end_send_if_over(&mut self, slot: SlotNumber) {
        let operation = self.window.get(slot);
        let Work::Send(send) = &operation.work else {
            return;
        };
        let eager = self.options().send_end == SendEnd::Eager && !self.first_bytes(send).1;
        if operation.handed_over && (eager || operation.acknowledged) {
            self.ending.push_back(slot);
        }
    }

    /// Sends the data of a rendezvous when the NIC is free, after the receiver has reported that it
    /// is ready. // OPS-13
    pub(super) fn cleared_to_send(&mut self, index: u32, now: Time, actions: &mut impl Actions) {
        let Some(slot) = self.window.slot_of(index) else {
            return;
        };
        let Work::Send(send) = self.window.get(slot).work else {
            return;
        };
        let message = self.message(slot, &send, send.bytes, Role::Data);
        self.emit(message, now, now, actions);
    }

    /// Sends a message at time `earliest`, or when its NIC is free if that is later.
    pub(super) fn emit(
        &mut self,
        message: Message,
        earliest: Time,
        now: Time,
        actions: &mut impl Actions,
    ) {
        let at = earliest.max(self.nics.free_at(message.nic, false));
        self.nics.occupy(message.nic, false, at, message.bytes);
        if at == now {
            actions.send(message);
        } else {
            self.timers_made += 1;
            let number = self.timers_made;
            self.leaving.insert(number, message);
            self.timers.push(Reverse((at, number, Timer::Emit(number))));
        }
    }

    pub(super) fn begin_receive(
        &mut self,
        slot: SlotNumber,
        receive: &Receive,
        now: Time,
        actions: &mut impl Actions,
    ) {
        match self.options().matching {
            Matching::TagAndSource => {
                if let Some(found) = self.by_tag.post(receive.from, receive.tag, slot) {
                    self.matched(slot, &found, now, actions);
                }
            }
            Matching::Bytes => {
                let (from, tag) = (receive.from.unwrap_or(0), receive.tag.unwrap_or(0));
                if self.by_bytes.post(from, tag, receive.bytes, slot) {
                    self.arrived(slot, (from, u32::MAX, 0), receive.bytes, now);
                }
            }
            Matching::None => {}
        }
    }

    pub(super) fn program_message(
        &mut self,
        message: &Message,
        now: Time,
        actions: &mut impl Actions,
    ) {
        let (rank, index) = (message.id.rank, message.id.index);
        let bytes = match message.id.role {
            Role::Clear => return self.cleared_to_send(index, now, actions),
            Role::Request { bytes } => bytes,
            Role::Data => message.bytes,
        };
        if let Some(slot) = self.cleared.remove(&(rank, index)) {
            return self.arrived(slot, (rank, index, 0), bytes, now);
        }
        match self.options().matching {
            Matching::TagAndSource => {
                let arrived = Arrived {
                    rank,
                    index,
                    bytes,
                    request: message.id.role != Role::Data,
                };
                if let Some(slot) = self.by_tag.arrive(rank, message.tag, arrived) {
                    self.matched(slot, &arrived, now, actions);
                }
            }
            Matching::Bytes => {
                for (slot, met) in self.by_bytes.arrive(rank, message.tag, bytes) {
                    self.arrived(slot, (rank, index, 0), met, now);
                }
            }
            Matching::None => {}
        }
    }

    /// Handles a receive that was matched with a message or with the request of a rendezvous.
    pub(super) fn matched(
        &mut self,
        slot: SlotNumber,
        found: &Arrived,
        now: Time,
        actions: &mut impl Actions,
    ) {
        if !found.request {
            return self.arrived(slot, (found.rank, found.index, 0), found.bytes, now);
        }
        // OPS-13: request the data from the sender
        self.cleared.insert((found.rank, found.index), slot);
        let operation = self.window.get(slot);
        let answer = Message {
            id: MessageId {
                rank: found.rank,
                index: found.index,
                part: 0,
                role: Role::Clear,
            },
            from: self.number,
            to: found.rank,
            bytes: self.options().rendezvous_message_bytes,
            scope: Scope::Program,
            tag: 0,
            channel: 0,
            nic: operation.nic,
            class: 0,
            on_received: None,
        };
        self.emit(answer, now, now, actions);
    }

    /// Handles the arrival of a receive's message. The receive ends after the host overhead.
    pub(super) fn arrived(
        &mut self,
        slot: SlotNumber,
        from: (u32, u32, u64),
        bytes: u64,
        now: Time,
    ) {
        let operation = self.window.get_mut(slot);
        operation.phase = Phase::Arrived;
        operation.has_message = true;
        operation.arrived_from = (from.0, from.1);
        operation.arrived_part = from.2;
        operation.arrived_bytes = bytes;
        let turn = self.turns.give(slot, operation);
        match operation.resource {
            Some(resource) if !operation.holds_resource => self.resources.enter(resource, turn),
            _ => self.process(turn, now),
        }
    }

    /// Starts the host overhead of a received message. // OPS-16
    pub(super) fn process(&mut self, turn: Turn, now: Time) {
        let slot = turn.2;
        let operation = self.window.get(slot);
        let (nic, bytes) = (operation.nic, operation.arrived_bytes);
        if self.nics.free_at(nic, true) > now {
            return self.park(turn, true);
        }
        self.take_resource(slot, now);
        self.window.get_mut(slot).phase = Phase::Processing;
        self.nics.occupy(nic, true, now, bytes);
        let over = now + self.receive_ps(bytes);
        if over == now {
            self.ending.push_back(slot);
        } else {
            self.set_timer(over, Timer::Processed(slot));
        }
    }

    /// Returns the time from the arrival of a message of s bytes to the end of its receive: o + (s
    /// − 1) max(O, G). // OPS-16
    pub(super) fn receive_ps(&self, bytes: u64) -> u64 {
        let options = self.options();
        let per_byte = options.overhead_per_byte.max(options.gap_per_byte);
        options.overhead_ps + per_byte.times(bytes.saturating_sub(1))
    }
}
