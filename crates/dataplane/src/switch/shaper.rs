//! A shaped class of a switch: a short queue of its own at every port, limited to a share of the link. It
//! carries credits that let data go, which needs the rest of the link (`specs/expresspass.md`).

use crate::classes::class_label;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::context::Cx;
use super::queueing::Queueing;
use super::steps::Steps;
use super::{CONTROL_CLASS, DATA_CLASS, Switch};
use crate::config::{CreditQueue, MAX_CLASSES};
use crate::packet::Arena;
use crate::sink::Sink;
use crate::transport::bucket::Bucket;
use crate::units::{NEVER, Rate, Time};

/// The class that is shaped.
// XP-01
pub(super) const SHAPED_CLASS: u8 = CONTROL_CLASS;

#[derive(Debug)]
struct Port {
    bucket: Bucket,
    waiting: u16,
    /// An alarm for its bucket is set.
    armed: bool,
}

/// The shaped queues of a switch.
#[derive(Debug)]
pub(crate) struct Shaper {
    limit: u16,
    ports: Vec<Port>,
    /// When buckets open for which packets wait.
    alarms: BinaryHeap<Reverse<(Time, u16)>>,
}

impl Shaper {
    pub fn new(queue: &CreditQueue, ports: &[(Rate, Time)]) -> Self {
        let port = |&(rate, _): &(Rate, Time)| Port {
            bucket: Bucket::new(rate, queue),
            waiting: 0,
            armed: false,
        };
        Self {
            limit: queue.limit,
            ports: ports.iter().map(port).collect(),
            alarms: BinaryHeap::new(),
        }
    }

    /// Whether no further packet may wait at a port.
    // XP-03
    #[inline]
    pub fn is_full(&self, port: u16) -> bool {
        self.ports[port as usize].waiting >= self.limit
    }

    /// A packet joined the queue of a port.
    pub fn joined<S: Sink>(&mut self, now: Time, port: u16, queues: &mut Queueing, sink: &mut S) {
        // XP-03: the credit queue has a limit.
        debug_assert!(
            !self.is_full(port),
            "port {port}: more shaped packets than the limit"
        );
        self.ports[port as usize].waiting += 1;
        self.shape(now, port, queues, sink);
    }

    /// A packet left the queue of a port.
    pub fn left<S: Sink>(&mut self, now: Time, port: u16, queues: &mut Queueing, sink: &mut S) {
        let p = &mut self.ports[port as usize];
        debug_assert!(p.waiting > 0, "port {port}: no shaped packet waits");
        p.waiting -= 1;
        p.bucket.take(now);
        self.shape(now, port, queues, sink);
    }

    /// A packet is taken out of the queue of a port, but does not leave by it: that costs no token.
    // LNK-28
    pub fn withdrawn(&mut self, port: u16) {
        debug_assert!(
            self.ports[port as usize].waiting > 0,
            "port {port}: no shaped packet waits"
        );
        self.ports[port as usize].waiting -= 1;
    }

    /// Holds the packets of a port until its bucket opens.
    pub fn shape<S: Sink>(&mut self, now: Time, port: u16, queues: &mut Queueing, sink: &mut S) {
        let p = &mut self.ports[port as usize];
        let at = p.bucket.opens_ps();
        queues.shape(port, SHAPED_CLASS, at > now);
        if at > now && p.waiting > 0 && !p.armed {
            p.armed = true;
            self.alarms.push(Reverse((at, port)));
            sink.wake(at);
        }
    }

    /// Lets go what is due, and says when something is next; [`NEVER`]: nothing waits.
    pub fn timer<S: Sink>(&mut self, now: Time, queues: &mut Queueing, sink: &mut S) -> Time {
        while let Some(&Reverse((at, port))) = self.alarms.peek() {
            if at > now {
                return at;
            }
            self.alarms.pop();
            self.ports[port as usize].armed = false;
            queues.shape(port, SHAPED_CLASS, false);
            sink.kick(port);
        }
        NEVER
    }
}

impl<S: Sink> Cx<'_, S> {
    /// Opens the shaped queues that are due, and plans the next call.
    pub(super) fn open_shaped(&mut self) {
        let core = &mut *self.core;
        if let Some(shaper) = &mut core.shaper {
            let next = shaper.timer(self.now, &mut core.queueing, self.sink);
            if next != NEVER {
                self.sink.wake(next);
            }
        }
    }

    /// Shaped packets that waited while a link was down wait for their shaper again.
    // LNK-28
    pub(super) fn shape_again(&mut self, port: u16) {
        let core = &mut *self.core;
        if let Some(shaper) = &mut core.shaper {
            shaper.shape(self.now, port, &mut core.queueing, self.sink);
        }
    }
}

impl Switch {
    /// What is counted at each port for shaping and trimming is what waits there.
    // AUD-01
    pub(super) fn audit_assists(&self, arena: &Arena) -> Option<String> {
        if !self.core.steps.has(Steps::SHAPE.and(Steps::TRIM)) {
            return None;
        }
        (0..self.ports()).find_map(|port| {
            let mut waiting = [0u16; MAX_CLASSES];
            self.for_each_queued(port, arena, |id| {
                waiting[arena.hot(id).class() as usize] += 1
            });
            let counted = |class: u8| match (&self.core.shaper, &self.core.trimmer) {
                (Some(shaper), _) if class == SHAPED_CLASS => {
                    Some(shaper.ports[port as usize].waiting)
                }
                (_, Some(trimmer)) if class >= DATA_CLASS => trimmer.waiting(port, class),
                _ => None,
            };
            let wrong = (0..MAX_CLASSES as u8).find_map(|class| {
                Some((
                    class,
                    counted(class).filter(|&n| n != waiting[class as usize])?,
                ))
            });
            let (class, n) = wrong?;
            Some(format!(
                "port {port}: {n} packets of {} are counted, {} wait",
                class_label(class),
                waiting[class as usize]
            ))
        })
    }
}
