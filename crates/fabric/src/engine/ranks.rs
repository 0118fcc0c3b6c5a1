//! Ranks of workloads on their hosts: their pending events, their actions, their timers, and the
//! messages in flight.

use dataplane::ids::IndexVec;
use dataplane::switch::MixedMap;
use dataplane::units::{NEVER, Time};
use traffic::Flow;
use traffic::operations::{
    Actions, Message, MessageId, Rank, ReceiveEnd, Record, Role, SendEnd, Triggers, explain,
};

use super::Plan;
use super::carried::{Carried, MESSAGE, QueuePair};
use super::ended::Ended;
use super::places::Places;
use crate::ids::{LocalNode, NodeId};
use crate::record::{OperationRecord, RankRecord};
use crate::workload::{Job, Jobs};

/// An event for a rank on a host.
#[derive(Clone, Copy, Debug)]
pub(super) enum News {
    Received(Carried),
    /// A message that the rank sent has arrived: the job, the sending rank, and the message.
    Sent(u32, u32, MessageId),
    /// A trigger has fired: the job, the rank, and the operation that may start.
    Released(u32, u32, u32),
}

/// The ranks of a partition.
pub(super) struct Ranks {
    jobs: Jobs,
    /// Per job, true if its messages share queue pairs.
    sharing: Vec<bool>,
    /// Number of hosts in the whole network, including those of other partitions.
    hosts_in_all: u32,
    /// The ranks on each host of this partition.
    pub hosts: IndexVec<LocalNode, HostRanks>,
    /// Messages to hosts of this partition that the ranks have not received, by flow ID.
    pub coming: MixedMap<u32, Carried>,
    /// Messages of hosts of this partition whose last ACK has not arrived, by flow ID: job, sending
    /// rank, message.
    pub going: MixedMap<u32, (u32, u32, MessageId)>,
    /// Number of ranks with unfinished operations.
    pub unfinished: u32,
    /// Finished operations that no recorder has received.
    pub ended: Ended,
    /// Messages that the ranks of a host have sent in the current call.
    pub outgoing: Vec<Carried>,
    /// Triggers of each job.
    triggers: Vec<Triggers>,
    /// Triggers (job, trigger) that the ranks of a host have activated in the current call.
    activated: Vec<(u32, u32)>,
}

/// The ranks on one host.
pub(super) struct HostRanks {
    /// ID of the host.
    pub host: NodeId,
    pub ranks: Vec<Placed>,
    pub news: Vec<News>,
    /// Times at which the calendar has an event for the ranks of this host.
    pub scheduled: Vec<Time>,
    /// Number of messages that the host has sent.
    sent: u32,
    /// Index at the NIC of each queue pair that several messages of the host share.
    pairs: MixedMap<QueuePair, u32>,
}

/// A rank of a workload on its host.
pub(super) struct Placed {
    job: u32,
    rank: Rank,
    number: u32,
    started: bool,
    finished: bool,
    /// Time at which the rank must be called next, without an external event.
    pub wake_ps: Time,
    times: Times,
}

/// Start time of a rank, and the time that it spent on different activities.
#[derive(Debug, Default)]
struct Times {
    end_ps: Time,
    computing: Covered,
    busy: Covered,
}

/// Total duration of a union of time intervals. Intervals are added in the order of their ends.
// RNK-11
#[derive(Debug, Default)]
struct Covered {
    /// Disjoint intervals (start, end), ascending.
    stretches: Vec<(Time, Time)>,
}

impl Covered {
    fn add(&mut self, from: Time, to: Time) {
        let mut from = from;
        while let Some(&(before, until)) = self.stretches.last()
            && until >= from
        {
            from = from.min(before);
            self.stretches.pop();
        }
        self.stretches.push((from, to));
    }

    fn total_ps(&self) -> Time {
        self.stretches.iter().map(|(from, to)| to - from).sum()
    }
}

/// Creates the triggers of all jobs.
fn triggers(jobs: &Jobs) -> Vec<Triggers> {
    let of = |job: &Job| {
        let triggers = Triggers::new(&job.workload, &*job.source);
        triggers.unwrap_or_else(|error| {
            let _ = jobs.error.set(error.to_string());
            Triggers::default()
        })
    };
    jobs.jobs.iter().map(of).collect()
}

/// Describes why the unfinished ranks of all jobs wait.
// RNK-10
pub(super) fn explain_waits<'a>(
    jobs: &'a Jobs,
    parts: impl Iterator<Item = &'a Ranks> + Clone,
) -> Vec<String> {
    let of = |(number, job): (u32, &'a Job)| {
        let ranks = parts.clone().flat_map(move |ranks| ranks.of_job(number));
        let told = explain(&job.workload, &*job.source, ranks);
        let named = move |told: String| format!("workload {}: {told}", job.name);
        told.into_iter().map(named)
    };
    (0..).zip(jobs.jobs.iter()).flat_map(of).collect()
}

/// The actions that the ranks of a host request in one call: messages, timers and trigger
/// activations.
struct Wishes<'a> {
    outgoing: &'a mut Vec<Carried>,
    wake_ps: &'a mut Time,
    ended: &'a mut Ended,
    times: &'a mut Times,
    activated: &'a mut Vec<(u32, u32)>,
    jobs: &'a Jobs,
    job: u32,
    host: NodeId,
}

impl Actions for Wishes<'_> {
    fn send(&mut self, message: Message) {
        self.outgoing.push(Carried {
            job: self.job,
            message,
            to_relay: false,
            relayed: false,
        });
    }

    fn wake(&mut self, at_ps: Time) {
        *self.wake_ps = at_ps.min(*self.wake_ps);
    }

    fn ended(&mut self, record: &Record) {
        let (from, to) = (record.start_ps, record.end_ps);
        self.times.end_ps = to;
        self.times.busy.add(from, to);
        if record.kind == "calc" {
            self.times.computing.add(from, to);
        }
        self.ended.put(&OperationRecord {
            workload: self.jobs.jobs[self.job as usize].number,
            rank: record.rank,
            index: record.index,
            host: self.host,
            kind: record.kind,
            peer: record.peer,
            group: record.collective.and_then(|(group, _)| group),
            instance: record.collective.map(|(_, instance)| instance),
            part_of: record.part_of,
            bytes: record.bytes,
            moved_bytes: record.moved_bytes,
            ready_ps: record.ready_ps,
            start_ps: from,
            end_ps: to,
            released_by: record.released_by,
            ended_by: record.ended_by.map(|(rank, index, _)| (rank, index)),
        });
    }

    fn activate(&mut self, trigger: u32) {
        self.activated.push((self.job, trigger));
    }

    fn failed(&mut self, error: traffic::Error) {
        // Only the first error is kept.
        let _ = self.jobs.error.set(error.to_string());
    }
}

impl Ranks {
    /// Creates the ranks on the hosts of a partition. Returns `None` if there is no workload.
    pub fn new(plan: &Plan, places: &Places, part: u32) -> Option<Box<Self>> {
        if plan.jobs.jobs.is_empty() {
            return None;
        }
        let host = |&host: &NodeId| HostRanks {
            host,
            ranks: Vec::new(),
            news: Vec::new(),
            scheduled: Vec::new(),
            sent: 0,
            pairs: MixedMap::default(),
        };
        let mut ranks = Self {
            jobs: plan.jobs.clone(),
            sharing: (plan.jobs.jobs.iter())
                .map(|job| job.shares_queue_pairs(&plan.nic))
                .collect(),
            hosts_in_all: plan.graph.hosts(),
            hosts: places.hosts(part).iter().map(host).collect(),
            coming: MixedMap::default(),
            going: MixedMap::default(),
            unfinished: 0,
            ended: Ended::default(),
            outgoing: Vec::new(),
            triggers: triggers(&plan.jobs),
            activated: Vec::new(),
        };
        for (number, job) in (0..).zip(plan.jobs.jobs.iter()) {
            for (rank, &host) in (0..).zip(job.hosts.iter()) {
                let place = places.of(host);
                if place.part == part {
                    ranks.unfinished += 1;
                    ranks.hosts[place.at].ranks.push(Placed {
                        job: number,
                        rank: Rank::new(rank, &job.workload, &job.source, &job.stragglers),
                        number: rank,
                        started: false,
                        finished: false,
                        wake_ps: job.start_ps,
                        times: Times::default(),
                    });
                }
            }
        }
        Some(Box::new(ranks))
    }

    /// Runs the ranks of a host until no operation can proceed at this time. Messages to other
    /// hosts are then in `outgoing`.
    pub fn act(&mut self, node: LocalNode, now: Time) {
        let on = &mut self.hosts[node];
        on.scheduled.retain(|&at| at != now);
        loop {
            let news = std::mem::take(&mut on.news);
            let due = on.ranks.iter().any(|placed| placed.wake_ps <= now);
            if news.is_empty() && !due {
                break;
            }
            let mut act = |placed: &mut Placed, act: &mut dyn FnMut(&mut Rank, &mut Wishes<'_>)| {
                let mut wishes = Wishes {
                    outgoing: &mut self.outgoing,
                    wake_ps: &mut placed.wake_ps,
                    ended: &mut self.ended,
                    times: &mut placed.times,
                    activated: &mut self.activated,
                    jobs: &self.jobs,
                    job: placed.job,
                    host: on.host,
                };
                act(&mut placed.rank, &mut wishes);
                if placed.rank.finished() && !std::mem::replace(&mut placed.finished, true) {
                    self.unfinished -= 1;
                }
            };
            let find = |job: u32, number: u32| {
                move |placed: &&mut Placed| placed.job == job && placed.number == number
            };
            for news in news {
                match news {
                    News::Received(carried) => {
                        let Carried { job, message, .. } = carried;
                        if let Some(placed) = on.ranks.iter_mut().find(find(job, message.to)) {
                            act(placed, &mut |rank, wishes| {
                                rank.on_received(&message, now, wishes);
                            });
                        }
                    }
                    News::Sent(job, from, id) => {
                        if let Some(placed) = on.ranks.iter_mut().find(find(job, from)) {
                            act(placed, &mut |rank, wishes| rank.on_sent(&id, now, wishes));
                        }
                    }
                    News::Released(job, number, index) => {
                        if let Some(placed) = on.ranks.iter_mut().find(find(job, number)) {
                            act(placed, &mut |rank, wishes| rank.release(index, now, wishes));
                        }
                    }
                }
            }
            for placed in on.ranks.iter_mut().filter(|placed| placed.wake_ps <= now) {
                placed.wake_ps = NEVER;
                let started = std::mem::replace(&mut placed.started, true);
                act(placed, &mut |rank, wishes| match started {
                    true => rank.on_wake(now, wishes),
                    false => rank.start(now, wishes),
                });
            }
            // RNK-06: messages between ranks of one host do not use the network.
            let (jobs, news) = (&self.jobs.jobs, &mut on.news);
            self.outgoing.retain(|carried| {
                let Carried { job, message, .. } = *carried;
                let stays = jobs[job as usize].hosts[message.to as usize] == on.host;
                if stays {
                    news.push(News::Received(*carried));
                    news.push(News::Sent(job, message.from, message.id));
                }
                !stays
            });
        }
    }

    /// Fires the triggers that the ranks of a host have activated. Adds the hosts whose ranks can
    /// continue to `hosts`. A trigger affects other hosts without delay, so a run with triggers has
    /// a single partition.
    // RNK-08
    pub fn fire(&mut self, hosts: &mut Vec<LocalNode>, place: impl Fn(NodeId) -> LocalNode) {
        for (job, trigger) in std::mem::take(&mut self.activated) {
            let on = &self.jobs.jobs[job as usize].hosts;
            for &(rank, index) in self.triggers[job as usize].activate(trigger) {
                let node = place(on[rank as usize]);
                let news = News::Released(job, rank, index);
                self.hosts[node].news.push(news);
                hosts.push(node);
            }
        }
    }

    /// Returns the ranks of a job that are on hosts of this partition.
    pub fn of_job(&self, job: u32) -> impl Iterator<Item = &Rank> {
        let placed = self.hosts.iter().flat_map(|on| &on.ranks);
        placed
            .filter(move |placed| placed.job == job)
            .map(|placed| &placed.rank)
    }

    /// Returns the flow that transmits a message from a host to the next host (relay or receiver),
    /// and the description of the message for that host.
    // RNK-01, RNK-07
    pub fn flow(&mut self, node: LocalNode, now: Time, mut carried: Carried) -> (Flow, Carried) {
        let on = &mut self.hosts[node];
        let job = &self.jobs.jobs[carried.job as usize];
        let Message {
            to, bytes, class, ..
        } = carried.message;
        let last = job.hosts[to as usize];
        let relay = job.relay(on.host, last).filter(|_| !carried.relayed);
        carried.to_relay = relay.is_some();
        let number = u64::from(on.sent) * u64::from(self.hosts_in_all) + u64::from(on.host.bits());
        on.sent = on.sent.wrapping_add(1);
        let flow = Flow {
            id: MESSAGE | (number % u64::from(MESSAGE - 1)) as u32,
            start_ps: now,
            src: on.host.bits(),
            dst: relay.unwrap_or(last).bits(),
            bytes: bytes.max(1),
            class,
            source: job.number,
            incast: false,
            port: traffic::DEFAULT_PORT,
            src_port: None,
        };
        if !carried.relayed && job.workload.options.send_end != SendEnd::Received {
            let Message { from, id, .. } = carried.message;
            self.going.insert(flow.id, (carried.job, from, id));
        }
        (flow, carried)
    }

    /// Returns the index at the NIC, and the identity, of the queue pair that a message shares with
    /// earlier messages. Returns `None` if the message opens a new queue pair.
    // RNK-15
    pub fn shared(&mut self, node: LocalNode, carried: &Carried) -> Option<(u32, u64)> {
        if !self.sharing[carried.job as usize] {
            return None;
        }
        let pair = carried.queue_pair();
        let pairs = &mut self.hosts[node].pairs;
        let next = pairs.len() as u32;
        Some((*pairs.entry(pair).or_insert(next), pair.identity()))
    }

    /// Returns true if the receive of a message ends when the last ACK arrives at the sender.
    // RNK-18
    pub fn waits_for_ack(&self, carried: &Carried) -> bool {
        let options = &self.jobs.jobs[carried.job as usize].workload.options;
        options.receive_end == ReceiveEnd::Acknowledged && carried.message.id.role == Role::Data
    }

    /// Returns the sending host and the event for its rank, if the send ends as soon as the message
    /// arrives. `None`: the send ends with the last ACK.
    // RNK-18
    pub fn sender_of(&self, carried: &Carried) -> Option<(NodeId, News)> {
        let job = &self.jobs.jobs[carried.job as usize];
        let Message { from, id, .. } = carried.message;
        let at_once = job.workload.options.send_end == SendEnd::Received;
        let news = News::Sent(carried.job, from, id);
        at_once.then(|| (job.hosts[from as usize], news))
    }

    /// Returns the port that a message must use, if the sender's NIC (rail) determines the port.
    // RNK-16
    pub fn rail(&self, carried: &Carried) -> Option<u16> {
        let by_rail = self.jobs.jobs[carried.job as usize].by_rail;
        by_rail.then_some(carried.message.nic)
    }

    /// Ends the run with an error.
    pub fn fail(&self, error: String) {
        // Only the first error is kept.
        let _ = self.jobs.error.set(error);
    }

    /// Returns the earliest time at which a rank acts without an external event.
    pub fn next_ps(&self) -> Option<Time> {
        let scheduled = self.hosts.iter().flat_map(|host| &host.scheduled);
        scheduled.copied().min()
    }

    /// Returns the number of finished operations, including the finished fraction of active
    /// collectives, and the total number of operations.
    pub fn progress(&self) -> (f64, u64) {
        let ranks = self.hosts.iter().flat_map(|on| &on.ranks);
        ranks.fold((0.0, 0), |(done, all), placed| {
            let (_, operations) = placed.rank.progress();
            (done + placed.rank.done(), all + u64::from(operations))
        })
    }

    /// Returns the records of the ranks at the end of the run.
    // RNK-11
    pub fn records(&self, end_ps: Time) -> impl Iterator<Item = RankRecord> {
        let ranks = (self.hosts.iter()).flat_map(|on| on.ranks.iter().map(move |rank| (on, rank)));
        ranks.map(move |(on, placed)| {
            let job = &self.jobs.jobs[placed.job as usize];
            let (ended, operations) = placed.rank.progress();
            let last_ps = match placed.finished {
                true => placed.times.end_ps.max(job.start_ps),
                false => end_ps.max(job.start_ps),
            };
            let (busy_ps, computing_ps) = (
                placed.times.busy.total_ps(),
                placed.times.computing.total_ps(),
            );
            RankRecord {
                workload: job.number,
                rank: placed.number,
                host: on.host,
                ended,
                operations,
                start_ps: job.start_ps,
                end_ps: placed.finished.then_some(last_ps),
                computing_ps,
                exposed_ps: busy_ps - computing_ps,
                idle_ps: (last_ps - job.start_ps).saturating_sub(busy_ps),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Covered;

    // RNK-11
    #[test]
    fn intervals_that_overlap_or_touch_are_counted_once() {
        let mut covered = Covered::default();
        for (from, to) in [(0, 10), (20, 30), (25, 40), (40, 50), (5, 60), (70, 80)] {
            covered.add(from, to);
        }
        assert_eq!(covered.stretches, [(0, 60), (70, 80)]);
        assert_eq!(covered.total_ps(), 70);
    }
}
