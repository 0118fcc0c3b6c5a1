//! Requests of a dataplane state machine (switch or NIC) to its driver on the wall clock.

use std::collections::VecDeque;

use dataplane::classes::ClassSet;
use dataplane::event::NodeEvent;
use dataplane::nic::FlowEnd;
use dataplane::packet::{Packet, PacketId};
use dataplane::sink::{DropCause, Sink};
use dataplane::units::{NEVER, Time};

/// Requests of a switch or NIC that the driver has not handled yet.
#[derive(Debug)]
pub(crate) struct Requests {
    pub kicks: VecDeque<u16>,
    /// Time at which the state machine requested a timer call, or [`NEVER`].
    pub timer: Time,
    /// IDs of dropped packet records, whose stored frame data can be deleted.
    pub dropped_ids: Vec<PacketId>,
    /// Class and cause of each drop.
    pub drops: Vec<(u8, DropCause)>,
    /// Flows that have finished.
    pub ends: Vec<FlowEnd>,
    /// Number of times that the neighbour paused a class, queue or flow.
    pub pauses: u64,
    random: u64,
}

impl Requests {
    /// Creates an empty set of requests. `seed` is the seed of the random numbers.
    pub const fn new(seed: u64) -> Self {
        Self {
            kicks: VecDeque::new(),
            timer: NEVER,
            dropped_ids: Vec::new(),
            drops: Vec::new(),
            ends: Vec::new(),
            pauses: 0,
            random: seed,
        }
    }

    /// Time of the requested timer call, if any.
    pub fn due(&self) -> Option<Time> {
        Some(self.timer).filter(|&at| at != NEVER)
    }
}

impl Sink for Requests {
    fn kick(&mut self, port: u16) {
        self.kicks.push_back(port);
    }

    fn wake(&mut self, at: Time) {
        self.timer = self.timer.min(at);
    }

    fn dropped(&mut self, packet: &Packet, _port: Option<u16>, cause: DropCause) {
        self.drops.push((packet.class(), cause));
    }

    fn keep(&mut self, id: PacketId, _cause: DropCause) -> bool {
        self.dropped_ids.push(id);
        false
    }

    /// Only the replay of ns-3 uses this request, and the replay does not run on the wall clock.
    fn call(&mut self, at: Time, _what: u32) {
        self.wake(at);
    }

    /// Draws a random number with SplitMix64. The numbers do not need to be unpredictable.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn pfc_received(&mut self, _port: u16, before: ClassSet, after: ClassSet) {
        self.pauses += u64::from((after & !before).count_ones());
    }

    fn event(&mut self, event: NodeEvent) {
        if let NodeEvent::QueuePauseReceived { on, .. } = event {
            self.pauses += u64::from(on);
        }
    }

    fn finished(&mut self, end: FlowEnd) {
        self.ends.push(end);
    }
}
