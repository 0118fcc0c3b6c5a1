//! Broadcasts: along a chain in chunks, along a binomial tree, or directly from the root.

use super::{Plan, Span, Step};

/// The path of the data in a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// From each member to the next one, in chunks. // OPS-57
    Chain,
    /// In round k, each member that has the data sends to the member 2ᵏ positions ahead. // OPS-58
    Binomial,
    /// From the root to all members.
    Direct,
}

/// The contribution of one member to a broadcast.
#[derive(Clone, Debug)]
pub(super) struct Broadcast {
    /// Position of this member relative to the root: (position − root) mod n.
    pub place: u32,
    pub root: u32,
    pub members: u32,
    pub bytes: u64,
    pub spread: Spread,
    pub channels: u32,
    pub chunks: u32,
}

impl Broadcast {
    fn member(&self, place: u32) -> u32 {
        (self.root + place) % self.members
    }

    /// Returns the relative position (see `place`) of the member that sends to this one. `None`:
    /// this member is the root.
    fn parent(&self) -> Option<u32> {
        let place = self.place;
        (place > 0).then(|| match self.spread {
            Spread::Chain => place - 1,
            Spread::Binomial => place ^ (1 << place.ilog2()),
            Spread::Direct => 0,
        })
    }

    /// Returns the number of members to which this member sends.
    fn children(&self) -> u32 {
        let (n, place) = (self.members, self.place);
        match self.spread {
            Spread::Chain => u32::from(place + 1 < n),
            Spread::Direct if place == 0 => n - 1,
            Spread::Direct => 0,
            Spread::Binomial => (self.first_round()..u32::BITS - 1)
                .take_while(|round| place + (1 << round) < n)
                .count() as u32,
        }
    }

    /// Returns the first round of a binomial tree in which this member sends.
    fn first_round(&self) -> u32 {
        self.place.checked_ilog2().map_or(0, |round| round + 1)
    }

    fn child(&self, at: u32) -> u32 {
        match self.spread {
            Spread::Chain => self.place + 1,
            Spread::Binomial => self.place + (1 << (self.first_round() + at)),
            Spread::Direct => at + 1,
        }
    }
}

impl Plan for Broadcast {
    fn lanes(&self) -> u32 {
        self.channels
    }

    fn channel(&self, lane: u32) -> u16 {
        lane as u16
    }

    fn steps(&self, _: u32) -> u32 {
        self.chunks * (u32::from(self.place > 0) + self.children())
    }

    fn step(&self, lane: u32, step: u32) -> Step {
        let receives = u32::from(self.place > 0);
        let per_chunk = receives + self.children();
        let (chunk, at) = (step / per_chunk, step % per_chunk);
        let span = Span::whole(self.bytes)
            .part(lane, self.channels)
            .part(chunk, self.chunks);
        let tag = u64::from(lane) << 32 | u64::from(chunk);
        match self.parent() {
            Some(parent) if at == 0 => Step::Receive {
                from: self.member(parent),
                span,
                tag,
                reduce: false,
            },
            _ => Step::Send {
                to: self.member(self.child(at - receives)),
                span,
                tag,
            },
        }
    }
}
