//! Invariant checks of a switch, and the explanation of a run that stalled. They change no state.

use super::{Classifier, DATA_CLASS, Switch, class_labels};
use crate::classes::{MAX_CLASSES, class_label};
use crate::hop::{HopScheme, dispatch};
use crate::packet::{Arena, Packet, flag};
use crate::pipeline::shaper::SHAPED_CLASS;
use crate::pipeline::steps::Steps;

impl Switch {
    /// Explains a run that stalled: reports paused classes and queues with packets, and the pauses
    /// that this switch has sent upstream.
    pub fn explain_stall(&self, mut say: impl FnMut(String)) {
        let core = &self.core;
        for (port, p) in (0..).zip(&core.queueing.ports) {
            if p.bytes > 0 {
                say(format!(
                    "port {port} has {} B queued, paused by PFC: {}",
                    p.bytes,
                    class_labels(core.queueing.gate.paused(port))
                ));
            }
        }
        core.pfc.explain_stall(&mut say);
        dispatch!(&self.hop, scheme => scheme.explain_stall(&mut say), ());
        if let Some(links) = &core.links {
            links.explain_stall(&mut say);
        }
    }

    /// Checks the counters against the packets in the switch: every packet that entered has left,
    /// waits or was dropped, and the bytes in the buffer are those of queues and VOQs. Returns a
    /// description of each violation.
    #[must_use]
    pub fn audit(&self, arena: &Arena) -> Vec<String> {
        let core = &self.core;
        let mut broken = Vec::new();
        let (mut packets, mut buffered, mut in_table) = (0u64, 0u64, 0u64);
        for port in 0..core.ports() {
            let mut bytes = 0u64;
            core.queueing.for_each_packet(port, arena, |id| {
                let p = arena.hot(id);
                bytes += u64::from(p.size);
                packets += u64::from(!p.is_frame());
                let placed =
                    p.class() >= DATA_CLASS && !core.queueing.is_behind(p.location.queue());
                in_table += u64::from(placed && core.counts(p));
                buffered += if p.has(flag::BUFFERED) {
                    u64::from(p.size)
                } else {
                    0
                };
            });
            if bytes != core.queueing.ports[port as usize].bytes {
                broken.push(format!(
                    "port {port}: {bytes} B queued, {} B counted",
                    self.queued(port).0
                ));
            }
        }
        self.for_each_held(arena, |id| {
            let p = arena.hot(id);
            packets += 1;
            buffered += u64::from(p.size) * u64::from(p.has(flag::BUFFERED));
        });
        broken.extend(dispatch!(&self.hop, scheme => scheme.audit(core, arena), Vec::new()));
        if let Some(links) = &core.links {
            broken.extend(links.audit(&self.buffered_packets(arena)));
        }
        broken.extend(self.audit_short_queues(arena));
        let c = &core.counters;
        // SW-62: the sum includes packets that the switch created
        if c.received + c.created != c.sent + c.dropped + packets {
            broken.push(format!(
                "{} packets entered, {} were created, {} left, {} were dropped, {packets} wait",
                c.received, c.created, c.sent, c.dropped
            ));
        }
        if buffered != core.mmu.used {
            broken.push(format!(
                "queues hold {buffered} B of buffer, {} B are counted",
                core.mmu.used
            ));
        }
        broken.extend(core.mmu.audit().err());
        broken.extend(core.pfc.audit(&core.mmu));
        if let Classifier::Dynamic(table) = &core.classifier
            && table.packets() != in_table
        {
            broken.push(format!(
                "flow table counts {} packets, {in_table} wait",
                table.packets()
            ));
        }
        let pauses = dispatch!(&self.hop, scheme => scheme.pauses_upstream(), false);
        if packets == 0 && (core.pfc.pausing().next().is_some() || pauses) {
            broken.push("nothing waits here, but an upstream is still held".to_owned());
        }
        broken
    }

    /// Returns the packets in queues and VOQs, without control frames between neighbours.
    fn buffered_packets(&self, arena: &Arena) -> Vec<Packet> {
        let mut packets = Vec::new();
        for port in 0..self.ports() {
            self.for_each_queued(port, arena, |id| packets.push(*arena.hot(id)));
        }
        packets.retain(|packet| !packet.is_frame());
        self.for_each_held(arena, |id| packets.push(*arena.hot(id)));
        packets
    }

    /// Compares the packet counts of shaped and trimmed queues with the packets in these queues.
    /// Returns the description of a difference.
    // AUD-01
    fn audit_short_queues(&self, arena: &Arena) -> Option<String> {
        let core = &self.core;
        if !core.steps.has(Steps::SHAPE.or(Steps::TRIM)) {
            return None;
        }
        let counted = |port: u16, class: u8| match (&core.shaper, &core.trimmer) {
            (Some(shaper), _) if class == SHAPED_CLASS => Some(shaper.waiting(port)),
            (_, Some(trimmer)) if class >= DATA_CLASS => trimmer.waiting(port, class),
            _ => None,
        };
        (0..self.ports()).find_map(|port| {
            let mut waiting = [0u16; MAX_CLASSES];
            self.for_each_queued(port, arena, |id| {
                waiting[arena.hot(id).class() as usize] += 1;
            });
            (0u8..).zip(waiting).find_map(|(class, waiting)| {
                let n = counted(port, class).filter(|&n| n != waiting)?;
                let class = class_label(class);
                Some(format!(
                    "port {port}: {n} packets of {class} are counted, {waiting} wait"
                ))
            })
        })
    }
}
