//! Link-level retry (LLR of Ultra Ethernet, rules in `specs/llr.md`). Frames of a link have
//! sequence numbers. The sender stores copies until the neighbour acknowledges them. After a loss,
//! it sends the lost frame and all later ones again, in order, before any new frame.

mod config;
mod frames;

use std::collections::VecDeque;

use super::cyclic::{CYCLE, advance, distance};
use super::{Link, LinkSite, Traffic, Turn};
use crate::declaration::Counter;
use crate::packet::{Cold, Frame, NO_PACKET, PacketId};
use crate::ports::Ports;
use crate::units::{NEVER, Rate, Time};
use config::SET_BYTES;
pub use config::{Flush, LlrConfig};
pub use frames::{Ack, Nack};

/// Sender state of a port.
#[derive(Debug)]
struct Sender {
    /// Sequence number of the first frame in the replay buffer.
    first: u32,
    /// Replay buffer: copies of the frames that are not acknowledged, in order.
    frames: VecDeque<PacketId>,
    /// Bytes of the frames in the replay buffer.
    bytes: u64,
    /// Index in the replay buffer of the frame that is replayed next; the number of frames if no
    /// frame is replayed.
    replay: usize,
    /// Replays since the last acknowledged frame.
    tries: u32,
    /// Time of the next replay of all frames if no acknowledgement arrives before; [`NEVER`] if the
    /// buffer is empty.
    deadline_ps: Time,
    timer_ps: Time,
    most_frames: usize,
    most_bytes: u64,
    /// True if the port waits for room in the replay buffer.
    is_full: bool,
    /// True if the port has given up after too many replays.
    is_flushed: bool,
}

/// Receiver state of a port.
#[derive(Clone, Copy, Debug)]
struct Receiver {
    /// Sequence number of the next frame in order.
    expected: u32,
    /// True after a NACK was sent: frames are discarded until the expected one arrives.
    has_nacked: bool,
    /// True if a NACK must be sent.
    has_nack_due: bool,
    /// True if frames have arrived that are not acknowledged.
    has_ack_due: bool,
    /// True if the acknowledgement may be sent now.
    may_ack_now: bool,
    /// Time of the last acknowledgement; [`NEVER`] before the first.
    acked_ps: Time,
    /// Minimum time between two acknowledgements.
    spacing_ps: Time,
}

impl Receiver {
    /// Returns the earliest time of the next acknowledgement.
    const fn due_ps(&self) -> Time {
        match self.acked_ps {
            NEVER => 0,
            acked_ps => acked_ps + self.spacing_ps,
        }
    }
}

/// Counters, summed over all ports.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    acks: u64,
    nacks: u64,
    replays: u64,
    replayed_frames: u64,
    bad_frames: u64,
    discarded_frames: u64,
    waits: u64,
    flushes: u64,
    flushed_frames: u64,
}

/// Sender and receiver states of all ports of a node.
#[derive(Debug)]
pub(crate) struct Llr {
    config: LlrConfig,
    max_frame: u64,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    traffic: Vec<Traffic>,
    counted: Counted,
}

impl Llr {
    /// Removes the frames up to `number` from the replay buffer, because the neighbour has received
    /// them.
    // LLR-04
    fn acknowledge<P: Ports>(&mut self, ports: &mut P, port: u16, number: u32) {
        let now = ports.now();
        let sender = &mut self.senders[usize::from(port)];
        let count = (distance(sender.first, number) as usize + 1) % CYCLE as usize;
        if count == 0 || count > sender.frames.len() {
            return;
        }
        for id in sender.frames.drain(..count) {
            let size = u64::from(ports.arena().hot(id).size);
            debug_assert!(
                sender.bytes >= size,
                "bytes in the replay buffer of port {port}"
            );
            sender.bytes -= size;
            ports.arena().free(id);
        }
        sender.first = advance(sender.first, count as u32);
        sender.replay = sender.replay.saturating_sub(count);
        sender.tries = 0;
        sender.deadline_ps = match sender.frames.is_empty() {
            true => NEVER,
            false => now + sender.timer_ps,
        };
        ports.kick(port);
    }

    /// Starts a replay of all frames in the buffer, or gives up after too many replays.
    // LLR-06, LLR-07, LLR-08
    fn go_back<P: Ports>(&mut self, ports: &mut P, port: u16) {
        let sender = &mut self.senders[usize::from(port)];
        if sender.frames.is_empty() {
            return;
        }
        sender.tries += 1;
        if sender.tries > self.config.replays {
            self.counted.flushes += 1;
            self.counted.flushed_frames += sender.frames.len() as u64;
            sender.is_flushed = true;
            self.empty(ports, port);
        } else {
            self.counted.replays += 1;
            sender.replay = 0;
            sender.deadline_ps = ports.now() + sender.timer_ps;
            ports.wake(sender.deadline_ps);
        }
        ports.kick(port);
    }

    /// Clears the replay buffer of a port. Frames that the neighbour has not received are lost.
    fn empty<P: Ports>(&mut self, ports: &mut P, port: u16) {
        let sender = &mut self.senders[usize::from(port)];
        let count = sender.frames.len();
        sender
            .frames
            .drain(..)
            .for_each(|id| ports.arena().free(id));
        sender.first = advance(sender.first, count as u32);
        (sender.bytes, sender.replay, sender.deadline_ps) = (0, 0, NEVER);
        self.traffic[usize::from(port)].dropped += count as u64;
    }

    /// Requests an acknowledgement. It is sent now, or when `spacing_ps` has passed since the last
    /// acknowledgement.
    // LLR-04
    fn request_ack<P: Ports>(&mut self, ports: &mut P, port: u16) {
        let now = ports.now();
        let receiver = &mut self.receivers[usize::from(port)];
        receiver.has_ack_due = true;
        if receiver.due_ps() <= now {
            receiver.may_ack_now = true;
            ports.kick(port);
        } else {
            ports.wake(receiver.due_ps());
        }
    }

    /// Requests a NACK, because a frame is missing.
    // LLR-05
    fn request_nack<P: Ports>(&mut self, ports: &mut P, port: u16) {
        let receiver = &mut self.receivers[usize::from(port)];
        if !receiver.has_nacked {
            (receiver.has_nacked, receiver.has_nack_due) = (true, true);
            ports.kick(port);
        }
    }

    /// Returns the acknowledgement or NACK to send now; `None` if neither is due.
    fn reply<P: Ports>(&mut self, ports: &mut P, port: u16) -> Option<PacketId> {
        let receiver = &mut self.receivers[usize::from(port)];
        let number = advance(receiver.expected, CYCLE - 1);
        let frame = match (receiver.has_nack_due, receiver.may_ack_now) {
            (true, _) => Nack { number }.packet(SET_BYTES),
            (false, true) => Ack { number }.packet(SET_BYTES),
            (false, false) => return None,
        };
        match receiver.has_nack_due {
            true => self.counted.nacks += 1,
            false => self.counted.acks += 1,
        }
        (
            receiver.has_nack_due,
            receiver.has_ack_due,
            receiver.may_ack_now,
        ) = (false, false, false);
        receiver.acked_ps = ports.now();
        self.traffic[usize::from(port)].sets_sent += 1;
        Some(ports.arena().alloc(frame, Cold::default()))
    }

    /// Handles an undamaged frame with a sequence number. Returns true if it is the expected frame.
    // LLR-03, LLR-05
    fn take<P: Ports>(&mut self, ports: &mut P, port: u16, number: u32) -> bool {
        let receiver = &mut self.receivers[usize::from(port)];
        let ahead = distance(receiver.expected, number);
        if ahead == 0 {
            receiver.expected = advance(receiver.expected, 1);
            receiver.has_nacked = false;
        }
        match ahead {
            1..CYCLE_HALF => self.request_nack(ports, port),
            // A repeated frame means that its acknowledgement was lost.
            _ => self.request_ack(ports, port),
        }
        ahead == 0
    }

    /// Decides what a port with an idle link sends next: own frame, new frame or nothing.
    // LLR-06, LLR-08, LLR-10
    pub fn turn<P: Ports>(&mut self, ports: &mut P, port: u16) -> Turn {
        if let Some(id) = self.reply(ports, port) {
            return Turn::Own(id);
        }
        let sender = &mut self.senders[usize::from(port)];
        if sender.is_flushed {
            return match self.config.flush {
                Flush::BestEffort => Turn::Free,
                Flush::Block => Turn::Blocked,
            };
        }
        if let Some(&id) = sender.frames.get(sender.replay) {
            sender.replay += 1;
            self.counted.replayed_frames += 1;
            self.traffic[usize::from(port)].replayed += 1;
            return Turn::Own(ports.arena().duplicate(id));
        }
        let is_full = sender.frames.len() >= sender.most_frames
            || sender.bytes + self.max_frame > sender.most_bytes;
        self.counted.waits += u64::from(is_full && !sender.is_full);
        sender.is_full = is_full;
        match is_full {
            true => Turn::Blocked,
            false => Turn::Free,
        }
    }
}

/// Numbers less than half a cycle after the expected one are later numbers. All others are earlier.
const CYCLE_HALF: u32 = CYCLE / 2;

impl Link for Llr {
    type Config = LlrConfig;

    const COUNTERS: &'static [Counter] = &[
        Counter::optional("llr_acks"),
        Counter::optional("llr_nacks"),
        Counter::optional("llr_replays"),
        Counter::optional("llr_replayed_frames"),
        Counter::optional("llr_bad_frames"),
        Counter::optional("llr_discarded_frames"),
        Counter::optional("llr_waits"),
        Counter::optional("llr_flushes"),
        Counter::optional("llr_flushed_frames"),
    ];

    const COUNTS_AT_HOSTS: bool = true;

    fn new(config: &LlrConfig, site: &LinkSite<'_>) -> Self {
        let sender = |&(rate, delay_ps): &(Rate, Time)| {
            let most_bytes = config.bytes_of(rate, delay_ps, site.max_frame);
            Sender {
                first: 0,
                frames: VecDeque::new(),
                bytes: 0,
                replay: 0,
                tries: 0,
                deadline_ps: NEVER,
                timer_ps: config.timer_of(rate, delay_ps, site.max_frame),
                most_frames: config.frames_of(most_bytes),
                most_bytes,
                is_full: false,
                is_flushed: false,
            }
        };
        let receiver = |&(rate, _): &(Rate, Time)| Receiver {
            expected: 0,
            has_nacked: false,
            has_nack_due: false,
            has_ack_due: false,
            may_ack_now: false,
            acked_ps: NEVER,
            spacing_ps: rate.serialisation_ps(config.spacing_bytes.into()),
        };
        Self {
            config: *config,
            max_frame: site.max_frame.into(),
            senders: site.ports.iter().map(sender).collect(),
            receivers: site.ports.iter().map(receiver).collect(),
            traffic: vec![Traffic::default(); site.ports.len()],
            counted: Counted::default(),
        }
    }

    fn arrived<P: Ports>(
        &mut self,
        ports: &mut P,
        port: u16,
        id: PacketId,
        is_damaged: bool,
    ) -> bool {
        let packet = *ports.arena().hot(id);
        let traffic = &mut self.traffic[usize::from(port)];
        if is_damaged {
            traffic.damaged += 1;
            self.counted.bad_frames += 1;
            if !packet.is_control_set() {
                self.request_nack(ports, port); // LLR-05: damaged frame
            }
        } else if let Some(Ack { number }) = Ack::read(&packet) {
            traffic.sets_arrived += 1;
            self.acknowledge(ports, port, number);
        } else if let Some(Nack { number }) = Nack::read(&packet) {
            traffic.sets_arrived += 1;
            self.acknowledge(ports, port, number);
            self.go_back(ports, port);
        } else if packet.next == NO_PACKET {
            traffic.unnumbered_arrived += 1;
            return true;
        } else {
            if self.take(ports, port, packet.next) {
                self.traffic[usize::from(port)].accepted += 1;
                ports.arena().hot_mut(id).next = NO_PACKET;
                return true;
            }
            self.traffic[usize::from(port)].discarded += 1;
            self.counted.discarded_frames += 1;
        }
        ports.arena().free(id);
        false
    }

    // LLR-01, LLR-02: number the frame and store a copy
    fn sent<P: Ports>(&mut self, ports: &mut P, port: u16, id: PacketId) {
        let now = ports.now();
        let sender = &mut self.senders[usize::from(port)];
        let traffic = &mut self.traffic[usize::from(port)];
        let hot = ports.arena().hot_mut(id);
        if sender.is_flushed || hot.is_control_set() {
            hot.next = NO_PACKET;
            traffic.unnumbered_sent += 1;
            return;
        }
        debug_assert!(sender.replay == sender.frames.len(), "port {port} replays");
        hot.next = advance(sender.first, sender.frames.len() as u32);
        sender.bytes += u64::from(hot.size);
        traffic.numbered += 1;
        let copy = ports.arena().duplicate(id);
        sender.frames.push_back(copy);
        sender.replay = sender.frames.len();
        if sender.deadline_ps == NEVER {
            sender.deadline_ps = now + sender.timer_ps;
            ports.wake(sender.deadline_ps);
        }
    }

    fn timer<P: Ports>(&mut self, ports: &mut P) {
        let now = ports.now();
        let mut next_ps = NEVER;
        for port in 0..self.senders.len() {
            if self.senders[port].deadline_ps <= now {
                self.go_back(ports, port as u16); // LLR-07: timeout
            }
            next_ps = next_ps.min(self.senders[port].deadline_ps);
            let receiver = &mut self.receivers[port];
            if receiver.has_ack_due && !receiver.may_ack_now {
                if receiver.due_ps() <= now {
                    receiver.may_ack_now = true;
                    ports.kick(port as u16);
                } else {
                    next_ps = next_ps.min(receiver.due_ps());
                }
            }
        }
        if next_ps != NEVER {
            ports.wake(next_ps);
        }
    }

    // LLR-09: reset when the link changes
    fn reset<P: Ports>(&mut self, ports: &mut P, port: u16) {
        self.empty(ports, port);
        let sender = &mut self.senders[usize::from(port)];
        (sender.first, sender.tries) = (0, 0);
        (sender.is_full, sender.is_flushed) = (false, false);
        let receiver = &mut self.receivers[usize::from(port)];
        *receiver = Receiver {
            expected: 0,
            has_nacked: false,
            has_nack_due: false,
            has_ack_due: false,
            may_ack_now: false,
            acked_ps: NEVER,
            ..*receiver
        };
    }

    fn counts(&self) -> Vec<u64> {
        let c = &self.counted;
        vec![
            c.acks,
            c.nacks,
            c.replays,
            c.replayed_frames,
            c.bad_frames,
            c.discarded_frames,
            c.waits,
            c.flushes,
            c.flushed_frames,
        ]
    }

    fn is_at_rest(&self) -> bool {
        self.senders.iter().all(|sender| sender.frames.is_empty())
    }

    fn explain_stall(&self, say: &mut dyn FnMut(String)) {
        for (port, sender) in self.senders.iter().enumerate() {
            if sender.is_flushed {
                say(format!(
                    "port {port} gave up after {} replays",
                    self.config.replays
                ));
            } else if !sender.frames.is_empty() {
                let count = sender.frames.len();
                say(format!(
                    "port {port} has {count} frames in its replay buffer"
                ));
            }
        }
    }

    fn is_waiting(&self, port: u16) -> bool {
        let sender = &self.senders[usize::from(port)];
        let receiver = &self.receivers[usize::from(port)];
        receiver.has_nack_due || receiver.may_ack_now || sender.replay < sender.frames.len()
    }

    fn traffic(&self, port: u16) -> Option<Traffic> {
        let stored = self.senders[usize::from(port)].frames.len() as u64;
        let traffic = self.traffic[usize::from(port)];
        Some(Traffic { stored, ..traffic })
    }
}
