//! Runs in which nodes share no memory and exchange frames as bytes over a [`Carrier`] of the
//! caller (rules LIV-01 to LIV-11 of `specs/lockstep.md`).
//!
//! Each node is a partition with its own thread. All nodes advance window by window, as in
//! `exchange.rs`. Frames of a window are encoded (crate `wire`) and passed to the node's carrier.
//! The carrier of the node at the other end of the link receives them, and they are decoded there.
//! In addition to frames, nodes exchange only times: the start of the transmission of each frame,
//! and the time of their next event.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use dataplane::ids::IndexVec;
use dataplane::units::Time;
use kernel::calendar::{Calendar, Event, Wheel, phase};
use kernel::{Barrier, Broken};
use wire::ethernet::Mac;
use wire::frame::{MOST_BYTES, mac};
use wire::{Link, Malformed, Network, Unfit, decode, encode};

use super::build::wire_network;
use super::cut::{Cut, cut_all};
use super::division::{needs_order, smallest_frame};
use super::exchange::Alone;
use super::measure;
use super::partition::Partition;
use super::workers::{Work, WorkerPool};
use super::{Clock, Plan, Simulation};
use crate::ids::{LinkId, NodeId};
use crate::record::{Outcome, Progress, Recorder};
use crate::topology::Graph;

/// Carries the frames of one node over its links, in both directions.
///
/// Frames of a link must arrive in the order of sending and without loss. A carrier that cannot
/// guarantee that returns an error.
pub trait Carrier: Send {
    /// Starts a round. All frames of the round before the last have been received.
    fn begin_round(&mut self);

    /// Sends a frame on the link of a port. Returns false if the link has no room for it in this
    /// round.
    ///
    /// # Errors
    /// The frame cannot be sent at all.
    fn send(&mut self, port: u16, frame: &[u8]) -> Result<bool, LinkError>;

    /// Receives exactly this number of frames from the link of a port, and calls `take` with each,
    /// in order. The frames have already been sent.
    ///
    /// # Errors
    /// A frame did not arrive, or `take` refused a frame.
    fn receive(
        &mut self,
        port: u16,
        count: usize,
        take: &mut dyn FnMut(&[u8]) -> Result<(), LinkError>,
    ) -> Result<(), LinkError>;
}

/// Error of a run in lockstep.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A node needs data of another node that frames do not carry. The text is the reason.
    #[error(
        "this scenario cannot run in lockstep, where nodes receive only what frames carry: {0}"
    )]
    Refused(&'static str),
    /// A packet does not fit into a frame.
    #[error("{link}: the packet that is sent at {begun_ps} ps does not fit into a frame: {why}")]
    Unwritable {
        /// Label of the link, with the names of both ends.
        link: String,
        /// Time at which the transmission of the packet began, ps.
        begun_ps: Time,
        /// The field of the packet that does not fit into the frame.
        why: Unfit,
    },
    /// A link does not carry frames correctly.
    #[error("{link}: {why}")]
    Link {
        /// Label of the link, with the names of both ends.
        link: String,
        /// Error of the link.
        why: LinkError,
    },
}

/// Error of a link in lockstep.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The carrier cannot send or receive.
    #[error("{0}")]
    Carrier(Box<dyn std::error::Error + Send + Sync>),
    /// A frame that arrived cannot be decoded.
    #[error("the frame sent at {begun_ps} ps cannot be read: {why}")]
    Unreadable {
        /// Time at which the transmission of the frame began, ps.
        begun_ps: Time,
        /// Error in the frame.
        why: Malformed,
    },
    /// A frame was decoded with fewer bytes than were sent, so its arrival would be earlier than
    /// events that have already happened.
    #[error(
        "the frame sent at {begun_ps} ps arrives at {at_ps} ps with {size} bytes, but all events \
         before {done_ps} ps have happened: it lost bytes on its way"
    )]
    Early {
        /// Time at which the transmission of the frame began, ps.
        begun_ps: Time,
        /// Size of the packet in bytes, as the receiver computes it.
        size: u16,
        /// Arrival time of a packet of this size, ps.
        at_ps: Time,
        /// Time before which all events of the node have happened, ps.
        done_ps: Time,
    },
}

impl LinkError {
    /// Creates an error of the carrier.
    pub fn carrier(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Carrier(why.into())
    }
}

/// Result of a run in lockstep.
#[derive(Debug)]
pub struct Ended {
    /// Outcome, as in the simulator.
    pub outcome: Outcome,
    /// Number of frames that carriers transmitted.
    pub frames: u64,
    /// Total bytes of these frames, without the frame check sequence.
    pub bytes: u64,
    /// Number of rounds. All nodes are synchronised once per round.
    pub rounds: u64,
}

/// Returns the reason why a plan cannot run in lockstep: its nodes need more data from each other
/// than frames carry. `None` if the plan can run.
// LIV-02
#[must_use]
pub fn refusal(plan: &Plan) -> Option<&'static str> {
    if let Some(why) = needs_order(plan) {
        return Some(why);
    }
    if plan.clock != Clock::Exact {
        return Some("times are cut to nanoseconds as another simulator cuts them");
    }
    if let Some(why) = plan.switch.link.not_carried() {
        return Some(why);
    }
    if plan.record.wants().intersects(measure::Event::LEAVING) {
        return Some("what is recorded follows packets from node to node, and no frame says it");
    }
    if !plan.jobs.jobs.is_empty() {
        return Some("receivers of a workload know which message a flow is, and no frame says it");
    }
    None
}

/// Returns the frame format that both ends of each link use.
#[must_use]
pub fn network(plan: &Plan) -> Network {
    wire_network(plan)
}

/// Builds the network of a plan, a thread for each node, and runs it to the end. Carriers are
/// listed in the order of node IDs. The outcome is the same as that of [`super::run`].
///
/// # Errors The plan is [refused](refusal), a carrier fails, or a frame cannot be read.
pub fn run(
    plan: Plan,
    carriers: Vec<Box<dyn Carrier>>,
    recorder: &mut dyn Recorder,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Ended, Error> {
    if let Some(why) = refusal(&plan) {
        return Err(Error::Refused(why));
    }
    let smallest = smallest_frame(&plan);
    let cut = cut_all(&plan.graph, plan.clock, smallest);
    let meeting = Meeting::new(&plan, &cut);
    let graph = Arc::clone(&plan.graph);
    let simulation = Simulation::of_single_nodes(plan, &cut);
    let outcome = std::thread::scope(|scope| {
        let station = |(node, carrier)| Station::new(&meeting, node, carrier);
        let works = graph
            .node_ids()
            .zip(carriers)
            .map(station)
            .map(Station::work);
        let workers = WorkerPool::of(works.collect(), &meeting.barrier, 0, scope);
        let mut watch = |now: &Progress| meeting.failure.get().is_none() && watch(now);
        simulation.drive(Some(workers), recorder, &mut watch)
    });
    match meeting.failure.into_inner() {
        Some(failure) => Err(failure),
        None => Ok(Ended {
            outcome,
            frames: meeting.frames.into_inner(),
            bytes: meeting.bytes.into_inner(),
            rounds: meeting.rounds.into_inner(),
        }),
    }
}

/// Times that nodes exchange in addition to frames. There are two sets, used in alternating rounds,
/// as in `exchange.rs`.
// LIV-05
struct Meeting {
    graph: Arc<Graph>,
    network: Network,
    lookahead_ps: Time,
    barrier: Barrier,
    /// Per node, the time of the earliest event that the node has scheduled.
    next_ps: [Vec<Alone>; 2],
    /// Per node, the number of frames that did not fit into this round.
    waiting: [Vec<Alone>; 2],
    /// Per link: start times of the transmissions of this round.
    begun_ps: [IndexVec<LinkId, Mutex<Vec<Time>>>; 2],
    /// The error because of which the run cannot continue.
    failure: OnceLock<Error>,
    frames: AtomicU64,
    bytes: AtomicU64,
    rounds: AtomicU64,
}

impl fmt::Debug for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Meeting({} nodes)", self.next_ps[0].len())
    }
}

impl Meeting {
    fn new(plan: &Plan, cut: &Cut) -> Self {
        let numbers = || -> Vec<Alone> { (0..cut.parts()).map(|_| Alone::default()).collect() };
        let times = || {
            let links = plan.graph.link_ids();
            links.map(|_| Mutex::default()).collect()
        };
        Self {
            graph: plan.graph.clone(),
            network: wire_network(plan),
            lookahead_ps: cut.lookahead_ps,
            barrier: Barrier::new(cut.parts(), 0),
            next_ps: [numbers(), numbers()],
            waiting: [numbers(), numbers()],
            begun_ps: [times(), times()],
            failure: OnceLock::new(),
            frames: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            rounds: AtomicU64::new(0),
        }
    }

    fn times(&self, parity: usize, link: LinkId) -> MutexGuard<'_, Vec<Time>> {
        let times = self.begun_ps[parity][link].lock();
        // A thread that panicked ends the run, so no other thread reads its incomplete data.
        times.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the earliest next event of all nodes, and the total number of frames that wait for
    /// the next round.
    fn outlook(&self, parity: usize) -> (Time, u64) {
        let first_ps = values(&self.next_ps[parity]).min();
        let waiting = values(&self.waiting[parity]).sum();
        (first_ps.unwrap_or(Time::MAX), waiting)
    }

    /// Returns the label of a link, with the names of both ends.
    fn name(&self, link: LinkId) -> String {
        self.graph.port_name(link)
    }

    /// Creates an error of a link, with the label of the link.
    fn error(&self, link: LinkId, why: LinkError) -> Error {
        Error::Link {
            link: self.name(link),
            why,
        }
    }

    /// Records the error because of which a node cannot continue, so that all nodes stop.
    fn give_up(&self, why: Error) -> Broken {
        // Only the first error is kept, because the others follow from it.
        let _ = self.failure.set(why);
        self.barrier.break_up();
        Broken
    }
}

/// Returns the number that each node has published for the other nodes.
fn values(all: &[Alone]) -> impl Iterator<Item = u64> {
    all.iter().map(|one| one.0.load(Ordering::Relaxed))
}

/// A port of a node in lockstep.
struct Port {
    /// The link on which the port sends.
    out: LinkId,
    from: Mac,
    to: Mac,
    /// The link from which the port receives.
    into: LinkId,
    /// Frames for which the link had no room in earlier rounds, each with the start time of its
    /// transmission.
    waiting: VecDeque<(Time, Box<[u8]>)>,
}

/// State of a node's thread, in addition to its partition.
struct Station<'a> {
    meeting: &'a Meeting,
    node: NodeId,
    carrier: Box<dyn Carrier>,
    ports: Vec<Port>,
    /// Index (0 or 1) of the set of exchanged times that the node uses in this round.
    parity: usize,
    /// Time before which all events of this node have happened.
    done_ps: Time,
    /// Buffer for the bytes of one frame.
    place: Vec<u8>,
    begun_ps: Vec<Time>,
}

impl<'a> Station<'a> {
    fn new(meeting: &'a Meeting, node: NodeId, carrier: Box<dyn Carrier>) -> Self {
        let graph = &meeting.graph;
        let port = |number: u16| {
            let out = graph.link(node, number);
            let far = graph.port(out);
            Port {
                out,
                from: mac(node.bits(), number),
                to: mac(far.peer.bits(), far.peer_port),
                into: graph.reverse(out),
                waiting: VecDeque::new(),
            }
        };
        Self {
            meeting,
            node,
            carrier,
            ports: (0..graph.ports(node)).map(port).collect(),
            parity: 0,
            done_ps: 0,
            place: vec![0; MOST_BYTES],
            begun_ps: Vec::new(),
        }
    }

    fn work(mut self) -> Work<'a, Wheel> {
        Box::new(move |part, limit| self.run_before(part, limit))
    }

    /// Runs the node up to `limit`, in windows that all nodes begin together. Returns the number of
    /// rounds.
    // LIV-04, LIV-08
    fn run_before<C: Calendar>(
        &mut self,
        part: &mut Partition<C>,
        limit: Time,
    ) -> Result<u64, Broken> {
        let (meeting, me) = (self.meeting, self.node.index());
        let give_up = |why| meeting.give_up(why);
        let mut windows = 0;
        let mut next_ps = part.next_ps(limit);
        loop {
            let parity = self.parity;
            let waiting = self.send(part, parity).map_err(give_up)?;
            let tell = |all: &[Alone], what| all[me].0.store(what, Ordering::Relaxed);
            tell(&meeting.next_ps[parity], next_ps);
            tell(&meeting.waiting[parity], waiting);
            meeting.barrier.wait()?;
            self.parity ^= 1;
            self.receive(part, parity).map_err(give_up)?;
            let (first_ps, waiting) = meeting.outlook(parity);
            if me == 0 {
                meeting.rounds.fetch_add(1, Ordering::Relaxed);
            }
            if waiting > 0 {
                continue;
            }
            if first_ps >= limit {
                return Ok(windows);
            }
            self.done_ps = limit.min(first_ps.saturating_add(meeting.lookahead_ps));
            next_ps = part.run_window(self.done_ps, limit);
            windows += 1;
        }
    }

    /// Sends waiting frames and the frames of the last window, as far as the links have room.
    /// Returns the number of frames that still wait.
    // LIV-03
    fn send<C>(&mut self, part: &mut Partition<C>, parity: usize) -> Result<u64, Error> {
        let meeting = self.meeting;
        let failed = |link| move |why| meeting.error(link, why);
        self.carrier.begin_round();
        for (port, number) in self.ports.iter_mut().zip(0..) {
            while let Some((begun_ps, frame)) = port.waiting.front() {
                let sent = self.carrier.send(number, frame);
                if !sent.map_err(failed(port.out))? {
                    break;
                }
                meeting.times(parity, port.out).push(*begun_ps);
                port.waiting.pop_front();
            }
        }
        while let Some(leaving) = part.outbox.take_out() {
            let links = &part.core.links;
            let (near, rate) = (&links.near[leaving.link], links.rates[leaving.link]);
            let port = &mut self.ports[usize::from(near.port)];
            let direction = Link {
                network: &meeting.network,
                from: port.from,
                to: port.to,
            };
            let size = part.arena.hot(leaving.id).size;
            let takes_ps = rate.serialisation_ps(size.into()) + near.delay_ps;
            let begun_ps = leaving.at - takes_ps;
            let bytes = encode(&direction, &part.arena, leaving.id, &mut self.place);
            part.arena.free(leaving.id);
            let bytes = bytes.map_err(|why| Error::Unwritable {
                link: meeting.name(port.out),
                begun_ps,
                why,
            })?;
            let frame = &self.place[..bytes];
            let mut send = || self.carrier.send(near.port, frame);
            if port.waiting.is_empty() && send().map_err(failed(port.out))? {
                meeting.times(parity, port.out).push(begun_ps);
            } else {
                port.waiting.push_back((begun_ps, frame.into()));
            }
        }
        Ok(self
            .ports
            .iter()
            .map(|port| port.waiting.len() as u64)
            .sum())
    }

    /// Receives the frames that the neighbours have sent in this round.
    // LIV-03, LIV-06, LIV-07
    fn receive<C: Calendar>(
        &mut self,
        part: &mut Partition<C>,
        parity: usize,
    ) -> Result<(), Error> {
        let meeting = self.meeting;
        let (mut frames, mut all_bytes) = (0, 0);
        for (port, number) in self.ports.iter().zip(0..) {
            self.begun_ps.clear();
            std::mem::swap(&mut self.begun_ps, &mut meeting.times(parity, port.into));
            if self.begun_ps.is_empty() {
                continue;
            }
            let mut times = self.begun_ps.iter();
            let done_ps = self.done_ps;
            let mut take = |frame: &[u8]| {
                let Some(&begun_ps) = times.next() else {
                    return Ok(());
                };
                frames += 1;
                all_bytes += frame.len() as u64;
                arrive(
                    part,
                    port.into,
                    &meeting.network,
                    (begun_ps, done_ps),
                    frame,
                )
            };
            let received = self.carrier.receive(number, self.begun_ps.len(), &mut take);
            received.map_err(|why| meeting.error(port.into, why))?;
        }
        meeting.frames.fetch_add(frames, Ordering::Relaxed);
        meeting.bytes.fetch_add(all_bytes, Ordering::Relaxed);
        Ok(())
    }
}

/// Decodes a frame from a link and schedules its arrival. The arrival follows from the start of
/// transmission and from the size that the receiver computes. It cannot be before events that have
/// already happened.
fn arrive<C: Calendar>(
    part: &mut Partition<C>,
    link: LinkId,
    network: &Network,
    (begun_ps, done_ps): (Time, Time),
    frame: &[u8],
) -> Result<(), LinkError> {
    let id = decode(network, frame, &mut part.arena);
    let id = id.map_err(|why| LinkError::Unreadable { begun_ps, why })?;
    let links = &part.core.links;
    let size = part.arena.hot(id).size;
    let takes_ps = links.rates[link].serialisation_ps(size.into()) + links.near[link].delay_ps;
    let at = begun_ps + takes_ps;
    if at < done_ps {
        return Err(LinkError::Early {
            begun_ps,
            size,
            at_ps: at,
            done_ps,
        });
    }
    let lane = links.near[link].lane;
    let event = Event::new(at, phase::ARRIVAL, link.bits(), id);
    part.core.calendar.push_to(lane, event);
    Ok(())
}
