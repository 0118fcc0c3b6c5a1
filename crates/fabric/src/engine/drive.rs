//! Runs a simulation from its first event to its end: probes, progress, end conditions.

use dataplane::units::Time;
use kernel::Fifo;
use kernel::calendar::Calendar;

use super::ended;
use super::network::LinkDirection;
use super::ranks::Ranks;
use super::upcoming_flows::next_start_ps;
use super::workers::{self, WorkerPool};
use super::{Plan, Simulation};
use crate::record::{Ending, Outcome, Progress, Recorder};

/// Builds the network of a plan and runs it to the end.
pub fn run(
    plan: Plan,
    recorder: &mut dyn Recorder,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Outcome {
    if plan.in_order {
        Simulation::with_calendar(plan, Fifo::new()).run(recorder, watch)
    } else {
        Simulation::new(plan).run(recorder, watch)
    }
}

impl<C: Calendar + Send> Simulation<C> {
    /// Runs the simulation to the end. `watch` receives the progress at every probe, and returns
    /// false to stop the run.
    pub fn run(
        self,
        recorder: &mut dyn Recorder,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Outcome {
        let Some(division) = self.division else {
            return self.drive(None, recorder, watch);
        };
        let mailboxes = workers::mailboxes(division);
        std::thread::scope(|scope| {
            let workers = WorkerPool::new(division, &mailboxes, scope);
            self.drive(Some(workers), recorder, watch)
        })
    }

    pub(super) fn drive(
        mut self,
        mut workers: Option<WorkerPool<'_, C>>,
        recorder: &mut dyn Recorder,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Outcome {
        let started = std::time::Instant::now();
        let mut ending = None;
        let (mut probe, mut until) = (self.probe_ps, 0);
        while ending.is_none() {
            until = probe.min(self.until_ps);
            self.run_before(until + 1, workers.as_mut());
            ending = match self.find_new_deadlock(until) {
                true => Some(Ending::Deadlocked),
                false => self.ending(until, probe > self.until_ps),
            };
            if ending.is_none() {
                self.look(until, recorder);
                probe = self.skip_idle_probes(until, recorder);
                if !watch(&self.progress()) {
                    ending = Some(Ending::Interrupted);
                }
            }
            self.hand_over(recorder);
        }
        if let Some(workers) = workers {
            self.threads.windows = workers.windows;
        }
        for part in &mut self.net.parts {
            part.settle(until);
        }
        let ending = ending.unwrap_or(Ending::Drained);
        let seconds = started.elapsed().as_secs_f64();
        self.close(ending, seconds, recorder)
    }

    /// Returns the time of the next probe. While the network is empty, all due probes are recorded
    /// at once, so that idle time before a late flow costs no work.
    // ENG-33
    fn skip_idle_probes(&mut self, now: Time, recorder: &mut dyn Recorder) -> Time {
        let next = now + self.probe_ps;
        let Some(start_ps) = self.next_start_ps() else {
            return next;
        };
        if self.net.live() > 0 || self.net.alive() > 0 {
            return next;
        }
        // A probe at the start of the flow, or at the end of the run, does not count as idle.
        let idle = start_ps.min(self.until_ps).saturating_sub(now + 1) / self.probe_ps;
        if idle == 0 {
            return next;
        }
        let last = now + idle * self.probe_ps;
        self.probes.look_at_nothing(next, last, idle, recorder);
        last + self.probe_ps
    }

    /// Returns how the run ends, if it ends after all events up to `until`.
    // ENG-07
    fn ending(&self, until: Time, limit: bool) -> Option<Ending> {
        let no_flow_to_come = self.next_start_ps().is_none();
        let nothing_left = no_flow_to_come && self.net.live() == 0 && self.net.alive() == 0;
        if self.collectives.failed() {
            Some(Ending::Interrupted) // RNK-09: unreadable workload
        } else if nothing_left && self.net.is_at_rest() {
            let finished = self.net.unfinished_ranks() == 0;
            Some(if finished {
                Ending::Drained
            } else {
                Ending::Stalled
            })
        } else if self.net.parts.iter().all(|p| p.core.calendar.is_empty())
            || no_flow_to_come && self.is_stuck(until)
        {
            Some(Ending::Stalled)
        } else if limit || until >= self.until_ps {
            Some(Ending::TimeLimit)
        } else {
            None
        }
    }

    /// Returns the time at which the next flow starts, or at which the next rank acts without an
    /// external event.
    // RNK-10
    fn next_start_ps(&self) -> Option<Time> {
        let ranks = self
            .net
            .parts
            .iter()
            .filter_map(|p| p.ranks.as_ref()?.next_ps());
        next_start_ps(&self.net).into_iter().chain(ranks).min()
    }

    /// Returns true if the run is stuck: there has been no progress for longer than every timeout,
    /// and no frame is in flight. Only timers that change nothing are left. Repeated pause frames
    /// are ignored, because some of them are always in flight.
    // ENG-14, QNT-12
    fn is_stuck(&self, until: Time) -> bool {
        let recovery = &self.net.parts[0].parameters.nic.recovery;
        let Some(timeout_ps) = recovery.resend_all_ps() else {
            return false;
        };
        // SW-45: a delayed resume frame may still take effect
        let response_ps = self.net.parts[0].settings.pause_response_ps;
        // PFCWD-01: the PFC watchdog may still act
        let patience_ps = self.net.parts[0].settings.watchdog_patience_ps;
        let longest_ps = timeout_ps
            .saturating_mul(2)
            .saturating_add(response_ps)
            .saturating_add(patience_ps);
        let links = self.net.parts[0].faults.states.as_ref();
        !links.is_some_and(|states| states.pending(until))
            && until.saturating_sub(self.net.progress_ps()) > longest_ps
            && self.net.each_nic().all(|(_, nic, _)| !nic.is_pacing())
            && self
                .net
                .each_direction()
                .all(|(_, LinkDirection { near, far, .. })| {
                    let only_pauses = self.pauses_run_out && near.delay_ps < timeout_ps;
                    far.arrived == near.packets || only_pauses
                })
    }

    fn progress(&self) -> Progress {
        Progress {
            now_ps: self.net.now_ps(),
            until_ps: self.until_ps,
            started: self.net.started(),
            finished: self.net.finished(),
            flows: self.flows,
            operations: self.operations(),
            packet_hops: self.net.packet_hops(),
            moved_ps: self.net.progress_ps(),
            fullest: self.probes.fullest(),
        }
    }

    /// Returns the number of finished operations of all ranks, and the total number of operations;
    /// `None` without ranks.
    fn operations(&self) -> Option<(f64, u64)> {
        let ranks = self.net.parts.iter().filter_map(|p| p.ranks.as_deref());
        ranks
            .map(Ranks::progress)
            .reduce(|(done, all), (more, others)| (done + more, all + others))
    }

    /// Handles every event before `limit`.
    fn run_before(&mut self, limit: Time, mut workers: Option<&mut WorkerPool<'_, C>>) {
        let mut known = 0;
        while known < limit {
            known = self.traffic.pass_on(&mut self.net, limit);
            match &mut workers {
                Some(workers) => workers.run_before(&mut self.net.parts, known),
                None => self.net.parts[0].run_before(known),
            }
        }
    }

    /// Records probes of all switches, and passes completed rows to the recorder, after all events
    /// up to `now`.
    fn look(&mut self, now: Time, recorder: &mut dyn Recorder) {
        self.probes.look(now, &self.net, recorder);
        for part in &mut self.net.parts {
            part.record_probe(now, &mut self.merged);
        }
    }

    /// Passes the collected rows to the recorder.
    pub(super) fn hand_over(&mut self, recorder: &mut dyn Recorder) {
        for part in &mut self.net.parts {
            self.merged.add(part.flows.finished.drain(..));
            self.merged.add(part.core.pauses.drain(..));
        }
        // RNK-19: rows of finished operations
        let ranks = (self.net.parts.iter_mut()).filter_map(|part| part.ranks.as_deref_mut());
        ended::pass_on(ranks.map(|ranks| &mut ranks.ended), |rows| {
            let whole = rows.iter().filter_map(|row| self.collectives.add(row));
            self.merged.add(whole);
            recorder.rows(rows);
        });
        self.merged.deliver(recorder);
    }
}
