//! Direct exchange: each member sends to each other one. // OPS-53

use super::ring::own;
use super::{Plan, Span, Step};

/// What members exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    /// To each its block of the vector, which the receiver adds up.
    ReduceScatter,
    /// To each one's own block.
    AllGather,
    /// One after the other.
    AllReduce,
    /// To each its block, which replaces nothing.
    AllToAll,
    /// The same with sizes of their own, by position.
    AllToAllV {
        /// To each.
        to_each: Vec<u64>,
        /// From each.
        from_each: Vec<u64>,
    },
}

/// Exchanges with all others, nearest behind first, at most `window` ahead of what has arrived.
#[derive(Clone, Debug)]
pub(super) struct Direct {
    pub position: u32,
    pub members: u32,
    pub bytes: u64,
    pub exchange: Exchange,
    pub channels: u32,
    /// How many messages of a channel are sent before the first arrival is waited for.
    pub window: u32,
}

impl Direct {
    /// Steps of one exchange: send 1 to w, then receive 1, send w + 1, receive 2, and so on.
    /// Returns whether it is a send, and the distance. // OPS-53
    fn order(&self, step: u32) -> (bool, u32) {
        let others = self.members - 1;
        let window = self.window.min(others);
        if step < window {
            return (true, step + 1);
        }
        let after = step - window;
        // As long as there is something to send, receives and sends alternate.
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
            // The block of the sender, or of the receiver where it is added up there.
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
