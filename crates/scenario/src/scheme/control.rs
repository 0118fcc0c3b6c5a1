//! Congestion control and its parameters.

use super::receivers::{read_expresspass, read_homa, read_ndp};
use super::values::{bytes, frame_class, parameters, rate, real, time, word_or};
use super::{FrameClass, MAX_BUFFER_BYTES};
use crate::document::{Node, Value};
use crate::params;
use crate::reader::{Read, Section, boolean, choice, count, fraction, number, quantity, refuse};
use crate::units::{MAX_RATE_BPS, RATE, SIZE, TIME};
use dataplane::cc::delay_window;
use dataplane::cc::hpcc::Reciprocals;
use dataplane::config::{
    CnpReaction, ControlConfig, DcqcnConfig, DctcpConfig, Division, FixedWindowConfig, HpccConfig,
    IntConfig, LineRateConfig, Reaction, Sending, TimelyBand, TimelyConfig, TransportConfig,
};
use dataplane::int::{Counter, IntFormat};
use dataplane::units::Time;

#[derive(Clone, Copy, PartialEq)]
enum ControlWord {
    LineRate,
    FixedWindow,
    Hpcc,
    Dcqcn,
    Timely,
    Dctcp,
    DelayWindow,
    ExpressPass,
    Ndp,
    Homa,
}

type Cnp = Option<(Time, u16, FrameClass)>;

/// With what numbers a control computes.
pub(super) fn whole_rates(t: &Section<'_>) -> Option<bool> {
    let words = [("real", false), ("integer", true)];
    t.required("arithmetic", "\"real\"", |n| choice(n, &words))
}

/// Whether bytes in flight are limited, and whether by one BDP whatever the rate.
pub(super) fn window(node: &Node) -> Read<(bool, bool)> {
    match &node.value {
        Value::String(word) if word == "bdp" => Ok((true, true)),
        Value::Bool(on) => Ok((*on, false)),
        _ => refuse(
            format!("expected true, false or \"bdp\", not {}", node.kind()),
            "true limits bytes in flight to BDP x rate / line rate, \"bdp\" to one BDP",
        ),
    }
}

/// A rate in bits per second.
fn bps(node: &Node) -> Read<f64> {
    quantity(node, &RATE, 1, MAX_RATE_BPS).map(|v| v as f64)
}

pub(super) fn read_control(s: &Section<'_>) -> (Option<Sending>, Option<Cnp>, bool, bool) {
    let words = [
        ("line-rate", ControlWord::LineRate),
        ("fixed-window", ControlWord::FixedWindow),
        ("hpcc", ControlWord::Hpcc),
        ("dcqcn", ControlWord::Dcqcn),
        ("timely", ControlWord::Timely),
        ("dctcp", ControlWord::Dctcp),
        ("delay-window", ControlWord::DelayWindow),
        ("expresspass", ControlWord::ExpressPass),
        ("ndp", ControlWord::Ndp),
        ("homa", ControlWord::Homa),
    ];
    let word = s.required("control", "\"hpcc\"", |n| choice(n, &words));
    let chosen = |w: ControlWord| word == Some(w);
    let why = |w: &str| format!("`control` is not \"{w}\"");
    let window = parameters(
        s,
        "fixed-window",
        chosen(ControlWord::FixedWindow),
        &why("fixed-window"),
        |t| {
            t.required("window", "\"bdp\"", |n| {
                word_or(n, "bdp", None, |n| {
                    quantity(n, &SIZE, 1, MAX_BUFFER_BYTES).map(Some)
                })
            })
        },
    );
    let hpcc = parameters(
        s,
        "hpcc",
        chosen(ControlWord::Hpcc),
        &why("hpcc"),
        read_hpcc,
    );
    let dcqcn = parameters(
        s,
        "dcqcn",
        chosen(ControlWord::Dcqcn),
        &why("dcqcn"),
        read_dcqcn,
    );
    let timely = parameters(
        s,
        "timely",
        chosen(ControlWord::Timely),
        &why("timely"),
        read_timely,
    );
    let dctcp = parameters(
        s,
        "dctcp",
        chosen(ControlWord::Dctcp),
        &why("dctcp"),
        read_dctcp,
    );
    let delay_window = params::table(
        s,
        "delay-window",
        delay_window::PARAMS,
        (!chosen(ControlWord::DelayWindow)).then_some("`control` is not \"delay-window\""),
        delay_window::configure,
    );
    let expresspass = parameters(
        s,
        "expresspass",
        chosen(ControlWord::ExpressPass),
        &why("expresspass"),
        read_expresspass,
    );
    let ndp = parameters(s, "ndp", chosen(ControlWord::Ndp), &why("ndp"), read_ndp);
    let homa = parameters(
        s,
        "homa",
        chosen(ControlWord::Homa),
        &why("homa"),
        read_homa,
    );
    let whole_rates = [
        hpcc.map(|(_, whole)| whole),
        dcqcn.map(|(.., whole)| whole),
        timely.map(|(_, whole)| whole),
        dctcp.map(|(_, whole)| whole),
    ];
    let control: Option<Sending> = match word {
        None => None,
        Some(ControlWord::ExpressPass) => {
            expresspass.map(|c| TransportConfig::ExpressPass(c).into())
        }
        Some(ControlWord::Ndp) => ndp.map(|c| TransportConfig::Ndp(c).into()),
        Some(ControlWord::Homa) => homa.map(|c| TransportConfig::Homa(c).into()),
        Some(ControlWord::LineRate) => Some(ControlConfig::LineRate(LineRateConfig).into()),
        Some(ControlWord::FixedWindow) => {
            window.map(|window| ControlConfig::FixedWindow(FixedWindowConfig { window }).into())
        }
        Some(ControlWord::Hpcc) => hpcc.map(|(c, _)| ControlConfig::Hpcc(c).into()),
        Some(ControlWord::Dcqcn) => dcqcn.map(|(c, ..)| ControlConfig::Dcqcn(c).into()),
        Some(ControlWord::Timely) => timely.map(|(c, _)| ControlConfig::Timely(c).into()),
        Some(ControlWord::Dctcp) => dctcp.map(|(c, _)| ControlConfig::Dctcp(c).into()),
        Some(ControlWord::DelayWindow) => {
            delay_window.map(|c| ControlConfig::DelayWindow(c).into())
        }
    };
    let cnp = dcqcn.and_then(|(_, cnp, _)| cnp);
    (
        control,
        Some(cnp),
        dcqcn.is_some_and(|(_, cnp, _)| cnp.is_none()),
        whole_rates.into_iter().flatten().any(|whole| whole),
    )
}

fn read_hpcc(t: &Section<'_>) -> Option<(HpccConfig, bool)> {
    let eta = t.required("eta", "0.95", |n| fraction(n, 0.01, 1.0));
    let max_stage = t.required("max_stage", "5", |n| count(n, 0, 1_000));
    let wai = t.required("wai", "\"80B\"", wai);
    let whole_rates = whole_rates(t);
    let min_rate = rate(t, "min_rate");
    let reactions = [
        ("combined", Reaction::Combined),
        ("per-ack", Reaction::PerAck),
        ("per-rtt", Reaction::PerRtt),
    ];
    let reaction = t.required("reaction", "\"combined\"", |n| choice(n, &reactions));
    let counters = [("tx", Counter::Sent), ("rx", Counter::Arrived)];
    let counter = t.required("rate", "\"tx\"", |n| choice(n, &counters));
    let alpha = t.required("alpha_fair", "\"off\"", alpha_fair);
    let division = read_division(t);
    let sample_feedback = t.required("sample_feedback", "false", boolean);
    let (wai_bytes, wai_flows, ai_bps) = wai?;
    let config = HpccConfig {
        eta: eta?,
        max_stage: max_stage? as u32,
        wai_bytes,
        ai_bps,
        wai_flows,
        min_rate_bps: min_rate?,
        // Its format is that of the switches, see `SchemeSpec::control`.
        telemetry: IntConfig {
            format: IntFormat::Exact,
            counter: counter?,
        },
        reaction: reaction?,
        alpha: alpha?,
        division: division?,
        sample_feedback: sample_feedback?,
    };
    Some((config, whole_rates?))
}

/// A size, the number of flows of the rule of thumb, or the rate that sends the bytes in T.
// NS3-34
fn wai(node: &Node) -> Read<(f64, Option<u32>, Option<f64>)> {
    let result = match &node.value {
        Value::String(text) if text.ends_with(" flows") => {
            let number = text.trim_end_matches(" flows").parse::<u32>();
            match number {
                Ok(flows @ 1..=1_000_000) => Ok((0.0, Some(flows), None)),
                _ => refuse(
                    format!("`{text}` is not a number of flows from 1 to 1000000"),
                    "",
                ),
            }
        }
        _ => quantity(node, &SIZE, 1, 10_000_000)
            .map(|bytes| (bytes as f64, None, None))
            .or_else(|refusal| match bps(node) {
                Ok(bps) => Ok((0.0, None, Some(bps))),
                Err(_) => Err(refusal),
            }),
    };
    result.map_err(|mut r| {
        r.hint = Some(
            "a size such as \"80B\", a rate such as \"50Mbps\", or the flows of the rule of thumb \
             such as \"100 flows\""
                .into(),
        );
        r
    })
}

/// "off", "max-min", or the α of Eq. 7.
pub(super) fn alpha_fair(node: &Node) -> Read<Option<f64>> {
    word_or(node, "off", None, |node| {
        word_or(node, "max-min", Some(f64::INFINITY), |node| {
            number(node, 0.05, 100.0).map(Some)
        })
    })
}

fn read_division(t: &Section<'_>) -> Option<Division> {
    let words = [("exact", false), ("table", true)];
    let table = t.required("division", "\"exact\"", |n| choice(n, &words));
    if table == Some(false) {
        t.refuse_useless("epsilon", "`division` is not \"table\"");
        return Some(Division::Exact);
    }
    let epsilon = t.required("epsilon", "0.01", |n| fraction(n, 0.0001, 0.5));
    table?;
    Some(Division::Table(Reciprocals::shared(epsilon?)))
}

fn read_dcqcn(t: &Section<'_>) -> Option<(DcqcnConfig, Cnp, bool)> {
    let reactions = [
        ("sampled", CnpReaction::Sampled),
        ("immediate", CnpReaction::Immediate),
    ];
    let reaction = t.required("reaction", "\"sampled\"", |n| choice(n, &reactions));
    let g = real(t, "g", 1e-6, 1.0);
    let alpha_timer = time(t, "alpha_timer", 1_000);
    let increase_timer = time(t, "increase_timer", 1_000);
    let byte_counter = t.required("byte_counter", "\"off\"", |n| {
        word_or(n, "off", None, |n| {
            quantity(n, &SIZE, 1, MAX_BUFFER_BYTES).map(Some)
        })
    });
    let fast_recovery = t.required("fast_recovery", "1", |n| count(n, 0, 1_000));
    let (ai, hai, min_rate) = (rate(t, "ai"), rate(t, "hai"), rate(t, "min_rate"));
    let decrease_interval = time(t, "decrease_interval", 0);
    let clamp_target = t.required("clamp_target", "false", boolean);
    let window = t.required("window", "false", window);
    let whole_rates = whole_rates(t);
    let cnp = read_cnp(t);
    let config = DcqcnConfig {
        reaction: reaction?,
        g: g?,
        alpha_timer_ps: alpha_timer?,
        increase_timer_ps: increase_timer?,
        byte_counter: byte_counter?,
        fast_recovery: fast_recovery? as u32,
        ai_bps: ai?,
        hai_bps: hai?,
        min_rate_bps: min_rate?,
        decrease_interval_ps: decrease_interval?,
        clamp_target: clamp_target?,
        window: window?.0,
        fixed_window: window?.1,
    };
    Some((config, cnp?, whole_rates?))
}

/// CNPs of their own, or `None`: carried by ACKs.
// NS3-23
fn read_cnp(t: &Section<'_>) -> Option<Cnp> {
    let size = t.required("cnp", "\"60B\"", |n| {
        word_or(n, "on-ack", None, |n| bytes(n, 1, 1_518).map(Some))
    });
    if size == Some(None) {
        for key in ["cnp_interval", "cnp_class"] {
            t.refuse_useless(
                key,
                "`cnp` = \"on-ack\": every ACK of a marked packet is a CNP",
            );
        }
        return Some(None);
    }
    let interval = time(t, "cnp_interval", 0);
    let class = t.required("cnp_class", "\"data\"", frame_class);
    Some(Some((interval?, size??, class?)))
}

fn read_timely(t: &Section<'_>) -> Option<(TimelyConfig, bool)> {
    let (alpha, beta) = (real(t, "alpha", 0.0, 1.0), real(t, "beta", 0.0, 1.0));
    let (t_low, t_high) = (time(t, "t_low", 1), time(t, "t_high", 1));
    let min_rtt = time(t, "min_rtt", 1);
    let (ai, hai, min_rate) = (rate(t, "ai"), rate(t, "hai"), rate(t, "min_rate"));
    let hai_after = t.required("hai_after", "5", |n| count(n, 0, 1_000));
    let hai_below_low = t.required("hai_below_low", "true", boolean);
    let window = t.required("window", "false", window);
    let whole_rates = whole_rates(t);
    let band = read_timely_band(t);
    if let (Some(low), Some(high)) = (t_low, t_high)
        && low > high
    {
        let message = format!(
            "t_low {} is above t_high {}",
            TIME.show(low),
            TIME.show(high)
        );
        t.complain_of(
            &["t_low"],
            message,
            "below t_low rates rise, above t_high they fall",
        );
    }
    let config = TimelyConfig {
        alpha: alpha?,
        beta: beta?,
        t_low_ps: t_low?,
        t_high_ps: t_high?,
        min_rtt_ps: min_rtt?,
        ai_bps: ai?,
        hai_bps: hai?,
        hai_after: hai_after? as u32,
        hai_below_low: hai_below_low?,
        min_rate_bps: min_rate?,
        window: window?.0,
        fixed_window: window?.1,
        band: band?,
    };
    Some((config, whole_rates?))
}

fn read_timely_band(t: &Section<'_>) -> Option<TimelyBand> {
    let words = [("original", false), ("patched", true)];
    let word = t.required("gradient", "\"original\"", |n| choice(n, &words));
    let why = "`gradient` is not \"patched\"";
    let patched = parameters(t, "patched", word == Some(true), why, |p| {
        let beta = real(p, "beta", 0.0, 1.0);
        let reference = time(p, "reference", 1);
        let range = real(p, "range", 1e-6, 1e6);
        Some(TimelyBand::Patched {
            beta: beta?,
            reference_ps: reference?,
            range: range?,
        })
    });
    if word? {
        patched
    } else {
        Some(TimelyBand::Gradient)
    }
}

fn read_dctcp(t: &Section<'_>) -> Option<(DctcpConfig, bool)> {
    let g = real(t, "g", 1e-6, 1.0);
    let slow_start = t.required("slow_start", "false", boolean);
    let initial_packets = t.required("initial_packets", "10", |n| count(n, 1, 100_000));
    let packet_or_rate = |n: &Node| word_or(n, "packet", None, |n| bps(n).map(Some));
    let ai = t.required("ai", "\"packet\"", packet_or_rate);
    let min_rate = t.required("min_rate", "\"packet\"", packet_or_rate);
    let whole_rates = whole_rates(t);
    let window = t.required("window", "true", boolean);
    let config = DctcpConfig {
        g: g?,
        slow_start: slow_start?,
        initial_packets: initial_packets? as u32,
        ai_bps: ai?,
        min_rate_bps: min_rate?,
        window: window?,
    };
    Some((config, whole_rates?))
}
