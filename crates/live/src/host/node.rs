//! A NIC of the dataplane that runs on real frames. This module starts flows, converts frames to
//! packet records, and rejects invalid packets. The caller supplies frames and the time; the module
//! has no sockets, so that tests can control the time.

use std::ops::Range;

use dataplane::nic::Nic;
use dataplane::packet::{Arena, Cold, Kind, PacketId};
use dataplane::units::{NEVER, Time};
use wire::ethernet::{Ethernet, Mac, ether_type};
use wire::frame::MOST_BYTES;
use wire::neighbour::pfc as pause_records;
use wire::{Link, Network, decode, encode};

use super::counters::Counters;
use super::description::{HostDescription, StartFlow};
use super::flows::Flows;
use crate::wall::{BROADCAST, CatchUp, Lines, Machine, Out, Requests, neighbour, priorities};

/// A host that runs on real frames.
pub struct Node {
    nic: Nic,
    start_flow: StartFlow,
    arena: Arena,
    network: Network,
    flows: Flows,
    lines: Lines,
    /// MAC addresses of the ports.
    addresses: Vec<Mac>,
    /// For each port, the source MAC address of the last control frame from its neighbour.
    neighbours: Vec<Mac>,
    /// Range of the host's endpoints, one for each port.
    own: Range<u32>,
    /// All endpoints of the network.
    ends: Vec<End>,
    mtu: u16,
    requests: Requests,
    now: Time,
    counters: Counters,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("own", &self.own)
            .field("flows", &self.flows)
            .finish_non_exhaustive()
    }
}

/// An endpoint of the network, that is, a port of a host.
#[derive(Clone, Copy, Debug)]
struct End {
    host: u32,
    /// MAC address to which frames for this endpoint are sent.
    address: Mac,
    /// Number of packets received from this endpoint.
    received: u64,
}

impl Node {
    /// Builds a host. `addresses` are the MAC addresses of its ports. `first` must differ between
    /// two starts of the program.
    #[must_use]
    pub fn new(of: HostDescription, addresses: &[Mac], first: u32) -> Self {
        let end = |&(host, address): &(u32, Mac)| End {
            host,
            address,
            received: 0,
        };
        let endpoint = (of.own.start, of.node.endpoints);
        Self {
            nic: of.nic,
            start_flow: of.start_flow,
            arena: Arena::new(),
            network: of.node.network,
            flows: Flows::new(of.feed, of.host, endpoint, first),
            lines: Lines::new(of.node.links.iter().map(|link| link.0)),
            neighbours: vec![BROADCAST; addresses.len()],
            addresses: addresses.to_vec(),
            own: of.own,
            ends: of.ends.iter().map(end).collect(),
            mtu: of.mtu,
            requests: Requests::new(of.node.seed),
            now: 0,
            counters: Counters::default(),
            buffer: vec![0; MOST_BYTES],
        }
    }

    /// Handles a pause frame (PFC or IEEE 802.3x) from the neighbour.
    // HST-20: control frames
    fn pause(&mut self, port: u16, body: &[u8]) {
        let counters = &mut self.counters;
        let (global, malformed) = (&mut counters.global_pauses, &mut counters.malformed);
        let Some((enabled, quanta)) = priorities(body, global, malformed) else {
            return;
        };
        self.counters.pauses_received += 1;
        let size = self.network.sizes.pause;
        for packet in pause_records::records_of(enabled, quanta, true, size) {
            let id = self.arena.alloc(packet, Cold::default());
            self.enter(port, id);
        }
    }

    /// Handles a control frame from the neighbour that is not a pause frame.
    // HST-20: control frames
    fn neighbour(&mut self, port: u16, header: &Ethernet, frame: &[u8]) {
        let endpoints = self.ends.len() as u32;
        let Some(id) = neighbour(&self.network, endpoints, frame, &mut self.arena) else {
            self.counters.malformed += 1;
            return;
        };
        self.counters.neighbour_frames += 1;
        self.neighbours[usize::from(port)] = header.from;
        self.enter(port, id);
    }

    /// Handles a data packet or reply from another host.
    // HST-10, HST-11: reject packets that cannot belong to this host or a flow
    fn packet(&mut self, port: u16, header: &Ethernet, frame: &[u8]) {
        let Ok(id) = decode(&self.network, frame, &mut self.arena) else {
            self.counters.others += 1;
            return;
        };
        let (packet, cold) = (*self.arena.hot(id), *self.arena.cold(id));
        let refused = if packet.dst != self.own.start + u32::from(port) {
            &mut self.counters.misdirected
        } else if self.own.contains(&cold.src) || cold.src as usize >= self.ends.len() {
            &mut self.counters.impostors
        } else {
            let fits = match packet.kind() {
                Kind::Data => self.fits(packet.psn, &cold),
                Kind::Ack | Kind::Nak | Kind::Cnp | Kind::Notice => {
                    self.flows.expects(self.now, &packet, &cold)
                }
                _ => false,
            };
            if fits {
                let end = &mut self.ends[cold.src as usize];
                end.received += 1;
                end.address = header.from; // HST-03: the address of the endpoint is learned
                self.counters.count(&packet, self.arena.stack(id).as_ref());
                return self.enter(port, id);
            }
            &mut self.counters.unexpected
        };
        *refused += 1;
        self.arena.free(id);
    }

    /// True if the fields of a data packet are valid: the payload is at most the MTU and the
    /// remaining bytes of the flow, and the sequence numbers of the flow do not overflow.
    fn fits(&self, psn: u32, cold: &Cold) -> bool {
        let packets = cold.remaining.div_ceil(u64::from(self.mtu));
        (1..=self.mtu).contains(&cold.payload)
            && cold.remaining >= u64::from(cold.payload)
            && u64::from(psn) + packets < u64::from(u32::MAX)
    }

    /// Passes a packet to the NIC.
    fn enter(&mut self, port: u16, id: PacketId) {
        let (arena, sink) = (&mut self.arena, &mut self.requests);
        self.nic.receive(self.now, port, id, arena, sink);
    }

    /// Starts the next pending flow.
    // HST-05: start of flows
    fn start_next_flow(&mut self) {
        let Some((flow, nth)) = self.flows.take_next() else {
            return;
        };
        let (mut start, ideal_ps) = (self.start_flow)(&flow, nth);
        self.flows.begin(flow, &mut start, ideal_ps);
        self.nic.start(self.now, &start, &mut self.requests);
    }

    /// Starts a frame at every port that may send, and records finished flows.
    fn serve(&mut self, out: &mut Out<'_>) {
        while let Some(port) = self.requests.kicks.pop_front() {
            self.start(port, out);
        }
        for end in self.requests.ends.drain(..) {
            self.flows.end(&end);
        }
        self.requests.dropped_ids.clear();
        self.counters.dropped += self.requests.drops.drain(..).count() as u64;
    }

    // WSW-30: a port sends only if its line is free
    fn start(&mut self, port: u16, out: &mut Out<'_>) {
        if !self.lines.is_free(self.now, port) {
            return;
        }
        let (arena, sink) = (&mut self.arena, &mut self.requests);
        let Some(id) = self.nic.transmit(self.now, port, arena, sink) else {
            return;
        };
        let (packet, cold) = (*self.arena.hot(id), *self.arena.cold(id));
        self.lines.send(self.now, port, packet.size);
        if packet.kind() == Kind::Data {
            self.flows.sent(&packet, &cold);
        }
        let to = match self.ends.get(packet.dst as usize) {
            Some(end) if !packet.is_frame() => end.address,
            _ => self.neighbours[usize::from(port)],
        };
        let link = Link {
            network: &self.network,
            from: self.addresses[usize::from(port)],
            to,
        };
        let written = encode(&link, &self.arena, id, &mut self.buffer);
        self.arena.free(id);
        match written {
            Ok(bytes) => {
                self.counters.largest_bytes = self.counters.largest_bytes.max(bytes);
                out(port, &self.buffer[..bytes]);
            }
            Err(_) => self.counters.unwritable += 1,
        }
    }

    /// The state machine of the NIC.
    #[must_use]
    pub const fn nic(&self) -> &Nic {
        &self.nic
    }

    /// The flows of this host.
    #[must_use]
    pub const fn flows(&self) -> &Flows {
        &self.flows
    }

    /// Counters at this time.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters {
            pauses_obeyed: self.requests.pauses,
            ..self.counters
        }
    }

    /// True if the link of a port is up.
    #[must_use]
    pub fn is_up(&self, port: u16) -> bool {
        self.lines.is_up(port)
    }

    /// Number of packets that were received from a host.
    #[must_use]
    pub fn received_from(&self, host: u32) -> u64 {
        let of = self.ends.iter().filter(|end| end.host == host);
        of.map(|end| end.received).sum()
    }

    /// Number of packet records in use.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.arena.alive() as u64
    }
}

impl Machine for Node {
    fn advance(&mut self, now: Time, out: &mut Out<'_>) {
        let mut late = CatchUp::new(now);
        while let Some(at) = late.next(self.next()) {
            self.now = self.now.max(at);
            if self.flows.next_ps().is_some_and(|start| start <= at) {
                self.start_next_flow();
            } else if self.requests.timer <= at {
                self.requests.timer = NEVER;
                let (arena, sink) = (&mut self.arena, &mut self.requests);
                self.nic.timer(self.now, arena, sink);
            } else if let Some(port) = self.lines.take_next() {
                self.requests.kicks.push_back(port);
            }
            self.serve(out);
        }
        self.counters.overruns += u64::from(late.is_behind());
        self.now = self.now.max(now);
    }

    fn next(&self) -> Option<Time> {
        let all = [self.lines.next(), self.requests.due(), self.flows.next_ps()];
        all.into_iter().flatten().min()
    }

    fn receive(&mut self, now: Time, port: u16, frame: &[u8], out: &mut Out<'_>) {
        self.advance(now, out);
        self.counters.received += 1;
        let Ok((header, body)) = Ethernet::parse(frame) else {
            self.counters.malformed += 1;
            return;
        };
        match header.ether_type {
            ether_type::CONTROL => self.pause(port, body),
            ether_type::OURS => self.neighbour(port, &header, frame),
            _ => self.packet(port, &header, frame),
        }
        self.serve(out);
    }

    // HST-21, LNK-20: the change of a link resets the state of its port
    fn link(&mut self, now: Time, port: u16, up: bool, out: &mut Out<'_>) {
        self.advance(now, out);
        if !self.lines.set_up(self.now, port, up) {
            return;
        }
        self.counters.link_changes += 1;
        self.neighbours[usize::from(port)] = BROADCAST;
        let (arena, sink) = (&mut self.arena, &mut self.requests);
        self.nic.link(self.now, port, up, arena, sink);
        self.serve(out);
    }
}
