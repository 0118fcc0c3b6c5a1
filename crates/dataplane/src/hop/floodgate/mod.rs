//! Floodgate (Liu et al., CoNEXT 2021; rules in `specs/floodgate.md`). Switches have a sending
//! window per destination. They park packets whose window is full in VOQs, and return credits
//! upstream.
//! This file also implements PFC with tag, the paper's variant without windows.
//!
//! This file has the state of one switch and its decisions. The other files contain the windows,
//! the VOQs, the credits, the sequence numbers that repair losses, and the pauses by destination.
//! `steps.rs` has the reaction to each step of a packet and to each control frame.

mod audit;
mod config;
mod counts;
mod credit;
mod frames;
mod link;
mod numbers;
pub(super) mod params;
mod pause;
mod senders;
mod spec;
mod steps;
mod voq;
mod window;

use super::{CreditSums, HopScheme, Site, Topology};
use crate::declaration::{Counter, Scheme};
use crate::packet::{Arena, Frame, Kind, Location, Packet, PacketId, SchemeNumber, flag};
use crate::pipeline::Pipeline;
use crate::pipeline::context::Cx;
use crate::pipeline::steps::{Outcome, Step, Steps};
use crate::ports::Ports;
use crate::route::Routes;
use crate::sink::Sink;
use crate::timers::Timers;
use crate::units::{Rate, Time};
pub use config::{
    Aggregation, Amount, CreditAt, CreditConfig, FloodgateConfig, HoldBy, HostPauseBy,
    PauseThresholds, Release, Voqs, WindowConfig, WindowUnit,
};
use counts::Counts;
use credit::Credits as Owed;
pub use frames::{Credit, Credits, PauseDestination, SwitchSyn};
use numbers::Numbers;
use pause::Paused;
use senders::Senders;
use voq::{Held, Pool};
use window::{Way, Windows, ways};

/// A timer of the switch, by its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// Credit timer of an ingress port.
    Credits(u16),
    /// Timeout of a stream (egress port and destination) without credits.
    Silence(u32),
    /// The ingress pipeline receives the list of VOQs that have become empty (FG-61).
    Vup,
    /// Table entries of windows without packets in flight are removed.
    Clear,
}

/// Pause and resume thresholds of a port, in bytes.
#[derive(Clone, Copy, Debug)]
struct OffOn {
    off: u64,
    on: u64,
}

impl OffOn {
    fn new(thresholds: &PauseThresholds, port: (Rate, Time)) -> Self {
        let off = thresholds.off.bytes(port);
        Self {
            off,
            on: off.saturating_sub(thresholds.on_below_bytes),
        }
    }

    /// Returns true if a paused sender is to be resumed at this level, in bytes.
    const fn resumes(self, bytes: u64) -> bool {
        bytes < self.on || bytes == 0
    }
}

/// Bytes parked in VOQs for one egress port.
#[derive(Clone, Copy, Debug, Default)]
struct ForPort {
    held_bytes: u64,
    /// Maximum of the bytes queued at the port plus the bytes parked for it.
    max_bytes: u64,
}

/// Floodgate state of one switch.
#[derive(Debug)]
pub struct Floodgate {
    config: FloodgateConfig,
    links: Vec<(Rate, Time)>,
    max_frame: u16,
    /// Initial window and direction (up or down) of destinations, indexed by set of equal-cost
    /// ports.
    ways: Vec<Way>,
    /// True for ports whose neighbour is a switch.
    to_switch: Vec<bool>,
    /// True for ports that lead away from the hosts.
    upward: Vec<bool>,
    windows: Option<Windows>,
    credits: Option<Owed>,
    numbers: Option<Numbers>,
    pool: Pool,
    ports: Vec<ForPort>,
    /// Credits of a destination are withheld while more bytes than this are parked for it.
    delay_bytes: u64,
    /// Pause thresholds per port: for the host at the port (dstPause), or for the egress queue of
    /// the port (PFC with tag).
    thresholds: Vec<OffOn>,
    /// Pause thresholds for the parked bytes of a destination (PFC with tag).
    held_thresholds: OffOn,
    /// Pairs of port and destination that this switch has paused.
    told: Paused,
    /// Bytes in this switch per sending host and destination; `None` if no pause depends on them.
    senders: Option<Senders>,
    /// Pairs of port and destination that a next hop has paused (PFC with tag).
    paused_by: Paused,
    last_served: u32,
    /// Port whose transmission is in progress. No event is needed to start it.
    departing: Option<u16>,
    timers: Timers<Timer>,
    /// True while a `Timer::Vup` is pending.
    vup_set: bool,
    /// True while a `Timer::Clear` is pending.
    clear_set: bool,
    /// Buffers that are reused so that no memory is allocated per packet.
    ready: Vec<u32>,
    collected: Vec<Credit>,
    words: Vec<u32>,
    counters: Counts,
    sent: u64,
    taken: u64,
}

/// Returns the largest value of an amount in bytes, over the links of all ports.
fn most(amount: Amount, links: &[(Rate, Time)]) -> u64 {
    let all = links.iter().map(|&link| amount.bytes(link));
    all.max().unwrap_or(0)
}

impl Floodgate {
    /// Sets the ports that lead up, away from the hosts. Called once before the first packet.
    // FG-14
    fn set_directions(&mut self, routes: &Routes, upward: Vec<bool>) {
        self.upward = upward;
        self.ways = ways(
            self.config.windows(),
            routes,
            &self.links,
            &self.upward,
            self.max_frame,
        );
        let leads = |below: bool| self.ways.iter().any(|way| way.below == below);
        self.pool = Pool::new(self.config.voqs, leads(true) && leads(false));
    }

    /// Returns the initial window and direction (up or down) for a destination, or `None` if this
    /// switch is the last hop to it.
    // FG-01
    #[inline]
    fn way(&self, dst: u32, routes: &Routes) -> Option<Way> {
        routes.set_of(dst).map(|set| self.ways[set])
    }

    /// Returns the number of window units that a packet takes from its window.
    #[inline]
    fn units(&self, packet: &Packet) -> u32 {
        self.windows.as_ref().map_or(1, |w| w.units(packet))
    }

    /// Returns true if a packet need not be parked: its window has room, or no next hop has paused
    /// its destination.
    // FG-04, FG-45
    #[inline]
    fn is_open(&self, packet: &Packet, way: Way, routes: &Routes) -> bool {
        match &self.windows {
            Some(windows) => windows.has_room(packet.dst, way, self.units(packet)),
            None => !self.is_paused(packet.dst, routes),
        }
    }

    /// Returns true if a current next hop of a destination has paused this destination. Pauses by
    /// former next hops do not count.
    // FG-45, LNK-27
    #[inline]
    fn is_paused(&self, dst: u32, routes: &Routes) -> bool {
        let has_paused = |&port: &u16| self.paused_by.has(port, dst);
        self.paused_by.any(dst) && routes.next_hops(dst).iter().any(has_paused)
    }

    /// Returns true if an arriving packet must be parked. Does not change the state.
    // FG-01, FG-04
    #[inline]
    fn is_to_be_held(&self, packet: &Packet, routes: &Routes) -> bool {
        if packet.kind() != Kind::Data {
            return false;
        }
        let Some(way) = self.way(packet.dst, routes) else {
            return false;
        };
        self.pool.held(packet.dst).is_some() || !self.is_open(packet, way, routes)
    }

    /// Counts an arriving data packet for a later credit, before the packet is queued, parked or
    /// dropped.
    // FG-28, FG-30
    #[inline]
    fn note_arrival(&mut self, in_port: u16, packet: &Packet) {
        if packet.kind() != Kind::Data || !self.to_switch[in_port as usize] {
            return;
        }
        let units = self.units(packet);
        let number = self
            .numbers
            .is_some()
            .then_some(packet.location.link_number());
        if let Some(credits) = &mut self.credits {
            credits.arrived(in_port, packet.dst, units, number);
        }
    }

    /// Charges a packet to the window of its destination.
    fn charge(&mut self, packet: &Packet, way: Way) {
        let units = self.units(packet);
        if let Some(windows) = &mut self.windows {
            windows.charge(packet.dst, way, units);
        }
    }

    /// Sets the timer that removes entries of full windows, at the next multiple of its period.
    // FG-07
    #[inline]
    fn clear_later<S: Sink>(&mut self, now: Time, sink: &mut S) {
        if let Some(clear_ps) = self.config.windows().and_then(|w| w.clear_ps)
            && !self.clear_set
        {
            self.clear_set = true;
            self.set_timer((now / clear_ps + 1) * clear_ps, Timer::Clear, sink);
        }
    }

    /// Adds a packet to the VOQ of its destination. The packet keeps its route (egress port).
    // FG-12
    fn put_in_voq(
        &mut self,
        port: u16,
        id: PacketId,
        way: Way,
        queued_bytes: u64,
        arena: &mut Arena,
    ) {
        let hot = arena.hot_mut(id);
        hot.flags |= flag::PARKED;
        hot.location = Location::in_voq(port);
        let (size, incast) = (u64::from(hot.size), hot.has(flag::INCAST));
        self.counters.held += 1;
        self.counters.held_others += u64::from(!incast);
        self.pool.push(id, way.below, arena);
        self.ports[port as usize].held_bytes += size;
        self.fill(port, queued_bytes);
    }

    /// Updates the maximum of (queued + parked) bytes of a port.
    #[inline]
    fn fill(&mut self, port: u16, queued_bytes: u64) {
        let of = &mut self.ports[port as usize];
        of.max_bytes = of.max_bytes.max(of.held_bytes + queued_bytes);
    }

    /// Removes the first packet of a VOQ if it may be sent. Returns the packet, the remaining
    /// packets and bytes of its destination, and the initial window and direction.
    // FG-13
    fn release(
        &mut self,
        voq: u32,
        routes: &Routes,
        arena: &Arena,
    ) -> Option<(PacketId, Held, Way)> {
        let packet = arena.hot(self.pool.head(voq)?);
        let way = self.way(packet.dst, routes)?;
        if !self.is_open(packet, way, routes) {
            return None;
        }
        let held_bytes = &mut self.ports[usize::from(packet.location.voq_egress())].held_bytes;
        debug_assert!(
            *held_bytes >= u64::from(packet.size),
            "bytes in VOQs of a port"
        );
        *held_bytes -= u64::from(packet.size);
        let behind = self.config.release == Release::Behind;
        let (id, held) = self.pool.pop(voq, behind, arena)?;
        self.counters.released += 1;
        self.last_served = voq;
        Some((id, held, way))
    }

    /// Sorts the VOQs that may release packets for round robin. The VOQ after the last served one
    /// is first.
    // FG-13
    fn take_turns(&mut self) {
        self.ready.sort_unstable();
        self.ready.dedup();
        let first = self.ready.partition_point(|&voq| voq <= self.last_served);
        self.ready.rotate_left(first);
    }

    /// Returns true if the credits of a destination are withheld.
    // FG-26
    #[inline]
    fn withholds(&self, dst: u32) -> bool {
        self.delay_bytes != u64::MAX && self.pool.bytes_of(dst) > self.delay_bytes
    }

    fn set_timer<S: Sink>(&mut self, at: Time, timer: Timer, sink: &mut S) {
        self.timers.add(at, timer);
        sink.wake(at);
    }

    /// Handles a control frame that arrived at a port. `list` contains the words after its fixed
    /// fields.
    fn take_frame<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16, frame: &Packet, list: &[u32]) {
        if let Some(credit) = Credit::read(frame) {
            self.take_credits(cx, port, std::iter::once(credit));
        } else if Credits::read(frame).is_some() {
            self.take_credits(cx, port, Credits::named(list));
        } else if let Some(syn) = SwitchSyn::read(frame) {
            self.answer_syn(cx, port, syn);
        } else if let Some(pause) = PauseDestination::read(frame) {
            self.obey_destination(cx, port, pause);
            if !pause.on {
                cx.sink.kick(port);
            }
        }
    }
}

impl HopScheme for Floodgate {
    type Config = FloodgateConfig;

    const NUMBER: SchemeNumber = Scheme::Floodgate.number();

    const COUNTERS: &'static [Counter] = &[
        Counter::sum("floodgate_held"),
        Counter::sum("floodgate_held_not_incast"),
        Counter::sum("floodgate_released"),
        Counter::largest("floodgate_max_voqs"),
        Counter::largest("floodgate_max_held_bytes"),
        Counter::sum("floodgate_hashed_voqs"),
        Counter::sum("floodgate_credit_frames"),
        Counter::sum("floodgate_credit_bytes"),
        Counter::sum("floodgate_credit_frames_by_bytes"),
        Counter::sum("floodgate_withheld"),
        Counter::sum("floodgate_dst_pauses"),
        Counter::sum("floodgate_dst_resumes"),
        Counter::sum("floodgate_syns"),
        Counter::sum("floodgate_repaired"),
        Counter::largest("floodgate_max_windows"),
        Counter::sum("floodgate_cleared_windows"),
        Counter::largest("floodgate_credit_entries"),
        Counter::largest("floodgate_number_entries"),
    ];

    const WATCHES: Steps = Steps::ARRIVE.or(Steps::ENQUEUE).or(Steps::DEPART);

    // FG-70: counters
    fn new(config: &FloodgateConfig, site: &Site<'_>) -> Self {
        let (links, routes, max_frame) = (site.ports, &site.core.routes, site.max_frame);
        let windows = config.windows();
        let of_host = |&link: &(Rate, Time)| match (&config.by, &config.host_pause) {
            (HoldBy::Tags(thresholds), _) | (_, Some(thresholds)) => OffOn::new(thresholds, link),
            _ => OffOn {
                off: u64::MAX,
                on: u64::MAX,
            },
        };
        let held_thresholds = match config.by {
            HoldBy::Tags(t) => OffOn {
                off: most(t.off, links),
                on: most(t.off, links).saturating_sub(t.on_below_bytes),
            },
            HoldBy::Windows(_) => OffOn {
                off: u64::MAX,
                on: 0,
            },
        };
        let mut to_switch = vec![true; links.len()];
        for (endpoint, port) in (0..).zip(&routes.endpoints().port) {
            if routes.is_own(endpoint) {
                to_switch[*port as usize] = false;
            }
        }
        let mut floodgate = Self {
            links: links.to_vec(),
            max_frame,
            ways: Vec::new(),
            windows: windows.map(Windows::new),
            credits: windows.map(|w| Owed::new(w.credit, links.len())),
            numbers: windows.and_then(|w| w.numbers_timeout_ps).map(Numbers::new),
            pool: Pool::new(config.voqs, false),
            ports: vec![ForPort::default(); links.len()],
            delay_bytes: windows
                .and_then(|w| w.credit.delay)
                .map_or(u64::MAX, |amount| most(amount, links)),
            thresholds: links.iter().map(of_host).collect(),
            held_thresholds,
            to_switch,
            upward: Vec::new(),
            told: Paused::default(),
            senders: config.pauses_by_ingress().then(Senders::default),
            paused_by: Paused::default(),
            last_served: 0,
            departing: None,
            timers: Timers::default(),
            vup_set: false,
            clear_set: false,
            ready: Vec::new(),
            collected: Vec::new(),
            words: Vec::new(),
            counters: Counts::default(),
            sent: 0,
            taken: 0,
            config: *config,
        };
        floodgate.set_directions(routes, floodgate.to_switch.clone());
        floodgate
    }

    // FG-20, FG-42: frames that a NIC receives
    fn obey<P: Ports + ?Sized>(ports: &mut P, port: u16, frame: &Packet, _list: &[u32]) {
        if let Some(PauseDestination { on, dst }) = PauseDestination::read(frame) {
            ports.pause_destination(port, dst, on);
        }
    }

    fn count(of: Option<&Self>, _core: &Pipeline, values: &mut [u64]) {
        let Counts {
            held,
            held_others,
            released,
            max_voqs,
            max_held_bytes,
            hashed_voqs,
            credit_frames,
            credit_bytes,
            credit_frames_by_bytes,
            withheld,
            dst_pauses,
            dst_resumes,
            syns,
            repaired,
            max_windows,
            cleared_windows,
            credit_entries,
            number_entries,
        } = of.map_or_else(Counts::default, Self::counts);
        values.copy_from_slice(&[
            held,
            held_others,
            released,
            max_voqs,
            max_held_bytes,
            hashed_voqs,
            credit_frames,
            credit_bytes,
            credit_frames_by_bytes,
            withheld,
            dst_pauses,
            dst_resumes,
            syns,
            repaired,
            max_windows,
            cleared_windows,
            credit_entries,
            number_entries,
        ]);
    }

    #[inline(always)]
    fn step<S: Sink>(&mut self, cx: &mut Cx<'_, S>, step: Step<'_>) -> Outcome {
        match step {
            Step::Arrive(packet) => {
                self.note_arrival(packet.ingress, packet);
                if self.is_to_be_held(packet, &cx.core.routes) {
                    return Outcome::Park;
                }
            }
            // FG-34: a dropped packet earns its credit.
            Step::Refuse(packet) if packet.kind() == Kind::Data => self.earn(cx, packet),
            Step::Park { port, id } => self.park(cx, port, id),
            Step::Enqueue { port, packet, .. } => self.pass(cx, port, packet),
            Step::Depart { port, id, packet } => self.left(cx, port, id, packet),
            Step::GiveUp { port, packet } => self.flushed(cx, port, packet),
            Step::Emptied => self.release_all(cx),
            Step::Timer => self.serve_timers(cx),
            Step::Frame { port, frame, list } => {
                self.take_frame(cx, port, frame, list);
                return Outcome::Handled;
            }
            _ => {}
        }
        Outcome::Continue
    }

    fn link<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16) {
        self.forget_link(cx, port);
    }

    // FG-14: up and down ports
    fn learn(&mut self, core: &Pipeline, fact: Topology<'_>) {
        match fact {
            Topology::Upward(upward) => self.set_directions(&core.routes, upward.to_vec()),
            Topology::Routes => self.learn_routes(&core.routes),
            Topology::Pairs(_) => {}
        }
    }

    // FG-28: all credits have returned
    fn is_at_rest(&self) -> bool {
        let owed = self.credits.as_ref().map_or(0, |c| c.owed);
        let missing = self.windows.as_ref().map_or(0, |w| w.in_flight);
        owed == 0 && (self.numbers.is_none() || missing == 0)
    }

    fn credit_sums(&self) -> Option<CreditSums> {
        Some(CreditSums {
            sent: self.sent,
            arrived: self.credits.as_ref().map_or(0, |c| c.arrived),
            told: self.credits.as_ref().map_or(0, |c| c.told),
            taken: self.taken,
            in_flight: self.windows.as_ref().map_or(0, |w| w.in_flight),
        })
    }

    fn voq_bytes(&self, port: u16) -> Option<(u64, u64)> {
        let of = self.ports[port as usize];
        Some((of.held_bytes, of.max_bytes))
    }

    fn voq_of(&self, dst: u32) -> Option<(u32, u32)> {
        self.pool.held(dst).map(|held| (held.voq, held.packets))
    }

    fn for_each_parked(&self, arena: &Arena, visit: &mut dyn FnMut(PacketId)) {
        self.pool.for_each(arena, visit);
    }

    /// Returns false, because Floodgate's own audit checks its pauses at the end of a run.
    fn pauses_upstream(&self) -> bool {
        false
    }

    fn explain_stall(&self, say: &mut dyn FnMut(String)) {
        for (dst, held) in self.pool.destinations() {
            if held.packets > 0 {
                let why = match &self.windows {
                    Some(_) => "their window is full, or they are behind such packets",
                    None => "a next hop has paused them",
                };
                say(format!(
                    "VOQ {} contains {} packets for endpoint {dst}: {why}",
                    held.voq, held.packets
                ));
            }
        }
        for (port, dst) in self.told.all() {
            say(format!("port {port} pauses endpoint {dst} at its upstream"));
        }
    }

    fn audit(&self, core: &Pipeline, arena: &Arena) -> Vec<String> {
        let queued = |visit: &mut dyn FnMut(&Packet)| {
            for port in 0..core.ports() {
                core.queueing
                    .for_each_packet(port, arena, |id| visit(arena.hot(id)));
            }
        };
        self.audit_books(arena, &core.routes, queued)
    }
}
