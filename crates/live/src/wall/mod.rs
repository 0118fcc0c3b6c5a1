//! Runs nodes of the dataplane on the wall clock: sockets, time, and the requests of the state
//! machines.
//!
//! A [`Machine`] is a switch or a host. It has no sockets and no clock, so that tests can control
//! the time. A `Driver` adds both: it reads frames from the sockets, calls the machine when an
//! action is due, and sends the frames that leave the machine.

pub mod clock;
mod description;
mod frames;
mod lines;
mod offload;
mod port_socket;
mod privileges;
mod raw_socket;
mod requests;

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dataplane::units::{MS, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use wire::ethernet::Mac;

use crate::Error;
use clock::WallClock;
pub use description::NodeDescription;
pub(crate) use frames::{neighbour, priorities};
pub(crate) use lines::Lines;
use offload::finish;
pub(crate) use port_socket::PortSocket;
pub use privileges::keep_raw_sockets_only;
pub(crate) use requests::Requests;

/// Maximum number of frames that are read from a port before the next port is read.
const BATCH: usize = 64;
/// Maximum number of departing frames that are stored in memory before they are sent.
const MAX_COLLECTED: usize = 1000;
/// Maximum number of late actions per call that are executed with their own due times.
const MAX_LATE: u32 = 10_000;
/// Maximum time of receiving frames, ps. Then links and the stop flag are checked.
const TURN_PS: Time = 20 * MS;
/// Interval between checks of links and system counters, ps.
const CHECK_INTERVAL_PS: Time = 100 * MS;
/// Maximum time of sleep, so that the stop flag is checked often enough.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// Converts names and values to the type that snapshots use.
pub(crate) fn named(all: &[(&str, u64)]) -> Vec<(String, u64)> {
    all.iter()
        .map(|&(name, value)| (name.to_owned(), value))
        .collect()
}

/// The broadcast MAC address.
pub(crate) const BROADCAST: Mac = [0xff; 6];

/// Callback that receives departing frames: port index and bytes of the frame.
pub type Out<'a> = dyn FnMut(u16, &[u8]) + 'a;

/// A switch or host. The caller supplies received frames and the time.
pub trait Machine {
    /// Executes all actions that are due at `now`, each with its own due time.
    fn advance(&mut self, now: Time, out: &mut Out<'_>);

    /// Time of the next action, if any, ps.
    fn next(&self) -> Option<Time>;

    /// Handles a received frame, without its frame check sequence.
    fn receive(&mut self, now: Time, port: u16, frame: &[u8], out: &mut Out<'_>);

    /// Reports that the link of a port is up or down.
    fn link(&mut self, now: Time, port: u16, up: bool, out: &mut Out<'_>);
}

/// Opens network interfaces, in the order of a node's ports. Returns their sockets and MAC
/// addresses.
///
/// # Errors
/// An interface does not exist, or the system rejects the socket.
pub(crate) fn open_ports(names: &[String]) -> Result<(Vec<PortSocket>, Vec<Mac>), Error> {
    let opened = names.iter().map(|name| {
        let (socket, interface) = PortSocket::open(name)?;
        Ok((socket, interface.address))
    });
    opened.collect()
}

/// A machine with its sockets and the wall clock.
pub(crate) struct Driver<M> {
    pub clock: WallClock,
    pub machine: M,
    pub sockets: Vec<PortSocket>,
    /// The port that is read first. It changes after each turn, so that no port starves.
    first: usize,
}

impl<M: Machine> Driver<M> {
    /// Creates a driver. Its clock starts at 0.
    pub fn new(machine: M, sockets: Vec<PortSocket>) -> Self {
        Self {
            clock: WallClock::start(),
            machine,
            sockets,
            first: 0,
        }
    }

    /// Runs the machine until `stop` is set or `check` returns false. `check` is called every 100
    /// ms, after the links were checked.
    ///
    /// # Errors
    /// The errors of `check`.
    // WSW-40: detect link changes every 100 ms
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        check: &mut dyn FnMut(&mut Self) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let mut checked_ps = None;
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if checked_ps.is_none_or(|at| now >= at + CHECK_INTERVAL_PS) {
                checked_ps = Some(now);
                self.check_links(now);
                if !check(self)? {
                    break;
                }
            }
            self.turn();
            self.sleep();
        }
        Ok(())
    }

    /// Executes due actions, and handles received frames for a limited time.
    fn turn(&mut self) {
        let mut departing = Departing::default();
        let Self {
            clock,
            machine,
            sockets,
            first,
        } = self;
        machine.advance(clock.now(), &mut |port, frame| departing.add(port, frame));
        departing.send(sockets);
        // The time limit starts here, so that each turn reads at least one frame even if the
        // machine is late.
        let until = clock.now() + TURN_PS;
        *first = (*first + 1) % sockets.len().max(1);
        let ports = (*first..sockets.len()).chain(0..*first);
        for port in ports {
            for _ in 0..BATCH {
                let now = clock.now();
                if now >= until {
                    departing.send(sockets);
                    return;
                }
                let socket = &mut sockets[port];
                let Ok((frame, left)) = socket.receive() else {
                    break;
                };
                let done = finish(frame, left, &mut |frame| {
                    let out = &mut |port, frame: &[u8]| departing.add(port, frame);
                    machine.receive(now, port as u16, frame, out);
                });
                if !done {
                    socket.note_unfinished();
                }
                if departing.frames.len() > MAX_COLLECTED {
                    departing.send(sockets);
                }
            }
            departing.send(sockets);
        }
    }

    fn check_links(&mut self, now: Time) {
        let mut departing = Departing::default();
        for (port, socket) in (0..).zip(&mut self.sockets) {
            let out = &mut |port, frame: &[u8]| departing.add(port, frame);
            self.machine.link(now, port, socket.check_link(), out);
        }
        departing.send(&mut self.sockets);
    }

    /// Sleeps until a frame arrives, or until an action is due.
    fn sleep(&self) {
        let due = self.machine.next().map(|at| self.clock.until(at));
        let time = due.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP);
        let mut ports: Vec<PollFd<'_>> = self
            .sockets
            .iter()
            .map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN))
            .collect();
        let waited = ppoll(&mut ports, Some(TimeSpec::from_duration(time)), None);
        // At a port that is down, `ppoll` returns immediately every time. In this case sleep
        // instead.
        if waited.is_ok_and(|ready| ready > 0) && !ports.iter().any(|port| port.any() == Some(true))
        {
            std::thread::sleep(time);
        }
    }
}

/// Determines the times with which late actions are executed. Normally this is their due time.
/// After many late actions it is the current time, because otherwise a line that is faster than the
/// program would accumulate late actions without limit.
// WSW-30: late actions
#[derive(Debug)]
pub(crate) struct CatchUp {
    now: Time,
    done: u32,
}

impl CatchUp {
    pub const fn new(now: Time) -> Self {
        Self { now, done: 0 }
    }

    /// Returns the time with which to execute the next action; `None`: no action is due.
    pub fn next(&mut self, due: Option<Time>) -> Option<Time> {
        let due = due.filter(|&at| at <= self.now)?;
        self.done += 1;
        Some(if self.is_behind() { self.now } else { due })
    }

    /// True if the limit of late actions is exceeded, so that further actions use the current time.
    pub const fn is_behind(&self) -> bool {
        self.done > MAX_LATE
    }
}

/// Frames that leave the machine. They are stored while the sockets are borrowed, and then sent.
#[derive(Default)]
struct Departing {
    bytes: Vec<u8>,
    frames: Vec<(u16, usize)>,
}

impl Departing {
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
