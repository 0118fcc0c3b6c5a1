//! Packets at their receivers that may complete their flows.

use dataplane::switch::MixedMap;
use dataplane::units::Time;

use super::journey::{Journey, Journeys};
use super::part::{NO_ROOT, Part};

/// Followed packets at their receivers. If hosts have no processing delay, this is the packet that
/// is being received. If hosts have a delay, these are all packets of incomplete flows, because the
/// packet that completes a flow is identified only at the end.
#[derive(Debug)]
pub(super) struct Arrivals {
    received: Option<Received>,
    unprocessed: MixedMap<u32, Vec<Received>>,
    /// Processing delay of hosts; `None`: hosts have no delay.
    host_ps: Option<Time>,
}

/// A packet at its receiver's NIC, with its time of arrival and its journey.
#[derive(Clone, Copy, Debug)]
struct Received {
    at_ps: Time,
    journey: u32,
}

impl Arrivals {
    pub fn new(host_ps: Option<Time>) -> Self {
        Self {
            received: None,
            unprocessed: MixedMap::default(),
            host_ps,
        }
    }

    /// Adds a followed packet that has arrived at its receiver's NIC.
    pub fn add(&mut self, now: Time, flow: u32, journey: u32, journeys: &mut Journeys) {
        let received = Received {
            at_ps: now,
            journey,
        };
        if self.host_ps.is_some() {
            self.unprocessed.entry(flow).or_default().push(received);
        } else {
            self.receive(received, journeys);
        }
    }

    /// Sets the packet that the receiver is processing.
    fn receive(&mut self, received: Received, journeys: &mut Journeys) {
        if let Some(before) = self.received.replace(received) {
            journeys.release(before.journey);
        }
    }

    /// Returns the journey of the packet that completed a flow, including the time at the
    /// receiver's host. `None`: the packet was not followed.
    // BLM-02, BLM-23
    pub fn complete<'a>(
        &mut self,
        now: Time,
        flow: u32,
        journeys: &'a mut Journeys,
    ) -> Option<&'a Journey> {
        let mut came_ps = now;
        if let Some(host_ps) = self.host_ps {
            let mut all = self.unprocessed.remove(&flow)?;
            let at = all.iter().rposition(|a| a.at_ps <= now - host_ps)?;
            self.receive(all.swap_remove(at), journeys);
            all.iter().for_each(|a| journeys.release(a.journey));
            came_ps = self.received?.at_ps;
        }
        let Received { at_ps, journey } = self.received?;
        let journey = journeys.get_mut(journey);
        if (at_ps, journey.flow) != (came_ps, flow) {
            return None;
        }
        let (hop, link) = journey.place();
        journey.spent.leads_to(link); // BLM-31: to the host
        let spent = &mut journey.spent;
        spent.add((hop, link), Part::Host, NO_ROOT, now - came_ps);
        Some(journey)
    }
}
