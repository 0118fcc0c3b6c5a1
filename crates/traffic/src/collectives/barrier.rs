//! Barrier by dissemination: in round k each member sends one byte to the member 2ᵏ positions
//! ahead. // OPS-59

use super::{Plan, Span, Step};

/// The contribution of one member to a barrier.
#[derive(Clone, Debug)]
pub(super) struct Barrier {
    pub position: u32,
    pub members: u32,
}

impl Plan for Barrier {
    fn lanes(&self) -> u32 {
        1
    }

    fn channel(&self, _: u32) -> u16 {
        0
    }

    fn steps(&self, _: u32) -> u32 {
        2 * self.members.next_power_of_two().ilog2()
    }

    fn step(&self, _: u32, step: u32) -> Step {
        let (n, round) = (self.members, step / 2);
        let distance = (1 << round) % n;
        let span = Span::whole(1);
        let tag = u64::from(round);
        if step.is_multiple_of(2) {
            Step::Send {
                to: (self.position + distance) % n,
                span,
                tag,
            }
        } else {
            Step::Receive {
                from: (self.position + n - distance) % n,
                span,
                tag,
                reduce: false,
            }
        }
    }
}
