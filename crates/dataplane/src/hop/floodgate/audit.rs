//! Compares the counters of Floodgate with the packets that a switch contains.

use super::Floodgate;
use super::config::CreditAt;
use crate::packet::{Arena, Kind, Packet, flag};
use crate::route::Routes;

/// Packets of a switch, counted by the audit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Present {
    /// Packets in VOQs.
    packets: u64,
    /// Bytes in VOQs.
    bytes: u64,
    /// Units of the packets that came from a switch and have not yet earned a credit.
    resident: u64,
    /// Units of the packets in egress queues that go to a switch.
    unsent: u64,
}

impl Floodgate {
    /// Compares the counters with the packets in this switch and returns a message per difference.
    /// `queued` calls its argument with each packet in an egress queue.
    // FG-28
    pub(super) fn audit_books(
        &self,
        arena: &Arena,
        routes: &Routes,
        queued: impl Fn(&mut dyn FnMut(&Packet)),
    ) -> Vec<String> {
        let present = self.present(arena, routes, &queued);
        let mut broken = Vec::new();
        self.audit_voqs(present, &mut broken);
        self.audit_windows(present, &mut broken);
        self.audit_senders(arena, &queued, &mut broken);
        let mut is_empty = present == Present::default();
        queued(&mut |_| is_empty = false);
        if is_empty && !self.told.is_empty() {
            broken.push("no packet is here, but a destination is still paused upstream".into());
        }
        broken
    }

    /// Counts the packets in this switch.
    fn present(
        &self,
        arena: &Arena,
        routes: &Routes,
        queued: &impl Fn(&mut dyn FnMut(&Packet)),
    ) -> Present {
        let mut present = Present::default();
        let at = self.config.windows().map(|w| w.credit.at);
        self.pool.for_each(arena, |id| {
            let p = arena.hot(id);
            present.packets += 1;
            present.bytes += u64::from(p.size);
            if self.to_switch[p.ingress as usize] {
                present.resident += u64::from(self.units(p));
            }
        });
        queued(&mut |p| {
            if p.kind() != Kind::Data {
                return;
            }
            let earned = match at {
                Some(CreditAt::Forwarding) => true,
                Some(CreditAt::Voq) => p.has(flag::PARKED),
                _ => false,
            };
            if !earned && self.to_switch[p.ingress as usize] {
                present.resident += u64::from(self.units(p));
            }
            if self.way(p.dst, routes).is_some() {
                present.unsent += u64::from(self.units(p));
            }
        });
        present
    }

    /// Compares the counters of VOQs and of credits.
    fn audit_voqs(&self, present: Present, broken: &mut Vec<String>) {
        let Present {
            packets,
            bytes,
            resident,
            ..
        } = present;
        let counts = &self.pool.counts;
        if (packets, bytes) != (counts.packets, counts.bytes) {
            broken.push(format!(
                "VOQs contain {packets} packets of {bytes} B, but the counters have {} of {} B",
                counts.packets, counts.bytes
            ));
        }
        if self.counters.held != self.counters.released + packets {
            broken.push(format!(
                "{} packets were parked and {} released, but {packets} are in VOQs",
                self.counters.held, self.counters.released
            ));
        }
        let by_port: u64 = self.ports.iter().map(|p| p.held_bytes).sum();
        if by_port != bytes {
            broken.push(format!(
                "VOQs contain {bytes} B, but the counters of ports have {by_port} B"
            ));
        }
        if let Some(c) = &self.credits
            && (c.resident != resident || c.arrived != resident + c.owed + c.told)
        {
            broken.push(format!(
                "of {} units that arrived, {resident} are here (counter: {}), {} have an unsent \
                 credit, {} a sent one",
                c.arrived, c.resident, c.owed, c.told
            ));
        }
    }

    /// Compares the windows with the units in flight.
    fn audit_windows(&self, present: Present, broken: &mut Vec<String>) {
        let Some(w) = &self.windows else { return };
        let unsent = present.unsent;
        if w.in_flight != w.sum() || w.in_flight + self.taken != unsent + self.sent {
            broken.push(format!(
                "windows have {} units in flight ({} in the table), but {unsent} wait here, {} were \
                 sent, {} refunded",
                w.in_flight,
                w.sum(),
                self.sent,
                self.taken
            ));
        }
        if let Some(n) = &self.numbers
            && n.in_flight + unsent != w.in_flight
        {
            broken.push(format!(
                "by sequence numbers {} units are in flight and {unsent} wait here, but windows \
                 have {}",
                n.in_flight, w.in_flight
            ));
        }
    }

    /// Compares the counter of bytes from the hosts of this switch.
    fn audit_senders(
        &self,
        arena: &Arena,
        queued: &impl Fn(&mut dyn FnMut(&Packet)),
        broken: &mut Vec<String>,
    ) {
        let Some(senders) = &self.senders else { return };
        let mut from_hosts = 0;
        let mut add = |p: &Packet| {
            let host = !p.is_frame() && !self.to_switch[p.ingress as usize];
            from_hosts += u64::from(p.size) * u64::from(host);
        };
        self.pool.for_each(arena, |id| add(arena.hot(id)));
        queued(&mut add);
        if from_hosts != senders.total_bytes {
            broken.push(format!(
                "{from_hosts} B of this switch's hosts are here, but the counter has {}",
                senders.total_bytes
            ));
        }
    }
}
