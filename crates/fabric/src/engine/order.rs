//! Runs the events of one instant in the order in which they were scheduled, as the ns-3 simulator
//! does (rules in `specs/ns3.md`).

use dataplane::units::Time;
use kernel::calendar::{Calendar, Event, phase};

use super::measure;
use super::partition::Partition;

/// First step of a flow start. Each step is an event of its own.
const ANNOUNCED: u32 = 0;
const INSTALLED: u32 = 1;
const RUNS: u32 = 2;

impl<C: Calendar> Partition<C> {
    /// Handles every event before `limit` in the order of the calendar. After each event, the ports
    /// that it kicked choose a frame.
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

    /// Starts the flows of this instant, because all flow starts were scheduled before the run
    /// began. The scheduled event of the first flow then finds no flow to start, and schedules the
    /// next one.
    // FGC-31
    fn start_before_others(&mut self) {
        while let Some(flow) = self.next_due() {
            self.progress_ps = self.core.now;
            self.start_flow(flow);
            self.serve_in_order(0);
        }
    }

    /// Serves the kicked ports in the order of their kicks, starting at index `from` of the list.
    /// If the choice of a frame kicks other ports (for example by a resume frame to an upstream
    /// node), these ports choose before the frame is on the link.
    // NS3-04
    fn serve_in_order(&mut self, from: usize) {
        let mut at = from;
        while let Some(&link) = self.core.links.kicks.get(at) {
            at += 1;
            self.emit(measure::Event::QueueTouched { link });
            let l = &mut self.core.links.near[link];
            l.kicked = false;
            // The port is busy until its port-free event, even if its transmission ends in this
            // instant.
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

    /// Starts a flow in three steps. The previous step schedules each step as an event of the same
    /// instant, so the step runs after all events that were already scheduled for the instant. Only
    /// the next flow is scheduled at any time.
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
