//! A switch of the dataplane that runs on real frames. This module converts frames to packet
//! records, finds the port of a destination station, and limits each port to its link rate. The
//! caller supplies frames and the time; the module has no sockets, so that tests can control the
//! time.

use std::collections::HashMap;

use dataplane::classes::{DATA_CLASS, traffic_class};
use dataplane::hash::mix32;
use dataplane::hop::pfc;
use dataplane::packet::{Arena, Cold, Kind, Packet, PacketId, flag};
use dataplane::route::Routes;
use dataplane::sink::Sink;
use dataplane::switch::{Stranded, Switch};
use dataplane::units::{NEVER, Time};
use wire::ethernet::{Ethernet, Mac, Tag, ether_type};
use wire::frame::MOST_BYTES;
use wire::neighbour::pfc as pause_records;
use wire::pause::Pause;
use wire::{Link, Network, Writer, decode, encode};

use super::classes::{Classes, priority};
use super::counters::{Counters, PortCounters};
use super::marks::{Marked, mark};
use super::plan::SwitchPlan;
use super::stations::{Stations, is_group, is_reserved};
use crate::wall::{BROADCAST, CatchUp, Lines, Machine, Out, Requests, neighbour, priorities};

/// Length of the frame check sequence in bytes. Sockets deliver frames without it.
const FCS_BYTES: usize = 4;
/// Minimum length of a frame without the frame check sequence, in bytes.
const SHORTEST_BYTES: usize = wire::ethernet::SHORTEST;
/// Maximum number of flow hashes that are tried. The hash must select a given port among equal-cost
/// routes.
const TRIES: u32 = 4096;

/// State of a port of the switch.
#[derive(Debug)]
struct Port {
    own: Mac,
    /// Source MAC address of the last control frame from the neighbour.
    peer: Mac,
    /// An endpoint that is reached through this port. Packet records of foreign frames have such
    /// endpoints as source and destination. `None`: no endpoint is reached through this port.
    target: Option<u32>,
    /// True if flooded frames leave by this port.
    floods: bool,
    counters: PortCounters,
}

/// Frame data that are stored for a packet record while the packet is in the switch.
#[derive(Debug)]
enum Stored {
    /// A frame that is not in Backwater's format, unchanged.
    Foreign(Vec<u8>),
    /// A frame in Backwater's format: the header fields that are not in its packet record.
    Ours {
        from: Mac,
        to: Mac,
        tag: Option<Tag>,
        class: u8,
    },
}

/// A switch that runs on real frames.
#[derive(Debug)]
pub struct Node {
    switch: Switch,
    arena: Arena,
    network: Network,
    classes: Classes,
    stations: Stations,
    /// A copy of the switch's routes, for finding a flow hash that selects a given port.
    routes: Routes,
    endpoints: u32,
    ports: Vec<Port>,
    stored: HashMap<PacketId, Stored>,
    requests: Requests,
    lines: Lines,
    now: Time,
    numbered: u32,
    largest: usize,
    counters: Counters,
    buffer: Vec<u8>,
}

impl Node {
    /// Builds the switch of a plan. `own` are the MAC addresses of its ports.
    #[must_use]
    pub fn new(plan: SwitchPlan, own: &[Mac]) -> Self {
        let port = |(nth, &own): (usize, &Mac)| Port {
            own,
            peer: BROADCAST,
            target: plan.targets[nth],
            floods: plan.floods[nth],
            counters: PortCounters::default(),
        };
        Self {
            ports: own.iter().enumerate().map(port).collect(),
            switch: plan.switch,
            arena: Arena::new(),
            network: plan.node.network,
            classes: plan.classes,
            stations: Stations::default(),
            endpoints: plan.node.endpoints,
            routes: plan.routes,
            stored: HashMap::new(),
            requests: Requests::new(plan.node.seed),
            lines: Lines::new(plan.node.links.iter().map(|link| link.0)),
            now: 0,
            numbered: 0,
            largest: plan.largest_bytes,
            counters: Counters::default(),
            buffer: vec![0; MOST_BYTES],
        }
    }

    /// Assigns a station (a MAC address) permanently to a port.
    pub fn give_station(&mut self, station: Mac, port: u16) {
        self.stations.give(station, port);
    }

    /// Handles a pause frame (PFC or IEEE 802.3x) from a neighbour.
    // WSW-22, WSW-23: pauses
    fn pause(&mut self, port: u16, body: &[u8]) {
        let counters = &mut self.ports[usize::from(port)].counters;
        let (global, malformed) = (&mut counters.global_pauses, &mut counters.malformed_pauses);
        let Some((enabled, quanta)) = priorities(body, global, malformed) else {
            return;
        };
        counters.pauses_received += 1;
        // If several priorities share a traffic class, their longest pause time applies to the
        // class.
        let mut of_class = [0; 8];
        for priority in (0..8u8).filter(|priority| enabled >> priority & 1 != 0) {
            let time = &mut of_class[usize::from(self.classes.traffic_class(priority))];
            *time = quanta[usize::from(priority)].max(*time);
        }
        let classes = self.classes.classes(enabled);
        let size = self.network.sizes.pause;
        for packet in pause_records::records_of(classes, of_class, true, size) {
            let id = self.arena.alloc(packet, Cold::default());
            self.enter(port, id);
        }
    }

    /// Handles a control frame from a neighbour that is not a pause frame.
    fn neighbour(&mut self, port: u16, header: &Ethernet, frame: &[u8]) {
        let Some(id) = neighbour(&self.network, self.endpoints, frame, &mut self.arena) else {
            self.counters.malformed += 1;
            return;
        };
        self.ports[usize::from(port)].peer = header.from;
        self.enter(port, id);
    }

    fn forward(&mut self, port: u16, header: &Ethernet, body: &[u8], frame: &[u8]) {
        self.stations.learn(self.now, header.from, port); // WSW-01: learn the station's port
        if let Some(id) = self.ours(header, frame) {
            return self.enter(port, id);
        }
        let class = self.classes.class(priority(header, body));
        let hash = flow_hash(header, body);
        let known = self.stations.port(self.now, header.to);
        match known.filter(|_| !is_group(header.to)) {
            Some(to) if to == port => self.counters.returned += 1,
            Some(to) => self.foreign(port, to, class, hash, frame),
            // WSW-02: flood if the destination is unknown or a group address
            None => {
                self.counters.flooded += 1;
                for to in 0..self.ports.len() as u16 {
                    if to != port && self.ports[usize::from(to)].floods {
                        self.foreign(port, to, class, hash, frame);
                    }
                }
            }
        }
    }

    /// Returns the packet record of a frame in Backwater's format, or `None` for a foreign frame.
    // WSW-12: frames of Backwater
    fn ours(&mut self, header: &Ethernet, frame: &[u8]) -> Option<PacketId> {
        let id = decode(&self.network, frame, &mut self.arena).ok()?;
        let (packet, src) = (*self.arena.hot(id), self.arena.cold(id).src);
        if packet.dst >= self.endpoints || src >= self.endpoints {
            self.arena.free(id);
            return None;
        }
        let stored = Stored::Ours {
            from: header.from,
            to: header.to,
            tag: header.tag,
            class: packet.class(),
        };
        // WSW-12: frames of the control class remain in this class
        let class = traffic_class(packet.class())
            .map_or(packet.class(), |priority| self.classes.class(priority));
        self.arena.hot_mut(id).become_kind(packet.kind(), class);
        self.stored.insert(id, stored);
        Some(id)
    }

    /// Forwards a frame that is not in Backwater's format. The dataplane treats it as a data
    /// packet.
    // WSW-12: foreign frames
    fn foreign(&mut self, from: u16, to: u16, class: u8, hash: u32, frame: &[u8]) {
        let (Some(src), Some(dst)) = (self.target(from), self.target(to)) else {
            self.counters.nowhere += 1;
            return;
        };
        let bytes = frame.len().max(SHORTEST_BYTES) + FCS_BYTES;
        let mut packet = Packet {
            flow: hash,
            psn: self.numbered,
            hash,
            dst,
            ..Packet::new(Kind::Data, class, bytes as u16)
        };
        self.numbered = self.numbered.wrapping_add(1);
        let leads = |packet: &Packet| self.routes.port(packet, || src) == Some(to);
        let tried = (0..TRIES).find(|&nth| {
            packet.hash = if nth == 0 { hash } else { mix32(hash ^ nth) };
            leads(&packet)
        });
        if tried.is_none() {
            self.counters.nowhere += 1;
            return;
        }
        let cold = Cold {
            src,
            payload: packet.size,
            remaining: packet.size.into(),
            ..Cold::default()
        };
        let id = self.arena.alloc(packet, cold);
        self.stored.insert(id, Stored::Foreign(frame.to_vec()));
        self.enter(from, id);
    }

    fn target(&self, port: u16) -> Option<u32> {
        self.ports[usize::from(port)].target
    }

    /// Passes a packet to the state machine of the switch.
    fn enter(&mut self, port: u16, id: PacketId) {
        let (arena, sink) = (&mut self.arena, &mut self.requests);
        self.switch.receive(self.now, port, id, arena, sink);
    }

    /// Starts a frame at every port that may send, and records drops.
    fn serve(&mut self, out: &mut Out<'_>) {
        while let Some(port) = self.requests.kicks.pop_front() {
            self.start(port, out);
        }
        for id in self.requests.dropped_ids.drain(..) {
            self.stored.remove(&id);
        }
        for (class, cause) in self.requests.drops.drain(..) {
            self.counters.dropped(class, cause);
        }
    }

    // WSW-30: a port sends only if its line is free
    fn start(&mut self, nth: u16, out: &mut Out<'_>) {
        if !self.lines.is_free(self.now, nth) {
            return;
        }
        let (arena, sink) = (&mut self.arena, &mut self.requests);
        let Some(id) = self.switch.transmit(self.now, nth, arena, sink) else {
            return;
        };
        let size = self.arena.hot(id).size;
        self.lines.send(self.now, nth, size);
        let bytes = self.write(nth, id);
        self.arena.free(id);
        let counters = &mut self.ports[usize::from(nth)].counters;
        counters.sent += 1;
        counters.sent_bytes += bytes as u64;
        if bytes > 0 {
            out(nth, &self.buffer[..bytes]);
        }
    }

    /// Encodes the frame of a departing packet. Returns its length, or 0 if the packet has no
    /// frame.
    fn write(&mut self, port: u16, id: PacketId) -> usize {
        let packet = *self.arena.hot(id);
        if let Some((on, _)) = pfc::said(&packet) {
            return self.write_pause(port, &packet, on);
        }
        match self.stored.remove(&id) {
            Some(Stored::Foreign(mut frame)) => {
                if packet.has(flag::CE) {
                    match mark(&mut frame) {
                        Marked::Yes => self.counters.marked += 1,
                        Marked::Incapable => self.counters.unmarkable += 1,
                    }
                }
                self.buffer[..frame.len()].copy_from_slice(&frame);
                frame.len()
            }
            Some(Stored::Ours {
                from,
                to,
                tag,
                class,
            }) => {
                self.arena.hot_mut(id).become_kind(packet.kind(), class);
                let bytes = self.encode(id, from, to);
                restore_tag(&mut self.buffer, bytes, tag)
            }
            None => {
                let Port { own, peer, .. } = self.ports[usize::from(port)];
                self.encode(id, own, peer)
            }
        }
    }

    fn encode(&mut self, id: PacketId, from: Mac, to: Mac) -> usize {
        let network = &self.network;
        let link = Link { network, from, to };
        let written = encode(&link, &self.arena, id, &mut self.buffer);
        self.counters.unwritable += u64::from(written.is_err());
        written.unwrap_or(0)
    }

    // WSW-22: pause frames carry a pause time
    fn write_pause(&mut self, port: u16, packet: &Packet, on: bool) -> usize {
        let Some(Pause::Priority { enabled, quanta }) = pause_records::frame_of(packet) else {
            return 0;
        };
        let time = quanta.into_iter().max().unwrap_or(0);
        let enabled = self.classes.priorities(enabled);
        let of = |priority: usize| time * u16::from(enabled >> priority & 1);
        let pause = Pause::Priority {
            enabled,
            quanta: std::array::from_fn(of),
        };
        let port = &mut self.ports[usize::from(port)];
        let sent = match on {
            true => &mut port.counters.pauses_sent,
            false => &mut port.counters.resumes_sent,
        };
        *sent += 1;
        let mut out = Writer::new(&mut self.buffer);
        match pause.emit(port.own, &mut out) {
            Ok(()) => out.written(),
            Err(_) => 0,
        }
    }

    /// The state machine of the switch.
    #[must_use]
    pub const fn switch(&self) -> &Switch {
        &self.switch
    }

    /// Counters of the switch, summed over all ports.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Counters of a port.
    #[must_use]
    pub fn port_counters(&self, port: u16) -> &PortCounters {
        &self.ports[usize::from(port)].counters
    }

    /// Bitmap of the priorities that the neighbour of a port has paused.
    #[must_use]
    pub fn paused(&self, port: u16) -> u8 {
        let (paused, _) = self.switch.held_classes(port);
        self.classes.priorities((paused >> DATA_CLASS) as u8)
    }

    /// True if the link of a port is up.
    #[must_use]
    pub fn is_up(&self, port: u16) -> bool {
        self.lines.is_up(port)
    }

    /// Number of ports.
    #[must_use]
    pub const fn ports(&self) -> u16 {
        self.ports.len() as u16
    }

    /// Number of stations (MAC addresses) whose port is known.
    #[must_use]
    pub fn stations(&self) -> usize {
        self.stations.len()
    }

    /// Checks the invariants of the switch and of the stored frame data. Returns the violations.
    #[must_use]
    pub fn audit(&self) -> Vec<String> {
        let mut broken = self.switch.audit(&self.arena);
        let mut packets = 0;
        for port in 0..self.ports() {
            self.switch.for_each_queued(port, &self.arena, |id| {
                packets += usize::from(!self.arena.hot(id).is_frame());
            });
        }
        self.switch.for_each_held(&self.arena, |_| packets += 1);
        if packets != self.stored.len() {
            let stored = self.stored.len();
            broken.push(format!("{stored} frames are stored for {packets} packets"));
        }
        broken
    }
}

impl Machine for Node {
    // WSW-30: each action is executed with its due time, so that late calls do not slow the links
    fn advance(&mut self, now: Time, out: &mut Out<'_>) {
        let mut late = CatchUp::new(now);
        while let Some(at) = late.next(self.next()) {
            self.now = self.now.max(at);
            if self.requests.timer <= at {
                self.requests.timer = NEVER;
                let (arena, sink) = (&mut self.arena, &mut self.requests);
                self.switch.timer(self.now, arena, sink);
            } else if let Some(port) = self.lines.take_next() {
                self.requests.kick(port);
            }
            self.serve(out);
        }
        self.now = self.now.max(now);
    }

    fn next(&self) -> Option<Time> {
        [self.lines.next(), self.requests.due()]
            .into_iter()
            .flatten()
            .min()
    }

    fn receive(&mut self, now: Time, port: u16, frame: &[u8], out: &mut Out<'_>) {
        self.advance(now, out);
        let counters = &mut self.ports[usize::from(port)].counters;
        counters.received += 1;
        counters.received_bytes += frame.len() as u64;
        let Ok((header, body)) = Ethernet::parse(frame) else {
            self.counters.malformed += 1;
            return;
        };
        if frame.len() > self.largest {
            self.counters.oversized += 1;
            return;
        }
        match header.ether_type {
            ether_type::CONTROL => self.pause(port, body),
            ether_type::OURS => self.neighbour(port, &header, frame),
            _ if is_reserved(header.to) => self.counters.reserved += 1, // WSW-03: not forwarded
            _ => self.forward(port, &header, body, frame),
        }
        self.serve(out);
    }

    // WSW-40, LNK-20: the change of a link drops queued packets and ends all pauses of the port
    fn link(&mut self, now: Time, port: u16, up: bool, out: &mut Out<'_>) {
        self.advance(now, out);
        if !self.lines.set_up(self.now, port, up) {
            return;
        }
        let state = &mut self.ports[usize::from(port)];
        state.peer = BROADCAST;
        state.counters.link_changes += 1;
        if !up {
            self.stations.forget(port);
        }
        let (arena, sink) = (&mut self.arena, &mut self.requests);
        self.switch
            .link(self.now, port, (!up).then_some(Stranded::Drop), arena, sink);
        self.serve(out);
    }
}

/// Restores the VLAN tag with which a frame of Backwater arrived, or removes the tag if it arrived
/// without one. Returns the new length.
fn restore_tag(frame: &mut [u8], bytes: usize, tag: Option<Tag>) -> usize {
    if bytes < 18 {
        return bytes;
    }
    match tag {
        Some(tag) => {
            let priority = u16::from(tag.priority) << 13;
            let control = priority | u16::from(tag.drop_eligible) << 12 | tag.vlan;
            frame[14..16].copy_from_slice(&control.to_be_bytes());
            bytes
        }
        None => {
            frame.copy_within(16..bytes, 12);
            bytes - 4
        }
    }
}

/// Returns a hash of the fields that are constant within a flow: MAC addresses, IP addresses and
/// ports.
fn flow_hash(header: &Ethernet, body: &[u8]) -> u32 {
    let ends = match header.ether_type {
        ether_type::IPV4 => body.get(12..20).map(|ends| (ends, transport_v4(body))),
        ether_type::IPV6 => body.get(8..40).map(|ends| (ends, body.get(40..44))),
        _ => None,
    };
    let (ends, ports) = ends.unwrap_or((&[], None));
    let stations = header.from.iter().chain(&header.to);
    let all = stations.chain(ends).chain(ports.into_iter().flatten());
    all.fold(0x811c_9dc5, |hash, &byte| {
        mix32(hash ^ u32::from(byte)).wrapping_add(1)
    })
}

/// Returns the bytes of the TCP or UDP port numbers in an IPv4 packet.
fn transport_v4(body: &[u8]) -> Option<&[u8]> {
    let header = usize::from(body[0] & 15) * 4;
    let whole = matches!(body.get(6..8)?, [flags, 0] if flags & 0x3f == 0);
    let known = whole && matches!(body[9], 6 | 17);
    known.then(|| body.get(header..header + 4))?
}
