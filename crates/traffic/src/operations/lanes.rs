//! An active collective of a rank: the state of its lanes (concurrent step sequences). // OPS-33

use super::message::Scope;
use super::workload::Members;
use crate::collectives::{Plan, Step};
use kernel::Time;
use std::collections::BTreeMap;

/// An active collective at one rank, with the state of its lanes (sequences of steps).
#[derive(Debug)]
pub(super) struct Running {
    pub plan: Box<dyn Plan>,
    pub members: Members,
    pub scope: Scope,
    /// Number of completed steps, by lane.
    done: Vec<u32>,
    /// For each lane, the index of the step after its last receive; 0 if it has received nothing.
    received: Vec<u32>,
    /// Time at which each lane last sent a message.
    sent_at: Vec<Time>,
    lanes_open: u32,
    /// Number of sent messages whose last ACK has not arrived.
    pub sends_open: u64,
    /// Waiting lanes: (other lane for which it waits, number of steps that the other lane must
    /// complete, waiting lane).
    waiting: Vec<(u32, u32, u32)>,
    /// Time at which the host has processed all messages that arrived so far.
    pub host_busy_until: Time,
    /// Lanes that wait for a message, by the position of the sender and the tag.
    pub awaited: BTreeMap<(u32, u64), u32>,
}

impl Running {
    pub fn new(plan: Box<dyn Plan>, members: Members, scope: Scope) -> Self {
        let lanes = plan.lanes();
        Self {
            plan,
            members,
            scope,
            done: vec![0; lanes as usize],
            received: vec![0; lanes as usize],
            sent_at: vec![0; lanes as usize],
            lanes_open: lanes,
            sends_open: 0,
            waiting: Vec::new(),
            host_busy_until: 0,
            awaited: BTreeMap::new(),
        }
    }

    /// Returns the next step of a lane that moves data. Returns `None` if the lane waits for
    /// another lane, or has ended. Steps with an empty byte range are skipped. // OPS-36
    pub fn next(&mut self, lane: u32, resumed: &mut Vec<u32>) -> Option<Step> {
        loop {
            let step = self.done[lane as usize];
            if step == self.plan.steps(lane) {
                self.lanes_open -= 1;
                return None;
            }
            match self.plan.step(lane, step) {
                Step::Await { lane: other, steps } => {
                    if self.done[other as usize] < steps {
                        self.waiting.push((other, steps, lane));
                        return None;
                    }
                    self.pass(lane, resumed);
                }
                Step::Send { span, .. } | Step::Receive { span, .. } if span.bytes == 0 => {
                    self.pass(lane, resumed);
                }
                step => return Some(step),
            }
        }
    }

    /// Completes the current step of a lane. Appends the lanes that waited for this step to
    /// `resumed`.
    pub fn pass(&mut self, lane: u32, resumed: &mut Vec<u32>) {
        self.done[lane as usize] += 1;
        let done = self.done[lane as usize];
        self.waiting.retain(|&(other, steps, waiting)| {
            let met = other == lane && steps <= done;
            if met {
                resumed.push(waiting);
            }
            !met
        });
    }

    /// Index of the current step of a lane.
    pub fn step_of(&self, lane: u32) -> u32 {
        self.done[lane as usize]
    }

    /// Records that a lane has sent a message.
    pub fn note_send(&mut self, lane: u32, now: Time) {
        self.sent_at[lane as usize] = now;
    }

    /// Time at which a lane last sent a message; 0 if it has sent none.
    pub fn sent_at(&self, lane: u32) -> Time {
        self.sent_at[lane as usize]
    }

    /// Records that a lane has received a message in its current step.
    pub fn note_receipt(&mut self, lane: u32) {
        self.received[lane as usize] = self.done[lane as usize] + 1;
    }

    /// True if a lane has received no message of its current chunk. // OPS-37
    pub fn begins(&self, lane: u32) -> bool {
        let step = self.step_of(lane);
        self.received[lane as usize] <= self.plan.begin_of_chunk(lane, step)
    }

    /// Fraction of the collective's steps that this rank has completed, from 0 to 1.
    pub fn part_done(&self) -> f64 {
        let steps: u64 = (0..self.plan.lanes())
            .map(|lane| u64::from(self.plan.steps(lane)))
            .sum();
        let done: u64 = self.done.iter().map(|&done| u64::from(done)).sum();
        match steps {
            0 => 0.0,
            steps => done as f64 / steps as f64,
        }
    }

    /// True if all lanes have completed all their steps.
    pub fn lanes_over(&self) -> bool {
        self.lanes_open == 0
    }
}
