//! Time that packets spend in switches.

use dataplane::event::EventSet;
use dataplane::packet::PacketId;
use dataplane::units::Time;

use super::{Event, View};
use crate::ids::LinkId;

/// A port of a switch starts to send a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    /// The link on which the switch sends the packet.
    pub link: LinkId,
    pub id: PacketId,
    /// Time from the arrival of the packet's last bit at the switch to the start of its
    /// transmission.
    pub waited_ps: Time,
}

/// Arrival times of packets at their current switches.
#[derive(Debug, Default)]
pub(super) struct Stays {
    /// Time of the last arrival at a switch, per packet.
    arrived_ps: Vec<Time>,
}

impl Stays {
    /// Kinds of events that [`observe`](Self::observe) needs.
    pub const WANTS: EventSet = EventSet::of(&[Event::ARRIVING, Event::SENDING]);

    /// Observes an event. Returns the departure of a packet from a switch, if the event is one.
    #[inline(always)]
    pub fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Option<Departure> {
        match *event {
            Event::Arriving {
                to_host: false, id, ..
            } => self.arrives(view.now, id),
            Event::Sending(sending) if !sending.from_host => {
                // A frame that the switch itself has created has no arrival time.
                let arrived_ps = self.arrived_ps.get(sending.id as usize);
                return Some(Departure {
                    link: sending.link,
                    id: sending.id,
                    waited_ps: arrived_ps.map_or(0, |at_ps| view.now - at_ps),
                });
            }
            _ => {}
        }
        None
    }

    fn arrives(&mut self, now: Time, id: PacketId) {
        let at = id as usize;
        if at >= self.arrived_ps.len() {
            self.arrived_ps.resize(at + 1, 0);
        }
        self.arrived_ps[at] = now;
    }
}
