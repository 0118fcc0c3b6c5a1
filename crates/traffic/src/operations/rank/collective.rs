//! Collectives of a rank: executes the steps of a plan, lane by lane.

use super::{Came, Rank, Timer};
use crate::Error;
use crate::collectives::{Algorithm, Part, Step, plan};
use crate::operation::{Collective, Work};
use crate::operations::actions::Actions;
use crate::operations::lanes::Running;
use crate::operations::message::{Message, MessageId, Role, Scope};
use crate::operations::options::SendEnd;
use crate::operations::window::SlotNumber;
use kernel::Time;
use std::collections::BTreeMap;

impl Rank {
    pub(super) fn begin_collective(&mut self, slot: SlotNumber, actions: &mut impl Actions) {
        if let Work::Collective(collective) = &mut self.window.get_mut(slot).work {
            count_instance(&mut self.counted, collective);
        }
        let Work::Collective(collective) = &self.window.get(slot).work else {
            return;
        };
        let members = self.workload.members(collective.group);
        let prepared = members
            .position(self.number)
            .ok_or_else(|| "this rank is not in its group".to_owned())
            .and_then(|position| {
                let algorithm = self.workload.algorithm(collective)?;
                algorithm.check(collective.kind, members.count())?;
                Ok((position, algorithm))
            });
        let (position, algorithm): (u32, Algorithm) = match prepared {
            Ok(prepared) => prepared,
            Err(why) => {
                let index = self.window.get(slot).index;
                let what = format!("rank {}, operation {index}: {why}", self.number);
                return actions.failed(Error::new(what));
            }
        };
        let part = Part::of(collective, position, members.count());
        let scope = scope_of(collective);
        let running = Running::new(plan(&part, &algorithm), members, scope);
        let lanes = running.plan.lanes();
        self.of_scope.insert(scope, slot);
        self.running.insert(slot, running);
        self.lanes.extend((0..lanes).map(|lane| (slot, lane)));
        self.end_collective_if_over(slot);
    }

    /// Executes steps of a lane until it must wait or has ended. // OPS-33
    pub(super) fn advance(
        &mut self,
        slot: SlotNumber,
        lane: u32,
        now: Time,
        actions: &mut impl Actions,
    ) {
        let mut resumed = Vec::new();
        loop {
            let running = self.running.get_mut(&slot).expect("it is under way");
            match running.next(lane, &mut resumed) {
                None => break,
                Some(Step::Send { to, span, tag }) => {
                    self.send_step(slot, lane, (to, span.bytes, tag), now, actions);
                    let running = self.running.get_mut(&slot).expect("it is under way");
                    running.pass(lane, &mut resumed);
                }
                Some(Step::Receive { from, tag, .. }) => {
                    let from = running.members.rank(from);
                    match self.early.remove(&(running.scope, from, tag)) {
                        None => {
                            running.awaited.insert((from, tag), lane);
                            break;
                        }
                        Some(came) => {
                            let over = self.receive_step(slot, lane, came, now);
                            if over > now {
                                self.set_timer(over, Timer::Lane(slot, lane));
                                break;
                            }
                            let running = self.running.get_mut(&slot).expect("it is under way");
                            running.pass(lane, &mut resumed);
                        }
                    }
                }
                Some(Step::Await { .. }) => unreachable!("awaits are passed inside"),
            }
        }
        self.lanes
            .extend(resumed.into_iter().map(|lane| (slot, lane)));
        self.end_collective_if_over(slot);
    }

    /// Executes a send step of a lane. // OPS-16, OPS-17, OPS-37: overhead, latency, copy
    pub(super) fn send_step(
        &mut self,
        slot: SlotNumber,
        lane: u32,
        (to, bytes, tag): (u32, u64, u64),
        now: Time,
        actions: &mut impl Actions,
    ) {
        let (overhead_ps, per_byte, copy_ps) = {
            let options = self.options();
            let copy_ps = options.copy_ps;
            (options.overhead_ps, options.overhead_per_byte, copy_ps)
        };
        let operation = self.window.get(slot);
        let Work::Collective(collective) = &operation.work else {
            return;
        };
        let running = self.running.get_mut(&slot).expect("it is under way");
        running.sends_open += 1;
        let handed_over = running.host_busy_until.max(now) + overhead_ps;
        running.host_busy_until = handed_over + per_byte.times(bytes.saturating_sub(1));
        let channel = running.plan.channel(lane);
        let message = Message {
            id: MessageId {
                rank: self.number,
                index: operation.index,
                part: u64::from(lane) << 32 | u64::from(running.step_of(lane)),
                role: Role::Data,
            },
            from: self.number,
            to: running.members.rank(to),
            bytes,
            scope: running.scope,
            tag,
            channel: collective.channel.wrapping_add(channel),
            nic: operation.nic.wrapping_add(channel),
            class: collective.class,
            on_received: None,
        };
        let copied = handed_over + if running.begins(lane) { copy_ps } else { 0 };
        running.note_send(lane, now);
        let latency_ps =
            self.workload
                .options
                .latency_ps(collective.latency_ps, self.number, message.to);
        self.emit(message, copied + latency_ps, now, actions);
    }

    /// Returns the time at which the host has processed the message of a lane's receive step.
    // OPS-16, OPS-34, OPS-37: overhead, reduction, copy
    pub(super) fn receive_step(
        &mut self,
        slot: SlotNumber,
        lane: u32,
        came: Came,
        now: Time,
    ) -> Time {
        let bytes = came.bytes;
        let receive_ps = self.receive_ps(bytes);
        let options = &self.workload.options;
        let host_ps =
            options.overhead_ps + options.overhead_per_byte.times(bytes.saturating_sub(1));
        let operation = self.window.get_mut(slot);
        operation.has_message = true;
        operation.arrived_from = (came.from.0, came.from.1);
        operation.arrived_part = came.from.2;
        let running = self.running.get_mut(&slot).expect("it is under way");
        running.note_receipt(lane);
        let step = running.plan.step(lane, running.step_of(lane));
        let reduces = matches!(step, Step::Receive { reduce: true, .. });
        let nic = operation.nic.wrapping_add(running.plan.channel(lane));
        let at = now
            .max(self.nics.free_at(nic, true))
            .max(running.host_busy_until);
        running.host_busy_until = at + host_ps;
        self.nics.occupy(nic, true, at, bytes);
        let reduction_ps = if reduces {
            options.reduction_ps_of(bytes)
        } else {
            0
        };
        // Messages that arrived since the last send of the lane are copied in parallel.
        let copied = came.at.max(running.sent_at(lane)) + options.copy_ps;
        at.max(copied) + receive_ps + reduction_ps
    }

    /// Handles an arriving message of a collective. This rank possibly has not started the
    /// collective yet.
    pub(super) fn collective_message(&mut self, message: &Message, now: Time) {
        let &Message {
            id,
            scope,
            tag,
            bytes,
            ..
        } = message;
        let came = Came {
            from: (id.rank, id.index, id.part),
            bytes,
            at: now,
        };
        let waiting = self.of_scope.get(&scope).and_then(|&slot| {
            let running = self.running.get_mut(&slot)?;
            Some((slot, running.awaited.remove(&(id.rank, tag))?))
        });
        let Some((slot, lane)) = waiting else {
            self.early.insert((scope, id.rank, tag), came);
            return;
        };
        let over = self.receive_step(slot, lane, came, now);
        if over == now {
            self.lane_received(slot, lane);
        } else {
            self.set_timer(over, Timer::Lane(slot, lane));
        }
    }

    pub(super) fn lane_received(&mut self, slot: SlotNumber, lane: u32) {
        let mut resumed = Vec::new();
        let running = self.running.get_mut(&slot).expect("it is under way");
        running.pass(lane, &mut resumed);
        self.lanes.push_back((slot, lane));
        self.lanes
            .extend(resumed.into_iter().map(|lane| (slot, lane)));
    }

    pub(super) fn end_collective_if_over(&mut self, slot: SlotNumber) {
        let eager = self.options().send_end == SendEnd::Eager;
        if let Some(running) = self.running.get(&slot)
            && running.lanes_over()
            && (eager || running.sends_open == 0)
            && !self.leaves_later(slot)
        {
            self.running.remove(&slot);
            self.ending.push_back(slot);
        }
    }

    /// True if messages of the collective in a slot have not entered the network yet.
    pub(super) fn leaves_later(&self, slot: SlotNumber) -> bool {
        let index = self.window.get(slot).index;
        let mut leaving = self.leaving.values();
        leaving.any(|message| {
            message.id.index == index
                && message.id.rank == self.number
                && message.scope != Scope::Program
        })
    }
}

/// Sets the instance number of a collective without one, by counting per group. // OPS-30
pub(super) fn count_instance(
    counted: &mut BTreeMap<Option<u32>, u64>,
    collective: &mut Collective,
) {
    if collective.instance.is_none() {
        let next = counted.entry(collective.group).or_default();
        collective.instance = Some(*next);
        *next += 1;
    }
}

pub(super) fn scope_of(collective: &Collective) -> Scope {
    Scope::Collective {
        group: collective.group,
        instance: collective.instance.unwrap_or(0),
    }
}
