//! What a state machine of the dataplane asks of a driver that has the wall clock.

use std::collections::VecDeque;

use dataplane::classes::ClassSet;
use dataplane::nic::FlowEnd;
use dataplane::packet::{Packet, PacketId};
use dataplane::sink::{DropCause, Sink};
use dataplane::units::{NEVER, Time};

/// What a switch or NIC has requested, until its driver has done it.
#[derive(Debug)]
pub(crate) struct Wishes {
    pub kicks: VecDeque<u16>,
    /// When it is to be called; [`NEVER`]: nothing is due.
    pub alarm: Time,
    /// Records that were dropped, whose frames are forgotten.
    pub gone: Vec<PacketId>,
    /// What was dropped: class and cause.
    pub drops: Vec<(u8, DropCause)>,
    /// Flows whose last acknowledgement came.
    pub ends: Vec<FlowEnd>,
    /// Pauses that began to hold a class, a queue or a flow.
    pub pauses: u64,
    random: u64,
}

impl Wishes {
    /// Nothing yet; chance begins with this seed.
    pub const fn new(seed: u64) -> Self {
        Self {
            kicks: VecDeque::new(),
            alarm: NEVER,
            gone: Vec::new(),
            drops: Vec::new(),
            ends: Vec::new(),
            pauses: 0,
            random: seed,
        }
    }

    /// When it is to be called, if it is.
    pub fn due(&self) -> Option<Time> {
        Some(self.alarm).filter(|&at| at != NEVER)
    }
}

impl Sink for Wishes {
    fn kick(&mut self, port: u16) {
        self.kicks.push_back(port);
    }

    fn wake(&mut self, at: Time) {
        self.alarm = self.alarm.min(at);
    }

    fn dropped(&mut self, packet: &Packet, _port: Option<u16>, cause: DropCause) {
        self.drops.push((packet.class(), cause));
    }

    fn keep(&mut self, id: PacketId, _cause: DropCause) -> bool {
        self.gone.push(id);
        false
    }

    /// Only the replay of ns-3 makes use of it, which does not come here.
    fn call(&mut self, at: Time, _what: u32) {
        self.wake(at);
    }

    /// A generator whose numbers need no secrecy (SplitMix64).
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

    fn hold_received(&mut self, _port: u16, _number: u32, on: bool) {
        self.pauses += u64::from(on);
    }

    fn finished(&mut self, end: FlowEnd) {
        self.ends.push(end);
    }
}
