//! Packets at their receivers that may complete their flows.

use dataplane::switch::MixedMap;
use dataplane::units::Time;

use super::journey::Journey;
use super::part::{NO_ROOT, Part, Spent};

/// A packet at the receiver's NIC, with all that its flow had spent until it was sent and it spent itself.
#[derive(Debug, Default)]
struct Arrived {
    at_ps: Time,
    start_ps: Time,
    /// The port by which it came.
    by: (u16, u32),
    spent: Spent,
}

/// Of each flow the last packet that came and was followed or, where hosts take time, all of them: then it is
/// known only at the end which one completed the flow.
#[derive(Debug)]
pub(super) struct Arrivals {
    of: MixedMap<u32, Vec<Arrived>>,
    /// The delay of hosts that take time for frames.
    host_ps: Option<Time>,
}

/// A flow whose receiver has everything.
#[derive(Debug)]
pub(super) struct Completed {
    pub fct_ps: Time,
    pub spent: Spent,
}

impl Arrivals {
    pub fn new(host_ps: Option<Time>) -> Self {
        Self {
            of: MixedMap::default(),
            host_ps,
        }
    }

    /// A packet has come to its receiver's NIC.
    pub fn add(&mut self, now: Time, journey: &Journey) {
        let all = self.of.entry(journey.flow).or_default();
        if all.is_empty() || self.host_ps.is_some() {
            all.push(Arrived::default());
        }
        if let Some(last) = all.last_mut() {
            (last.at_ps, last.start_ps) = (now, journey.start_ps);
            last.by = journey.place();
            last.spent.copy(&journey.spent);
            last.spent.leads_to(last.by.1);
        }
    }

    /// The receiver has everything: the account of the packet that was the last to come by then. `None`: it was
    /// not followed.
    // BLM-02, BLM-23
    pub fn complete(&mut self, now: Time, flow: u32) -> Option<Completed> {
        let mut all = self.of.remove(&flow)?;
        let latest_ps = now - self.host_ps.unwrap_or(0);
        let at = all.iter().rposition(|a| a.at_ps <= latest_ps)?;
        let mut last = all.swap_remove(at);
        let held_ps = now - last.at_ps;
        last.spent.add(last.by, Part::Host, NO_ROOT, held_ps);
        Some(Completed {
            fct_ps: now - last.start_ps,
            spent: last.spent,
        })
    }
}
