//! Carries packets between the hosts and switches of a network, and reports what one switch does.

use dataplane::ids::QueueId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dataplane::classes::ClassSet;
use dataplane::nic::{FlowEnd, Nic};
use dataplane::packet::{Arena, Packet, PacketId};
use dataplane::sink::{DropCause, Sink};
use dataplane::switch::Switch;
use dataplane::units::{NEVER, Rate, Time};
use fabric::engine::{Plan, SingleHost, upward};
use fabric::topology::Graph;
use std::sync::Arc;
use traffic::Flow;

/// What a state machine requests of the driver during one call.
#[derive(Default)]
pub struct Requests {
    kicks: Vec<u16>,
    timers: Vec<Time>,
    /// The packet was dropped.
    pub dropped: bool,
    /// A pause was sent that names a queue.
    pub pauses: bool,
    /// Packets that were released, in order.
    pub released: Vec<PacketId>,
    /// The last random number, in its upper 16 bits; 0: none was drawn.
    pub random: u64,
    state: u64,
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
    /// Returns a number with 16 random bits: the circuits scale a number of this width.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.random = mixed >> 48 << 48;
        self.random
    }
    fn pfc_received(&mut self, _port: u16, _before: ClassSet, _after: ClassSet) {}
    fn hold_sent(&mut self, _frame: PacketId, _egress: u16, _queue: QueueId) {
        self.pauses = true;
    }
    fn released(&mut self, id: PacketId) {
        self.released.push(id);
    }
    fn finished(&mut self, _end: FlowEnd) {}
}

/// The switch that is followed, before or after a step.
pub struct View<'a> {
    /// The time, in ps.
    pub now: Time,
    /// The switch.
    pub switch: &'a Switch,
    /// All packets.
    pub arena: &'a Arena,
    /// What the switch requested in this step.
    pub requests: &'a Requests,
}

/// Prints what the switch does.
pub trait Trace {
    /// A packet or frame has arrived, and the switch has handled it. `packet` is its record before that.
    fn arrived(&mut self, view: &View<'_>, port: u16, id: PacketId, packet: &Packet, list: &[u32]);
    /// A packet or frame has left.
    fn left(&mut self, view: &View<'_>, port: u16, id: PacketId);
    /// The switch's timer was called.
    fn timer(&mut self, view: &View<'_>);
    /// Events that were printed.
    fn events(&self) -> u64;
}

/// Events of one instant, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet has arrived whole at a node.
    Arrival(u32, u16, PacketId),
    Timer(u32),
    Start,
    /// A port may send.
    Egress(u32, u16),
}

/// Hosts, switches and links.
pub struct Network {
    now: Time,
    /// All packets.
    pub arena: Arena,
    graph: Arc<Graph>,
    nics: Vec<Nic>,
    switches: Vec<Switch>,
    /// Number of the node that is followed.
    watched: u32,
    /// Of every port of the network: the time at which its link is free.
    free: Vec<Time>,
    calendar: BinaryHeap<Reverse<(Time, Event, u64)>>,
    scheduled: u64,
    requests: Requests,
}

impl Network {
    /// The network of a plan, whose switch number `watched` is followed.
    pub fn new(plan: &Plan, host: &SingleHost, watched: u32) -> Self {
        let hosts = plan.graph.hosts();
        let switches = (0..plan.graph.switches()).map(|nth| {
            let node = hosts + nth;
            let links = plan.graph.links(node);
            let routes = plan.routes[nth as usize].clone();
            let mut switch = Switch::new(node, &plan.switch, &links, routes);
            switch.set_upward(&upward(&plan.graph, node));
            switch
        });
        Self {
            now: 0,
            arena: Arena::new(),
            nics: (0..hosts).map(|number| host.nic(plan, number)).collect(),
            switches: switches.collect(),
            watched: hosts + watched,
            free: vec![0; plan.graph.port_count() as usize],
            graph: Arc::clone(&plan.graph),
            calendar: BinaryHeap::new(),
            scheduled: 0,
            requests: Requests::default(),
        }
    }

    /// The switch that is followed.
    pub fn switch(&self) -> &Switch {
        &self.switches[(self.watched - self.graph.hosts()) as usize]
    }

    /// The time, in ps.
    pub const fn now(&self) -> Time {
        self.now
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.scheduled += 1;
        self.calendar.push(Reverse((at, event, self.scheduled)));
    }

    fn prepare(&mut self) {
        let requests = &mut self.requests;
        (requests.dropped, requests.pauses, requests.random) = (false, false, 0);
        requests.released.clear();
    }

    /// Schedules what the last call of a node requested.
    fn serve(&mut self, node: u32) {
        for at in std::mem::take(&mut self.requests.timers) {
            if at != NEVER {
                self.schedule(at, Event::Timer(node));
            }
        }
        for port in std::mem::take(&mut self.requests.kicks) {
            self.schedule(self.now, Event::Egress(node, port));
        }
    }

    /// Index of a switch among the switches; `None`: the node is a host.
    fn switch_index(&self, node: u32) -> Option<usize> {
        node.checked_sub(self.graph.hosts()).map(|nth| nth as usize)
    }

    fn arrive(&mut self, node: u32, port: u16, id: PacketId, trace: &mut dyn Trace) {
        self.prepare();
        let packet = *self.arena.hot(id);
        let list = match packet.is_frame() {
            true => self.arena.list(id).to_vec(),
            false => Vec::new(),
        };
        let (now, index) = (self.now, self.switch_index(node));
        let (arena, requests) = (&mut self.arena, &mut self.requests);
        if let Some(index) = index {
            self.switches[index].receive(now, port, id, arena, requests);
            if node == self.watched {
                trace.arrived(&self.view(), port, id, &packet, &list);
            }
        } else {
            self.nics[node as usize].receive(now, port, id, arena, requests);
        }
        self.serve(node);
    }

    fn view(&self) -> View<'_> {
        View {
            now: self.now,
            switch: self.switch(),
            arena: &self.arena,
            requests: &self.requests,
        }
    }

    fn transmit(&mut self, node: u32, port: u16, trace: &mut dyn Trace) {
        let from = self.graph.port_index(node, port);
        if self.free[from] > self.now {
            return self.schedule(self.free[from], Event::Egress(node, port));
        }
        self.prepare();
        let (now, index) = (self.now, self.switch_index(node));
        let (arena, requests) = (&mut self.arena, &mut self.requests);
        let sent = match index {
            Some(index) => self.switches[index].transmit(now, port, arena, requests),
            None => self.nics[node as usize].transmit(now, port, arena, requests),
        };
        if let Some(id) = sent {
            if node == self.watched {
                trace.left(&self.view(), port, id);
            }
            let link: (Rate, Time) = self.graph.links(node)[port as usize];
            let size = u64::from(self.arena.hot(id).size);
            let free = now + link.0.serialisation_ps(size);
            self.free[from] = free;
            self.schedule(free, Event::Egress(node, port));
            let to = self.graph.port(from);
            self.schedule(free + link.1, Event::Arrival(to.peer, to.peer_port, id));
        }
        self.serve(node);
    }

    /// Runs until the trace has this number of events, or no event is left.
    pub fn run(
        &mut self,
        host: &mut SingleHost,
        feed: &mut dyn Iterator<Item = Flow>,
        trace: &mut dyn Trace,
        events: u64,
    ) {
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
                Event::Egress(node, port) => self.transmit(node, port, trace),
                Event::Timer(node) => {
                    self.prepare();
                    let index = self.switch_index(node);
                    let (arena, requests) = (&mut self.arena, &mut self.requests);
                    if let Some(index) = index {
                        self.switches[index].timer(now, arena, requests);
                        if node == self.watched {
                            trace.timer(&self.view());
                        }
                    } else {
                        self.nics[node as usize].timer(now, arena, requests);
                    }
                    self.serve(node);
                }
                Event::Start => {
                    while let Some(flow) = next.take_if(|flow| flow.start_ps <= now) {
                        let (start, _) = host.flow(&flow, started);
                        started += 1;
                        self.nics[flow.src as usize].start(now, &start, &mut self.requests);
                        self.serve(flow.src);
                        next = feed.next();
                    }
                    if let Some(flow) = &next {
                        self.schedule(flow.start_ps, Event::Start);
                    }
                }
            }
        }
    }
}
