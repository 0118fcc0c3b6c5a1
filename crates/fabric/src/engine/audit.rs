//! The books of a run: every law of conservation that can be checked is checked, every time.

use dataplane::config::Recovery;
use dataplane::sink::DropCause;
use dataplane::units::NEVER;
use kernel::calendar::Calendar;

use super::Simulation;
use crate::record::{Ending, PortRecord, Violation};

/// Enough to find the cause.
const MOST_VIOLATIONS: usize = 50;

impl<C: Calendar> Simulation<C> {
    /// Makes all checks; violations go to the list, the names of checks that held come back.
    pub(super) fn audit(&mut self, ending: Ending) -> Vec<&'static str> {
        let drained = ending == Ending::Drained;
        let found = [
            ("conservation", self.audit_switches()),
            ("links", self.audit_links(drained)),
            ("flows", self.audit_flows()),
            ("delivery", self.audit_delivery(drained)),
            ("lossless", self.audit_lossless()),
            ("pauses", self.audit_pauses(drained)),
            ("receivers", self.audit_driven(drained)),
            ("slowdown", Vec::new()),
        ];
        let mut held = Vec::new();
        for (check, messages) in found {
            let failed_before = self.violations.iter().any(|v| v.check == check);
            let applies = match check {
                "lossless" => self.lossless,
                "slowdown" => !self.spraying,
                "pauses" => self.losses.none(),
                "receivers" => self.losses.none() && self.nic.recovery == Recovery::Own,
                _ => true,
            };
            if messages.is_empty() && !failed_before && applies {
                held.push(check);
            }
            for message in messages.into_iter().take(MOST_VIOLATIONS) {
                self.violations.push(Violation { check, message });
            }
        }
        held
    }

    /// AUD-01: per switch and port, what came in went out, waits or was dropped.
    fn audit_switches(&self) -> Vec<String> {
        let hosts = self.graph.hosts();
        let each = self.switches.iter().enumerate();
        each.flat_map(|(index, switch)| {
            let name = self.graph.name(hosts + index as u32);
            switch
                .audit(&self.arena)
                .into_iter()
                .map(move |what| format!("{name}: {what}"))
        })
        .collect()
    }

    /// AUD-02: what was sent on a link arrived, unless it is still under way.
    fn audit_links(&self, drained: bool) -> Vec<String> {
        let mut broken = Vec::new();
        let mut under_way = 0;
        for (l, s) in self.core.links.hot.iter().zip(&self.core.links.stats) {
            under_way += s.packets - l.arrived.min(s.packets);
            if l.arrived > s.packets || drained && l.arrived != s.packets {
                broken.push(format!(
                    "link from {} port {}: {} frames sent, {} arrived",
                    self.graph.name(l.node),
                    l.port,
                    s.packets,
                    l.arrived
                ));
            }
        }
        let mut waiting: u64 = self
            .nics
            .iter()
            .map(|nic| nic.queued_replies(&self.arena))
            .sum();
        for (index, switch) in self.switches.iter().enumerate() {
            for port in 0..self.graph.ports(self.graph.hosts() + index as u32) {
                switch.for_each_queued(port, &self.arena, |_| waiting += 1);
            }
        }
        let alive = self.arena.alive() as u64;
        let told = self.core.notices.len();
        if alive != under_way + waiting + told {
            broken.push(format!(
                "{alive} packets are alive, but {under_way} are on links, {waiting} in queues, and of {told} \
                 the loss is being told"
            ));
        }
        broken
    }

    /// AUD-03: no flow is forgotten.
    fn audit_flows(&self) -> Vec<String> {
        let live = self.live.len() as u64;
        if self.started == self.done + live {
            return Vec::new();
        }
        vec![format!(
            "{} flows started, {} finished, {live} are under way",
            self.started, self.done
        )]
    }

    /// AUD-04: receivers had every payload byte of the flows that finished.
    fn audit_delivery(&self, drained: bool) -> Vec<String> {
        let delivered: u64 = self
            .nics
            .iter()
            .map(|nic| nic.counters().delivered_bytes)
            .sum();
        let finished = self.finished_bytes;
        if delivered < finished || drained && delivered != finished {
            return vec![format!(
                "flows of {finished} B finished, {delivered} B were delivered"
            )];
        }
        Vec::new()
    }

    /// AUD-05: no drop where none may be.
    fn audit_lossless(&self) -> Vec<String> {
        let dropped = self.core.broken_promises;
        if dropped > 0 {
            return vec![format!("{dropped} packets dropped where none may be lost")];
        }
        Vec::new()
    }

    /// AUD-06: pauses and resumes alternate (bitmaps repeat them), and nothing stays paused in an empty network.
    /// Where links lose frames they lose pauses too, so nothing of this holds.
    fn audit_pauses(&self, drained: bool) -> Vec<String> {
        let mut broken = Vec::new();
        if !self.losses.none() {
            return broken;
        }
        for (host, nic) in self.nics.iter().enumerate() {
            let repeated = nic.counters().repeated_pauses;
            if repeated > 0 && !self.repeats_pauses {
                broken.push(format!(
                    "{}: {repeated} pauses or resumes that changed nothing",
                    self.graph.name(host as u32)
                ));
            }
        }
        for (index, switch) in self.switches.iter().enumerate() {
            let repeated = switch.counters().repeated_pauses;
            if repeated > 0 && !self.repeats_pauses {
                broken.push(format!(
                    "{}: {repeated} pauses or resumes that changed nothing",
                    self.graph.name(self.graph.hosts() + index as u32)
                ));
            }
        }
        if drained {
            for (l, s) in self.core.links.hot.iter().zip(&self.core.links.stats) {
                if s.paused_since != NEVER {
                    let node = self.graph.name(l.node);
                    broken.push(format!(
                        "{node} port {} is still paused, but nothing waits",
                        l.port
                    ));
                }
            }
        }
        broken
    }

    /// AUD-08: who waits on whom, in sentences.
    pub(super) fn explain_stall(&self) -> Vec<String> {
        const MOST: usize = 200;
        let mut said = Vec::new();
        said.extend(self.explain_deadlock());
        for (host, nic) in self.nics.iter().enumerate() {
            nic.for_each_flow(|cookie, acked, why| {
                if let Some(flow) = self.live.flows.get(cookie as usize).copied().flatten()
                    && said.len() < MOST
                {
                    said.push(format!(
                        "flow {} from {} to {}: {acked} of {} B acknowledged, {why}",
                        flow.id,
                        self.graph.name(host as u32),
                        self.graph.name(flow.dst),
                        flow.bytes
                    ));
                }
            });
        }
        for (index, switch) in self.switches.iter().enumerate() {
            let name = self.graph.name(self.graph.hosts() + index as u32);
            switch.explain_stall(|what| {
                if said.len() < 2 * MOST {
                    said.push(format!("{name}: {what}"));
                }
            });
        }
        said
    }

    /// What was counted at every port.
    pub(super) fn port_records(&mut self) -> Vec<PortRecord> {
        let hosts = self.graph.hosts();
        let mut records = Vec::with_capacity(self.core.links.hot.len());
        let mut switch_port = 0;
        for (link, (l, s)) in (0..).zip(self.core.links.hot.iter().zip(&self.core.links.stats)) {
            let mut record = PortRecord {
                node: l.node,
                port: l.port,
                peer: l.peer,
                rate_bps: l.rate.bps(),
                delay_ps: l.delay_ps,
                tx_packets: s.packets,
                tx_bytes: s.bytes,
                tx_data_packets: s.data_packets,
                tx_data_bytes: s.data_bytes,
                pauses: s.pauses,
                paused_ps: s.paused_ps,
                ..PortRecord::default()
            };
            if l.node >= hosts {
                let switch = &self.switches[(l.node - hosts) as usize];
                let counted = switch.port_counters(l.port);
                record.marked = counted.marked;
                record.dropped = counted.dropped;
                record.max_queue_bytes = switch.queued(l.port).1;
                record.active_flows = self.probes.take_active(switch_port);
                switch_port += 1;
            }
            record.dropped[DropCause::Link as usize] = self.losses.lost(link);
            records.push(record);
        }
        records
    }
}
