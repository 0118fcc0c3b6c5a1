//! Rings: each member sends only to the next one. // OPS-50

use super::{Plan, Span, Step};

/// The rounds that a ring executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounds {
    /// n − 1 rounds, in which each member adds its own block to the received block.
    ReduceScatter,
    /// n − 1 rounds, in which each member forwards the received block.
    AllGather,
    /// Reduce-scatter, then all-gather.
    AllReduce,
}

/// The contribution of one member to parallel rings, one per channel. Each ring transfers an equal
/// piece of the vector, divided into chunks.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    pub position: u32,
    pub members: u32,
    pub bytes: u64,
    pub rounds: Rounds,
    pub channels: u32,
    /// Number of chunks into which the piece of a channel is divided.
    pub chunks: u32,
    /// Number of chunks in flight at the same time.
    pub active: u32,
    /// Members per server. In the ring of channel c, the order of members within each server is
    /// rotated by c. If it is 1, all rings have the same order.
    pub server: u32,
}

/// Returns the member at position `place` of a channel's ring, with `server` members per server.
/// Servers are in order; within each server the members are rotated by the index of the channel.
// OPS-51
#[must_use]
pub const fn ring_member(server: u32, channel: u32, place: u32) -> u32 {
    place / server * server + (place % server + channel) % server
}

impl Ring {
    fn rounds(&self) -> u32 {
        match self.rounds {
            Rounds::ReduceScatter | Rounds::AllGather => self.members - 1,
            Rounds::AllReduce => 2 * (self.members - 1),
        }
    }

    /// Returns the member at a position of a channel's ring.
    fn member(&self, channel: u32, place: u32) -> u32 {
        ring_member(self.server, channel, place % self.members)
    }

    /// Returns the position of a member in a channel's ring.
    fn place(&self, channel: u32, member: u32) -> u32 {
        let server = member / self.server * self.server;
        let shift = self.server - channel % self.server;
        server + (member % self.server + shift) % self.server
    }
}

impl Plan for Ring {
    fn lanes(&self) -> u32 {
        self.channels * self.active
    }

    fn channel(&self, lane: u32) -> u16 {
        (lane / self.active) as u16
    }

    fn steps(&self, lane: u32) -> u32 {
        let chunks = (self.chunks - lane % self.active).div_ceil(self.active);
        chunks * self.rounds() * 2
    }

    fn begin_of_chunk(&self, _: u32, step: u32) -> u32 {
        step - step % (2 * self.rounds())
    }

    fn step(&self, lane: u32, step: u32) -> Step {
        let (channel, first) = (lane / self.active, lane % self.active);
        let (rounds, n) = (self.rounds(), self.members);
        let chunk = first + step / (2 * rounds) * self.active;
        let round = step % (2 * rounds) / 2;
        let place = self.place(channel, self.position);
        // In a reduce-scatter, the last block to which a member adds is its own. In an all-gather,
        // the first block that a member sends is its own.
        let reduce = self.rounds != Rounds::AllGather && round < n - 1;
        let shift = if reduce { 1 + round } else { round % (n - 1) };
        let block = |back: u32| {
            let owner = self.member(channel, place + 2 * n - shift - back);
            let block = Span::whole(self.bytes).part(owner, n);
            block.part(channel, self.channels).part(chunk, self.chunks)
        };
        let tag = u64::from(channel * self.chunks + chunk) << 32 | u64::from(round);
        if step.is_multiple_of(2) {
            Step::Send {
                to: self.member(channel, place + 1),
                span: block(0),
                tag,
            }
        } else {
            Step::Receive {
                from: self.member(channel, place + n - 1),
                span: block(1),
                tag,
                reduce,
            }
        }
    }
}

/// All-to-all by forwarding around a ring. In round k, each member sends to the next member all
/// blocks that originate k positions back and have not reached their destination. // OPS-52
#[derive(Clone, Debug)]
pub(super) struct PassOn {
    pub position: u32,
    pub members: u32,
    pub bytes: u64,
}

/// Returns the vector of a member in an address space with the vectors of all members of an
/// all-to-all. Piece d of the vector is the block for the member d positions ahead. // OPS-35
pub(super) fn own(member: u32, bytes: u64) -> Span {
    Span {
        offset: u64::from(member) * bytes,
        bytes,
    }
}

impl Plan for PassOn {
    fn lanes(&self) -> u32 {
        1
    }

    fn channel(&self, _: u32) -> u16 {
        0
    }

    fn steps(&self, _: u32) -> u32 {
        2 * (self.members - 1)
    }

    fn step(&self, _: u32, step: u32) -> Step {
        let (n, round) = (self.members, step / 2);
        let blocks = |back: u32| {
            let source = (self.position + n - back) % n;
            own(source, self.bytes).parts(round + 1, n, n)
        };
        let tag = u64::from(round);
        if step.is_multiple_of(2) {
            Step::Send {
                to: (self.position + 1) % n,
                span: blocks(round),
                tag,
            }
        } else {
            Step::Receive {
                from: (self.position + n - 1) % n,
                span: blocks(round + 1),
                tag,
                reduce: false,
            }
        }
    }
}
