//! Causes of PFC pauses: the chain of pauses from a pause back to the congested port. The rules are
//! SPFC-40 to SPFC-42 of `specs/spfc.md`.

use dataplane::event::{EventSet, NodeEvent, PauseFrame, PauseSent};
use dataplane::hop::pfc;
use dataplane::packet::{Cold, PacketId};
use dataplane::switch::MixedMap;
use dataplane::units::Time;

use super::super::link_ends::Links;
use super::super::long_queues::{FromIngress, LongQueues};
use super::super::node::{class_at, link_and_class};
use super::{Event, View};
use crate::ids::{LinkId, LocalNode};

/// Minimum bytes of a long queue. For long queues, the bytes per ingress are cached between pauses.
pub(super) const LONG_BYTES: u64 = 1 << 14;

/// The current or last pause of a class of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub number: u32,
    /// Link of the congested port that caused the pause.
    pub root: LinkId,
    pub depth: u16,
    pub from_ps: Time,
    /// Time at which the pause ended, and the bytes that the port had sent until then; `None`: the
    /// pause is open.
    pub ended: Option<(Time, u64)>,
}

/// The cause of a pause that a switch has sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cause {
    /// Index of the pause among those of its port and class, from 1.
    pub number: u32,
    /// Egress port at which most of the bytes of the paused ingress and class wait.
    pub egress: u16,
    /// Bytes of the paused ingress and class that wait at `egress`.
    pub egress_bytes: u64,
    /// Index of the pause of `egress` that caused this one; `None`: `egress` is not paused, so it
    /// is the congested port (root).
    pub parent: Option<u32>,
    pub depth: u16,
    /// Link of the congested port that caused the pause.
    pub root: LinkId,
}

/// Current pauses of a network. Each refers to the pause that caused it and to the congested port.
#[derive(Debug, Default)]
pub(super) struct PauseTree {
    /// Cold part (rarely used data) of the last pause frame, with its index among the pauses, per
    /// sending port and class.
    sent: MixedMap<u32, Cold>,
    /// Last pause per paused port and class.
    held: MixedMap<u32, Held>,
    /// Bytes of each ingress in long queues.
    queues: LongQueues<FromIngress>,
}

impl PauseTree {
    /// Kinds of events that the tree needs.
    pub const WANTS: EventSet =
        EventSet::of(&[NodeEvent::PAUSE_SENT, Event::ARRIVING, Event::PAUSE_EXPIRED]);

    /// Returns the congested port that caused the last pause of a port and class; `None`: there was
    /// no pause.
    pub fn root(&self, link: LinkId, class: u8) -> Option<LinkId> {
        self.held.get(&class_at(link, class)).map(|held| held.root)
    }

    /// Returns all open pauses, ordered by port and class.
    pub fn open(&self) -> Vec<((LinkId, u8), Held)> {
        let mut open: Vec<(u32, Held)> = self.held.iter().map(|(&k, &h)| (k, h)).collect();
        open.retain(|(_, held)| held.ended.is_none());
        open.sort_unstable_by_key(|(key, _)| *key);
        open.into_iter()
            .map(|(k, h)| (link_and_class(k), h))
            .collect()
    }

    /// Handles a pause frame that a switch has queued, or a frame that repeats or ends a pause.
    /// Sets the cold part (rarely used data) of the frame. Returns the cause of a new pause.
    // SPFC-40, SPFC-41, SPFC-42: number, egress and root; QNT-08: a refresh repeats them
    pub fn sent(&mut self, node: LocalNode, sent: &PauseSent, view: &View<'_>) -> Option<Cause> {
        let (cold, cause) = self.describe(node, sent, view);
        view.reply.cold.set(Some(cold));
        cause
    }

    fn describe(
        &mut self,
        node: LocalNode,
        sent: &PauseSent,
        view: &View<'_>,
    ) -> (Cold, Option<Cause>) {
        let link = view.link(node, sent.port);
        let last = self.sent.entry(class_at(link, sent.class)).or_default();
        match sent.pause {
            PauseFrame::Xoff(_) => {}
            PauseFrame::Refresh => return (*last, None),
            PauseFrame::Xon => {
                let credit = last.credit;
                let cold = *view.arena.cold(sent.frame);
                return (Cold { credit, ..cold }, None);
            }
        }
        let number = last.credit + 1;
        let (egress, egress_bytes) = self.fullest(node, sent, view);
        let egress_link = view.link(node, egress);
        let parent = self
            .held
            .get(&class_at(egress_link, sent.class))
            .filter(|held| still_felt(held, view.now, egress_link, view.links));
        let (root, depth) = parent.map_or((egress_link, 1), |p| (p.root, p.depth + 1));
        let cause = Cause {
            number,
            egress,
            egress_bytes,
            parent: parent.map(|p| p.number),
            depth,
            root,
        };
        let cold = Cold {
            credit: number,
            src: root.bits(),
            payload: depth,
            ..Cold::default()
        };
        self.sent.insert(class_at(link, sent.class), cold);
        (cold, Some(cause))
    }

    /// Returns the egress port at which most of the bytes of the paused ingress and class wait, and
    /// the number of these bytes.
    // SPFC-41
    fn fullest(&mut self, node: LocalNode, sent: &PauseSent, view: &View<'_>) -> (u16, u64) {
        let Some(switch) = view.switch(node) else {
            return (0, 0);
        };
        let from = FromIngress(sent.port, sent.class);
        let mut most = (0, 0);
        for egress in 0..switch.ports() {
            if switch.queued(egress).0 <= most.1 {
                continue;
            }
            let (link, mut bytes) = (view.link(node, egress), 0);
            switch.for_each_queue(egress, |queue| {
                let queues = &mut self.queues;
                queues.visit(link.bits(), queue, LONG_BYTES, view.arena, |of, count| {
                    bytes += if of == from { count } else { 0 };
                });
            });
            if bytes > most.1 {
                most = (egress, bytes);
            }
        }
        most
    }

    /// Handles a frame that has arrived at a port and has not been processed. If the frame ends a
    /// pause, returns the port, the class and the pause.
    pub fn arrives(
        &mut self,
        link: LinkId,
        frame: PacketId,
        view: &View<'_>,
    ) -> Option<((LinkId, u8), Held)> {
        let cold = view.arena.cold(frame);
        let (on, classes) = pfc::said(view.arena.hot(frame))?;
        let at = (link, classes.trailing_zeros() as u8);
        if !on {
            return self.end(at, view);
        }
        let held = Held {
            number: cold.credit,
            root: LinkId::from_bits(cold.src),
            depth: cold.payload,
            from_ps: view.now,
            ended: None,
        };
        let same = |of: &&Held| of.number == held.number && of.ended.is_none();
        let key = class_at(at.0, at.1);
        if self.held.get(&key).filter(same).is_none() {
            self.held.insert(key, held);
        }
        None
    }

    /// Ends the pause of a port and class, because of a resume frame or a timer. Returns the port,
    /// the class and the pause; `None`: there was no pause.
    pub fn end(&mut self, at: (LinkId, u8), view: &View<'_>) -> Option<((LinkId, u8), Held)> {
        let held = self.held.get_mut(&class_at(at.0, at.1))?;
        if held.ended.is_some() {
            return None;
        }
        let before = *held;
        held.ended = Some((view.now, view.links.near[at.0].bytes));
        Some((at, before))
    }
}

/// Returns true if a pause still has an effect: the port is paused, or it has sent continuously
/// since the pause ended.
// SPFC-41
fn still_felt(held: &Held, now: Time, link: LinkId, links: &Links) -> bool {
    let Some((ended_ps, sent_before)) = held.ended else {
        return true;
    };
    let sent = links.near[link].bytes - sent_before;
    links.rates[link].serialisation_ps(sent) >= now - ended_ps
}
