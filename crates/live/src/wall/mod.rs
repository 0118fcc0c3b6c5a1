//! Nodes of the dataplane on the wall clock: sockets, time, and what a state machine asks of its driver.
//!
//! A [`Machine`] is a switch or a host between frames; it has no sockets and no clock, so that tests can give it
//! a time of their own. A `Driver` brings the two together: sockets are read, the machine does what is due, and
//! what leaves it is sent.

pub mod clock;
mod description;
mod frames;
mod lines;
mod offload;
mod port_socket;
mod privileges;
mod raw_socket;
mod wishes;

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
pub(crate) use wishes::Wishes;

/// Frames that are taken from a port before the next has its turn.
const BATCH: usize = 64;
/// Frames that leave together at most, for their memory.
const TOGETHER: usize = 1000;
/// What was due is done at its own time as far as this many things.
const CATCH_UP: u32 = 10_000;
/// How long frames are taken at most before links, and the wish to stop, are looked at.
const TURN_PS: Time = 20 * MS;
/// How often links and counters of the system are looked at.
const LOOK_PS: Time = 100 * MS;
/// How long the program may sleep at most, so that it hears of the wish to stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// Values with their names, as snapshots have them.
pub(crate) fn named(all: &[(&str, u64)]) -> Vec<(String, u64)> {
    all.iter()
        .map(|&(name, value)| (name.to_owned(), value))
        .collect()
}

/// The address of everybody on a link.
pub(crate) const EVERYBODY: Mac = [0xff; 6];

/// Where frames go that leave, by the number of their port.
pub type Out<'a> = dyn FnMut(u16, &[u8]) + 'a;

/// A node between frames. It is handed them, and the time.
pub trait Machine {
    /// Does everything that was due by now, each thing at its own time.
    fn advance(&mut self, now: Time, out: &mut Out<'_>);

    /// When something is due next.
    fn next(&self) -> Option<Time>;

    /// A frame came by a port, without its checksum.
    fn receive(&mut self, now: Time, port: u16, frame: &[u8], out: &mut Out<'_>);

    /// The link of a port is up, or it is not.
    fn link(&mut self, now: Time, port: u16, up: bool, out: &mut Out<'_>);
}

/// Opens interfaces, in the order of a node's ports. Returns their sockets and addresses.
///
/// # Errors
/// An interface does not exist, or the system refuses the socket.
pub(crate) fn open_ports(names: &[String]) -> Result<(Vec<PortSocket>, Vec<Mac>), Error> {
    let opened = names.iter().map(|name| {
        let (socket, interface) = PortSocket::open(name)?;
        Ok((socket, interface.address))
    });
    opened.collect()
}

/// A machine, its sockets and the clock.
pub(crate) struct Driver<M> {
    pub clock: WallClock,
    pub machine: M,
    pub sockets: Vec<PortSocket>,
    /// The port whose frames are taken first: no port waits for the others for ever.
    first: usize,
}

impl<M: Machine> Driver<M> {
    /// It is 0 now.
    pub fn new(machine: M, sockets: Vec<PortSocket>) -> Self {
        Self {
            clock: WallClock::start(),
            machine,
            sockets,
            first: 0,
        }
    }

    /// Lets the machine run until it is to stop. `look` is called every 100 ms, after links were looked at; it
    /// says whether to go on.
    ///
    /// # Errors
    /// As `look`.
    // WSW-40
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        look: &mut dyn FnMut(&mut Self) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let mut looked_ps = None;
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if looked_ps.is_none_or(|at| now >= at + LOOK_PS) {
                looked_ps = Some(now);
                self.look_at_links(now);
                if !look(self)? {
                    break;
                }
            }
            self.turn();
            self.sleep();
        }
        Ok(())
    }

    /// Does what is due, and takes what has come.
    fn turn(&mut self) {
        let mut leaving = Leaving::default();
        let Self {
            clock,
            machine,
            sockets,
            first,
        } = self;
        machine.advance(clock.now(), &mut |port, frame| leaving.add(port, frame));
        leaving.send(sockets);
        let until = clock.now() + TURN_PS; // from here on: each turn takes a frame, however late the machine is
        *first = (*first + 1) % sockets.len().max(1);
        let ports = (*first..sockets.len()).chain(0..*first);
        for port in ports {
            for _ in 0..BATCH {
                let now = clock.now();
                if now >= until {
                    leaving.send(sockets);
                    return;
                }
                let socket = &mut sockets[port];
                let Ok((frame, left)) = socket.receive() else {
                    break;
                };
                let done = finish(frame, left, &mut |frame| {
                    let out = &mut |port, frame: &[u8]| leaving.add(port, frame);
                    machine.receive(now, port as u16, frame, out);
                });
                if !done {
                    socket.note_unfinished();
                }
                if leaving.frames.len() > TOGETHER {
                    leaving.send(sockets);
                }
            }
            leaving.send(sockets);
        }
    }

    fn look_at_links(&mut self, now: Time) {
        let mut leaving = Leaving::default();
        for (port, socket) in (0..).zip(&mut self.sockets) {
            let out = &mut |port, frame: &[u8]| leaving.add(port, frame);
            self.machine.link(now, port, socket.look(), out);
        }
        leaving.send(&mut self.sockets);
    }

    /// Waits for a frame, or for what is due next.
    fn sleep(&self) {
        let due = self.machine.next().map(|at| self.clock.until(at));
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
}

/// When things are done that were due by now: at their own times, but after many of them now. A line faster than
/// this program would leave it ever more to do.
// WSW-30
#[derive(Debug)]
pub(crate) struct CatchUp {
    now: Time,
    done: u32,
}

impl CatchUp {
    pub const fn new(now: Time) -> Self {
        Self { now, done: 0 }
    }

    /// When to do what is due next, if that is by now.
    pub fn next(&mut self, due: Option<Time>) -> Option<Time> {
        let due = due.filter(|&at| at <= self.now)?;
        self.done += 1;
        Some(if self.is_behind() { self.now } else { due })
    }

    /// More was due than is caught up.
    pub const fn is_behind(&self) -> bool {
        self.done > CATCH_UP
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
