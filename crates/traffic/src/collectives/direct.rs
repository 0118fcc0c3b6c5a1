//! Direct exchange: each member sends to each other member. // OPS-53

use super::ring::own;
use super::{Plan, Span, Step};

/// The data that members of a direct exchange send to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    /// Each member sends to each other member the block of that member. The receiver adds the block
    /// to its own.
    ReduceScatter,
    /// Each member sends its own block to each other member.
    AllGather,
    /// Reduce-scatter, then all-gather.
    AllReduce,
    /// Each member sends a different block to each other member.
    AllToAll,
    /// All-to-all with a separate number of bytes for each pair. The vectors are indexed by
    /// position.
    AllToAllV {
        /// Bytes to each member.
        to_each: Vec<u64>,
        /// Bytes from each member.
        from_each: Vec<u64>,
    },
}

/// The contribution of one member to a direct exchange. It sends to the next position first. At
/// most `window` messages are sent before the first one is received.
#[derive(Clone, Debug)]
pub(super) struct Direct {
    pub position: u32,
    pub members: u32,
    pub bytes: u64,
    pub exchange: Exchange,
    pub channels: u32,
    /// Number of messages of a channel that are sent before the first one is received.
    pub window: u32,
}

impl Direct {
    /// Returns the kind of a step (true for a send) and the distance to its peer. With a window of
    /// w the order is: send 1 to w, then receive 1, send w + 1, receive 2, send w + 2, and so on.
    // OPS-53
    fn order(&self, step: u32) -> (bool, u32) {
        let others = self.members - 1;
        let window = self.window.min(others);
        if step < window {
            return (true, step + 1);
        }
        let after = step - window;
        // While blocks remain to be sent, receives and sends alternate.
        if after < 2 * (others - window) {
            (after % 2 == 1, after / 2 + 1 + (after % 2) * window)
        } else {
            (false, after - (others - window) + 1)
        }
    }

    fn block(&self, of: u32) -> Span {
        Span::whole(self.bytes).part(of, self.members)
    }
}

impl Plan for Direct {
    fn lanes(&self) -> u32 {
        self.channels
    }

    fn channel(&self, lane: u32) -> u16 {
        lane as u16
    }

    fn steps(&self, _: u32) -> u32 {
        let exchanges = 1 + u32::from(self.exchange == Exchange::AllReduce);
        exchanges * 2 * (self.members - 1)
    }

    fn step(&self, lane: u32, step: u32) -> Step {
        let (n, me) = (self.members, self.position);
        let (second, step) = (step / (2 * (n - 1)), step % (2 * (n - 1)));
        let (is_send, distance) = self.order(step);
        let reduce = match self.exchange {
            Exchange::ReduceScatter => true,
            Exchange::AllReduce => second == 0,
            _ => false,
        };
        let peer = (me + if is_send { distance } else { n - distance }) % n;
        let whole = match &self.exchange {
            Exchange::AllToAll => {
                own(if is_send { me } else { peer }, self.bytes).part(distance, n)
            }
            Exchange::AllToAllV { to_each, from_each } => {
                let sizes = if is_send { to_each } else { from_each };
                Span::whole(sizes[peer as usize])
            }
            // In a reduction the block belongs to the receiver; otherwise it belongs to the sender.
            _ => self.block(if is_send == reduce { peer } else { me }),
        };
        let span = whole.part(lane, self.channels);
        let tag = u64::from(lane) << 32 | u64::from(second);
        if is_send {
            Step::Send {
                to: peer,
                span,
                tag,
            }
        } else {
            Step::Receive {
                from: peer,
                span,
                tag,
                reduce,
            }
        }
    }
}
