//! Parameter sets of the papers for tests. Scenarios have these values as defaults and presets.
#![allow(dead_code, reason = "each test uses some of them")]

pub mod controls;
pub mod defaults;

use dataplane::cc::dcqcn::{CnpClass, CnpReaction, DcqcnConfig};
use dataplane::cc::dctcp::DctcpConfig;
use dataplane::cc::delay_window::DelayWindowConfig;
use dataplane::cc::hpcc::{Arithmetic, Division, DivisionBy, Fairness, HpccConfig, Reaction};
use dataplane::cc::timely::{Gradient, Patched, TimelyConfig};
use dataplane::cc::{self, Increase, Limit};
use dataplane::config::{CreditQueue, TrimConfig};
use dataplane::int::{Counter, IntFormat};
use dataplane::transport::expresspass::ExpressPassConfig;
use dataplane::transport::ndp::NdpConfig;
use dataplane::units::{Time, US};

/// Minimum interval between the CNPs of a flow in the DCQCN paper, in ps.
pub const PAPER_CNP_INTERVAL_PS: Time = 50 * US;

/// Delay window with Algorithm 1 of the BFC paper: target 2.5 base RTTs. The cap is our choice.
pub const DELAY_WINDOW: DelayWindowConfig = DelayWindowConfig {
    target: 2.5,
    capped: true,
};

/// Parameter sets of [`HpccConfig`].
pub trait HpccSets: Sized {
    /// Returns the paper's values for senders of `line_bps`: η = 0.95, maxStage = 5, W_AI = 80
    /// bytes. The lowest rate is a thousandth of the line rate, 100 Mb/s at 100 Gb/s.
    fn paper(line_bps: f64) -> Self;
}

impl HpccSets for HpccConfig {
    fn paper(line_bps: f64) -> Self {
        // HPCC-22, HPCC-21: the paper's values and the lowest rate
        Self {
            eta: 0.95,
            max_stage: 5,
            wai: Increase::Bytes(80.0),
            min_rate_bps: line_bps / 1000.0,
            format: IntFormat::Exact,
            counted: Counter::Sent,
            reaction: Reaction::Combined,
            alpha: Fairness(None),
            division_by: DivisionBy::Number,
            division: Division::Exact,
            sample_feedback: false,
            arithmetic: Arithmetic::Real,
        }
    }
}

/// Parameter sets of [`DcqcnConfig`].
pub trait DcqcnSets: Sized {
    /// Returns the NIC vendor's values as the HPCC paper's authors use them, for senders of
    /// `line_bps`. They require a receiver that sends a CNP for each marked packet, or at least one
    /// per period of the α timer.
    fn vendor(line_bps: f64) -> Self;

    /// Returns the DCQCN paper's values, which are for links of 40 Gb/s.
    fn paper() -> Self;
}

impl DcqcnSets for DcqcnConfig {
    fn vendor(line_bps: f64) -> Self {
        // DCQCN-22: values of the NIC vendor
        Self {
            reaction: CnpReaction::Sampled,
            alpha_start: 1.0,
            alpha_first: false,
            g: 1.0 / 256.0,
            alpha_timer_ps: US,
            increase_timer_ps: 300 * US,
            byte_counter: None,
            fast_recovery: 1,
            ai_bps: line_bps / 5000.0,
            hai_bps: line_bps / 500.0,
            min_rate_bps: line_bps / 1000.0,
            decrease_interval_ps: 4 * US,
            clamp_target: false,
            window: Limit::None,
            cnp_bytes: Some(60),
            cnp_interval_ps: US,
            cnp_cycle: false,
            cnp_class: CnpClass::Data,
            arithmetic: cc::Arithmetic::Real,
        }
    }

    fn paper() -> Self {
        // DCQCN-21: values of the DCQCN paper
        Self {
            reaction: CnpReaction::Immediate,
            alpha_start: 1.0,
            alpha_first: false,
            g: 1.0 / 256.0,
            alpha_timer_ps: 55 * US,
            increase_timer_ps: 55 * US,
            byte_counter: Some(10_000_000),
            fast_recovery: 5,
            ai_bps: 40e6,
            hai_bps: 400e6,
            min_rate_bps: 40e6,
            decrease_interval_ps: 0,
            clamp_target: true,
            window: Limit::None,
            cnp_bytes: Some(60),
            cnp_interval_ps: PAPER_CNP_INTERVAL_PS,
            cnp_cycle: false,
            cnp_class: CnpClass::Data,
            arithmetic: cc::Arithmetic::Real,
        }
    }
}

/// Parameter sets of [`TimelyConfig`].
pub trait TimelySets: Sized {
    /// Returns the TIMELY paper's values, which are for links of 10 Gb/s.
    fn paper() -> Self;

    /// Returns the values of the HPCC paper's comparison, for senders of `line_bps`. Increases are
    /// proportional to the line rate (100 and 500 Mb/s at 100 Gb/s), and hyperactive also below
    /// `t_low_ps`.
    fn hpcc_comparison(line_bps: f64) -> Self;
}

impl TimelySets for TimelyConfig {
    fn paper() -> Self {
        // TIMELY-15: values of the TIMELY paper
        Self {
            alpha: 0.875,
            beta: 0.8,
            t_low_ps: 50 * US,
            t_high_ps: 500 * US,
            min_rtt_ps: 20 * US,
            ai_bps: 10e6,
            hai_bps: 50e6,
            hai_after: 5,
            hai_below_low: false,
            min_rate_bps: 10e6,
            window: Limit::None,
            arithmetic: cc::Arithmetic::Real,
            gradient: Gradient::Original,
            patched: None,
        }
    }

    fn hpcc_comparison(line_bps: f64) -> Self {
        // TIMELY-16: values of the HPCC paper's comparison
        Self {
            ai_bps: line_bps / 1000.0,
            hai_bps: line_bps / 200.0,
            hai_below_low: true,
            min_rate_bps: line_bps / 1000.0,
            ..Self::paper()
        }
    }
}

/// Parameters of patched TIMELY from its paper, for links of 10 Gb/s.
pub const PATCHED: Patched = Patched {
    beta: 0.008,
    reference_ps: 50 * US,
    range: 0.25,
}; // TIMELY-33

/// Parameter sets of [`DctcpConfig`].
pub trait DctcpSets: Sized {
    /// Returns DCTCP as published: g = 1/16, slow start from ten packets.
    fn paper() -> Self;

    /// Returns DCTCP as used in the comparisons of the HPCC and BFC papers: no slow start, and an
    /// initial window of one BDP.
    fn line_rate_start() -> Self;
}

impl DctcpSets for DctcpConfig {
    fn paper() -> Self {
        Self {
            g: 1.0 / 16.0,
            slow_start: true,
            initial_packets: 10,
            ai_bps: None,
            min_rate_bps: None,
            arithmetic: cc::Arithmetic::Real,
            window: true,
        } // DCTCP-13
    }

    fn line_rate_start() -> Self {
        Self {
            slow_start: false,
            ..Self::paper()
        } // DCTCP-14
    }
}

/// Returns the ExpressPass parameters of the BFC paper's comparison, with 84-byte credits for
/// frames of `frame_bytes`.
#[must_use]
pub const fn expresspass(frame_bytes: u16) -> ExpressPassConfig {
    // XP-10, XP-03: rates and credit queue
    ExpressPassConfig {
        alpha: 0.5,
        w_init: 0.0625,
        w_max: 0.5,
        w_min: 0.01,
        target_loss: 0.1,
        jitter: 0.1,
        queue: CreditQueue {
            credit_bytes: 84,
            frame_bytes,
            limit: 16,
            burst: 2,
        },
        timeout_ps: 10_000 * US,
    }
}

/// Returns the NDP parameters of the NDP paper, for frames of `frame_bytes`.
#[must_use]
pub const fn ndp(frame_bytes: u16) -> NdpConfig {
    // NDP-01, NDP-02, NDP-03, NDP-12: trimming and first window
    NdpConfig {
        window: None,
        timeout_ps: 1_000 * US,
        trim: TrimConfig {
            packets: 8,
            header_bytes: 64,
            control_bytes: 8 * frame_bytes as u64,
            weight: 10,
            either: true,
            returns: true,
        },
    }
}
