//! Rate shaper for the class of receivers' credits in a switch. The class has a short queue at
//! every port, which is limited to a fraction of the link rate. The data packets that the credits
//! permit need the remaining rate (`specs/expresspass.md`).

use super::queueing::Queueing;
use crate::classes::CONTROL_CLASS;
use crate::config::CreditQueue;
use crate::shaping::Bucket;
use crate::sink::Sink;
use crate::timers::Timers;
use crate::units::{Rate, Time};

/// The traffic class that is shaped.
// XP-01
pub(crate) const SHAPED_CLASS: u8 = CONTROL_CLASS;

#[derive(Debug)]
struct Port {
    bucket: Bucket,
    waiting: u16,
    /// True if a timer for the token bucket of the port is set.
    armed: bool,
}

/// The shaped queues of a switch.
#[derive(Debug)]
pub(crate) struct Shaper {
    limit: u16,
    ports: Vec<Port>,
    /// Times at which the token buckets of ports with waiting packets permit the next packet.
    timers: Timers<u16>,
}

impl Shaper {
    pub fn new(queue: &CreditQueue, ports: &[(Rate, Time)]) -> Self {
        let port = |&(rate, _): &(Rate, Time)| Port {
            bucket: Bucket::new(queue.gap_ps(rate), queue.burst),
            waiting: 0,
            armed: false,
        };
        Self {
            limit: queue.limit,
            ports: ports.iter().map(port).collect(),
            timers: Timers::default(),
        }
    }

    /// Returns true if the shaped queue of a port is full.
    // XP-03
    #[inline]
    pub fn is_full(&self, port: u16) -> bool {
        self.ports[port as usize].waiting >= self.limit
    }

    /// Returns the number of shaped packets queued at a port.
    pub fn waiting(&self, port: u16) -> u16 {
        self.ports[port as usize].waiting
    }

    /// Counts a packet that joined the shaped queue of a port. The caller checks the limit for
    /// arriving packets (XP-03). A rerouted packet may join a full queue (LNK-28).
    pub fn joined<S: Sink>(&mut self, now: Time, port: u16, queues: &mut Queueing, sink: &mut S) {
        self.ports[port as usize].waiting += 1;
        self.shape(now, port, queues, sink);
    }

    /// Counts a packet that was sent from the shaped queue of a port.
    pub fn left<S: Sink>(&mut self, now: Time, port: u16, queues: &mut Queueing, sink: &mut S) {
        let p = &mut self.ports[port as usize];
        debug_assert!(p.waiting > 0, "port {port}: no shaped packet waits");
        p.waiting -= 1;
        p.bucket.take(now);
        self.shape(now, port, queues, sink);
    }

    /// Counts a packet that was removed from the shaped queue of a port without being sent. This
    /// uses no token.
    // LNK-28
    pub fn withdrawn(&mut self, port: u16) {
        debug_assert!(
            self.ports[port as usize].waiting > 0,
            "port {port}: no shaped packet waits"
        );
        self.ports[port as usize].waiting -= 1;
    }

    /// Blocks the shaped class of a port until its token bucket permits the next packet.
    pub fn shape<S: Sink>(&mut self, now: Time, port: u16, queues: &mut Queueing, sink: &mut S) {
        let p = &mut self.ports[port as usize];
        let at = p.bucket.opens_ps();
        queues.shape(port, SHAPED_CLASS, at > now);
        if at > now && p.waiting > 0 && !p.armed {
            p.armed = true;
            self.timers.add(at, port);
            sink.wake(at);
        }
    }

    /// Unblocks the ports whose token bucket permits a packet again, and schedules the next call.
    pub fn timer<S: Sink>(&mut self, now: Time, queues: &mut Queueing, sink: &mut S) {
        while let Some(port) = self.timers.due(now, sink) {
            self.ports[port as usize].armed = false;
            queues.shape(port, SHAPED_CLASS, false);
            sink.kick(port);
        }
    }
}
