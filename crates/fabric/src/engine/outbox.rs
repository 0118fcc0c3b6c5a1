//! Frames that are sent from one partition to another: each frame is copied with all data of its
//! packet record, waits for the end of the synchronisation window, and gets a record in the arena
//! of the other partition.

use std::collections::VecDeque;

use dataplane::int::IntHop;
use dataplane::packet::{Arena, Cold, Packet, PacketId, flag};
use dataplane::units::Time;

use super::carried::Carried;
use super::measure::Journey;
use crate::ids::LinkId;

/// Number of frames in advance for which free packet records are prefetched.
const AHEAD: usize = 6;

/// A frame is copied after this number of further frames has been sent. Meanwhile the data outside
/// its packet record, which are no longer cached, are prefetched.
const LATER: usize = 8;

/// Copy of a frame that will arrive at the end of a link in another partition.
#[derive(Clone, Copy, Debug)]
struct CrossingFrame {
    at: Time,
    link: LinkId,
    packet: Packet,
    cold: Cold,
    marks: u8,
}

/// Frames from one partition to another, in the order in which they were sent.
#[derive(Debug, Default)]
pub(super) struct FrameBatch {
    frames: Vec<CrossingFrame>,
    /// Path ID and number of hops of the telemetry (INT) of each frame that has telemetry, in the
    /// order of the frames.
    stacks: Vec<(u16, u8)>,
    /// Telemetry (INT) of all hops of these frames, in the order of the frames.
    hops: Vec<IntHop>,
    /// Lists in control frames between neighbours, in the order of the frames: for each list its
    /// length, then its words.
    lists: Vec<u32>,
    /// Journeys (delay so far) of the followed packets, with the arrival times and links of the
    /// packets, in the order of the frames.
    journeys: VecDeque<(Time, LinkId, Journey)>,
    /// Messages that ranks send to hosts of the other partition, each with its flow ID.
    pub messages: Vec<(u32, Carried)>,
}

impl FrameBatch {
    /// Returns true if the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.messages.is_empty()
    }

    /// Adds the journey (delay so far) of a followed packet.
    // BLM-04
    pub fn follow(&mut self, at: Time, link: LinkId, journey: Journey) {
        self.journeys.push_back((at, link, journey));
    }

    /// Adds a copy of a packet with all data of its record.
    // PAR-04
    fn pack(&mut self, at: Time, link: LinkId, id: PacketId, arena: &Arena) {
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
            marks: arena.marks(id),
        });
    }

    /// Allocates a record for every frame, and calls `arrives` with arrival time, link, record and
    /// journey of the frame.
    pub fn unpack(
        &mut self,
        arena: &mut Arena,
        mut arrives: impl FnMut(Time, LinkId, PacketId, Option<Journey>),
    ) {
        let mut stacks = self.stacks.iter();
        let mut hops = self.hops.as_slice();
        let mut lists = self.lists.as_slice();
        for frame in &self.frames {
            arena.prefetch_free(AHEAD);
            let id = arena.alloc(frame.packet, frame.cold);
            arena.set_marks(id, frame.marks);
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
            // At most one frame arrives on a link in an instant, so time and link identify the
            // frame.
            let (at, link) = (frame.at, frame.link);
            let first = self.journeys.front();
            let is_followed = first.is_some_and(|of| (of.0, of.1) == (at, link));
            let journey = is_followed.then(|| self.journeys.pop_front()).flatten();
            arrives(at, link, id, journey.map(|of| of.2));
        }
        self.frames.clear();
        self.stacks.clear();
        self.hops.clear();
        self.lists.clear();
    }
}

/// A frame that was sent to another partition and is not copied yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    /// Index of the partition to which the frame is sent.
    pub to: u32,
    pub link: LinkId,
    /// Time at which the frame arrives.
    pub at: Time,
    pub id: PacketId,
}

/// Frames that a partition sends to other partitions in the current window.
#[derive(Debug)]
pub(super) struct Outbox {
    /// Frames that were sent last and have not been copied yet, in the order of sending.
    leaving: VecDeque<Leaving>,
    /// Number of frames that may wait in `leaving` before the first one is copied.
    later: usize,
    /// Copied frames, by destination partition.
    pub to: Vec<FrameBatch>,
    /// Earliest arrival time of a frame that was sent in this window.
    first_ps: Time,
    /// End of the synchronisation window. No frame may arrive earlier.
    window_ps: Time,
    /// Number of frames sent to other partitions.
    pub crossed: u64,
}

impl Outbox {
    pub fn new(parts: usize) -> Self {
        let mut to = Vec::new();
        to.resize_with(parts, FrameBatch::default);
        Self {
            leaving: VecDeque::with_capacity(LATER + 1),
            later: LATER,
            to,
            first_ps: Time::MAX,
            window_ps: 0,
            crossed: 0,
        }
    }

    /// Disables copying: all frames stay in `leaving` until they are [taken out](Self::take_out).
    pub fn keep_all(&mut self) {
        self.later = usize::MAX;
    }

    /// Removes the next frame, in the order of sending. The caller must free its record.
    pub fn take_out(&mut self) -> Option<Leaving> {
        self.leaving.pop_front()
    }

    /// Starts a synchronisation window that ends at `window_ps`. Frames sent in it must not arrive
    /// earlier.
    pub fn begin(&mut self, window_ps: Time) {
        self.first_ps = Time::MAX;
        self.window_ps = window_ps;
    }

    /// Returns the earliest arrival time of a frame that was sent in this window; [`Time::MAX`] if
    /// no frame was sent.
    pub fn first_ps(&self) -> Time {
        self.first_ps
    }

    /// Adds a frame that is sent to another partition.
    // PAR-03
    #[inline]
    pub fn put(&mut self, frame: Leaving, arena: &mut Arena) {
        let Leaving { link, at, id, .. } = frame;
        assert!(
            at >= self.window_ps,
            "a frame on link {link} arrives at {at} ps, before the window ends at {} ps",
            self.window_ps
        );
        self.first_ps = self.first_ps.min(at);
        self.crossed += 1;
        arena.prefetch_cold(id);
        arena.prefetch_stack(id);
        self.leaving.push_back(frame);
        if self.leaving.len() > self.later {
            self.pack_first(arena);
        }
    }

    /// Copies the frame that was sent first among those not copied. Returns false if there is none.
    fn pack_first(&mut self, arena: &mut Arena) -> bool {
        let Some(Leaving { to, link, at, id }) = self.leaving.pop_front() else {
            return false;
        };
        self.to[to as usize].pack(at, link, id, arena);
        arena.free(id);
        true
    }

    /// Copies all frames that have not been copied.
    pub fn pack_all(&mut self, arena: &mut Arena) {
        while self.pack_first(arena) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataplane::hop::bfc::Bitmap;
    use dataplane::hop::pfc::PauseClasses;
    use dataplane::ids::FlowSlot;
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
            slot: FlowSlot::from_bits(psn),
            ..Cold::default()
        };
        (packet, cold)
    }

    /// Creates a packet record with telemetry of `hops` hops, or with a list of `hops` queues.
    fn made(arena: &mut Arena, like: Packet, psn: u32, hops: u32) -> PacketId {
        let (packet, cold) = frame(like, psn);
        let id = arena.alloc(packet, cold);
        arena.set_marks(id, (psn % 2 * psn) as u8);
        if like.has_list() {
            arena.set_list(id, &(0..hops).map(|n| n * psn).collect::<Vec<_>>());
        } else if hops > 0 {
            let hop = |switch| IntHop {
                ts_ps: u64::from(psn),
                qlen_bytes: switch,
                ..IntHop::default()
            };
            let hops: Vec<IntHop> = (0..hops).map(hop).collect();
            arena.set_stack(id, 10, &hops);
        }
        id
    }

    // PAR-04
    #[test]
    fn a_copy_has_all_that_lies_beside_the_record() {
        let (mut here, mut there) = (Arena::new(), Arena::new());
        // The other partition reuses records. Data of earlier packets in them must not remain
        // visible.
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
            let leaving = Leaving {
                to: 1,
                link: LinkId::from_bits(40 + psn),
                at: 500 + u64::from(psn),
                id,
            };
            outbox.put(leaving, &mut here);
        }
        outbox.pack_all(&mut here);
        assert_eq!((here.alive(), outbox.crossed, outbox.first_ps), (0, 6, 501));
        let mut came = Vec::new();
        outbox.to[1].unpack(&mut there, |at, link, id, _| came.push((at, link, id)));
        for (psn, (like, hops)) in (1..).zip(kinds) {
            let (at, link, id) = came[psn as usize - 1];
            assert_eq!((at, link.bits()), (500 + u64::from(psn), 40 + psn));
            let (packet, cold) = (there.hot(id), there.cold(id));
            assert_eq!((packet.tag, packet.psn, packet.flow), (like.tag, psn, 7));
            assert_eq!(packet.upstream_queue, like.upstream_queue);
            assert_eq!(u32::from(there.marks(id)), psn % 2 * psn);
            assert_eq!(
                (cold.sent_ps, cold.slot),
                (1000 + u64::from(psn), FlowSlot::from_bits(psn))
            );
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
        let leaving = Leaving {
            to: 1,
            link: LinkId::new(0),
            at: 999,
            id,
        };
        outbox.put(leaving, &mut arena);
    }
}
