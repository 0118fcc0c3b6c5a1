//! Direct exchange: each member sends to each other member. // OPS-53

use super::ring::own;
use super::{Plan, Span, Step};

/// The data that members exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    /// Each member sends to each other its block of the vector, and the receiver adds it.
    ReduceScatter,
    /// Each member sends its own block to each other.
    AllGather,
    /// Reduce-scatter, then all-gather.
    AllReduce,
    /// Each member sends a different block to each other.
    AllToAll,
    /// All-to-all with individual sizes, by position.
    AllToAllV {
        /// Bytes to each member.
        to_each: Vec<u64>,
        /// Bytes from each member.
        from_each: Vec<u64>,
    },
}

/// Exchanges with all other members, the next one first, and at most `window` sends before the
/// first arrival.
#[derive(Clone, Debug)]
pub(super) struct Direct {
    pub position: u32,
    pub members: u32,
    pub bytes: u64,
    pub exchange: Exchange,
    pub channels: u32,
    /// Number of messages of a channel that are sent before the first arrival.
    pub window: u32,
}

impl Direct {
    /// Order of the steps of one exchange: send 1 to w, then receive 1, send w + 1, receive 2, and
    /// so on. Returns true for a send, and the distance. // OPS-53
    fn order(&self, step: u32) -> (bool, u32) {
        let others = self.members - 1;
        let window = self.window.min(others);
        if step < window {
            return (true, step + 1);
        }
        let after = step - window;
        // While there are blocks to send, receives and sends alternate.
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
            // Use the sender's block, or the receiver's if it is added there.
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
