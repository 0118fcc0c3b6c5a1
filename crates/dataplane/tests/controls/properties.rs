use crate::sets::controls::{loss, path};
use crate::sets::defaults::defaults;
use crate::sets::{DcqcnSets, DctcpSets, HpccSets, TimelySets};
use dataplane::cc::bolt::SenderConfig;
use dataplane::cc::dcqcn::DcqcnConfig;
use dataplane::cc::dctcp::Dctcp;
use dataplane::cc::dctcp::DctcpConfig;
use dataplane::cc::fixed_window::FixedWindow;
use dataplane::cc::fixed_window::FixedWindowConfig;
use dataplane::cc::hpcc::Hpcc;
use dataplane::cc::hpcc::HpccConfig;
use dataplane::cc::line_rate::LineRate;
use dataplane::cc::line_rate::LineRateConfig;
use dataplane::cc::powertcp::{PowerConfig, PowerTcpConfig};
use dataplane::cc::swift::SwiftConfig;
use dataplane::cc::timely::TimelyConfig;
use dataplane::cc::{
    Ack, CONTROLS, Control, Feedback, Limit, Loss, Mixed, PathInfo, PerClass, Sent,
};
use dataplane::config::ControlConfig;
use dataplane::int::{IntHop, IntStack};
use dataplane::packet::Notice;
use proptest::prelude::*;

/// Returns a stateful congestion control and its lowest rate in bits per second, by index.
fn control(kind: usize, line_bps: f64) -> (ControlConfig, f64) {
    let least_bps = line_bps / 1000.0;
    let config = match kind {
        0 => ControlConfig::Hpcc(HpccConfig::paper(line_bps)),
        1 => ControlConfig::Hpcc(HpccConfig {
            max_stage: 0,
            ..HpccConfig::paper(line_bps)
        }),
        2 => ControlConfig::Timely(TimelyConfig {
            window: Limit::Rate,
            ..TimelyConfig::hpcc_comparison(line_bps)
        }),
        3 => ControlConfig::Dctcp(DctcpConfig::line_rate_start()),
        4 => ControlConfig::Dctcp(DctcpConfig::paper()),
        5 => ControlConfig::Dcqcn(DcqcnConfig {
            window: Limit::Rate,
            ..DcqcnConfig::vendor(line_bps)
        }),
        6 => ControlConfig::Dcqcn(DcqcnConfig {
            window: Limit::Rate,
            min_rate_bps: least_bps,
            ..DcqcnConfig::paper()
        }),
        7 => ControlConfig::PowerTcp(PowerTcpConfig {
            power: PowerConfig {
                floor: 0.0,
                ..PowerConfig::paper(line_bps)
            },
            ..PowerTcpConfig::paper(line_bps)
        }),
        _ => ControlConfig::ThetaPowerTcp(PowerConfig::paper(line_bps)),
    };
    (config, least_bps)
}

/// Generates numbers from a small range (so that equal numbers and zeros are frequent), a larger
/// range, or all numbers.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0u64..4, 3 => 0u64..100_000_000, 1 => any::<u64>()]
}

fn hop() -> impl Strategy<Value = IntHop> {
    let rate = prop_oneof![1 => Just(0u32), 6 => Just(100_000u32), 1 => any::<u32>()];
    (number(), number(), any::<u32>(), rate).prop_map(|(ts_ps, tx_bytes, qlen, rate_mbps)| IntHop {
        ts_ps,
        tx_bytes,
        qlen_bytes: qlen,
        rate_mbps,
    })
}

#[derive(Clone, Debug)]
enum Op {
    Ack {
        seq: u64,
        snd_nxt: u64,
        newly: u64,
        marked: bool,
        marks: u8,
        rtt_ps: u64,
        hops: Vec<IntHop>,
        switch: u32,
    },
    Cnp,
    Send(u64),
    Loss(u64),
    Notice(Notice),
}

fn op() -> impl Strategy<Value = Op> {
    let sequences = (number(), number(), 0u64..100_000);
    let hops = (prop::collection::vec(hop(), 0..4), 0u32..2);
    let ack = (sequences, any::<(bool, u8)>(), number(), hops);
    prop_oneof![
        8 => ack.prop_map(|((seq, snd_nxt, newly), (marked, marks), rtt_ps, (hops, switch))| Op::Ack {
            seq, snd_nxt, newly, marked, marks, rtt_ps, hops, switch
        }),
        2 => Just(Op::Cnp),
        2 => (1u64..9_001).prop_map(Op::Send),
        1 => number().prop_map(Op::Loss),
        2 => (number(), number(), any::<u32>()).prop_map(|(sent_ps, drain_ps, rate_mbps)| {
            Op::Notice(Notice { psn: 0, sent_ps, drain_ps, rate_mbps })
        }),
    ]
}

fn apply(control: &mut Mixed, config: &PerClass, path: &PathInfo, now: u64, op: &Op) {
    match op {
        Op::Ack {
            seq,
            snd_nxt,
            newly,
            marked,
            marks,
            rtt_ps,
            hops,
            switch,
        } => {
            let mut stack = IntStack::default();
            for hop in hops {
                stack.push(*switch, *hop);
            }
            let ack = Feedback::Ack(Ack {
                seq: *seq,
                newly: *newly,
                snd_nxt: *snd_nxt,
                marked: *marked,
                rtt_ps: *rtt_ps,
                remote_host_ps: 0,
                local_host_ps: 0,
                int: Some(stack.telemetry()),
                marks: *marks,
            });
            control.on_feedback(config, path, now, &ack);
        }
        Op::Cnp => control.on_feedback(config, path, now, &Feedback::Cnp),
        Op::Send(bytes) => {
            control.on_send(config, path, now, *bytes);
            let sent = Sent {
                seq: 0,
                bytes: *bytes,
                left: *bytes,
            };
            control.mark(config, path, now, &sent);
        }
        Op::Notice(notice) => control.on_feedback(config, path, now, &Feedback::Notice(*notice)),
        Op::Loss(snd_nxt) => {
            let loss = Feedback::Loss(Loss {
                snd_nxt: *snd_nxt,
                timeout: snd_nxt % 2 == 0,
            });
            control.on_feedback(config, path, now, &loss);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// HPCC-20, HPCC-21, DCQCN-16, DCQCN-17, TIMELY-13, DCTCP-10, POWER-05: for any feedback, the
    /// rate is a number between the lowest rate and the line rate. The window is between one byte
    /// and the larger of one BDP and one packet.
    #[test]
    fn rate_and_window_stay_in_bounds(
        kind in 0usize..9,
        path in paths(),
        ops in feedback(),
    ) {
        let (config, least_bps) = control(kind, path.line_bps);
        let most = (path.bdp_bytes.max(f64::from(path.mtu))) as u64;
        // DCTCP has a lowest window of one packet instead of a lowest rate.
        let least_bps = least_bps * (1.0 - 1e-9);
        feed(config, &path, &ops, |rate, window| {
            prop_assert!(rate >= least_bps && rate <= path.line_bps, "rate {}", rate);
            prop_assert!((1..=most).contains(&window), "window {}", window);
            Ok(())
        })?;
    }
}

/// Applies feedback to a flow of a control. Calls `check` with the rate and window after each piece
/// of feedback.
fn feed(
    config: ControlConfig,
    path: &PathInfo,
    ops: &[(u64, Op)],
    check: impl Fn(f64, u64) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let config = PerClass::new(&[config]);
    let mut control = Mixed::new(&config, path, 0);
    let mut now = 0;
    for (gap, op) in ops {
        now += gap;
        apply(&mut control, &config, path, now, op);
        let rate = control.rate_bps(&config, path, now);
        check(rate, control.window(&config, path, now))?;
    }
    Ok(())
}

/// Generates paths of several speeds, some with a base round trip of 0.
fn paths() -> impl Strategy<Value = PathInfo> {
    let gbps = prop_oneof![Just(0.01), Just(1.0), Just(100.0), Just(800.0)];
    (gbps, prop::bool::weighted(0.1)).prop_map(|(gbps, no_rtt)| match no_rtt {
        true => PathInfo {
            base_rtt_ps: 0,
            bdp_bytes: 0.0,
            ..path(gbps)
        },
        false => path(gbps),
    })
}

fn feedback() -> impl Strategy<Value = Vec<(u64, Op)>> {
    prop::collection::vec((0u64..50_000_000, op()), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// For any feedback, every control of the list (with its defaults) permits its flow to send.
    #[test]
    fn every_control_lets_a_flow_send(
        kind in 0..CONTROLS.len(),
        path in paths(),
        ops in feedback(),
    ) {
        let declared = &CONTROLS[kind];
        let config = (declared.configure)(&defaults(declared.params)).unwrap();
        feed(config, &path, &ops, |rate, window| {
            prop_assert!(rate > 0.0 && window >= 1, "{}: {} {}", declared.name, rate, window);
            Ok(())
        })?;
    }

    /// SWIFT-10, SWIFT-16: for any feedback, the window is between one packet and what the line
    /// sends in the target delay, and the pacing rate is positive, or there is no pacing.
    #[test]
    fn swifts_window_and_pace_stay_in_bounds(path in paths(), ops in feedback()) {
        // Target delay on a path with one switch: 22 µs.
        let most = (path.line_bps * 22e-6 / 8.0).max(1_000.0) as u64;
        feed(ControlConfig::Swift(SwiftConfig::default()), &path, &ops, |rate, window| {
            prop_assert!(rate.is_infinite() || window == 1, "{} {}", rate, window);
            prop_assert!(window <= most, "{}", window);
            Ok(())
        })?;
    }

    /// BOLT-18, BOLT-20: for any feedback, the window is between one byte and the larger of the
    /// largest window and one BDP. The flow is paced only if the window is at most one packet.
    #[test]
    fn bolts_window_and_pace_stay_in_bounds(path in paths(), ops in feedback()) {
        let most = path.bdp_bytes.max(373_760.0) as u64;
        feed(ControlConfig::Bolt(SenderConfig::default()), &path, &ops, |rate, window| {
            prop_assert!(rate.is_infinite() || window == 1, "{} {}", rate, window);
            prop_assert!(window <= most, "{}", window);
            Ok(())
        })?;
    }
}

/// The two controls without feedback do not pace. The fixed window is one BDP or the given size.
#[test]
fn line_rate_and_fixed_window() {
    let path = path(100.0);
    let mut line = LineRate::new(&LineRateConfig, &path, 0);
    assert_eq!(line.window(&LineRateConfig, &path, 0), u64::MAX);
    assert_eq!(line.rate_bps(&LineRateConfig, &path, 0), f64::INFINITY);
    for (window, wanted) in [(None, 100_000), (Some(5_000), 5_000), (Some(0), 1)] {
        let config = FixedWindowConfig { window };
        let mut fixed = FixedWindow::new(&config, &path, 0);
        assert_eq!(fixed.window(&config, &path, 0), wanted);
        assert_eq!(fixed.rate_bps(&config, &path, 0), f64::INFINITY);
    }
}

/// At a NIC with several controls, each flow has the control of its traffic class.
#[test]
fn the_class_of_a_flow_names_its_control() {
    let slow = ControlConfig::FixedWindow(FixedWindowConfig {
        window: Some(5_000),
    });
    let dctcp = ControlConfig::Dctcp(DctcpConfig::line_rate_start());
    let config = PerClass::new(&[ControlConfig::LineRate(LineRateConfig), slow, dctcp]);
    let windows = [0, 1, 2, 7].map(|class| {
        let path = PathInfo {
            class,
            ..path(100.0)
        };
        let mut control = Mixed::new(&config, &path, 0);
        control.on_feedback(&config, &path, 0, &loss(50_000));
        control.window(&config, &path, 0)
    });
    assert_eq!(windows, [u64::MAX, 5_000, 50_000, 50_000]);
}

/// The state of a flow is small: a hundred thousand flows need about 25 MB, and less with simple
/// controls.
#[test]
fn state_is_small() {
    assert!(size_of::<Mixed>() <= 264, "{}", size_of::<Mixed>());
    assert!(size_of::<Hpcc>() <= 256, "{}", size_of::<Hpcc>());
    assert!(size_of::<Dctcp>() <= 64, "{}", size_of::<Dctcp>());
    assert_eq!(size_of::<LineRate>(), 0);
}
