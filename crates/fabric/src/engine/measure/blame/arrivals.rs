//! Packets at their receivers that may complete their flows.

use std::mem::{swap, take};

use dataplane::switch::MixedMap;
use dataplane::units::Time;

use super::journey::Journey;
use super::part::{NO_ROOT, Part, Spent};

/// Followed packets at their receivers: the one that is being received or, where hosts take time, all of flows
/// that are not complete: then it is known only at the end which one completed its flow.
#[derive(Debug)]
pub(super) struct Arrivals {
    received: Received,
    unprocessed: MixedMap<u32, Vec<Received>>,
    /// The delay of hosts that take time for frames.
    host_ps: Option<Time>,
}

/// A packet at its receiver's NIC, and when it came.
#[derive(Debug, Default)]
struct Received {
    at_ps: Time,
    journey: Journey,
}

impl Arrivals {
    pub fn new(host_ps: Option<Time>) -> Self {
        Self {
            received: Received::default(),
            unprocessed: MixedMap::default(),
            host_ps,
        }
    }

    /// A packet has come to its receiver's NIC. What it leaves in the place of its journey has no meaning.
    pub fn add(&mut self, now: Time, journey: &mut Journey) {
        if self.host_ps.is_some() {
            let all = self.unprocessed.entry(journey.flow).or_default();
            all.push(Received {
                at_ps: now,
                journey: take(journey),
            });
        } else {
            self.received.at_ps = now;
            swap(&mut self.received.journey, journey);
        }
    }

    /// The receiver has everything: when the flow started, and what it has spent, by the packet that was the last
    /// to come by then. `None`: it was not followed.
    // BLM-02, BLM-23
    pub fn complete(&mut self, now: Time, flow: u32) -> Option<(Time, &Spent)> {
        let mut came_ps = now;
        if let Some(host_ps) = self.host_ps {
            let mut all = self.unprocessed.remove(&flow)?;
            let at = all.iter().rposition(|a| a.at_ps <= now - host_ps)?;
            self.received = all.swap_remove(at);
            came_ps = self.received.at_ps;
        }
        let Received { at_ps, journey } = &mut self.received;
        if (*at_ps, journey.flow) != (came_ps, flow) {
            return None;
        }
        let (hop, link) = journey.place();
        journey.spent.leads_to(link); // BLM-31: to the host
        let spent = &mut journey.spent;
        spent.add((hop, link), Part::Host, NO_ROOT, now - came_ps);
        Some((journey.start_ps, &journey.spent))
    }
}
