//! Processing time of a host: the NIC handles a received frame of a flow only after this time.

use std::collections::VecDeque;

use crate::config::Processing;
use crate::packet::{Arena, PacketId};
use crate::units::Time;

/// Frames that a host has not processed yet.
#[derive(Debug)]
pub(super) struct Host {
    config: Processing,
    /// Waiting frames, in the order in which their processing ends.
    waiting: VecDeque<Waiting>,
    /// Time at which the processor has served all waiting frames.
    busy_until_ps: Time,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    done_ps: Time,
    arrived_ps: Time,
    port: u16,
    id: PacketId,
}

impl Host {
    /// Creates a host without waiting frames.
    pub fn new(config: Processing) -> Self {
        Self {
            config,
            waiting: VecDeque::new(),
            busy_until_ps: 0,
        }
    }

    /// Adds a frame that arrived. If no other frame waits, returns the time at which the processing
    /// of this frame ends.
    // NIC-40, NIC-41
    pub fn take(&mut self, now: Time, port: u16, id: PacketId, arena: &Arena) -> Option<Time> {
        if let Some(rate) = self.config.rate {
            let bytes = u64::from(arena.hot(id).size);
            self.busy_until_ps = self.busy_until_ps.max(now) + rate.serialisation_ps(bytes);
        } else {
            self.busy_until_ps = now;
        }
        let done_ps = self.busy_until_ps + self.config.delay_ps;
        let first = self.waiting.is_empty();
        self.waiting.push_back(Waiting {
            done_ps,
            arrived_ps: now,
            port,
            id,
        });
        first.then_some(done_ps)
    }

    /// Removes and returns the next frame whose processing has ended, with its ingress port.
    // NIC-42
    pub fn next(&mut self, now: Time, arena: &mut Arena) -> Option<(u16, PacketId)> {
        if self.next_ps()? > now {
            return None;
        }
        let done = self.waiting.pop_front()?;
        let cold = arena.cold_mut(done.id);
        cold.remote_host_ps = std::mem::replace(&mut cold.local_host_ps, now - done.arrived_ps);
        Some((done.port, done.id))
    }

    /// Returns the time at which the processing of the next frame ends.
    pub fn next_ps(&self) -> Option<Time> {
        self.waiting.front().map(|frame| frame.done_ps)
    }

    /// Returns the number of frames that wait to be processed, for the invariant checks.
    pub fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }
}
