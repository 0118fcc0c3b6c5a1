//! Follows PFC pauses through the network: what a port held when it paused its upstream, which
//! pause caused which, and which flows wait though they are not the cause. It changes no result.
//! The rules are in `specs/spfc.md`. It looks at all of a flow's path, so the run has one thread.
//!
//! A pause is known by the port that it holds, its class, and its number among the pauses of these
//! two. Number, depth and congested port travel in the pause frame's cold part, so that the
//! paused node knows them.

use std::collections::BTreeMap;

use dataplane::hop::pfc::PauseClasses;
use dataplane::nic::Nic;
use dataplane::packet::{Arena, Cold, Frame, Kind, Packet, PacketId, flag};
use dataplane::switch::{Level, MixedMap, Switch};
use dataplane::units::Time;

use super::flows::Live;
use super::link_ends::Links;
use super::node::Node;
use super::partition::Partition;
use crate::record::{CauseRecord, HeldFlowRecord, PauseRecording, Recorder};

/// Longest path that is followed.
const MOST_HOPS: usize = 64;

/// A switch has put a pause or resume frame on its port.
#[derive(Clone, Copy, Debug)]
pub(super) struct PauseSent {
    /// The switch, and the port whose upstream it pauses or resumes.
    pub node: u32,
    pub port: u16,
    pub class: u8,
    pub frame: PacketId,
    /// Of a pause; `None`: a resume.
    pub level: Option<Level>,
}

/// A pause that holds a port, or the last that did.
#[derive(Clone, Copy, Debug)]
struct Held {
    number: u32,
    /// Number of the congested port.
    root: u32,
    depth: u16,
    from_ps: Time,
    /// When it ended, and what the port had sent by then.
    ended: Option<(Time, u64)>,
}

/// A flow at a port that pauses with a common congested port hold.
type HeldKey = (u32, u32, u32);

#[derive(Clone, Copy, Debug, Default)]
struct HeldFlow {
    pauses: u64,
    held_ps: Time,
    victim: bool,
}

/// What is followed.
#[derive(Debug)]
pub(super) struct PauseCauses {
    /// Pauses sent so far, per port and class that sends them.
    sent: MixedMap<u32, u32>,
    /// Per port and class that is held.
    held: MixedMap<u32, Held>,
    records: Vec<CauseRecord>,
    /// Flow, held port, congested port.
    flows: Option<BTreeMap<HeldKey, HeldFlow>>,
}

/// The state machines of a partition, to look at.
pub(super) struct View<'a> {
    pub links: &'a Links,
    pub nodes: &'a [Node],
    pub nics: &'a [Nic],
    pub switches: &'a [Switch],
    pub live: &'a Live,
}

impl View<'_> {
    fn link(&self, node: u32, port: u16) -> u32 {
        self.nodes[node as usize].base + u32::from(port)
    }

    fn switch(&self, node: u32) -> Option<&Switch> {
        let index = (node as usize).checked_sub(self.nics.len())?;
        self.switches.get(index)
    }

    /// Number in the network of the node that sends on a link.
    fn sender(&self, link: u32) -> u32 {
        self.nodes[self.links.near[link as usize].node as usize].number
    }

    /// Number in the network of the node that a link leads to.
    fn receiver(&self, link: u32) -> u32 {
        self.nodes[self.links.far[link as usize].node as usize].number
    }

    /// Egress port at which most of the bytes of an ingress and class wait, and how many those are.
    // SPFC-41
    fn fullest(&self, node: u32, ingress: u16, class: u8, arena: &Arena) -> (u16, u64) {
        let Some(switch) = self.switch(node) else {
            return (0, 0);
        };
        let mut most = (0, 0);
        for egress in 0..switch.ports() {
            let mut bytes = 0;
            switch.for_each_queued(egress, arena, |id| {
                let p = arena.hot(id);
                let counts = p.has(flag::BUFFERED) && p.ingress == ingress && p.class() == class;
                bytes += if counts { u64::from(p.size) } else { 0 };
            });
            if bytes > most.1 {
                most = (egress, bytes);
            }
        }
        most
    }

    /// Whether the path of a packet from a switch on leads through a port.
    // SPFC-44
    fn leads_through(&self, mut node: u32, packet: &Packet, src: u32, root: u32) -> bool {
        for _ in 0..MOST_HOPS {
            let Some(port) = self.switch(node).and_then(|s| s.way(packet, src)) else {
                return false;
            };
            let link = self.link(node, port);
            if link == root {
                return true;
            }
            node = self.links.far[link as usize].node;
        }
        false
    }

    /// Calls `visit` with a packet of every flow that waits at a port, its source, and since when it
    /// may have waited; a flow may come several times.
    fn each_waiting(
        &self,
        link: u32,
        class: u8,
        arena: &Arena,
        mut visit: impl FnMut(Packet, u32, Time),
    ) {
        let l = &self.links.near[link as usize];
        if let Some(switch) = self.switch(l.node) {
            switch.for_each_queued(l.port, arena, |id| {
                let packet = *arena.hot(id);
                if packet.kind() == Kind::Data && packet.class() == class {
                    visit(packet, arena.cold(id).src, 0);
                }
            });
            return;
        }
        self.nics[l.node as usize].for_each_unsent(l.port, class, |flow| {
            let live = self.live.flows[flow.cookie as usize];
            let packet = Packet {
                flow: flow.flow,
                hash: flow.hash,
                dst: flow.dst,
                ..Packet::new(Kind::Data, class, 0)
            };
            visit(packet, flow.src, live.map_or(0, |live| live.start_ps));
        });
    }
}

impl PauseCauses {
    /// `None` where pauses are not followed; flows are not named where their packets have no common path.
    pub fn new(spec: Option<PauseRecording>, spraying: bool) -> Option<Self> {
        spec.map(|spec| Self {
            sent: MixedMap::default(),
            held: MixedMap::default(),
            records: Vec::new(),
            flows: (spec.flows && !spraying).then(BTreeMap::new),
        })
    }

    /// A switch has queued a pause or resume frame; the frame has not left yet.
    // SPFC-40, SPFC-41, SPFC-42
    pub fn sent(&mut self, now: Time, sent: &PauseSent, view: &View<'_>, arena: &mut Arena) {
        let link = view.link(sent.node, sent.port);
        let number = self.sent.entry(key(link, sent.class)).or_default();
        let Some(level) = sent.level else {
            arena.cold_mut(sent.frame).slot = *number;
            return;
        };
        *number += 1;
        let number = *number;
        let (egress, egress_bytes) = view.fullest(sent.node, sent.port, sent.class, arena);
        let egress_link = view.link(sent.node, egress);
        let parent = self
            .held
            .get(&key(egress_link, sent.class))
            .filter(|held| still_felt(held, now, egress_link, view.links));
        let (root, depth) = parent.map_or((egress_link, 1), |p| (p.root, p.depth + 1));
        *arena.cold_mut(sent.frame) = Cold {
            slot: number,
            src: root,
            payload: depth,
            ..Cold::default()
        };
        self.records.push(CauseRecord {
            at_ps: now,
            node: view.sender(link),
            port: sent.port,
            peer: view.receiver(link),
            peer_port: view.links.far[link as usize].port,
            class: sent.class,
            number,
            held_bytes: level.held_bytes,
            threshold_bytes: level.threshold_bytes,
            pool_bytes: level.pool_bytes,
            victim: level.victim,
            egress,
            egress_peer: view.receiver(egress_link),
            egress_bytes,
            parent: parent.map(|p| p.number),
            depth,
            root_node: view.sender(root),
            root_port: view.links.near[root as usize].port,
            root_peer: view.receiver(root),
        });
    }

    /// A pause or resume arrives at a node, which has not read it yet. Returns the pause's number.
    // SPFC-44
    pub fn arrives(
        &mut self,
        now: Time,
        (node, port): (u32, u16),
        frame: PacketId,
        view: &View<'_>,
        arena: &Arena,
    ) -> u32 {
        let (packet, cold) = (arena.hot(frame), arena.cold(frame));
        let Some(PauseClasses { on, classes }) = PauseClasses::read(packet) else {
            return cold.slot;
        };
        let class = classes.trailing_zeros() as u8;
        let link = view.link(node, port);
        if on {
            let held = Held {
                number: cold.slot,
                root: cold.src,
                depth: cold.payload,
                from_ps: now,
                ended: None,
            };
            self.held.insert(key(link, class), held);
        } else if let Some(held) = self.held.get(&key(link, class)).copied()
            && held.ended.is_none()
        {
            self.note_flows(now, link, class, &held, view, arena);
            let sent = view.links.near[link as usize].bytes;
            let ended = Some((now, sent));
            self.held.insert(key(link, class), Held { ended, ..held });
        }
        cold.slot
    }

    /// A pause is over: who waited for it?
    // SPFC-44
    fn note_flows(
        &mut self,
        now: Time,
        link: u32,
        class: u8,
        held: &Held,
        view: &View<'_>,
        arena: &Arena,
    ) {
        let Some(flows) = &mut self.flows else { return };
        let pauser = view.links.far[link as usize].node;
        let mut seen = BTreeMap::new();
        view.each_waiting(link, class, arena, |packet, src, since_ps| {
            seen.entry(packet.flow).or_insert((packet, src, since_ps));
        });
        for (flow, (packet, src, since_ps)) in seen {
            let of = flows.entry((flow, link, held.root)).or_default();
            of.pauses += 1;
            of.held_ps += now.saturating_sub(held.from_ps.max(since_ps));
            of.victim |= !view.leads_through(pauser, &packet, src, held.root);
        }
    }

    pub fn hand_over(&mut self, recorder: &mut dyn Recorder) {
        if !self.records.is_empty() {
            recorder.causes(&self.records);
            self.records.clear();
        }
    }

    /// The run is over: pauses that are open end with it.
    pub fn finish(
        &mut self,
        end_ps: Time,
        view: &View<'_>,
        arena: &Arena,
        recorder: &mut dyn Recorder,
    ) {
        self.hand_over(recorder);
        let mut open: Vec<(u32, Held)> = self.held.iter().map(|(&k, &h)| (k, h)).collect();
        open.retain(|(_, held)| held.ended.is_none());
        open.sort_unstable_by_key(|(key, _)| *key);
        for (key, held) in open {
            self.note_flows(end_ps, key / 8, (key % 8) as u8, &held, view, arena);
        }
        let Some(flows) = &self.flows else { return };
        let record = |(&(flow, link, root), of): (&HeldKey, &HeldFlow)| HeldFlowRecord {
            flow,
            node: view.sender(link),
            port: view.links.near[link as usize].port,
            peer: view.receiver(link),
            root_node: view.sender(root),
            root_port: view.links.near[root as usize].port,
            root_peer: view.receiver(root),
            pauses: of.pauses,
            held_ps: of.held_ps,
            victim: of.victim,
        };
        let records: Vec<HeldFlowRecord> = flows.iter().map(record).collect();
        recorder.held_flows(&records);
    }
}

impl<C> Partition<C> {
    /// The causes, and all that they look at.
    fn follow(&mut self, does: impl FnOnce(&mut PauseCauses, &View<'_>, &mut Arena)) {
        let Some(causes) = &mut self.causes else {
            return;
        };
        let view = View {
            links: &self.core.links,
            nodes: &self.core.nodes,
            nics: &self.nics,
            switches: &self.switches,
            live: &self.live,
        };
        does(causes, &view, &mut self.arena);
    }

    /// Handles the pauses and resumes that switches have queued in this event.
    #[cold]
    pub(super) fn follow_pauses_sent(&mut self) {
        let now = self.core.now;
        let mut all = std::mem::take(&mut self.core.pauses_sent);
        self.follow(|causes, view, arena| {
            for sent in &all {
                causes.sent(now, sent, view, arena);
            }
        });
        all.clear();
        self.core.pauses_sent = all;
    }

    /// A frame is about to be read; it may be a pause or resume.
    pub(super) fn read_pause(&mut self, node: u32, port: u16, id: PacketId) {
        self.core.reading = None;
        if PauseClasses::read(self.arena.hot(id)).is_none() {
            return;
        }
        let now = self.core.now;
        let mut number = 0;
        self.follow(|causes, view, arena| {
            number = causes.arrives(now, (node, port), id, view, arena);
        });
        self.core.reading = Some(number);
    }

    /// Gives what has gathered to the recorder.
    pub(super) fn hand_over_causes(&mut self, recorder: &mut dyn Recorder) {
        self.follow(|causes, _, _| causes.hand_over(recorder));
    }

    /// The run is over.
    pub(super) fn finish_causes(&mut self, end_ps: Time, recorder: &mut dyn Recorder) {
        self.follow(|causes, view, arena| causes.finish(end_ps, view, arena, recorder));
    }
}

const fn key(link: u32, class: u8) -> u32 {
    link * 8 + class as u32
}

/// Whether a pause holds a port, or the port has sent without a gap since it did.
// SPFC-41
fn still_felt(held: &Held, now: Time, link: u32, links: &Links) -> bool {
    let Some((ended_ps, sent_before)) = held.ended else {
        return true;
    };
    let sent = links.near[link as usize].bytes - sent_before;
    links.rates[link as usize].serialisation_ps(sent) >= now - ended_ps
}
