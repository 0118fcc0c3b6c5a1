//! Compares the counters of Floodgate with the packets that a switch contains.

use super::Floodgate;
use super::config::CreditAt;
use crate::packet::{Arena, Kind, Packet, flag};
use crate::route::Routes;

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
        let mut broken = Vec::new();
        let (mut packets, mut bytes) = (0u64, 0u64);
        let (mut resident, mut unsent) = (0u64, 0u64);
        let at = self.config.windows().map(|w| w.credit.at);
        self.pool.for_each(arena, |id| {
            let p = arena.hot(id);
            packets += 1;
            bytes += u64::from(p.size);
            if self.to_switch[p.ingress as usize] {
                resident += u64::from(self.units(p));
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
                resident += u64::from(self.units(p));
            }
            if self.way(p.dst, routes).is_some() {
                unsent += u64::from(self.units(p));
            }
        });
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
        if let Some(w) = &self.windows {
            let in_flight = unsent + self.sent;
            if w.in_flight != w.sum() || w.in_flight + self.taken != in_flight {
                broken.push(format!(
                    "windows have {} units in flight ({} in the table), but {unsent} wait here, \
                     {} were sent, {} refunded",
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
                    "by sequence numbers {} units are in flight and {unsent} wait here, but \
                     windows have {}",
                    n.in_flight, w.in_flight
                ));
            }
        }
        if let Some(senders) = &self.senders {
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
        if packets == 0 && unsent == 0 && resident == 0 && !self.told.is_empty() {
            let mut queued_any = false;
            queued(&mut |_| queued_any = true);
            if !queued_any {
                broken.push("no packet is here, but a destination is still paused upstream".into());
            }
        }
        broken
    }
}
