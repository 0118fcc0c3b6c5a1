//! The dataplane's switch between real interfaces, on the wall clock (`specs/wall-clock.md`, docs/switch.md).
//!
//! `node.rs` is the switch with its frames; it has no sockets and no clock. Here the two come together:
//! sockets are read, the node does what is due, and what leaves it is sent.

pub mod classes;
pub mod counters;
mod marks;
mod metrics;
pub mod node;
mod offload;
pub mod plan;
mod privileges;
mod snapshot;
mod socket;
pub mod stations;

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dataplane::units::{MS, Time};
use fabric::engine::Plan;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use wire::ethernet::Mac;

use crate::clock::WallClock;
use metrics::Metrics;
use node::Node;
use offload::finish;
use plan::{Choices, switch_plan};
pub use privileges::keep_raw_sockets_only;
pub use snapshot::{PortState, QueueOf, Snapshot};
use socket::PortSocket;

/// Frames that are taken from a port before the next has its turn.
const BATCH: usize = 64;
/// How often links and counters of the system are looked at.
const LOOK_PS: Time = 100 * MS;
/// How long the program may sleep at most, so that it hears of the wish to stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// What a switch is to be, beside its scenario.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The switch of the scenario, and its classes.
    pub choices: Choices,
    /// Names of the interfaces, in the order of its ports.
    pub interfaces: Vec<String>,
    /// Stations that are not learned: address, and number of the port.
    pub stations: Vec<(Mac, u16)>,
    /// Where counters can be read.
    pub metrics: Option<SocketAddr>,
}

/// Forwards frames until it is to stop. `ready` is called once, with the address of the metrics, when all
/// ports are open. Returns what was counted.
///
/// # Errors
/// The scenario has no such switch, or the system refuses something: in words.
pub fn run(
    plan: &Plan,
    setup: &Setup,
    stop: &AtomicBool,
    ready: &mut dyn FnMut(&str, Option<SocketAddr>),
) -> Result<Snapshot, String> {
    let plan = switch_plan(plan, &setup.choices)?;
    let name = plan.name.clone();
    let opened: Result<Vec<_>, String> = setup
        .interfaces
        .iter()
        .map(|name| PortSocket::open(name))
        .collect();
    let (sockets, interfaces): (Vec<_>, Vec<_>) = opened?.into_iter().unzip();
    let metrics = setup.metrics.map(Metrics::open).transpose()?;
    let own: Vec<Mac> = interfaces.iter().map(|found| found.address).collect();
    let mut node = Node::new(plan, &own);
    for &(station, port) in &setup.stations {
        node.give_station(station, port);
    }
    ready(&name, metrics.as_ref().map(Metrics::address));
    let mut driver = Driver {
        clock: WallClock::start(),
        name,
        node,
        sockets,
        looked_ps: 0,
    };
    driver.look(metrics.as_ref());
    while !stop.load(Ordering::Relaxed) {
        driver.turn();
        if driver.clock.now() >= driver.looked_ps + LOOK_PS {
            driver.look(metrics.as_ref());
        }
        driver.sleep();
    }
    let last = driver.snapshot();
    drop(metrics);
    Ok(last)
}

/// A node, its sockets and the clock.
struct Driver {
    clock: WallClock,
    name: String,
    node: Node,
    sockets: Vec<PortSocket>,
    /// When links were last looked at.
    looked_ps: Time,
}

impl Driver {
    /// Does what is due, and takes what has come.
    fn turn(&mut self) {
        let mut leaving = Leaving::default();
        let Self {
            clock,
            node,
            sockets,
            ..
        } = self;
        node.advance(clock.now(), &mut |port, frame| leaving.add(port, frame));
        leaving.send(sockets);
        for port in 0..sockets.len() as u16 {
            for _ in 0..BATCH {
                let socket = &mut sockets[usize::from(port)];
                let Ok((frame, left)) = socket.receive() else {
                    break;
                };
                let done = finish(frame, left, &mut |frame| {
                    let out = &mut |port, frame: &[u8]| leaving.add(port, frame);
                    node.receive(clock.now(), port, frame, out);
                });
                if !done {
                    socket.note_unfinished();
                }
            }
            leaving.send(sockets);
        }
    }

    /// Looks at links and counters.
    // WSW-40, WSW-41
    fn look(&mut self, metrics: Option<&Metrics>) {
        self.looked_ps = self.clock.now();
        let mut leaving = Leaving::default();
        for (port, socket) in (0..).zip(&self.sockets) {
            let out = &mut |port, frame: &[u8]| leaving.add(port, frame);
            self.node.link(self.looked_ps, port, socket.is_up(), out);
        }
        leaving.send(&mut self.sockets);
        if let Some(metrics) = metrics {
            metrics.show(self.snapshot());
        }
    }

    /// Waits for a frame, or for what is due next.
    fn sleep(&self) {
        let due = self.node.next().map(|at| self.clock.until(at));
        let time = due.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP);
        let mut ports: Vec<PollFd<'_>> = self
            .sockets
            .iter()
            .map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN))
            .collect();
        let waited = ppoll(&mut ports, Some(TimeSpec::from_duration(time)), None);
        // A port that is down says so at once, again and again.
        if waited.is_ok_and(|ready| ready > 0) && !ports.iter().any(|port| port.any() == Some(true))
        {
            std::thread::sleep(time);
        }
    }

    fn snapshot(&mut self) -> Snapshot {
        let Self { node, sockets, .. } = self;
        Snapshot::of(&self.name, self.clock.now(), node, sockets)
    }
}

/// Frames that leave, until their sockets are free to be used.
#[derive(Default)]
struct Leaving {
    bytes: Vec<u8>,
    frames: Vec<(u16, usize)>,
}

impl Leaving {
    fn add(&mut self, port: u16, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.frames.push((port, frame.len()));
    }

    fn send(&mut self, sockets: &mut [PortSocket]) {
        let mut rest = &self.bytes[..];
        for &(port, bytes) in &self.frames {
            let (frame, after) = rest.split_at(bytes);
            sockets[usize::from(port)].send(frame);
            rest = after;
        }
        self.bytes.clear();
        self.frames.clear();
    }
}
