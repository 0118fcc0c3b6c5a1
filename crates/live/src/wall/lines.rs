//! The lines of a node's ports. A line paces its port to the link rate.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dataplane::units::{Rate, Time};

#[derive(Debug)]
struct Line {
    rate: Rate,
    /// Time at which the last bit of the last frame has left the port.
    free_ps: Time,
    up: bool,
}

/// Lines of all ports of a node. A line is busy while it sends a frame.
// WSW-30
#[derive(Debug)]
pub(crate) struct Lines {
    lines: Vec<Line>,
    /// Busy lines with the times at which they become free.
    busy: BinaryHeap<Reverse<(Time, u16)>>,
}

impl Lines {
    /// Creates lines with these rates, all free and up.
    pub fn new(rates: impl Iterator<Item = Rate>) -> Self {
        let line = |rate| Line {
            rate,
            free_ps: 0,
            up: true,
        };
        Self {
            lines: rates.map(line).collect(),
            busy: BinaryHeap::new(),
        }
    }

    /// True if a port may start to send a frame.
    pub fn is_free(&self, now: Time, port: u16) -> bool {
        let line = &self.lines[usize::from(port)];
        line.up && line.free_ps <= now
    }

    /// Starts a frame of `bytes` bytes at a port.
    pub fn send(&mut self, now: Time, port: u16, bytes: u16) {
        let line = &mut self.lines[usize::from(port)];
        line.free_ps = now + line.rate.serialisation_ps(bytes.into());
        self.busy.push(Reverse((line.free_ps, port)));
    }

    /// Time at which the next line becomes free.
    pub fn next(&self) -> Option<Time> {
        self.busy.peek().map(|Reverse((at, _))| *at)
    }

    /// Removes and returns the line that becomes free next.
    pub fn take_next(&mut self) -> Option<u16> {
        self.busy.pop().map(|Reverse((_, port))| port)
    }

    /// True if the link of a port is up.
    pub fn is_up(&self, port: u16) -> bool {
        self.lines[usize::from(port)].up
    }

    /// Sets the state of a port's link and frees its line. Returns true if the state changed.
    pub fn set_up(&mut self, now: Time, port: u16, up: bool) -> bool {
        let line = &mut self.lines[usize::from(port)];
        if line.up == up {
            return false;
        }
        line.up = up;
        line.free_ps = now;
        true
    }
}
