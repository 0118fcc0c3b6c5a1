//! The simulator: drives switches and NICs in virtual time.
//!
//! A handler touches only its own node. What concerns another node travels as a frame on a link.
//! Inside an instant, all arrivals come first, then timers, then flows that start; then the ports
//! that were kicked choose what to send, in rounds: a port that is kicked by a choice of this round
//! has its turn in the next. The rules are in `specs/engine.md`.

mod audit;
mod deadlock;
mod delays;
mod driven;
mod links;
mod loss;
mod notices;
mod order;
mod probe;
mod recording;

use std::sync::Arc;

use dataplane::config::{
    Accounting, Admission, Assist, BaseRtt, NicConfig, PathChoice, Recovery, SwitchConfig,
};
use dataplane::nic::control::PathInfo;
use dataplane::nic::{FlowEnd, FlowStart, Nic};
use dataplane::packet::{Arena, Kind, Packet, PacketId};
use dataplane::prefetch::prefetch;
use dataplane::route::Routes;
use dataplane::sink::{DROP_CAUSES, DropCause, Sink};
use dataplane::switch::{CONTROL_CLASS, MixedMap, Pairs, Switch};
use dataplane::units::{NEVER, Rate, Time};
use kernel::StreamHeads;
use kernel::calendar::{Calendar, Event, Wheel, phase};
use kernel::digest::{Digest, fold};
use kernel::random::{Purpose, Stream, mix64};
use traffic::Flow;

use crate::ns3::Baselines;
use crate::paths::Paths;
use crate::record::{
    Counters, Ending, FlowRecord, Outcome, PauseRecord, Progress, RecordSpec, Recorder, Violation,
};
use crate::topology::Graph;
use links::Links;
use loss::Losses;
use notices::Notices;
use order::SourcePorts;
pub use order::{Clock, run};
use probe::Probes;
use recording::Recording;

/// Everything that a run needs.
pub struct Plan {
    /// The network.
    pub graph: Arc<Graph>,
    /// Routes of every switch, in order of switches.
    pub routes: Vec<Routes>,
    /// What every switch is.
    pub switch: SwitchConfig,
    /// What every NIC is.
    pub nic: NicConfig,
    /// Where T and BDP of the controls come from.
    pub base_rtt: BaseRtt,
    /// The flows, in order of start; ids count from 0.
    pub feed: Box<dyn Iterator<Item = Flow> + Send>,
    /// How many flows there are, where that is known.
    pub flows: Option<u64>,
    /// Seed of everything random.
    pub seed: u64,
    /// The run ends here at the latest, ps.
    pub until_ps: Time,
    /// Time between probes, ps; above 0.
    pub probe_ps: Time,
    /// Of every switch, the pairs of (ingress, egress) that may hold their upstream by BFC; `None`:
    /// all may.
    pub backpressure: Option<Vec<Pairs>>,
    /// How times are rounded.
    pub clock: Clock,
    /// Events of one instant come in the order of scheduling; [`run`] looks at it.
    pub in_order: bool,
    /// What is recorded besides. Changes no result.
    pub record: RecordSpec,
    /// Leave out port-free events that nothing waits for. Changes speed, never a result.
    pub elide: bool,
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("switch", &self.switch)
            .field("nic", &self.nic)
            .field("seed", &self.seed)
            .field("until_ps", &self.until_ps)
            .finish_non_exhaustive()
    }
}

/// What a node owns besides its state machine.
#[derive(Debug)]
struct Node {
    stream: Stream,
    /// When its alarm goes off; [`NEVER`]: not set.
    armed_ps: Time,
    /// Number of its first port.
    base: u32,
    /// Running hash over its drops.
    digest: u64,
}

/// What handlers of all nodes reach through their sink.
#[derive(Debug)]
struct Core<C> {
    now: Time,
    calendar: C,
    links: Links,
    nodes: Vec<Node>,
    drops: [u64; DROP_CAUSES],
    /// Classes of which nothing may be lost, as bits, and how many packets of them were.
    lossless: u8,
    broken_promises: u64,
    ends: Vec<FlowEnd>,
    notices: Notices,
    /// Open pauses: (link, class) → since.
    paused: MixedMap<u32, Time>,
    pauses: Vec<PauseRecord>,
    events: u64,
    /// One sequence of draws for all nodes, in the place of their own streams.
    replayed: Option<StreamHeads>,
}

impl<C: Calendar> Core<C> {
    /// What a port's pause mask was before and is now.
    // ENG-32
    fn pause(&mut self, link: u32, before: u8, after: u8) {
        let now = self.now;
        let stats = &mut self.links.stats[link as usize];
        if before == 0 && after != 0 {
            stats.paused_since = now;
        } else if before != 0 && after == 0 {
            stats.paused_ps += now - stats.paused_since;
            stats.paused_since = NEVER;
        }
        for class in 0..8u8 {
            let bit = 1 << class;
            if before & bit == after & bit {
                continue;
            }
            let key = link * 8 + u32::from(class);
            if after & bit != 0 {
                self.links.stats[link as usize].pauses += 1;
                self.paused.insert(key, now);
            } else if let Some(from_ps) = self.paused.remove(&key) {
                self.pauses
                    .push(self.pause_record(key, from_ps, now, false));
            }
        }
    }

    // RCD-10
    fn pause_record(&self, key: u32, from_ps: Time, to_ps: Time, open: bool) -> PauseRecord {
        let link = &self.links.hot[(key / 8) as usize];
        PauseRecord {
            node: link.node,
            port: link.port,
            class: (key % 8) as u8,
            from_ps,
            to_ps,
            open,
        }
    }
}

/// The sink of one node: its own ports, alarm and random stream, nothing of others.
// ENG-08
struct NodeSink<'a, C> {
    core: &'a mut Core<C>,
    node: u32,
}

impl<C: Calendar> Sink for NodeSink<'_, C> {
    #[inline]
    fn kick(&mut self, port: u16) {
        let link = self.core.nodes[self.node as usize].base + u32::from(port);
        self.core.links.kick(link);
    }

    #[inline]
    fn wake(&mut self, at: Time) {
        let node = &mut self.core.nodes[self.node as usize];
        // ENG-09
        if at < node.armed_ps {
            node.armed_ps = at;
            let at = at.max(self.core.now);
            self.core
                .calendar
                .push(Event::new(at, phase::TIMER, self.node, 0));
        }
    }

    fn call(&mut self, at: Time, what: u32) {
        let event = Event::new(at, phase::TIMER, self.node, what);
        self.core.calendar.push(event);
    }

    fn unit(&mut self) -> f64 {
        match &mut self.core.replayed {
            Some(heads) => heads.next_unit(), // NS3-18
            None => self.core.nodes[self.node as usize].stream.unit(),
        }
    }

    fn dropped(&mut self, packet: &Packet, cause: DropCause) {
        self.core.drops[cause as usize] += 1;
        if cause != DropCause::Link {
            self.core.broken_promises += u64::from(self.core.lossless >> packet.class() & 1);
        }
        let node = &mut self.core.nodes[self.node as usize];
        let what = u64::from(packet.flow) << 32 | u64::from(packet.psn);
        node.digest = fold(fold(node.digest, self.core.now), what);
    }

    fn keep(&mut self, id: PacketId, cause: DropCause) -> bool {
        let told = self.core.notices.on && cause != DropCause::NoRoute;
        if told {
            self.core.notices.dropped.push((self.node, id));
        }
        told
    }

    fn draw(&mut self) -> u64 {
        self.core.nodes[self.node as usize].stream.next_u64()
    }

    fn paused(&mut self, port: u16, before: u8, after: u8) {
        let link = self.core.nodes[self.node as usize].base + u32::from(port);
        self.core.pause(link, before, after);
    }

    fn finished(&mut self, end: FlowEnd) {
        self.core.ends.push(end);
    }
}

/// Classes of which no packet may be lost, as bits. A link that loses pauses leaves PFC without a
/// promise.
// AUD-05
fn lossless_classes(config: &SwitchConfig, links_lose: bool) -> u8 {
    let promised = |pausable: bool| match config.mmu.admission {
        // NDP-03: what is trimmed may have to go.
        _ if matches!(config.assist, Some(Assist::Trim(_))) => false,
        Admission::Unlimited => true,
        // NS3-10: its headroom is a rule of thumb.
        Admission::Pfc(pfc) => pausable && !links_lose && pfc.accounting == Accounting::Pool,
        _ => false,
    };
    let classes = config.classes.iter().enumerate();
    // XP-03: credits are there to be dropped.
    let credits = match config.assist {
        Some(Assist::Credits(_)) => 1 << CONTROL_CLASS,
        _ => 0,
    };
    !credits
        & classes.fold(0, |bits, (nth, class)| {
            bits | u8::from(promised(class.pausable || !class.buffered)) << nth
        })
}

/// Flows that have started and not finished; a finished one leaves its place to the next.
#[derive(Debug, Default)]
struct Live {
    flows: Vec<Option<Flow>>,
    free: Vec<u32>,
}

impl Live {
    fn insert(&mut self, flow: Flow) -> u32 {
        if let Some(at) = self.free.pop() {
            self.flows[at as usize] = Some(flow);
            at
        } else {
            self.flows.push(Some(flow));
            self.flows.len() as u32 - 1
        }
    }

    fn remove(&mut self, at: u32) -> Option<Flow> {
        let flow = self.flows[at as usize].take();
        self.free.extend(flow.map(|_| at));
        flow
    }

    fn len(&self) -> usize {
        self.flows.len() - self.free.len()
    }
}

/// A network in virtual time.
pub struct Simulation<C = Wheel> {
    core: Core<C>,
    graph: Arc<Graph>,
    paths: Paths,
    baselines: Baselines,
    source_ports: SourcePorts,
    clock: Clock,
    /// Flows whose start has been announced but not happened.
    starting: std::collections::VecDeque<Flow>,
    arena: Arena,
    nics: Vec<Nic>,
    switches: Vec<Switch>,
    nic: NicConfig,
    base_rtt: BaseRtt,
    /// Largest base round trip of the network, computed when first needed.
    network_rtt_ps: Option<Time>,
    feed: Box<dyn Iterator<Item = Flow> + Send>,
    next_flow: Option<Flow>,
    flows: Option<u64>,
    live: Live,
    finished: Vec<FlowRecord>,
    probes: Probes,
    /// `None`: nothing is recorded besides.
    recording: Option<Box<Recording>>,
    losses: Losses,
    /// Ports of the current round.
    round: Vec<u32>,
    started: u64,
    done: u64,
    finished_bytes: u64,
    /// Last time that anything arrived or started.
    progress_ps: Time,
    seed: u64,
    until_ps: Time,
    probe_ps: Time,
    elide: bool,
    lossless: bool,
    /// Pauses may be told again though nothing changed.
    repeats_pauses: bool,
    /// Packets of a flow may take several paths at once, so the ideal of one path is no bound.
    spraying: bool,
    /// Senders choose paths.
    labels: bool,
    violations: Vec<Violation>,
}

impl<C> std::fmt::Debug for Simulation<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Simulation({} nodes, now {} ps)",
            self.graph.nodes(),
            self.core.now
        )
    }
}

impl Simulation<Wheel> {
    /// Builds the network of a plan.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let shift = bucket_shift(&plan.graph, plan.switch.max_frame);
        Self::with_calendar(plan, Wheel::new(shift))
    }
}

/// How many events ahead memory is asked for, in three steps: the packet and its link; what they
/// lead to; what that leads to. An event takes about as long as a miss or two.
const AHEAD: [usize; 3] = [5, 3, 1];

/// Width of the calendar's buckets, as a power of two of ps: its first wheel must reach as far as
/// nearly all arrivals do, or they are sorted twice.
fn bucket_shift(graph: &Graph, max_frame: u16) -> u32 {
    let mut reach: Vec<Time> = (0..graph.port_count() as usize)
        .map(|index| graph.port(index))
        .map(|port| port.delay_ps + port.rate.serialisation_ps(u64::from(max_frame)))
        .collect();
    let most = reach.len() * 9 / 10;
    let reach_ps = match reach.len() {
        0 => 0,
        _ => *reach.select_nth_unstable(most).1,
    };
    (reach_ps / 4 * 5 / Wheel::SLOTS + 1)
        .next_power_of_two()
        .ilog2()
        .clamp(11, 24)
}

impl<C: Calendar> Simulation<C> {
    /// The same with a calendar of the caller's choice.
    #[must_use]
    pub fn with_calendar(plan: Plan, calendar: C) -> Self {
        let graph = plan.graph;
        let clock = plan.clock;
        let hosts = graph.hosts();
        let rates = |node: u32| -> Vec<(Rate, Time)> {
            graph
                .port_range(node)
                .map(|i| (clock.of(graph.port(i).rate), graph.port(i).delay_ps))
                .collect()
        };
        let classes = plan.switch.classes.len();
        let nic = |host| {
            let rates: Vec<Rate> = rates(host).into_iter().map(|(rate, _)| rate).collect();
            Nic::new(&plan.nic, classes, &rates)
        };
        let nics = (0..hosts).map(nic).collect();
        let switch = |(index, routes): (usize, Routes)| {
            let node = hosts + index as u32;
            Switch::new(node, &plan.switch, &rates(node), routes)
        };
        let mut switches: Vec<Switch> = plan.routes.into_iter().enumerate().map(switch).collect();
        // BFC-35
        for (switch, pairs) in switches
            .iter_mut()
            .zip(plan.backpressure.into_iter().flatten())
        {
            switch.allow(pairs);
        }
        let node = |node: u32| Node {
            stream: Stream::new(
                plan.seed,
                u64::from(node),
                if node < hosts {
                    Purpose::Nic
                } else {
                    Purpose::Switch
                },
            ),
            armed_ps: NEVER,
            base: graph.port_range(node).start as u32,
            digest: 0,
        };
        let losses = Losses::new(&graph, plan.seed);
        let core = Core {
            now: 0,
            calendar,
            links: Links::new(&graph, clock),
            nodes: (0..graph.nodes()).map(node).collect(),
            drops: [0; DROP_CAUSES],
            lossless: lossless_classes(&plan.switch, !losses.none()),
            broken_promises: 0,
            ends: Vec::new(),
            notices: Notices::new(&plan.nic),
            paused: MixedMap::default(),
            pauses: Vec::new(),
            events: 0,
            replayed: order::draws(&plan.switch, &graph),
        };
        let lossless = match plan.switch.mmu.admission {
            _ if matches!(plan.switch.assist, Some(Assist::Trim(_))) => false,
            Admission::Unlimited => true,
            Admission::Pfc(pfc) => losses.none() && pfc.accounting == Accounting::Pool, // NS3-10
            _ => false,
        };
        let mut simulation = Self {
            core,
            paths: match clock {
                Clock::Exact => Paths::new(Arc::clone(&graph)),
                Clock::Nanoseconds { .. } => Paths::new(Arc::clone(&graph)).cut(),
            },
            baselines: Baselines::new(Arc::clone(&graph)),
            source_ports: SourcePorts::default(),
            clock,
            starting: std::collections::VecDeque::new(),
            probes: Probes::new(&graph),
            recording: Recording::new(&plan.record, &plan.nic.control, &graph),
            losses,
            graph,
            arena: Arena::new(),
            nics,
            switches,
            nic: plan.nic,
            base_rtt: plan.base_rtt,
            network_rtt_ps: None,
            feed: plan.feed,
            next_flow: None,
            flows: plan.flows,
            live: Live::default(),
            finished: Vec::new(),
            round: Vec::new(),
            started: 0,
            done: 0,
            finished_bytes: 0,
            progress_ps: 0,
            seed: plan.seed,
            until_ps: plan.until_ps,
            probe_ps: plan.probe_ps.max(1),
            elide: plan.elide,
            lossless,
            repeats_pauses: plan.switch.bfc.is_some_and(|bfc| bfc.bitmap.is_some()),
            spraying: matches!(plan.switch.path, PathChoice::Packet | PathChoice::Label),
            labels: plan.switch.path == PathChoice::Label,
            violations: Vec::new(),
        };
        simulation.next_flow = simulation.draw_flow();
        simulation.announce_flow();
        simulation
    }

    /// Runs to the end. `watch` sees the progress at every probe and may stop the run with `false`.
    pub fn run(
        mut self,
        recorder: &mut dyn Recorder,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Outcome {
        let started = std::time::Instant::now();
        let mut ending = None;
        let mut probe = self.probe_ps;
        while ending.is_none() {
            let until = probe.min(self.until_ps);
            self.run_before(until + 1);
            ending = self.ending(until, probe > self.until_ps);
            if ending.is_none() {
                self.probes
                    .look(until, &self.switches, &self.arena, recorder);
                if let Some(recording) = &mut self.recording {
                    recording.hand_over(until, recorder);
                }
                probe = self.skip_idle_probes(until, recorder);
                if !watch(&self.progress()) {
                    ending = Some(Ending::Interrupted);
                }
            }
            self.hand_over(recorder);
        }
        let ending = ending.unwrap_or(Ending::Drained);
        let seconds = started.elapsed().as_secs_f64();
        self.close(ending, seconds, recorder)
    }

    /// The time of the next probe. While nothing is in the network no probe sees anything: those are
    /// told together, so that a flow in the far future costs nothing.
    // ENG-33
    fn skip_idle_probes(&mut self, now: Time, recorder: &mut dyn Recorder) -> Time {
        let next = now + self.probe_ps;
        let Some(flow) = &self.next_flow else {
            return next;
        };
        if self.live.len() > 0 || self.arena.alive() > 0 {
            return next;
        }
        // A probe at the start of the flow, or at the end of the run, is no idle one.
        let idle = flow.start_ps.min(self.until_ps).saturating_sub(now + 1) / self.probe_ps;
        if idle == 0 {
            return next;
        }
        let last = now + idle * self.probe_ps;
        self.probes.look_at_nothing(next, last, idle, recorder);
        last + self.probe_ps
    }

    /// Whether the run is over now that everything up to `until` has happened.
    // ENG-07
    fn ending(&self, until: Time, limit: bool) -> Option<Ending> {
        let no_flow_to_come = self.next_flow.is_none();
        if no_flow_to_come && self.live.len() == 0 && self.arena.alive() == 0 {
            Some(Ending::Drained)
        } else if self.core.calendar.is_empty() || no_flow_to_come && self.is_stuck(until) {
            Some(Ending::Stalled)
        } else if limit || until >= self.until_ps {
            Some(Ending::TimeLimit)
        } else {
            None
        }
    }

    /// Nothing has moved for so long that every sender has run into its timeout, and nothing is
    /// under way: only timers are left, and they change nothing.
    // ENG-14
    fn is_stuck(&self, until: Time) -> bool {
        let Recovery::GoBackN { timeout_ps } = self.nic.recovery else {
            return false;
        };
        until.saturating_sub(self.progress_ps) > timeout_ps.saturating_mul(2)
            && self.nics.iter().all(|nic| !nic.is_pacing())
            && (self.core.links.hot.iter().zip(&self.core.links.stats))
                .all(|(l, s)| l.arrived == s.packets)
    }

    fn progress(&self) -> Progress {
        Progress {
            now_ps: self.core.now,
            until_ps: self.until_ps,
            started: self.started,
            finished: self.done,
            flows: self.flows,
            packet_hops: self.core.links.hot.iter().map(|l| l.arrived).sum(),
        }
    }

    /// Handles every event before `limit`, instant by instant.
    fn run_before(&mut self, limit: Time) {
        if C::IN_ORDER_OF_SCHEDULING {
            return self.run_in_order(limit);
        }
        while let Some(first) = self.core.calendar.pop_before(limit) {
            self.core.now = first.time;
            self.handle(first);
            loop {
                while let Some(event) = self.core.calendar.pop_now() {
                    self.handle(event);
                }
                // ENG-03: the ports choose when everything else of the instant has happened.
                if self.core.links.kicks.is_empty() {
                    break;
                }
                self.serve_round();
            }
            if let Some(recording) = &mut self.recording {
                recording.settle(first.time, &self.switches);
            }
        }
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        self.look_ahead();
        self.core.events += 1;
        match event.phase() {
            phase::ARRIVAL => self.arrive(event.id(), event.arg),
            phase::TIMER if event.arg != 0 => self.call(event.id(), event.arg),
            phase::TIMER => self.timer(event.id()),
            phase::FLOW_START if C::IN_ORDER_OF_SCHEDULING => self.step_flow_start(event.id()),
            phase::FLOW_START => self.start_flows(),
            _ => {
                let link = &mut self.core.links.hot[event.id() as usize];
                link.armed = false;
                self.core.links.kick(event.id());
            }
        }
    }

    /// Asks for the memory that events a little ahead will touch: first for the packet and its
    /// link, then for what they lead to. Decides nothing.
    #[inline]
    fn look_ahead(&self) {
        let arrival = |n| {
            let event = self.core.calendar.upcoming(n);
            event.filter(|e| e.phase() == phase::ARRIVAL)
        };
        if let Some(far) = arrival(AHEAD[0]) {
            self.arena.prefetch(far.arg);
            prefetch(&self.core.links.hot, far.id() as usize);
        }
        if let Some(near) = arrival(AHEAD[1]) {
            let node = self.core.links.hot[near.id() as usize].peer as usize;
            match node.checked_sub(self.nics.len()) {
                Some(switch) => self.switches[switch].prefetch(near.arg, &self.arena),
                None => self.arena.prefetch_cold(near.arg),
            }
        }
        if let Some(next) = arrival(AHEAD[2]) {
            let node = self.core.links.hot[next.id() as usize].peer as usize;
            if let Some(nic) = self.nics.get(node) {
                nic.prefetch(next.arg, &self.arena);
            }
        }
    }

    // ENG-01
    #[inline]
    fn arrive(&mut self, link: u32, id: PacketId) {
        let now = self.core.now;
        let packet = self.arena.hot(id);
        if packet.kind() != Kind::BfcBitmap {
            self.progress_ps = now;
        }
        let l = &mut self.core.links.hot[link as usize];
        let what = u64::from(packet.flow) << 32 | u64::from(packet.psn);
        let how =
            u64::from(packet.tag) << 24 | u64::from(packet.flags) << 16 | u64::from(packet.size);
        l.digest = fold(fold(l.digest, now ^ how << 40), what);
        l.arrived += 1;
        let (node, port) = (l.peer, l.peer_port);
        if l.lossy && self.losses.takes(link) {
            return self.lose(link, id);
        }
        let sink = &mut NodeSink {
            core: &mut self.core,
            node,
        };
        match (node as usize).checked_sub(self.nics.len()) {
            Some(switch) => {
                if let Some(delays) = self.recording.as_mut().and_then(|r| r.delays.as_mut()) {
                    delays.came(now, id);
                }
                self.switches[switch].receive(now, port, id, &mut self.arena, sink);
                if !self.core.notices.dropped.is_empty() {
                    self.send_notices();
                }
            }
            None => {
                let nic = &mut self.nics[node as usize];
                let recording = self.recording.as_deref_mut();
                let heard = recording.and_then(|r| r.hear(now, id, &self.arena, nic));
                nic.receive(now, port, id, &mut self.arena, sink);
                if let (Some(heard), Some(recording)) = (heard, &mut self.recording) {
                    recording.heard(now, heard, nic);
                }
                if !self.core.ends.is_empty() {
                    self.note_ends();
                }
            }
        }
    }

    /// News of drops set out for the senders. They arrive after the timers of their instant.
    // REC-34
    fn send_notices(&mut self) {
        let Core {
            now,
            calendar,
            links,
            nodes,
            notices,
            ..
        } = &mut self.core;
        let id = nodes.len() as u32;
        notices.send(
            *now,
            (&self.graph, &self.switches, links),
            &self.arena,
            |at| calendar.push(Event::new(at, phase::TIMER, id, 0)),
        );
    }

    fn deliver_notices(&mut self) {
        let now = self.core.now;
        while let Some((host, port, id)) = self.core.notices.due(now) {
            self.progress_ps = now;
            let sink = &mut NodeSink {
                core: &mut self.core,
                node: host,
            };
            self.nics[host as usize].returned(now, port, id, &mut self.arena, sink);
        }
    }

    /// The frame came to the end of its link and cannot be read there. Whoever sent it on this link
    /// is the one who tells of it, where drops are told.
    // TOP-20, REC-31
    #[cold]
    fn lose(&mut self, link: u32, id: PacketId) {
        let packet = self.arena.hot(id);
        let ends_here = packet.kind().is_hop_control();
        let l = &self.core.links.hot[link as usize];
        let (from, to) = (l.node, l.peer);
        let mut sink = NodeSink {
            core: &mut self.core,
            node: to,
        };
        sink.dropped(packet, DropCause::Link);
        sink.node = from;
        if !ends_here && sink.keep(id, DropCause::Link) {
            self.send_notices();
        } else {
            self.arena.free(id);
        }
    }

    fn timer(&mut self, node: u32) {
        let now = self.core.now;
        if node as usize == self.core.nodes.len() {
            self.deliver_notices();
            return;
        }
        // An alarm that was set again for an earlier time rings for nothing at the old one (KER-06).
        if self.core.nodes[node as usize].armed_ps > now {
            return;
        }
        self.core.nodes[node as usize].armed_ps = NEVER;
        let sink = &mut NodeSink {
            core: &mut self.core,
            node,
        };
        match (node as usize).checked_sub(self.nics.len()) {
            Some(switch) => self.switches[switch].timer(now, &mut self.arena, sink),
            None => self.nics[node as usize].timer(now, &mut self.arena, sink),
        }
    }

    /// One round of decisions: the ports that were kicked before it began, in order of links.
    // ENG-03, ENG-04
    fn serve_round(&mut self) {
        if let [link] = self.core.links.kicks[..] {
            self.core.links.kicks.clear();
            if self.admit_to_round(link) {
                self.decide(link);
            }
            return;
        }
        let mut round = std::mem::take(&mut self.round);
        std::mem::swap(&mut round, &mut self.core.links.kicks);
        round.sort_unstable();
        round.retain(|&link| self.admit_to_round(link));
        for &link in &round {
            self.decide(link);
        }
        round.clear();
        self.round = round;
    }

    /// Whether a kicked port takes part: it has something to send and its link is free. If the link
    /// is not free, the port is called when it is.
    fn admit_to_round(&mut self, link: u32) -> bool {
        let l = &mut self.core.links.hot[link as usize];
        l.kicked = false;
        let (node, port, busy_ps) = (l.node, l.port, l.busy_ps);
        if let Some(recording) = &mut self.recording {
            recording.touch(link);
        }
        if !self.waiting(node, port) {
            return false;
        }
        if busy_ps > self.core.now {
            self.arm(link);
            return false;
        }
        true
    }

    #[inline]
    fn waiting(&self, node: u32, port: u16) -> bool {
        match (node as usize).checked_sub(self.nics.len()) {
            Some(switch) => self.switches[switch].waiting(port),
            None => self.nics[node as usize].waiting(port),
        }
    }

    /// Calls the port when its link is free.
    // ENG-06
    fn arm(&mut self, link: u32) {
        let l = &mut self.core.links.hot[link as usize];
        if !l.armed {
            l.armed = true;
            self.core
                .calendar
                .push(Event::new(l.busy_ps, phase::EGRESS, link, 0));
        }
    }

    /// A free port chooses a frame and starts to send it.
    // ENG-02, ENG-05
    #[inline]
    fn decide(&mut self, link: u32) {
        let now = self.core.now;
        let l = &self.core.links.hot[link as usize];
        let (node, port) = (l.node, l.port);
        let sink = &mut NodeSink {
            core: &mut self.core,
            node,
        };
        let sent = match (node as usize).checked_sub(self.nics.len()) {
            Some(switch) => self.switches[switch].transmit(now, port, &mut self.arena, sink),
            None => self.nics[node as usize].transmit(now, port, &mut self.arena, sink),
        };
        let Some(id) = sent else { return };
        self.put_on_link(link, id);
        if !self.elide || self.waiting(node, port) {
            self.arm(link);
        }
    }

    /// Counts a frame that a port begins to send, and schedules its arrival.
    #[inline]
    fn put_on_link(&mut self, link: u32, id: PacketId) {
        let now = self.core.now;
        let packet = self.arena.hot(id);
        let size = u64::from(packet.size);
        let stats = &mut self.core.links.stats[link as usize];
        stats.packets += 1;
        stats.bytes += size;
        if packet.kind() == Kind::Data {
            stats.data_packets += 1;
            stats.data_bytes += size;
        }
        if let Some(delays) = self.recording.as_mut().and_then(|r| r.delays.as_mut()) {
            delays.leaves(now, link, id, &self.arena);
        }
        let l = &mut self.core.links.hot[link as usize];
        l.busy_ps = now + l.rate.serialisation_ps(size);
        let arrival = l.busy_ps + l.delay_ps;
        if C::IN_ORDER_OF_SCHEDULING {
            self.arm(link); // NS3-04: the end of sending is scheduled before the arrival.
        }
        self.core
            .calendar
            .push(Event::new(arrival, phase::ARRIVAL, link, id));
    }

    /// Puts the start of the next flow into the calendar.
    fn announce_flow(&mut self) {
        if let Some(flow) = &self.next_flow {
            let at = flow.start_ps.max(self.core.now);
            self.core
                .calendar
                .push(Event::new(at, phase::FLOW_START, 0, 0));
        }
    }

    // ENG-12
    fn start_flows(&mut self) {
        let now = self.core.now;
        self.progress_ps = now;
        while let Some(flow) = self.next_flow.take_if(|f| f.start_ps <= now) {
            self.start_flow(flow);
            self.next_flow = self.draw_flow();
        }
        self.announce_flow();
    }

    /// ENG-10: the flow's identity is its number; every run of a scenario hashes it alike.
    fn flow_hash(&self, flow: &Flow) -> u64 {
        mix64(self.seed ^ mix64(u64::from(flow.id) + 1))
    }

    fn start_flow(&mut self, flow: Flow) {
        let now = self.core.now;
        let hash = self.flow_hash(&flow);
        let (src, dst) = self.endpoints(&flow, hash);
        let port = (src - self.graph.endpoints_of(flow.src).start) as u16;
        let rate = self.core.links.hot
            [(self.core.nodes[flow.src as usize].base + u32::from(port)) as usize]
            .rate;
        let (base_rtt_ps, bdp_bytes) = self.baseline(src, dst, rate);
        let start = FlowStart {
            flow: flow.id,
            cookie: self.live.insert(flow),
            port,
            src,
            dst,
            bytes: flow.bytes,
            hash: if self.nic.host.ports_in_hash {
                self.source_ports.next(&flow)
            } else {
                hash as u32
            },
            class: flow.class,
            incast: flow.incast,
            path: PathInfo {
                base_rtt_ps,
                line_bps: rate.bps() as f64,
                bdp_bytes: bdp_bytes as f64,
                mtu: u32::from(self.nic.mtu),
            },
            ways: 0,
        };
        let start = FlowStart {
            ways: self.ways(src, dst),
            ..start
        };
        self.started += 1;
        self.nics[flow.src as usize].start(
            now,
            &start,
            &mut NodeSink {
                core: &mut self.core,
                node: flow.src,
            },
        );
    }

    /// Ports of the two hosts that a flow uses; hosts with several spread their flows over them.
    // ENG-11
    fn endpoints(&mut self, flow: &Flow, hash: u64) -> (u32, u32) {
        let nth = |salt: u64, of: usize| match of {
            1 => 0,
            _ => (mix64(hash ^ salt) % of as u64) as usize,
        };
        let from = self.graph.endpoints_of(flow.src);
        let src = from.start + nth(1, from.len()) as u32;
        let to = self.graph.endpoints_of(flow.dst);
        if to.len() == 1 {
            return (src, to.start);
        }
        let mut nearest: Vec<(usize, u32)> =
            to.map(|dst| (self.paths.hops(src, dst), dst)).collect();
        nearest.sort_unstable();
        let fewest = nearest[0].0;
        nearest.retain(|end| end.0 == fewest);
        (src, nearest[nth(2, nearest.len())].1)
    }

    /// Equal-cost ways between two endpoints, where senders choose among them.
    // NDP-05
    fn ways(&self, src: u32, dst: u32) -> u32 {
        if !self.labels {
            return 0;
        }
        let mut node = self.graph.port(src as usize).peer;
        let mut ways = 1u32;
        while let Some(switch) = node.checked_sub(self.graph.hosts()) {
            let switch = &self.switches[switch as usize];
            let towards = Packet {
                dst,
                ..Packet::new(Kind::Data, 0, 0)
            };
            let Some(port) = switch.way(&towards, src) else {
                break;
            };
            ways = ways.saturating_mul(switch.ways(dst).max(1) as u32);
            node = self.core.links.hot[self.graph.port_index(node, port)].peer;
        }
        ways
    }

    /// T and BDP of a flow that sends at `rate`.
    fn baseline(&mut self, src: u32, dst: u32, rate: Rate) -> (Time, u64) {
        let (frame, ack) = (self.nic.mtu + self.nic.header, self.nic.ack);
        let rtt_ps = match self.base_rtt {
            BaseRtt::Fixed(rtt_ps) => rtt_ps,
            BaseRtt::Ns3Pair => return self.baselines.of_pair(src, dst),
            BaseRtt::Ns3Network => return self.baselines.largest(),
            BaseRtt::Pair => self.paths.base_rtt_ps(src, dst, frame, ack),
            BaseRtt::Network => {
                let paths = &mut self.paths;
                *self
                    .network_rtt_ps
                    .get_or_insert_with(|| paths.max_base_rtt_ps(frame, ack))
            }
        };
        (rtt_ps, rate.bytes_in(rtt_ps))
    }

    /// Turns the flows that finished in this event into records.
    fn note_ends(&mut self) {
        let ends = std::mem::take(&mut self.core.ends);
        for end in &ends {
            let Some(flow) = self.live.remove(end.cookie) else {
                continue;
            };
            self.done += 1;
            self.finished_bytes += flow.bytes;
            let mut record = self.record(flow);
            record.received_ps = Some(end.received_ps);
            record.acked_ps = Some(end.acked_ps);
            record.retransmitted = end.retransmitted;
            self.check_slowdown(&record, end);
            self.finished.push(record);
        }
        self.core.ends = ends;
        self.core.ends.clear();
    }

    /// The record of a flow that has not finished yet.
    fn record(&mut self, flow: Flow) -> FlowRecord {
        let hash = self.flow_hash(&flow);
        let (src, dst) = self.endpoints(&flow, hash);
        let NicConfig {
            mtu, header, ack, ..
        } = self.nic;
        FlowRecord {
            flow,
            received_ps: None,
            acked_ps: None,
            ideal_received_ps: self
                .paths
                .ideal_received_ps(src, dst, flow.bytes, mtu, header),
            ideal_acked_ps: self
                .paths
                .ideal_acked_ps(src, dst, flow.bytes, mtu, header, ack),
            retransmitted: 0,
        }
    }

    /// ENG-21, AUD-07: nothing is faster than a flow alone.
    fn check_slowdown(&mut self, record: &FlowRecord, end: &FlowEnd) {
        let took_ps = end.received_ps.saturating_sub(record.flow.start_ps);
        if !self.spraying && took_ps < record.ideal_received_ps && self.violations.len() < 20 {
            self.violations.push(Violation {
                check: "slowdown",
                message: format!(
                    "flow {} of {} bytes took {took_ps} ps, alone it takes {} ps",
                    record.flow.id, record.flow.bytes, record.ideal_received_ps
                ),
            });
        }
    }

    /// Gives what has gathered to the recorder.
    fn hand_over(&mut self, recorder: &mut dyn Recorder) {
        if !self.finished.is_empty() {
            recorder.flows(&self.finished);
            self.finished.clear();
        }
        if !self.core.pauses.is_empty() {
            recorder.pauses(&self.core.pauses);
            self.core.pauses.clear();
        }
    }

    /// The end: open things are closed, books are compared, everything counted is told.
    fn close(mut self, ending: Ending, loop_seconds: f64, recorder: &mut dyn Recorder) -> Outcome {
        let end_ps = match ending {
            Ending::TimeLimit => self.until_ps,
            Ending::Interrupted => self.core.now,
            Ending::Drained | Ending::Stalled => self.progress_ps,
        };
        let digest = self.digest();
        let mut open: Vec<(u32, Time)> = self.core.paused.drain().collect();
        open.sort_unstable();
        for (key, from_ps) in open {
            let record = self
                .core
                .pause_record(key, from_ps, end_ps.max(from_ps), true);
            self.core.pauses.push(record);
        }
        for stats in &mut self.core.links.stats {
            if stats.paused_since != NEVER {
                stats.paused_ps += end_ps.saturating_sub(stats.paused_since);
            }
        }
        self.hand_over(recorder);
        if let Some(recording) = &mut self.recording {
            recording.finish(end_ps, recorder);
        }
        let mut unfinished: Vec<Flow> = self.live.flows.iter().flatten().copied().collect();
        unfinished.sort_unstable_by_key(|flow| flow.id);
        let records: Vec<FlowRecord> = unfinished
            .into_iter()
            .map(|flow| self.record(flow))
            .collect();
        if !records.is_empty() {
            recorder.flows(&records);
        }
        let checks = self.audit(ending);
        Outcome {
            ending,
            end_ps,
            digest,
            started: self.started,
            finished: self.done,
            counters: self.counters(),
            ports: self.port_records(),
            checks,
            stall: if ending == Ending::Stalled {
                self.explain_stall()
            } else {
                Vec::new()
            },
            violations: self.violations,
            loop_seconds,
        }
    }

    /// ENG-20: the digest of the trajectory.
    fn digest(&self) -> u64 {
        let links = self.core.links.hot.len();
        let mut digest = Digest::default();
        for link in 0..links {
            digest.add(link as u64, self.core.links.digest(link));
        }
        for (node, of) in self.core.nodes.iter().enumerate() {
            digest.add((links + node) as u64, of.digest);
        }
        digest.0
    }

    fn counters(&self) -> Counters {
        let mut c = Counters {
            packet_hops: self.core.links.hot.iter().map(|l| l.arrived).sum(),
            events: self.core.events,
            drops: self.core.drops,
            ..Counters::default()
        };
        for nic in &self.nics {
            let n = nic.counters();
            c.data_packets += n.data_packets;
            c.acks += n.acks;
            c.naks += n.naks;
            c.cnps += n.cnps;
            c.retransmissions += n.retransmissions;
            c.timeouts += n.timeouts;
            c.discarded += n.discarded;
            c.overtaken += n.overtaken;
            c.driven.add(&n.driven);
        }
        for switch in &self.switches {
            let s = switch.counters();
            c.marks += s.marks;
            c.int_hops += s.int_hops;
            c.pfc_pauses += s.pfc_pauses;
            c.pfc_resumes += s.pfc_resumes;
            c.bfc_pauses += s.bfc_pauses;
            c.bfc_resumes += s.bfc_resumes;
            c.bfc_bitmaps += s.bfc_bitmaps;
            c.trims += s.trims;
            c.returned += s.returned;
            c.bfc_stale_assignments += switch.stale_assignments();
            let (shared, collisions) = switch.bfc_counters();
            c.bfc_shared_queue += shared;
            c.bfc_table_collisions += collisions;
        }
        c
    }
}
