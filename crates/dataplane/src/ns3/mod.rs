//! Congestion controls and buffer accounting of the ns-3 simulator of HPCC (rules in
//! `specs/ns3.md`). The controls use integers, and the parameters of the controls in `cc/`. The
//! arbiter of that simulator is an arbiter of the NIC, `nic/scan.rs`.

pub(crate) mod integer;
pub(crate) mod mmu;

use crate::cc::ControlConfig;
use crate::cc::dcqcn::CnpReaction;
use crate::cc::hpcc::{Division, Reaction};
use crate::cc::timely::Gradient;
use crate::param::Conflict;

/// Returns true if that simulator has this congestion control.
// NS3-60
#[must_use]
pub const fn has(control: &ControlConfig) -> bool {
    matches!(
        control,
        ControlConfig::LineRate(_)
            | ControlConfig::FixedWindow(_)
            | ControlConfig::Hpcc(_)
            | ControlConfig::Dcqcn(_)
            | ControlConfig::Timely(_)
            | ControlConfig::Dctcp(_)
    )
}

/// Returns an error for parameters of a control that this simulator does not have. Its keys are
/// those of the control's table.
// NS3-60
#[must_use]
pub fn conflict(control: &ControlConfig) -> Option<Conflict> {
    match control {
        ControlConfig::Dcqcn(c)
            if c.byte_counter.is_some()
                || c.reaction == CnpReaction::Immediate
                || c.alpha_start != 1.0 =>
        {
            Some(Conflict::new(
                &["dcqcn"],
                "DCQCN with whole rates has the vendor's timers only",
                "set dcqcn.reaction = \"sampled\", dcqcn.byte_counter = \"off\" and dcqcn.alpha_start = 1",
            ))
        }
        ControlConfig::Timely(c) if c.gradient != Gradient::Original => Some(Conflict::new(
            &["timely"],
            "TIMELY with whole rates has the original band",
            "set timely.gradient = \"original\"",
        )),
        ControlConfig::Hpcc(c)
            if c.reaction == Reaction::PerAck
                || c.alpha.0.is_some_and(f64::is_finite)
                || c.division != Division::Exact =>
        {
            Some(Conflict::new(
                &["hpcc"],
                "HPCC with whole rates reacts per ACK and round trip or per round trip, to one link, and divides exactly",
                "set hpcc.reaction to \"combined\" or \"per-rtt\", alpha_fair to \"off\" or \"max-min\", and division = \"exact\"",
            ))
        }
        ControlConfig::Dctcp(c) if c.slow_start => Some(Conflict::new(
            &["dctcp"],
            "DCTCP with whole rates starts at line rate",
            "set dctcp.slow_start = false",
        )),
        _ => None,
    }
}
