//! Passes flows from the traffic generator to the partitions in which they start.

use std::collections::VecDeque;

use dataplane::units::Time;
use traffic::Flow;

use kernel::calendar::Calendar;

use super::clock::Clock;
use super::network::Network;
use crate::ids::hosts_of;

/// Maximum number of flows that are generated before they start.
const MOST_AHEAD: usize = 1 << 16;

/// The flows of a run that have not been passed to a partition.
pub(super) struct Traffic {
    feed: Box<dyn Iterator<Item = Flow> + Send>,
    clock: Clock,
    /// True if the traffic generator has no more flows.
    ended: bool,
    /// Start time of the last flow that was passed to a partition.
    passed_ps: Time,
}

impl Traffic {
    pub fn new(feed: Box<dyn Iterator<Item = Flow> + Send>, clock: Clock) -> Self {
        Self {
            feed,
            clock,
            ended: false,
            passed_ps: 0,
        }
    }

    /// Passes the flows that start before `limit` to their partitions, and also the first later
    /// flow, so that the next start time is always known. Returns the time up to which all flows
    /// have been passed. It is below `limit` if too many flows start before `limit`.
    // ENG-12
    pub fn pass_on<C: Calendar>(&mut self, net: &mut Network<C>, limit: Time) -> Time {
        let mut ahead: usize = net
            .parts
            .iter()
            .flat_map(|p| &p.flows.coming)
            .map(VecDeque::len)
            .sum();
        while !self.ended && self.passed_ps < limit {
            // Flows with equal start times are passed together.
            if ahead >= MOST_AHEAD && next_start_ps(net).is_some_and(|next| next < self.passed_ps) {
                return self.passed_ps;
            }
            let Some(mut flow) = self.feed.next() else {
                self.ended = true;
                break;
            };
            flow.start_ps = self.clock.start(flow.start_ps);
            self.passed_ps = self.passed_ps.max(flow.start_ps);
            let part = net.places.of(hosts_of(&flow).0).part;
            net.parts[part as usize].expect(flow);
            ahead += 1;
        }
        limit
    }
}

/// Returns the start time of the next flow that has been passed to a partition. After
/// [`Traffic::pass_on`], `None` means that there are no more flows.
pub(super) fn next_start_ps<C>(net: &Network<C>) -> Option<Time> {
    let next = net
        .parts
        .iter()
        .flat_map(|p| &p.flows.coming)
        .filter_map(VecDeque::front);
    next.map(|flow| flow.start_ps).min()
}
