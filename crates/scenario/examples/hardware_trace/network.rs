//! A minimal simulation engine: carries packets between the hosts and switches of a network, and
//! reports events to a trace.

use fabric::NodeId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use dataplane::classes::ClassSet;
use dataplane::event::{EventSet, NodeEvent, PauseFrame};
use dataplane::nic::{FlowEnd, FlowStart, Nic};
use dataplane::packet::{Arena, Packet, PacketId};
use dataplane::sink::{DropCause, Sink};
use dataplane::switch::Switch;
use dataplane::units::{NEVER, Time};
use fabric::engine::{Plan, SingleHost, upward};
use fabric::topology::Graph;
use traffic::Flow;

/// Actions that a state machine (host or switch) requested during one call.
#[derive(Default)]
pub struct Requests {
    kicks: Vec<u16>,
    timers: Vec<Time>,
    /// True if the packet was dropped.
    pub dropped: bool,
    /// True if a pause frame with a queue number was sent.
    pub pauses: bool,
    /// True if a PFC pause frame was sent.
    pub xoff: bool,
    /// True if a PFC resume frame was sent.
    pub xon: bool,
    /// Packets that were released from VOQs, in order.
    pub released: Vec<PacketId>,
    /// Last random number that was drawn, in its upper 16 bits; 0: none was drawn.
    pub random: u64,
    state: u64,
    /// Paused classes before and after a PFC frame, or before and after the end of a pause time.
    paused: Option<(ClassSet, ClassSet)>,
}

impl Sink for Requests {
    fn kick(&mut self, port: u16) {
        self.kicks.push(port);
    }
    fn wake(&mut self, at: Time) {
        self.timers.push(at);
    }
    fn dropped(&mut self, _packet: &Packet, _port: Option<u16>, _cause: DropCause) {
        self.dropped = true;
    }
    fn call(&mut self, at: Time, _what: u32) {
        self.timers.push(at);
    }
    /// Returns a number with 16 random bits, because the circuits scale a number of this width.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.random = mixed >> 48 << 48;
        self.random
    }
    fn pfc_received(&mut self, _port: u16, before: ClassSet, after: ClassSet) {
        self.paused = Some((before, after));
    }
    fn wants(&self, kinds: EventSet) -> bool {
        kinds.intersects(NodeEvent::PAUSE_SENT)
    }
    fn event(&mut self, event: NodeEvent) {
        match event {
            NodeEvent::PauseSent(sent) => match sent.pause {
                PauseFrame::Xoff(_) => self.xoff = true,
                PauseFrame::Xon => self.xon = true,
                PauseFrame::Refresh => {}
            },
            NodeEvent::QueuePauseSent { .. } => self.pauses = true,
            NodeEvent::Released { id } => self.released.push(id),
            _ => {}
        }
    }
    fn finished(&mut self, _end: FlowEnd) {}
}

/// State of a switch after it has handled an event.
pub struct View<'a> {
    /// Simulated time, in ps.
    pub now: Time,
    /// Node ID of the switch.
    pub node: u32,
    /// The switch.
    pub switch: &'a Switch,
    /// All packets in the network.
    pub arena: &'a Arena,
    /// Actions that the switch requested in this call.
    pub requests: &'a Requests,
}

/// Callbacks of a trace, which prints events of hosts and switches.
pub trait Trace {
    /// Returns true if the trace prints events of this switch.
    fn follows(&self, _switch: u32) -> bool {
        true
    }
    /// A flow starts at a host. An error ends the run.
    fn starts(&mut self, _now: Time, _flow: &FlowStart) -> Result<(), String> {
        Ok(())
    }
    /// A packet or frame has arrived at a host, which has not handled it yet.
    fn host_receives(&mut self, _now: Time, _host: u32, _id: PacketId, _arena: &Arena) {}
    /// A host sends a packet or frame. An error ends the run.
    fn host_sends(&mut self, _now: Time, _packet: &Packet) -> Result<(), String> {
        Ok(())
    }
    /// Returns true if the link loses a frame that would arrive at the switch now.
    fn loses(&mut self, _now: Time, _port: u16, _packet: &Packet) -> bool {
        false
    }
    /// The set of paused classes of a host has changed to `paused`.
    fn host_paused(&mut self, _now: Time, _host: u32, _paused: ClassSet) {}
    /// A packet or frame has arrived at a switch, which has handled it. `packet` and `list` are its
    /// header fields and its list before the switch handled it.
    fn arrived(
        &mut self,
        _view: &View<'_>,
        _port: u16,
        _id: PacketId,
        _packet: &Packet,
        _list: &[u32],
    ) {
    }
    /// A packet or frame has left a switch.
    fn left(&mut self, _view: &View<'_>, _port: u16, _id: PacketId) {}
    /// A switch has handled the expiry of its timer.
    fn timer(&mut self, _view: &View<'_>) {}
    /// A node has dropped a packet. An error ends the run.
    fn dropped(&mut self) -> Result<(), String> {
        Ok(())
    }
    /// Returns the number of traced events so far.
    fn events(&self) -> u64;
    /// Prints the state at the end.
    fn print_state(&self, network: &Network) -> Result<(), String>;
}

/// Events. At the same time they are executed in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The last byte of a packet has arrived at a port of a node.
    Arrival(u32, u16, PacketId),
    Timer(u32),
    Start,
    /// A port may send.
    Egress(u32, u16),
}

/// The hosts, switches and links of the simulated network.
pub struct Network {
    /// Simulated time, in ps.
    pub now: Time,
    /// All packets in the network.
    pub arena: Arena,
    graph: Arc<Graph>,
    nics: Vec<Nic>,
    switches: Vec<Switch>,
    /// For each port of the network: the time at which its link is free.
    free: Vec<Time>,
    calendar: BinaryHeap<Reverse<(Time, Event, u64)>>,
    scheduled: u64,
    requests: Requests,
}

impl Network {
    /// Creates the network that a plan describes.
    pub fn new(plan: &Plan, host: &SingleHost) -> Self {
        let switches = plan
            .graph
            .switch_ids()
            .zip(&plan.routes)
            .map(|(node, routes)| {
                let links = plan.graph.rates_and_delays(node);
                let mut switch = Switch::new(node.bits(), &plan.switch, &links, routes.clone());
                switch.set_upward(&upward(&plan.graph, node));
                switch
            });
        Self {
            now: 0,
            arena: Arena::new(),
            nics: (plan.graph.host_ids())
                .map(|number| host.nic(plan, number))
                .collect(),
            switches: switches.collect(),
            free: vec![0; plan.graph.port_count() as usize],
            graph: Arc::clone(&plan.graph),
            calendar: BinaryHeap::new(),
            scheduled: 0,
            requests: Requests::default(),
        }
    }

    /// Returns the switch with this node ID.
    pub fn switch(&self, node: u32) -> &Switch {
        &self.switches[(node - self.graph.hosts()) as usize]
    }

    /// Audits a switch, and prints the time of the end of the run.
    pub fn print_end(&self, node: u32) -> Result<(), String> {
        if let Some(broken) = self.switch(node).audit(&self.arena).first() {
            return Err(broken.clone());
        }
        println!("end {}", self.now);
        Ok(())
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.scheduled += 1;
        self.calendar.push(Reverse((at, event, self.scheduled)));
    }

    fn prepare(&mut self) {
        let requests = &mut self.requests;
        (requests.dropped, requests.pauses, requests.random) = (false, false, 0);
        (requests.xoff, requests.xon) = (false, false);
        requests.released.clear();
    }

    /// Schedules the requests of a node's last call, and reports changes of a host's paused
    /// classes.
    fn serve(&mut self, node: u32, trace: &mut dyn Trace) {
        for at in std::mem::take(&mut self.requests.timers) {
            if at != NEVER {
                self.schedule(at, Event::Timer(node));
            }
        }
        for port in std::mem::take(&mut self.requests.kicks) {
            self.schedule(self.now, Event::Egress(node, port));
        }
        if let Some((before, after)) = self.requests.paused.take()
            && before != after
            && self.switch_index(node).is_none()
        {
            trace.host_paused(self.now, node, after);
        }
    }

    /// Returns the index of a node among the switches, or `None` if it is a host.
    fn switch_index(&self, node: u32) -> Option<usize> {
        node.checked_sub(self.graph.hosts()).map(|nth| nth as usize)
    }

    fn arrive(&mut self, node: u32, port: u16, id: PacketId, trace: &mut dyn Trace) {
        self.prepare();
        let packet = *self.arena.hot(id);
        if trace.follows(node) && trace.loses(self.now, port, &packet) {
            self.arena.free(id);
            return;
        }
        let list = match packet.is_frame() {
            true => self.arena.list(id).to_vec(),
            false => Vec::new(),
        };
        let (now, index) = (self.now, self.switch_index(node));
        let (arena, requests) = (&mut self.arena, &mut self.requests);
        if let Some(index) = index {
            self.switches[index].receive(now, port, id, arena, requests);
            if trace.follows(node) {
                trace.arrived(&self.view(node), port, id, &packet, &list);
            }
        } else {
            trace.host_receives(now, node, id, arena);
            self.nics[node as usize].receive(now, port, id, arena, requests);
        }
        self.serve(node, trace);
    }

    fn view(&self, node: u32) -> View<'_> {
        View {
            now: self.now,
            node,
            switch: self.switch(node),
            arena: &self.arena,
            requests: &self.requests,
        }
    }

    fn transmit(&mut self, node: u32, port: u16, trace: &mut dyn Trace) -> Result<(), String> {
        let from = self.graph.link(NodeId::from_bits(node), port);
        if self.free[from.index()] > self.now {
            self.schedule(self.free[from.index()], Event::Egress(node, port));
            return Ok(());
        }
        self.prepare();
        let (now, index) = (self.now, self.switch_index(node));
        let (arena, requests) = (&mut self.arena, &mut self.requests);
        let sent = match index {
            Some(index) => self.switches[index].transmit(now, port, arena, requests),
            None => self.nics[node as usize].transmit(now, port, arena, requests),
        };
        if let Some(id) = sent {
            let packet = self.arena.hot(id);
            let size = u64::from(packet.size);
            if index.is_none() {
                trace.host_sends(now, packet)?;
            } else if trace.follows(node) {
                trace.left(&self.view(node), port, id);
            }
            let link = self.graph.port(from);
            let free = now + link.rate.serialisation_ps(size);
            self.free[from.index()] = free;
            self.schedule(free, Event::Egress(node, port));
            let arrival = Event::Arrival(link.peer.bits(), link.peer_port, id);
            self.schedule(free + link.delay_ps, arrival);
        }
        self.serve(node, trace);
        Ok(())
    }

    /// Runs until the trace has this number of events, no event is pending, or the trace returns an
    /// error.
    pub fn run(
        &mut self,
        host: &mut SingleHost,
        feed: &mut dyn Iterator<Item = Flow>,
        trace: &mut dyn Trace,
        events: u64,
    ) -> Result<(), String> {
        let mut next = feed.next();
        if let Some(flow) = &next {
            self.schedule(flow.start_ps, Event::Start);
        }
        let mut started = 0;
        while trace.events() < events
            && let Some(Reverse((now, event, _))) = self.calendar.pop()
        {
            self.now = now;
            match event {
                Event::Arrival(node, port, id) => self.arrive(node, port, id, trace),
                Event::Egress(node, port) => self.transmit(node, port, trace)?,
                Event::Timer(node) => {
                    self.prepare();
                    let index = self.switch_index(node);
                    let (arena, requests) = (&mut self.arena, &mut self.requests);
                    if let Some(index) = index {
                        self.switches[index].timer(now, arena, requests);
                        if trace.follows(node) {
                            trace.timer(&self.view(node));
                        }
                    } else {
                        self.nics[node as usize].timer(now, arena, requests);
                    }
                    self.serve(node, trace);
                }
                Event::Start => {
                    while let Some(flow) = next.take_if(|flow| flow.start_ps <= now) {
                        let (start, _) = host.flow(&flow, started);
                        started += 1;
                        trace.starts(now, &start)?;
                        self.nics[flow.src as usize].start(now, &start, &mut self.requests);
                        self.serve(flow.src, trace);
                        next = feed.next();
                    }
                    if let Some(flow) = &next {
                        self.schedule(flow.start_ps, Event::Start);
                    }
                }
            }
            if std::mem::take(&mut self.requests.dropped) {
                trace.dropped()?;
            }
        }
        Ok(())
    }
}
