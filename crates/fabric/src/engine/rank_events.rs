//! Events of ranks (processes of a workload). A message that a rank sends becomes a flow. The
//! engine notifies the receiving rank of the last byte, and the sending rank of the last ACK.
//!
//! The ranks of a host act once in an instant, in the phase of flow starts, that is, after all
//! arrivals of the instant. A rank changes only the state of its own host. The description of a
//! message is sent with the message. A receiver in another partition gets the description at the
//! end of the synchronisation window in which the flow starts, before the first packet arrives.

use dataplane::units::{NEVER, Time};
use kernel::calendar::{Calendar, Event, phase};
use traffic::Flow;

use super::carried::Carried;
use super::flow_parameters::Way;
use super::partition::Partition;
use super::ranks::News;
use crate::ids::{LocalNode, hosts_of};

impl<C: Calendar> Partition<C> {
    /// Schedules the starts of all ranks of the partition.
    pub(super) fn schedule_ranks(&mut self) {
        let Some(ranks) = &mut self.ranks else { return };
        for (node, on) in (0..).zip(ranks.hosts.iter_mut()) {
            let lane = self.places.of(on.host).lane;
            on.scheduled = on.ranks.iter().map(|placed| placed.wake_ps).collect();
            on.scheduled.sort_unstable();
            on.scheduled.dedup();
            for &at in &on.scheduled {
                let event = Event::new(at, phase::FLOW_START, 1 + node, 1);
                self.core.calendar.push_to(lane, event);
            }
        }
    }

    /// Schedules the time at which the ranks of a host act.
    fn schedule(&mut self, node: LocalNode, at: Time) {
        let Some(ranks) = &mut self.ranks else { return };
        let scheduled = &mut ranks.hosts[node].scheduled;
        if !scheduled.contains(&at) {
            scheduled.push(at);
            let event = Event::new(at, phase::FLOW_START, 1 + node.bits(), 1);
            self.core.calendar.here.push(event);
        }
    }

    /// Handles flows whose last byte has arrived at the receiver.
    // RNK-03, RNK-07
    pub(super) fn note_delivered(&mut self) {
        let mut delivered = std::mem::take(&mut self.core.delivered);
        for (node, flow) in delivered.drain(..) {
            self.emit_delivered(flow);
            let Some(ranks) = &mut self.ranks else {
                continue;
            };
            let Some(mut carried) = ranks.coming.remove(&flow) else {
                continue;
            };
            if carried.to_relay {
                carried.relayed = true;
                self.send_message(node, carried);
                continue;
            }
            let sender = ranks.sender_of(&carried);
            if ranks.waits_for_ack(&carried) {
                ranks.coming.insert(flow, carried);
            } else {
                self.notify(node, News::Received(carried));
            }
            if let Some((host, news)) = sender {
                self.notify(self.places.of(host).at, news);
            }
        }
        self.core.delivered = delivered;
    }

    /// Handles the last ACK of a message: notifies the sending rank, and also the receiving rank if
    /// its receive ends with this ACK.
    // RNK-04, RNK-18
    pub(super) fn message_acknowledged(&mut self, flow: &Flow) {
        let Some(ranks) = &mut self.ranks else { return };
        let (sent, waiting) = (ranks.going.remove(&flow.id), ranks.coming.remove(&flow.id));
        if let Some((job, from, id)) = sent {
            self.notify(
                self.places.of(hosts_of(flow).0).at,
                News::Sent(job, from, id),
            );
        }
        if let Some(carried) = waiting {
            self.notify(self.places.of(hosts_of(flow).1).at, News::Received(carried));
        }
    }

    /// Stores an event for the ranks of a host, and lets them act in this instant.
    fn notify(&mut self, node: LocalNode, news: News) {
        let Some(ranks) = &mut self.ranks else { return };
        ranks.hosts[node].news.push(news);
        self.schedule(node, self.core.now);
    }

    /// Stores the description of a message that will arrive at a host of this partition.
    pub(super) fn expect_message(&mut self, flow: u32, carried: Carried) {
        if let Some(ranks) = &mut self.ranks {
            ranks.coming.insert(flow, carried);
        }
    }

    /// Runs the ranks of a host, and the ranks of other hosts that they trigger.
    // RNK-05
    pub(super) fn ranks_act(&mut self, node: LocalNode) {
        self.progress_ps = self.core.now.max(self.progress_ps);
        let mut hosts = vec![node];
        while let Some(node) = hosts.pop() {
            self.ranks_of_host_act(node, &mut hosts);
        }
    }

    /// Runs the ranks of a host. Adds to `hosts` the hosts whose ranks are released by a trigger.
    fn ranks_of_host_act(&mut self, node: LocalNode, hosts: &mut Vec<LocalNode>) {
        let Some(ranks) = &mut self.ranks else { return };
        ranks.act(node, self.core.now);
        ranks.fire(hosts, |host| self.places.of(host).at);
        let mut outgoing = std::mem::take(&mut ranks.outgoing);
        for carried in outgoing.drain(..) {
            self.send_message(node, carried);
        }
        let Some(ranks) = &mut self.ranks else { return };
        ranks.outgoing = outgoing;
        for nth in 0..ranks.hosts[node].ranks.len() {
            let Some(ranks) = &self.ranks else { return };
            let wake_ps = ranks.hosts[node].ranks[nth].wake_ps;
            if wake_ps != NEVER {
                self.schedule(node, wake_ps);
            }
        }
    }

    /// Starts a flow for a message, and passes the description of the message to the receiving
    /// host.
    // RNK-01, RNK-03, RNK-15, RNK-16
    fn send_message(&mut self, node: LocalNode, carried: Carried) {
        let Some(ranks) = &mut self.ranks else { return };
        let shared = ranks.shared(node, &carried);
        let identity = shared.map_or_else(|| carried.identity(), |(_, identity)| identity);
        let way = Way {
            hash: self.parameters.hash_of(identity),
            pair: shared.map(|(pair, _)| pair),
            rail: ranks.rail(&carried),
        };
        let (flow, carried) = ranks.flow(node, self.core.now, carried);
        // TOP-06: hosts do not forward packets.
        let (src, dst) = hosts_of(&flow);
        if self.graph.has_cables() && !self.graph.reach_each_other(src, dst) {
            let (src, dst) = (self.graph.name(src), self.graph.name(dst));
            return ranks.fail(format!(
                "rank {} sends to rank {}, but no path leads from {src} to {dst}: hosts do not \
                 forward packets; add links, or choose an algorithm that sends to neighbours only",
                carried.message.from, carried.message.to
            ));
        }
        let (here, there) = (self.places.of(src).part, self.places.of(dst).part);
        if here == there {
            ranks.coming.insert(flow.id, carried);
        } else {
            self.outbox.to[there as usize]
                .messages
                .push((flow.id, carried));
        }
        self.start_on(flow, &way);
    }
}
