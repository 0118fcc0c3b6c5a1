//! Runs the events of one instant in the order of scheduling, as the ns-3 simulator does (rules in
//! `specs/ns3.md`).

use dataplane::units::Time;
use kernel::calendar::{Calendar, Event, phase};

use super::measure;
use super::partition::Partition;

/// Steps of a flow start. Each step is an event of its own. This is the first one.
const ANNOUNCED: u32 = 0;
const INSTALLED: u32 = 1;
const RUNS: u32 = 2;

impl<C: Calendar> Partition<C> {
    /// Handles every event before `limit` in the order of the calendar. Ports that an event kicks
    /// choose a frame before the next event.
    // NS3-04
    pub(super) fn run_in_order(&mut self, limit: Time) {
        while let Some(event) = self.core.calendar.here.pop_before(limit) {
            self.core.now = event.time;
            if self.settings.starts_first {
                self.start_before_others();
            }
            self.handle::<true>(event);
            self.serve_in_order(0);
            while let Some(event) = self.core.calendar.here.pop_now() {
                self.handle::<true>(event);
                self.serve_in_order(0);
            }
            self.emit(measure::Event::InstantOver);
        }
    }

    /// Starts the flows of this instant; all of them were scheduled before the run began. The
    /// scheduled event of the first flow then finds no flow to start, and schedules the next one.
    // FGC-31
    fn start_before_others(&mut self) {
        while let Some(flow) = self.next_due() {
            self.progress_ps = self.core.now;
            self.start_flow(flow);
            self.serve_in_order(0);
        }
    }

    /// Serves the kicked ports in the order of their kicks, starting at index `from` of the list.
    /// Ports that a choice kicks, such as by the resume of an ingress, choose before its frame is
    /// on the link.
    // NS3-04
    fn serve_in_order(&mut self, from: usize) {
        let mut at = from;
        while let Some(&link) = self.core.links.kicks.get(at) {
            at += 1;
            self.emit(measure::Event::QueueTouched { link });
            let l = &mut self.core.links.near[link];
            l.kicked = false;
            // The port is busy until its port-free event, including the instant of that event.
            if l.armed {
                continue;
            }
            let before = self.core.links.kicks.len();
            let (sent, _) = self.choose::<true>(link);
            self.serve_in_order(before);
            if let Some(id) = sent {
                self.put_on_link::<true>(link, id);
            }
        }
        self.core.links.kicks.truncate(from);
    }

    /// Starts a flow in three steps. Each step is an event of the same instant that the previous
    /// step schedules, so it runs after all events that were already scheduled for the instant.
    /// Only the next flow is scheduled at any time.
    // NS3-05
    pub(super) fn step_flow_start(&mut self, step: u32) {
        let now = self.core.now;
        let event = |step| Event::new(now, phase::FLOW_START, step, 0);
        match step {
            ANNOUNCED => {
                while let Some(flow) = self.next_due() {
                    self.flows.starting.push_back(flow);
                    self.core.calendar.here.push(event(INSTALLED));
                }
                self.announce_flow(0);
            }
            INSTALLED => self.core.calendar.here.push(event(RUNS)),
            _ => {
                self.progress_ps = now;
                if let Some(flow) = self.flows.starting.pop_front() {
                    self.start_flow(flow);
                }
            }
        }
    }
}
