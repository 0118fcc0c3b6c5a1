//! Causes of PFC pauses: the chain of pauses from a pause back to the congested port. The rules are SPFC-40 to SPFC-42
//! of `specs/spfc.md`.

use dataplane::hop::pfc;
use dataplane::packet::{Cold, PacketId};
use dataplane::switch::MixedMap;
use dataplane::units::Time;

use super::super::link_ends::Links;
use super::super::long_queues::{FromIngress, LongQueues};
use super::super::node::{PauseFrame, PauseSent, class_at, link_and_class};
use super::View;
use crate::ids::{LinkId, LocalNode};

/// For queues of at least this length, the count of bytes by ingress is kept between pauses.
pub(super) const LONG_BYTES: u64 = 1 << 14;

/// The current pause of a port, or its last one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub number: u32,
    /// Number of the congested port.
    pub root: LinkId,
    pub depth: u16,
    pub from_ps: Time,
    /// Time of its end, and the bytes that the port had sent until then.
    pub ended: Option<(Time, u64)>,
}

/// Why a switch sent a pause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cause {
    /// Number of the pause among those of its port and class, from 1.
    pub number: u32,
    /// The port at which most of the bytes wait, and the number of these bytes.
    pub egress: u16,
    pub egress_bytes: u64,
    /// Number of the pause of that port, if it is paused.
    pub parent: Option<u32>,
    pub depth: u16,
    /// Number of the congested port.
    pub root: LinkId,
}

/// A pause or resume that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// Number of the pause.
    pub number: u32,
    /// The port and class that it resumes, and the pause that has ended.
    pub over: Option<(LinkId, u8, Held)>,
}

/// The current pauses of a network, and which pause caused which.
#[derive(Debug, Default)]
pub(super) struct PauseTree {
    /// Cold part of the last pause frame, with its number, per sending port and class.
    sent: MixedMap<u32, Cold>,
    /// Last pause per paused port and class.
    held: MixedMap<u32, Held>,
    /// Bytes of each ingress in long queues.
    queues: LongQueues<FromIngress>,
}

impl PauseTree {
    /// Congested port that caused the last pause of a port and class.
    pub fn root(&self, link: LinkId, class: u8) -> Option<LinkId> {
        self.held.get(&class_at(link, class)).map(|held| held.root)
    }

    /// All current pauses, ordered by port and class.
    pub fn open(&self) -> Vec<((LinkId, u8), Held)> {
        let mut open: Vec<(u32, Held)> = self.held.iter().map(|(&k, &h)| (k, h)).collect();
        open.retain(|(_, held)| held.ended.is_none());
        open.sort_unstable_by_key(|(key, _)| *key);
        open.into_iter()
            .map(|(k, h)| (link_and_class(k), h))
            .collect()
    }

    /// A switch has queued a pause frame, or a frame that repeats or ends a pause. Returns the cold part of the frame
    /// and, for a new pause, its cause.
    // SPFC-40, SPFC-41, SPFC-42, QNT-08
    pub fn sent(&mut self, now: Time, sent: &PauseSent, view: &View<'_>) -> (Cold, Option<Cause>) {
        let link = view.link(sent.node, sent.port);
        let last = self.sent.entry(class_at(link, sent.class)).or_default();
        match sent.what {
            PauseFrame::Xoff(_) => {}
            PauseFrame::Refresh => return (*last, None),
            PauseFrame::Xon => {
                let credit = last.credit;
                let cold = *view.arena.cold(sent.frame);
                return (Cold { credit, ..cold }, None);
            }
        }
        let number = last.credit + 1;
        let (egress, egress_bytes) = self.fullest(sent, view);
        let egress_link = view.link(sent.node, egress);
        let parent = self
            .held
            .get(&class_at(egress_link, sent.class))
            .filter(|held| still_felt(held, now, egress_link, view.links));
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

    /// Egress port at which most of the bytes of the paused ingress and class wait, and the number of these bytes.
    // SPFC-41
    fn fullest(&mut self, sent: &PauseSent, view: &View<'_>) -> (u16, u64) {
        let Some(switch) = view.switch(sent.node) else {
            return (0, 0);
        };
        let from = FromIngress(sent.port, sent.class);
        let mut most = (0, 0);
        for egress in 0..switch.ports() {
            if switch.queued(egress).0 <= most.1 {
                continue;
            }
            let (link, mut bytes) = (view.link(sent.node, egress), 0);
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

    /// A pause or resume frame arrives at a port. The node has not processed it yet.
    pub fn arrived(
        &mut self,
        now: Time,
        (node, port): (LocalNode, u16),
        frame: PacketId,
        view: &View<'_>,
    ) -> Arrived {
        let (packet, cold) = (view.arena.hot(frame), view.arena.cold(frame));
        let number = cold.credit;
        let mut over = None;
        if let Some((on, classes)) = pfc::said(packet) {
            let class = classes.trailing_zeros() as u8;
            let link = view.link(node, port);
            let at = class_at(link, class);
            if on {
                let held = Held {
                    number,
                    root: LinkId::from_bits(cold.src),
                    depth: cold.payload,
                    from_ps: now,
                    ended: None,
                };
                let same = |of: &&Held| of.number == number && of.ended.is_none();
                if self.held.get(&at).filter(same).is_none() {
                    self.held.insert(at, held);
                }
            } else {
                let ended = self.end(now, (link, class), view);
                over = ended.map(|held| (link, class, held));
            }
        }
        Arrived { number, over }
    }

    /// The pause of a port and class ends, by a resume frame or a timer. Returns the pause, if there was one.
    pub fn end(&mut self, now: Time, (link, class): (LinkId, u8), view: &View<'_>) -> Option<Held> {
        let held = self.held.get_mut(&class_at(link, class))?;
        if held.ended.is_some() {
            return None;
        }
        let was = *held;
        held.ended = Some((now, view.links.near[link].bytes));
        Some(was)
    }
}

/// Returns true if a port is paused, or if it has sent without a gap since its pause ended.
// SPFC-41
fn still_felt(held: &Held, now: Time, link: LinkId, links: &Links) -> bool {
    let Some((ended_ps, sent_before)) = held.ended else {
        return true;
    };
    let sent = links.near[link].bytes - sent_before;
    links.rates[link].serialisation_ps(sent) >= now - ended_ps
}
