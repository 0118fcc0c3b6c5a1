//! The lines of a node's ports: each sends no faster than its rate.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dataplane::units::{Rate, Time};

#[derive(Debug)]
struct Line {
    rate: Rate,
    /// The last frame has left by then.
    free_ps: Time,
    up: bool,
}

/// When the ports of a node may send.
// WSW-30
#[derive(Debug)]
pub(crate) struct Lines {
    lines: Vec<Line>,
    /// When those will be free that send.
    busy: BinaryHeap<Reverse<(Time, u16)>>,
}

impl Lines {
    /// Ports of these rates, all free and up.
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

    /// Whether a port may begin a frame.
    pub fn is_free(&self, now: Time, port: u16) -> bool {
        let line = &self.lines[usize::from(port)];
        line.up && line.free_ps <= now
    }

    /// A port begins a frame that takes this many bytes.
    pub fn send(&mut self, now: Time, port: u16, bytes: u16) {
        let line = &mut self.lines[usize::from(port)];
        line.free_ps = now + line.rate.serialisation_ps(bytes.into());
        self.busy.push(Reverse((line.free_ps, port)));
    }

    /// When the next line becomes free.
    pub fn next(&self) -> Option<Time> {
        self.busy.peek().map(|Reverse((at, _))| *at)
    }

    /// The line that becomes free then.
    pub fn take_next(&mut self) -> Option<u16> {
        self.busy.pop().map(|Reverse((_, port))| port)
    }

    /// Whether the link of a port is up.
    pub fn is_up(&self, port: u16) -> bool {
        self.lines[usize::from(port)].up
    }

    /// The link of a port is up or not from now on, and its line free. Returns whether that is a change.
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
