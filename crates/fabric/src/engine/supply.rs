//! Flows on their way from the traffic to the partitions in which they start.

use std::collections::VecDeque;

use dataplane::units::Time;
use traffic::Flow;

use kernel::calendar::Calendar;

use super::Clock;
use super::network::Network;

/// Flows that may be drawn ahead.
const MOST_AHEAD: usize = 1 << 16;

/// The traffic of a run, as far as it has not been told to the partitions.
pub(super) struct Traffic {
    feed: Box<dyn Iterator<Item = Flow> + Send>,
    clock: Clock,
    /// Nothing is left in the feed.
    ended: bool,
    /// Start of the last flow that was told.
    told_ps: Time,
}

impl Traffic {
    pub fn new(feed: Box<dyn Iterator<Item = Flow> + Send>, clock: Clock) -> Self {
        Self {
            feed,
            clock,
            ended: false,
            told_ps: 0,
        }
    }

    /// Tells the partitions which flows start before `limit`, and the one after them, so that the
    /// next one is always known. Returns until when all flows are told: where very many start
    /// before the limit, that is earlier.
    // ENG-12
    pub fn tell<C: Calendar>(&mut self, net: &mut Network<C>, limit: Time) -> Time {
        let mut ahead: usize = net
            .parts
            .iter()
            .flat_map(|p| &p.coming)
            .map(VecDeque::len)
            .sum();
        while !self.ended && self.told_ps < limit {
            // Flows that start together are told together.
            if ahead >= MOST_AHEAD && next_start_ps(net).is_some_and(|next| next < self.told_ps) {
                return self.told_ps;
            }
            let Some(mut flow) = self.feed.next() else {
                self.ended = true;
                break;
            };
            flow.start_ps = self.clock.start(flow.start_ps);
            self.told_ps = self.told_ps.max(flow.start_ps);
            let part = net.places.of(flow.src).part;
            net.parts[part as usize].expect(flow);
            ahead += 1;
        }
        limit
    }
}

/// When the next flow starts, as far as has been told; after [`Traffic::tell`] `None` means that
/// none is to come.
pub(super) fn next_start_ps<C>(net: &Network<C>) -> Option<Time> {
    let next = net
        .parts
        .iter()
        .flat_map(|p| &p.coming)
        .filter_map(VecDeque::front);
    next.map(|flow| flow.start_ps).min()
}
