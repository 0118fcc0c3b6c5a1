//! Counts the data packets in the queues of a switch that trims packets (`specs/ndp.md`).

use crate::classes::DATA_CLASS;
use crate::config::TrimConfig;

/// Number of data packets in each queue. If a queue is full, arriving packets are trimmed.
#[derive(Debug)]
pub(crate) struct TrimCounts {
    pub config: TrimConfig,
    classes: usize,
    /// Number of queued data packets, per (port, class).
    waiting: Vec<u16>,
}

impl TrimCounts {
    pub fn new(config: TrimConfig, ports: usize, classes: usize) -> Self {
        Self {
            config,
            classes,
            waiting: vec![0; ports * classes],
        }
    }

    fn at(&self, port: u16, class: u8) -> usize {
        port as usize * self.classes + class as usize
    }

    // NDP-01
    pub fn is_full(&self, port: u16, class: u8) -> bool {
        self.waiting[self.at(port, class)] >= self.config.packets
    }

    pub fn joined(&mut self, port: u16, class: u8) {
        let at = self.at(port, class);
        self.waiting[at] += u16::from(class >= DATA_CLASS);
    }

    /// Returns the number of queued data packets of a port and class, or `None` if there is no such
    /// class.
    pub fn waiting(&self, port: u16, class: u8) -> Option<u16> {
        (usize::from(class) < self.classes).then(|| self.waiting[self.at(port, class)])
    }

    pub fn left(&mut self, port: u16, class: u8) {
        let at = self.at(port, class);
        debug_assert!(
            class < DATA_CLASS || self.waiting[at] > 0,
            "port {port}: no packet of class {class} waits"
        );
        self.waiting[at] -= u16::from(class >= DATA_CLASS);
    }
}
