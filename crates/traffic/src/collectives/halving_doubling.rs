//! Recursive halving and doubling. In log2 n exchanges with partners at distances n/2, n/4, …, 1,
//! members add up halves of the remaining block. Exchanges at distances 1, 2, …, n/2 then collect
//! the sums. // OPS-54

use super::{Plan, Span, Step};

/// The phases of the algorithm that a collective needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halves {
    /// Halving.
    ReduceScatter,
    /// Doubling.
    AllGather,
    /// Halving, then doubling. If the number of members is not a power of two, each surplus member
    /// first sends its vector to a partner. // OPS-55
    AllReduce,
}

/// The contribution of one member to halving and doubling.
#[derive(Clone, Debug)]
pub(super) struct HalvingDoubling {
    pub position: u32,
    pub members: u32,
    pub bytes: u64,
    pub halves: Halves,
    pub channels: u32,
}

/// The role of a member if the number of members is not a power of two. // OPS-55
enum Role {
    /// A surplus member. It sends its vector to member `host` and receives the result from that
    /// member.
    Guest { host: u32 },
    /// A member that takes part in the exchanges, with `number` as its position. It also represents
    /// surplus member `guest`, if there is one.
    Host { number: u32, guest: Option<u32> },
}

impl HalvingDoubling {
    /// Returns the number of members that take part in the exchanges: the largest power of two that
    /// is at most n.
    fn core(&self) -> u32 {
        1 << self.members.ilog2()
    }

    fn exchanges(&self) -> u32 {
        let half = self.members.ilog2();
        half * (1 + u32::from(self.halves == Halves::AllReduce))
    }

    fn role(&self) -> Role {
        let (me, extra) = (self.position, self.members - self.core());
        if me >= 2 * extra {
            Role::Host {
                number: me - extra,
                guest: None,
            }
        } else if me % 2 == 0 {
            Role::Host {
                number: me / 2,
                guest: Some(me + 1),
            }
        } else {
            Role::Guest { host: me - 1 }
        }
    }

    /// Returns the member that takes part in the exchanges as number `number`.
    fn member(&self, number: u32) -> u32 {
        let extra = self.members - self.core();
        if number < extra {
            2 * number
        } else {
            number + extra
        }
    }

    /// Returns one step of exchange `at` of participant `number`: its send or its receive.
    fn exchange(&self, lane: u32, number: u32, at: u32, is_send: bool) -> Step {
        let (core, log) = (self.core(), self.core().ilog2());
        let reduce = self.halves != Halves::AllGather && at < log;
        let distance = if reduce {
            core >> (at + 1)
        } else {
            1 << (at % log)
        };
        let partner = number ^ distance;
        // Blocks of the half that contains participant `of`. Participant i has block i.
        let side = |of: u32| {
            let first = of / distance * distance;
            Span::whole(self.bytes)
                .part(lane, self.channels)
                .parts(first, first + distance, core)
        };
        let tag = u64::from(lane) << 32 | u64::from(at);
        let peer = self.member(partner);
        if is_send {
            Step::Send {
                to: peer,
                span: side(if reduce { partner } else { number }),
                tag,
            }
        } else {
            Step::Receive {
                from: peer,
                span: side(if reduce { number } else { partner }),
                tag,
                reduce,
            }
        }
    }
}

const JOIN: u64 = 1 << 16;
const LEAVE: u64 = 1 << 17;

impl Plan for HalvingDoubling {
    fn lanes(&self) -> u32 {
        self.channels
    }

    fn channel(&self, lane: u32) -> u16 {
        lane as u16
    }

    fn steps(&self, _: u32) -> u32 {
        match self.role() {
            Role::Guest { .. } => 2,
            Role::Host { guest, .. } => 2 * self.exchanges() + 2 * u32::from(guest.is_some()),
        }
    }

    fn step(&self, lane: u32, step: u32) -> Step {
        let span = Span::whole(self.bytes).part(lane, self.channels);
        let tag = |what: u64| u64::from(lane) << 32 | what;
        let send = |to: u32, what: u64| Step::Send {
            to,
            span,
            tag: tag(what),
        };
        let receive = |from: u32, what: u64, reduce: bool| Step::Receive {
            from,
            span,
            tag: tag(what),
            reduce,
        };
        match self.role() {
            Role::Guest { host } if step == 0 => send(host, JOIN),
            Role::Guest { host } => receive(host, LEAVE, false),
            Role::Host { number, guest } => {
                let joins = u32::from(guest.is_some());
                match guest {
                    Some(guest) if step == 0 => receive(guest, JOIN, true),
                    Some(guest) if step > 2 * self.exchanges() => send(guest, LEAVE),
                    _ => {
                        let step = step - joins;
                        self.exchange(lane, number, step / 2, step.is_multiple_of(2))
                    }
                }
            }
        }
    }
}
