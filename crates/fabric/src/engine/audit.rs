//! The audit of a run: checks that packets, bytes and pauses are conserved, at the end of every
//! run.

use dataplane::sink::DropCause;
use dataplane::units::NEVER;
use kernel::calendar::Calendar;

use super::Simulation;
use super::network::LinkDirection;
use super::ranks::explain_waits;
use crate::ids::{LinkId, hosts_of};
use crate::record::{Ending, PortRecord, Violation};

/// Maximum number of violations that the audit reports per check. A few are enough to find the
/// cause.
const MOST_VIOLATIONS: usize = 50;

impl<C: Calendar + Send> Simulation<C> {
    /// Runs all checks of the audit. Adds violations to the list and returns the names of the
    /// checks that passed.
    pub(super) fn audit(&mut self, ending: Ending) -> Vec<&'static str> {
        for part in &mut self.net.parts {
            self.violations.append(&mut part.flows.violations);
        }
        // Sort the violations, so that their order does not depend on the partitions in which they
        // were found.
        self.violations.sort_by(|a, b| a.message.cmp(&b.message));
        let drained = ending == Ending::Drained;
        let found = [
            ("conservation", self.audit_switches()),
            ("links", self.audit_links(drained)),
            ("flows", self.audit_flows()),
            ("delivery", self.audit_delivery(drained)),
            ("lossless", self.audit_lossless()),
            ("pauses", self.audit_pauses(drained)),
            ("receivers", self.audit_driven(drained)),
            ("credits", self.audit_credits(drained)),
            ("slowdown", Vec::new()),
        ];
        let mut held = Vec::new();
        for (check, messages) in found {
            let failed_before = self.violations.iter().any(|v| v.check == check);
            let applies = match check {
                "lossless" => self.lossless,
                "slowdown" => !self.spraying && !self.links_change, // LNK-30: paths change
                "pauses" => !self.losing,
                "receivers" => self.owns_repair,
                "credits" => self
                    .net
                    .each_switch()
                    .any(|(_, s, _)| s.credit_sums().is_some()),
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

    /// AUD-01: checks, per switch and port, that every packet that arrived was sent, is queued, or
    /// was dropped.
    fn audit_switches(&self) -> Vec<String> {
        let each = self.net.each_switch();
        each.flat_map(|(node, switch, arena)| {
            let name = self.net.graph.name(node);
            let found = switch.audit(arena).into_iter();
            found.map(move |what| format!("{name}: {what}"))
        })
        .collect()
    }

    /// AUD-02: checks that all frames sent on a link have arrived, except those in flight.
    fn audit_links(&self, drained: bool) -> Vec<String> {
        let mut broken = Vec::new();
        let mut under_way = 0;
        for (link, direction) in self.net.each_direction() {
            let (sent, arrived) = (direction.near.packets, direction.far.arrived);
            under_way += sent - arrived.min(sent);
            if arrived > sent || drained && arrived != sent {
                broken.push(format!(
                    "link from {}: {sent} frames sent, {arrived} arrived",
                    self.port_name(link)
                ));
            }
        }
        let replies = self.net.each_nic();
        let mut waiting: u64 = replies
            .map(|(_, nic, arena)| nic.queued_replies(arena))
            .sum();
        broken.extend(self.audit_replays());
        for (link, _) in self.net.each_direction() {
            waiting += self.net.traffic_of(link).map_or(0, |t| t.stored);
        }
        for (node, switch, arena) in self.net.each_switch() {
            for port in 0..self.net.graph.ports(node) {
                switch.for_each_queued(port, arena, |_| waiting += 1);
            }
            switch.for_each_held(arena, |_| waiting += 1);
        }
        // SW-45: count frames that wait for their response time
        waiting += self
            .net
            .parts
            .iter()
            .map(|p| p.core.late_frames)
            .sum::<u64>();
        let alive = self.net.alive();
        let notices: u64 = self.net.parts.iter().map(|p| p.core.notices.len()).sum();
        if alive != under_way + waiting + notices {
            broken.push(format!(
                "{alive} packets are alive, but {under_way} are on links, {waiting} in queues, and of {notices} \
                 the loss is being told"
            ));
        }
        broken
    }

    /// LLR-22: checks the frames that links with sequence numbers carried, lost and retransmitted.
    fn audit_replays(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for (link, direction) in self.net.each_direction() {
            let peer = self.net.graph.reverse(link);
            let (Some(near), Some(far)) = (self.net.traffic_of(link), self.net.traffic_of(peer))
            else {
                continue;
            };
            let name = self.port_name(link);
            let sent = near.numbered + near.replayed + near.sets_sent + near.unnumbered_sent;
            if sent != direction.near.packets {
                let packets = direction.near.packets;
                broken.push(format!(
                    "link from {name}: {packets} frames sent, {sent} counted with their numbers"
                ));
            }
            let arrived = far.accepted
                + far.discarded
                + far.damaged
                + far.sets_arrived
                + far.unnumbered_arrived
                + self.net.lost_in_flight(link);
            if arrived != direction.far.arrived {
                broken.push(format!(
                    "link from {name}: {} frames arrived, {arrived} counted with their numbers",
                    direction.far.arrived
                ));
            }
            let open = near.stored + near.dropped;
            if far.accepted > near.numbered || near.numbered - far.accepted > open {
                broken.push(format!(
                    "link from {name}: {} frames were numbered and {} accepted, {open} wait or were dropped",
                    near.numbered, far.accepted
                ));
            }
        }
        broken
    }

    /// Returns the label of the port that sends on a link, with the name of its node.
    fn port_name(&self, link: LinkId) -> String {
        let node = self.net.node_of(link);
        let port = link.port(self.net.graph.first_link(node));
        format!("{} port {port}", self.net.graph.name(node))
    }

    /// AUD-03: checks that every started flow has finished or is still active.
    fn audit_flows(&self) -> Vec<String> {
        let live = self.net.live() as u64;
        let (started, finished) = (self.net.started(), self.net.finished());
        if started == finished + live {
            return Vec::new();
        }
        vec![format!(
            "{started} flows started, {finished} finished, {live} are under way"
        )]
    }

    /// AUD-04: checks that receivers had every payload byte of the finished flows.
    fn audit_delivery(&self, drained: bool) -> Vec<String> {
        let nics = self.net.each_nic();
        let delivered: u64 = nics.map(|(_, nic, _)| nic.counters().delivered_bytes).sum();
        let finished: u64 = self.net.parts.iter().map(|p| p.flows.finished_bytes).sum();
        if delivered < finished || drained && delivered != finished {
            return vec![format!(
                "flows of {finished} B finished, {delivered} B were delivered"
            )];
        }
        Vec::new()
    }

    /// AUD-05: checks that lossless classes have no drops.
    fn audit_lossless(&self) -> Vec<String> {
        let parts = self.net.parts.iter();
        let dropped: u64 = parts.map(|p| p.core.broken_promises).sum();
        if dropped > 0 {
            return vec![format!("{dropped} packets dropped where none may be lost")];
        }
        Vec::new()
    }

    /// AUD-06: checks that pauses and resumes alternate (repeated bitmaps are allowed), and that no
    /// class stays paused in an empty network. The check is skipped if links lose frames, because
    /// pause frames are lost too.
    fn audit_pauses(&self, drained: bool) -> Vec<String> {
        let mut broken = Vec::new();
        if self.losing {
            return broken;
        }
        let of_nics = self.net.each_nic();
        let of_nics = of_nics.map(|(node, nic, _)| (node, nic.counters().repeated_pauses));
        let of_switches = self.net.each_switch();
        let of_switches =
            of_switches.map(|(node, switch, _)| (node, switch.counters().repeated_pauses));
        for (node, repeated) in of_nics.chain(of_switches) {
            if repeated > 0 && !self.repeats_pauses {
                broken.push(format!(
                    "{}: {repeated} pauses or resumes that changed nothing",
                    self.net.graph.name(node)
                ));
            }
        }
        if drained {
            let directions = self.net.each_direction();
            let paused = directions.filter(|(_, direction)| direction.pauses.since_ps != NEVER);
            broken.extend(paused.map(|(link, _)| {
                let port = self.port_name(link);
                format!("{port} is still paused, but nothing waits")
            }));
        }
        broken
    }

    /// AUD-08: describes which nodes wait for which other nodes in a run that stalled.
    pub(super) fn explain_stall(&self) -> Vec<String> {
        const MOST: usize = 200;
        let graph = &self.net.graph;
        let mut said = Vec::new();
        said.extend(self.explain_deadlock());
        let parts = self.net.parts.iter();
        let ranks = parts.filter_map(|part| part.ranks.as_deref());
        said.extend(explain_waits(self.collectives.jobs(), ranks));
        for (host, nic, _) in self.net.each_nic() {
            let live = &self.net.part_of(host).flows.live;
            nic.for_each_flow(|sent| {
                if let Some(flow) = live.get(sent.cookie)
                    && said.len() < MOST
                {
                    said.push(format!(
                        "flow {} from {} to {}: {} of {} B acknowledged, {}",
                        flow.id,
                        graph.name(host),
                        graph.name(hosts_of(&flow).1),
                        sent.acked_bytes,
                        flow.bytes,
                        sent.why
                    ));
                }
            });
        }
        for (node, switch, _) in self.net.each_switch() {
            let name = graph.name(node);
            switch.explain_stall(|what| {
                if said.len() < 2 * MOST {
                    said.push(format!("{name}: {what}"));
                }
            });
        }
        said
    }

    /// Returns the records of all ports with their counters.
    pub(super) fn port_records(&mut self) -> Vec<PortRecord> {
        let Self { net, probes, .. } = self;
        let mut switch_port = 0;
        let record = |(link, direction): (LinkId, LinkDirection<'_>)| {
            let (near, pauses) = (direction.near, direction.pauses);
            let of = net.graph.port(link);
            let node = net.node_of(link);
            let mut record = PortRecord {
                tx_reply_bytes: near.bytes - near.data_bytes,
                node,
                port: near.port,
                peer: of.peer,
                rate_bps: of.rate.bps(),
                delay_ps: of.delay_ps,
                tx_packets: near.packets,
                tx_bytes: near.bytes,
                tx_data_packets: near.data_packets,
                tx_data_bytes: near.data_bytes,
                pauses: pauses.count,
                resumes: pauses.resumes,
                pause_frames: pauses.frames,
                resume_frames: pauses.resume_frames,
                paused_ps: pauses.paused_ps,
                ..PortRecord::default()
            };
            if !net.graph.is_host(node) {
                let (switch, _) = net.switch(node);
                let counted = switch.port_counters(near.port);
                record.marked = counted.marked;
                record.dropped = counted.dropped;
                record.max_queue_bytes = switch.queued(near.port).1;
                let held = switch.held(near.port);
                record.max_port_bytes = held.map_or(record.max_queue_bytes, |held| held.1);
                // FG-63: bytes of credit frames
                record.tx_credit_bytes = counted.credit_bytes;
                record.tx_reply_bytes = near.bytes - near.data_bytes - counted.frame_bytes;
                record.active_flows = probes.take_active(switch_port);
                switch_port += 1;
            }
            // LNK-23: add packets that waited in a switch for the failed link, and frames in
            // flight.
            let lost = net.part_of(of.peer).faults.losses.lost(link);
            // LLR-20: frames that the link retransmits are not lost
            let lost = match net.traffic_of(link) {
                Some(_) => 0,
                None => lost,
            };
            record.dropped[DropCause::Link as usize] += lost + net.lost_with(link);
            record
        };
        net.each_direction().map(record).collect()
    }
}
