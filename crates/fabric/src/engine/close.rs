//! The end of a run: ends open pauses, runs the audit, and sums up the counters of all nodes.

use dataplane::switch::MixedMap;
use kernel::calendar::Calendar;
use kernel::digest::Digest;
use traffic::Flow;

use super::Simulation;
use super::flow_state::Ends;
use super::network::Network;
use crate::record::{Counters, Ending, FlowRecord, Outcome, Recorder, StormRecord, ThreadUse};

impl<C: Calendar + Send> Simulation<C> {
    /// Ends open pauses, runs the audit, and returns the outcome of the run with all counters.
    pub(super) fn close(
        mut self,
        ending: Ending,
        loop_seconds: f64,
        recorder: &mut dyn Recorder,
    ) -> Outcome {
        let end_ps = match ending {
            Ending::TimeLimit => self.until_ps,
            Ending::Interrupted | Ending::Deadlocked => self.net.now_ps(),
            Ending::Drained | Ending::Stalled => self.net.progress_ps(),
        };
        let digest = self.net.digest();
        for part in &mut self.net.parts {
            part.core.close_pauses(end_ps);
        }
        for part in &mut self.net.parts {
            part.record_end(end_ps, &mut self.merged);
            if let Some(ranks) = &part.ranks {
                self.merged.add(ranks.records(end_ps));
            }
        }
        self.hand_over(recorder);
        let unfinished = self.net.unfinished();
        if !unfinished.is_empty() {
            recorder.rows(&unfinished);
        }
        let checks = self.audit(ending);
        Outcome {
            ending,
            end_ps,
            digest,
            started: self.net.started(),
            finished: self.net.finished(),
            counters: self.net.counters(),
            storms: self.net.storms(),
            ports: self.port_records(),
            checks,
            deadlocks: self.deadlock_search.take().map_or(Vec::new(), |s| s.found),
            stall: if matches!(ending, Ending::Stalled | Ending::Deadlocked) {
                self.explain_stall()
            } else {
                self.out_of_reach()
            },
            violations: self.violations,
            threads: ThreadUse {
                crossed: self.net.parts.iter().map(|p| p.outbox.crossed).sum(),
                lanes: self.net.most_lanes(),
                ..self.threads
            },
            loop_seconds,
        }
    }
}

impl<C: Calendar> Network<C> {
    /// Returns the records of unfinished flows, in the order of flow IDs.
    fn unfinished(&mut self) -> Vec<FlowRecord> {
        let mut records = Vec::new();
        for part in &mut self.parts {
            // Add the retransmissions of unfinished flows.
            let mut repeated = MixedMap::default();
            for nic in &part.nics {
                nic.for_each_flow(|sent| {
                    if let Some(flow) = part.flows.live.get(sent.cookie) {
                        repeated.insert(flow.id, sent.retransmitted);
                    }
                });
            }
            let flows: Vec<(Flow, Ends)> = part.flows.live.iter().copied().collect();
            let parameters = &mut part.parameters;
            records.extend(flows.into_iter().map(|(flow, ends)| FlowRecord {
                retransmitted: repeated.get(&flow.id).copied().unwrap_or(0),
                ..parameters.record(flow, ends)
            }));
        }
        records.sort_unstable_by_key(|record| record.flow.id);
        records
    }

    /// ENG-20: returns the digest of the run, a hash of all arrivals, drops and final counters.
    fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        for (link, direction) in self.each_direction() {
            digest.add(u64::from(link.bits()), direction.digest());
        }
        let links = u64::from(self.graph.port_count());
        for node in self.parts.iter().flat_map(|part| part.core.nodes.iter()) {
            digest.add(links + u64::from(node.number.bits()), node.digest);
        }
        digest.0
    }

    /// Returns the classes of ports in which the PFC watchdog found a storm of pauses.
    // PFCWD-08
    fn storms(&self) -> Vec<StormRecord> {
        let mut found = Vec::new();
        for (node, switch, _) in self.each_switch() {
            let of = switch.storms().map(|(port, class, counts)| StormRecord {
                node,
                port,
                peer: self.graph.port(self.graph.link(node, port)).peer,
                class,
                counts: *counts,
            });
            found.extend(of);
        }
        found
    }

    pub(super) fn counters(&self) -> Counters {
        let mut c = Counters {
            packet_hops: self.packet_hops(),
            ..Counters::default()
        };
        for part in &self.parts {
            c.events += part.core.events;
            if let Some(states) = &part.faults.states {
                c.link_changes += states.changes;
                c.reroutes = states.reroutes;
            }
            for (all, of_part) in c.drops.iter_mut().zip(part.core.drops) {
                *all += of_part;
            }
        }
        for (_, nic, _) in self.each_nic() {
            let n = nic.counters();
            c.data_packets += n.data_packets;
            c.acks += n.acks;
            c.naks += n.naks;
            c.cnps += n.cnps;
            c.retransmissions += n.retransmissions;
            c.timeouts += n.timeouts;
            c.discarded += n.discarded;
            c.overtaken += n.overtaken;
            c.driven.add(&n.driven);
            c.hop.add_to("pfc_expiries", nic.expired_pauses()); // QNT-09: expired pauses
            let of_links = nic.link_counts();
            of_links.for_each(|(name, count)| c.hop.add_to(name, count));
        }
        for (_, switch, _) in self.each_switch() {
            let s = switch.counters();
            c.marks += s.marks;
            c.int_hops += s.int_hops;
            c.rerouted_packets += s.rerouted;
            c.notices += s.created;
            for (_, _, of) in switch.storms() {
                c.storms += of.storms;
                c.storms_restored += of.restorations;
                c.storm_drops += of.drops;
            }
            c.trims += s.trims;
            c.returned += s.returned;
            c.hop.add(&switch.hop_counters());
        }
        c
    }
}
