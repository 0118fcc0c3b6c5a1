//! Frames that cross from one partition into another: each is copied with all that belongs to its
//! record, waits for the end of the window, and gets a record of the other partition's arena.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dataplane::int::IntHop;
use dataplane::packet::{Arena, Cold, Packet, PacketId, flag};
use dataplane::units::Time;
use kernel::calendar::{Calendar, Event, phase};
use kernel::{Barrier, Broken};

use super::partition::Partition;

/// How many frames ahead free records are prefetched.
const AHEAD: usize = 6;

/// A frame is copied when this many more have been sent: the memory beside its record, which has left the
/// caches, is prefetched meanwhile.
const LATER: usize = 8;

/// A frame that is to arrive at the end of a link.
#[derive(Clone, Copy, Debug)]
struct CrossingFrame {
    at: Time,
    link: u32,
    packet: Packet,
    cold: Cold,
}

/// Frames from one partition to another, in the order in which they were sent.
#[derive(Debug, Default)]
pub(super) struct FrameBatch {
    frames: Vec<CrossingFrame>,
    /// Telemetry of those that have some, in the same order: path and length of each, and all hops.
    stacks: Vec<(u16, u8)>,
    hops: Vec<IntHop>,
    /// Lists beside frames between neighbours, in the same order: the length of each, and all words.
    lists: Vec<u32>,
}

impl FrameBatch {
    /// Copies a packet and all that belongs to it.
    // PAR-04
    fn pack(&mut self, at: Time, link: u32, id: PacketId, arena: &Arena) {
        let packet = *arena.hot(id);
        if let Some(stack) = arena.stack(id) {
            self.stacks.push((stack.path(), stack.hops().len() as u8));
            self.hops.extend_from_slice(stack.hops());
        }
        if packet.has_list() {
            let list = arena.list(id);
            self.lists.push(list.len() as u32);
            self.lists.extend_from_slice(list);
        }
        self.frames.push(CrossingFrame {
            at,
            link,
            packet,
            cold: *arena.cold(id),
        });
    }

    /// Gives every frame a record, and calls `arrives` with its time, link and record.
    fn unpack(&mut self, arena: &mut Arena, mut arrives: impl FnMut(Time, u32, PacketId)) {
        let mut stacks = self.stacks.iter();
        let mut hops = self.hops.as_slice();
        let mut lists = self.lists.as_slice();
        for frame in &self.frames {
            arena.prefetch_free(AHEAD);
            let id = arena.alloc(frame.packet, frame.cold);
            if frame.packet.has(flag::INT)
                && let Some(&(path, length)) = stacks.next()
            {
                let (own, rest) = hops.split_at(length.into());
                arena.set_stack(id, path, own);
                hops = rest;
            }
            if frame.packet.has_list()
                && let Some((&length, rest)) = lists.split_first()
            {
                let (list, rest) = rest.split_at(length as usize);
                arena.set_list(id, list);
                lists = rest;
            }
            arrives(frame.at, frame.link, id);
        }
        self.frames.clear();
        self.stacks.clear();
        self.hops.clear();
        self.lists.clear();
    }
}

/// A frame that was sent to another partition and is not copied yet.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    to: u32,
    link: u32,
    at: Time,
    id: PacketId,
}

/// What a partition has to send to others in the current window.
#[derive(Debug)]
pub(super) struct Outbox {
    /// The last frames, in order.
    leaving: VecDeque<Leaving>,
    /// Those before, by partition.
    to: Vec<FrameBatch>,
    /// When the first of all arrives.
    first_ps: Time,
    /// End of the window: nothing may arrive earlier.
    window_ps: Time,
    /// Frames that have crossed.
    pub crossed: u64,
}

impl Outbox {
    pub fn new(parts: usize) -> Self {
        let mut to = Vec::new();
        to.resize_with(parts, FrameBatch::default);
        Self {
            leaving: VecDeque::with_capacity(LATER + 1),
            to,
            first_ps: Time::MAX,
            window_ps: 0,
            crossed: 0,
        }
    }

    /// A frame is sent to another partition.
    // PAR-03
    pub fn put(&mut self, to: u32, at: Time, link: u32, id: PacketId, arena: &mut Arena) {
        assert!(
            at >= self.window_ps,
            "a frame on link {link} arrives at {at} ps, before the window ends at {} ps",
            self.window_ps
        );
        self.first_ps = self.first_ps.min(at);
        self.crossed += 1;
        arena.prefetch_cold(id);
        arena.prefetch_stack(id);
        self.leaving.push_back(Leaving { to, link, at, id });
        if self.leaving.len() > LATER {
            self.pack_first(arena);
        }
    }

    /// Copies the frame that was sent first. Returns whether there was one.
    fn pack_first(&mut self, arena: &mut Arena) -> bool {
        let Some(Leaving { to, link, at, id }) = self.leaving.pop_front() else {
            return false;
        };
        self.to[to as usize].pack(at, link, id, arena);
        arena.free(id);
        true
    }

    /// Copies all frames that were sent.
    fn pack_all(&mut self, arena: &mut Arena) {
        while self.pack_first(arena) {}
    }
}

impl<C: Calendar> Partition<C> {
    /// Everything before `window_ps`; frames for other partitions stay in the outbox. Returns when
    /// the next event is, here or there, as far as this partition knows and it is before `limit`.
    pub(super) fn run_window(&mut self, window_ps: Time, limit: Time) -> Time {
        self.outbox.first_ps = Time::MAX;
        self.outbox.window_ps = window_ps;
        self.run_before(window_ps);
        self.next_ps(limit).min(self.outbox.first_ps)
    }

    /// When the next event is, if that is before `limit`.
    pub(super) fn next_ps(&mut self, limit: Time) -> Time {
        match self.core.calendar.first_ps(limit) {
            none if none >= limit => Time::MAX,
            first => first,
        }
    }

    /// Takes frames of another partition in; their batch comes back empty.
    // PAR-05
    fn take_in(&mut self, batch: &mut FrameBatch) {
        let (calendar, links) = (&mut self.core.calendar, &self.core.links);
        batch.unpack(&mut self.arena, |at, link, id| {
            let lane = links.near[link as usize].lane;
            calendar.push_to(lane, Event::new(at, phase::ARRIVAL, link, id));
        });
    }
}

/// Partitions of one thread: each workers its frames to the others.
pub(super) fn exchange_frames<C: Calendar>(parts: &mut [Partition<C>]) {
    for from in 0..parts.len() {
        let Partition { outbox, arena, .. } = &mut parts[from];
        outbox.pack_all(arena);
        for to in 0..parts.len() {
            if !parts[from].outbox.to[to].frames.is_empty() {
                let mut batch = std::mem::take(&mut parts[from].outbox.to[to]);
                parts[to].take_in(&mut batch);
                parts[from].outbox.to[to] = batch;
            }
        }
    }
}

/// A number alone on its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Alone(AtomicU64);

/// What the threads give each other at the end of a window. There are two sets of all: while one thread
/// still reads the set of one window, another may be at the end of the next.
#[derive(Debug)]
pub(super) struct Mailboxes {
    parts: usize,
    barrier: Barrier,
    /// Per parity and partition: when the next event is that it knows of.
    next_ps: [Vec<Alone>; 2],
    /// Per parity, sender and receiver.
    mail: [Vec<Mutex<FrameBatch>>; 2],
}

fn open(mail: &Mutex<FrameBatch>) -> MutexGuard<'_, FrameBatch> {
    // A thread that panicked ends the run: no other reads what it left.
    mail.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mailboxes {
    pub fn new(parts: usize, looks: u32) -> Self {
        let numbers = || (0..parts).map(|_| Alone::default()).collect();
        let mail = || {
            let boxes = (0..parts * parts).map(|_| Mutex::default());
            boxes.collect()
        };
        Self {
            parts,
            barrier: Barrier::new(parts as u32, looks),
            next_ps: [numbers(), numbers()],
            mail: [mail(), mail()],
        }
    }

    /// A thread gives up: no other shall wait for it.
    pub fn break_up(&self) {
        self.barrier.break_up();
    }

    /// Lets a partition do its part of everything before `limit`, window by window in step with the
    /// others. Returns the number of windows.
    // PAR-02, PAR-06
    pub fn run_before<C: Calendar>(
        &self,
        part: &mut Partition<C>,
        me: usize,
        lookahead_ps: Time,
        limit: Time,
    ) -> Result<u64, Broken> {
        let mut parity = 0;
        let mut windows = 0;
        let mut next_ps = part.next_ps(limit);
        loop {
            self.next_ps[parity][me].0.store(next_ps, Ordering::Relaxed);
            self.barrier.wait()?;
            self.collect(part, me, parity);
            let all = self.next_ps[parity].iter();
            let first_ps = all.map(|next| next.0.load(Ordering::Relaxed)).min();
            let first_ps = first_ps.unwrap_or(Time::MAX);
            if first_ps >= limit {
                // The others may still read this set; the next call begins with the same parity
                // only after the leader has got all partitions back.
                return Ok(windows);
            }
            let window_ps = limit.min(first_ps.saturating_add(lookahead_ps));
            next_ps = part.run_window(window_ps, limit);
            parity ^= 1;
            self.post(part, me, parity);
            windows += 1;
        }
    }

    /// Puts the frames for the others into their mailboxes.
    fn post<C>(&self, part: &mut Partition<C>, me: usize, parity: usize) {
        part.outbox.pack_all(&mut part.arena);
        for to in (0..self.parts).filter(|&to| to != me) {
            let mine = &mut part.outbox.to[to];
            if !mine.frames.is_empty() {
                std::mem::swap(mine, &mut open(&self.mail[parity][me * self.parts + to]));
            }
        }
    }

    /// Takes in the frames of the others.
    fn collect<C: Calendar>(&self, part: &mut Partition<C>, me: usize, parity: usize) {
        for from in (0..self.parts).filter(|&from| from != me) {
            part.take_in(&mut open(&self.mail[parity][from * self.parts + me]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataplane::hop::bfc::Bitmap;
    use dataplane::hop::pfc::PauseClasses;
    use dataplane::packet::{Frame, Kind};

    const DATA: Packet = Packet::new(Kind::Data, 2, 100);
    const ACK: Packet = Packet::new(Kind::Ack, 2, 100);

    fn frame(like: Packet, psn: u32) -> (Packet, Cold) {
        let packet = Packet {
            psn,
            flow: 7,
            ..like
        };
        let cold = Cold {
            sent_ps: 1000 + u64::from(psn),
            slot: psn,
            ..Cold::default()
        };
        (packet, cold)
    }

    /// A record with telemetry of `hops` hops, or naming `hops` queues.
    fn made(arena: &mut Arena, like: Packet, psn: u32, hops: u32) -> PacketId {
        let (packet, cold) = frame(like, psn);
        let id = arena.alloc(packet, cold);
        if like.has_list() {
            arena.set_list(id, &(0..hops).map(|n| n * psn).collect::<Vec<_>>());
        } else if hops > 0 {
            arena.attach_stack(id);
            for switch in 0..hops {
                let hop = IntHop {
                    ts_ps: u64::from(psn),
                    qlen_bytes: switch,
                    ..IntHop::default()
                };
                assert_eq!(arena.push_hop(id, 10 + switch, hop), Some(true));
            }
        }
        id
    }

    // PAR-04
    #[test]
    fn a_copy_has_all_that_lies_beside_the_record() {
        let (mut here, mut there) = (Arena::new(), Arena::new());
        // Records are used again over there: what an earlier packet left must not shine through.
        let old: Vec<PacketId> = (0..6).map(|n| made(&mut there, DATA, n, 8)).collect();
        old.into_iter().for_each(|id| there.free(id));
        let mut outbox = Outbox::new(2);
        let pause = PauseClasses {
            on: true,
            classes: 4,
        };
        let kinds = [
            (DATA, 3),
            (Bitmap.packet(100), 4),
            (pause.packet(100), 0),
            (ACK, 5),
            (Bitmap.packet(100), 0),
            (DATA, 0),
        ];
        for (psn, (like, hops)) in (1..).zip(kinds) {
            let id = made(&mut here, like, psn, hops);
            outbox.put(1, 500 + u64::from(psn), 40 + psn, id, &mut here);
        }
        outbox.pack_all(&mut here);
        assert_eq!((here.alive(), outbox.crossed, outbox.first_ps), (0, 6, 501));
        let mut came = Vec::new();
        outbox.to[1].unpack(&mut there, |at, link, id| came.push((at, link, id)));
        for (psn, (like, hops)) in (1..).zip(kinds) {
            let (at, link, id) = came[psn as usize - 1];
            assert_eq!((at, link), (500 + u64::from(psn), 40 + psn));
            let (packet, cold) = (there.hot(id), there.cold(id));
            assert_eq!((packet.tag, packet.psn, packet.flow), (like.tag, psn, 7));
            assert_eq!(packet.upstream_queue, like.upstream_queue);
            assert_eq!((cold.sent_ps, cold.slot), (1000 + u64::from(psn), psn));
            if like.has_list() {
                let named: Vec<u32> = (0..hops).map(|n| n * psn).collect();
                assert_eq!(there.list(id), named);
            }
            let with_hops = !like.has_list() && hops > 0;
            assert_eq!(there.stack(id).is_some(), with_hops);
            if let Some(stack) = there.stack(id) {
                let expected = made(&mut here, like, psn, hops);
                let expected = here.stack(expected).unwrap();
                assert_eq!(
                    (stack.hops(), stack.path()),
                    (expected.hops(), expected.path())
                );
            }
        }
        assert!(outbox.to[1].frames.is_empty() && outbox.to[1].hops.is_empty());
    }

    // PAR-02
    #[test]
    #[should_panic(expected = "before the window ends")]
    fn a_frame_that_would_come_too_early_is_no_result_but_an_error() {
        let mut arena = Arena::new();
        let id = made(&mut arena, DATA, 1, 0);
        let mut outbox = Outbox::new(2);
        outbox.window_ps = 1000;
        outbox.put(1, 999, 0, id, &mut arena);
    }
}
