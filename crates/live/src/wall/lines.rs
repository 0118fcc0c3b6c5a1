//! The lines (transmitters) of a node's ports. A line limits its port to the link rate.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dataplane::units::{Rate, Time};

#[derive(Debug)]
struct Line {
    rate: Rate,
    /// Time at which the last bit of the last frame has left the port, ps.
    free_ps: Time,
    up: bool,
}

/// The lines of all ports of a node. A line is busy while it sends a frame.
// WSW-30: link rate
#[derive(Debug)]
pub(crate) struct Lines {
    lines: Vec<Line>,
    /// Busy lines, each with the time at which it becomes free.
    busy: BinaryHeap<Reverse<(Time, u16)>>,
}

impl Lines {
    /// Creates lines with these link rates. All lines are free and up.
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

    /// True if a port may start to send a frame now.
    pub fn is_free(&self, now: Time, port: u16) -> bool {
        let line = &self.lines[usize::from(port)];
        line.up && line.free_ps <= now
    }

    /// Starts to send a frame of `bytes` bytes at a port.
    pub fn send(&mut self, now: Time, port: u16, bytes: u16) {
        let line = &mut self.lines[usize::from(port)];
        line.free_ps = now + line.rate.serialisation_ps(bytes.into());
        self.busy.push(Reverse((line.free_ps, port)));
    }

    /// Time at which the next busy line becomes free, if any.
    pub fn next(&self) -> Option<Time> {
        self.busy.peek().map(|Reverse((at, _))| *at)
    }

    /// Removes the busy line that becomes free next, and returns its port.
    pub fn take_next(&mut self) -> Option<u16> {
        self.busy.pop().map(|Reverse((_, port))| port)
    }

    /// True if the link of a port is up.
    pub fn is_up(&self, port: u16) -> bool {
        self.lines[usize::from(port)].up
    }

    /// Sets the link of a port up or down, and frees its line. Returns true if the state of the
    /// link changed.
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
