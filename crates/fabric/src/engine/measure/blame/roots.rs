//! Congested ports that caused the current pauses.

use dataplane::ids::QueueId;
use dataplane::packet::{Cold, PacketId};
use dataplane::switch::{HeldBy, MixedMap};

use super::super::View;
use super::super::pause_tree::PauseTree;
use super::journey::Obstacle;
use super::part::{NEXT_ROOT, Part};
use crate::ids::{LinkId, LocalNode};

/// Congested ports that caused the current pauses.
#[derive(Debug, Default)]
pub(super) struct Roots {
    pub tree: PauseTree,
    /// Congested port in the last control frame from a neighbour; `None`: the frame contained none.
    frame: Option<LinkId>,
    /// Congested port that caused the pause of a queue or flow, by port and index of the queue or
    /// flow.
    named: MixedMap<u64, LinkId>,
}

impl Roots {
    /// Returns the congested port that caused a pause at `link`; `None`: unknown.
    // BLM-30, BLM-31, BLM-32
    fn of(&self, link: LinkId, class: u8, by: HeldBy) -> Option<LinkId> {
        match by {
            HeldBy::Class => self.tree.root(link, class),
            HeldBy::Named(number) => self.named(link, number),
            HeldBy::Room => None,
        }
    }

    pub fn named(&self, link: LinkId, number: u32) -> Option<LinkId> {
        self.named.get(&link.key_with(number)).copied()
    }

    /// Stores the congested port that a control frame from a neighbour contains, when the frame
    /// arrives at a port.
    // BLM-32: the frame carries the congested port
    pub fn frame_arrives(&mut self, link: LinkId, id: PacketId, view: &View<'_>) {
        let cold = view.arena.cold(id);
        self.frame = (cold.credit != 0).then_some(LinkId::from_bits(cold.src));
        self.tree.arrives(link, id, view);
    }

    /// Records that the last frame from a neighbour pauses (`on`) or resumes a queue or flow of a
    /// port.
    pub fn queue_paused(&mut self, link: LinkId, number: u32, on: bool) {
        let key = link.key_with(number);
        match self.frame.filter(|_| on) {
            Some(root) => self.named.insert(key, root),
            None => self.named.remove(&key),
        };
    }

    /// Returns the cold part (rarely used data) of a frame by which a switch pauses a queue or flow
    /// of the upstream node. The cold part contains the congested port.
    // BLM-32: the port that caused the pause of the long queue, or the port of this queue
    pub fn queue_pause_sent(
        &self,
        node: LocalNode,
        egress: u16,
        queue: QueueId,
        view: &View<'_>,
    ) -> Option<Cold> {
        let link = view.link(node, egress);
        let switch = view.switch(node)?;
        let by = switch.held_by(queue, view.arena);
        let class = switch.class_of(queue);
        let root = by.and_then(|by| self.of(link, class, by));
        Some(Cold {
            credit: 1,
            src: root.unwrap_or(link).bits(),
            ..Cold::default()
        })
    }

    /// Returns the reason why a queue at a port cannot send, and the congested port that caused it.
    pub fn obstacle(&self, link: LinkId, queue: QueueId, view: &View<'_>) -> Obstacle {
        let Some(switch) = view.switch(view.links.near[link].node) else {
            return Obstacle::NONE;
        };
        let Some(by) = switch.held_by(queue, view.arena) else {
            return Obstacle::NONE;
        };
        let part = match by {
            HeldBy::Class => Part::ClassPause,
            HeldBy::Room => Part::NoRoom,
            HeldBy::Named(_) => Part::QueuePause,
        };
        let root = self.of(link, switch.class_of(queue), by);
        Obstacle {
            part: Some(part),
            root: root.unwrap_or(NEXT_ROOT),
        }
    }
}
