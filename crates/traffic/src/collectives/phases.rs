//! Plans that run one after the other, each among some of the members and for a range of the
//! vector.

use super::{Plan, Span, Step};

/// One of several plans that run one after the other.
#[derive(Debug)]
pub(super) struct Phase {
    pub plan: Box<dyn Plan>,
    /// First member that takes part in this phase.
    pub first: u32,
    /// Distance between the members that take part in this phase.
    pub stride: u32,
    /// Offset of the phase's byte range in the vector of the collective.
    pub offset: u64,
}

/// Plans that run one after the other. A lane starts a phase when all lanes have ended the previous
/// phase.
#[derive(Debug)]
pub(super) struct Phases(pub Vec<Phase>);

impl Phases {
    /// Returns two numbers of steps of a lane in a phase: steps that wait for the previous phase,
    /// and steps of the phase.
    fn steps_in(&self, phase: usize, lane: u32) -> (u32, u32) {
        let plan = &self.0[phase].plan;
        let own = if lane < plan.lanes() {
            plan.steps(lane)
        } else {
            0
        };
        let waits = if phase > 0 { self.lanes() } else { 0 };
        (waits, own)
    }

    /// Returns the number of steps of a lane in the first `phases` phases.
    fn steps_until(&self, phases: usize, lane: u32) -> u32 {
        let steps = (0..phases).map(|phase| {
            let (waits, own) = self.steps_in(phase, lane);
            waits + own
        });
        steps.sum()
    }
}

impl Plan for Phases {
    fn lanes(&self) -> u32 {
        let lanes = self.0.iter().map(|phase| phase.plan.lanes());
        lanes.max().unwrap_or(0)
    }

    fn channel(&self, lane: u32) -> u16 {
        let mut plans = self.0.iter().map(|phase| &phase.plan);
        plans
            .find(|plan| lane < plan.lanes())
            .map_or(0, |plan| plan.channel(lane))
    }

    fn steps(&self, lane: u32) -> u32 {
        self.steps_until(self.0.len(), lane)
    }

    fn step(&self, lane: u32, step: u32) -> Step {
        let mut step = step;
        for (at, phase) in self.0.iter().enumerate() {
            let (waits, own) = self.steps_in(at, lane);
            if step < waits {
                return Step::Await {
                    lane: step,
                    steps: self.steps_until(at, step),
                };
            }
            step -= waits;
            if step >= own {
                step -= own;
                continue;
            }
            let member = |position: u32| phase.first + position * phase.stride;
            let moved = |span: Span| Span {
                offset: span.offset + phase.offset,
                ..span
            };
            let marked = |tag: u64| tag | (at as u64) << 60;
            return match phase.plan.step(lane, step) {
                Step::Send { to, span, tag } => Step::Send {
                    to: member(to),
                    span: moved(span),
                    tag: marked(tag),
                },
                Step::Receive {
                    from,
                    span,
                    tag,
                    reduce,
                } => Step::Receive {
                    from: member(from),
                    span: moved(span),
                    tag: marked(tag),
                    reduce,
                },
                Step::Await { lane, steps } => Step::Await {
                    lane,
                    steps: steps + self.steps_until(at, lane) + self.steps_in(at, lane).0,
                },
            };
        }
        unreachable!("a step below the number of steps")
    }
}
