//! Pins the configuration of every preset, and checks that each value cites its rule.

use dataplane::cc::powertcp::{PowerConfig, PowerTcpConfig};
use dataplane::cc::swift::SwiftConfig;
use dataplane::cc::{self, Increase};
use dataplane::hop::bfc::{BfcConfig, BitmapConfig, PauseBy};
use dataplane::hop::{HopConfig, Scheme};
use dataplane::link::cbfc::{CbfcConfig, Limit};
use std::collections::BTreeSet;
use std::path::Path;

use crate::sets::{
    DELAY_WINDOW, DcqcnSets, DctcpSets, HpccSets, PAPER_CNP_INTERVAL_PS, PATCHED, TimelySets,
};
use dataplane::cc::bolt::SenderConfig;
use dataplane::cc::dcqcn::{CnpClass, CnpReaction, DcqcnConfig};
use dataplane::cc::fixed_window::FixedWindowConfig;
use dataplane::cc::hpcc::{Arithmetic, Division, Fairness, HpccConfig, Reaction};
use dataplane::cc::line_rate::LineRateConfig;
use dataplane::config::{
    Accounting, Admission, Alpha, AssignBy, BaseRtt, Beside, Classify, ControlConfig, Departures,
    FlowOrder, HostConfig, IntConfig, IrnConfig, IrnWindow, PathChoice, Pfc, PfcThreshold,
    Recovery, Schedule, Sending, SprayConfig,
};
use dataplane::int::{Counter, IntFormat, Layout};
use dataplane::paths::{self, ObliviousConfig, RepsConfig};
use dataplane::signal::{Amount, BoltConfig, NotifierConfig};
use dataplane::sink::DropCause;
use dataplane::switch::DATA_CLASS;
use dataplane::units::{MS, NEVER, Rate, US};
use scenario::{Changes, PARAMETER_SETS, PRESETS, Preset, Scenario, SchemeConfig, surroundings};

const NETWORK: &str = "name = \"x\"\ntopology = { kind = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 2, \
                       link = { rate = \"100Gbps\", delay = \"1us\" }, uplink = { rate = \"400Gbps\", delay = \"1us\" \
                       } }\n[[traffic]]\nname = \"t\"\npattern = \"permutation\"\nsize = \"1MB\"\n";

fn config(preset: &str, set: &[&str]) -> SchemeConfig {
    let changes = Changes {
        scheme: Some(preset.to_owned()),
        set: set.iter().map(|s| (*s).to_owned()).collect(),
        seed: None,
        profile: None,
    };
    let scenario = Scenario::parse(NETWORK, "x.toml", Path::new("."), &changes)
        .unwrap_or_else(|e| panic!("{e}"));
    scenario
        .spec
        .scheme
        .configure(&surroundings(&scenario.spec, &scenario.graph))
}

#[test]
fn every_preset_has_a_summary_and_works_with_every_set() {
    for preset in PRESETS {
        assert!(!preset.summary().is_empty(), "{}", preset.name);
        for set in PARAMETER_SETS {
            config(preset.name, &[&format!("scheme.parameters={set}")]);
        }
    }
    assert!(Preset::find("bfc").is_some() && Preset::find("nothing").is_none());
}

// PRE-208, PRE-209: CBFC has the numbers of the standard, without PFC.
#[test]
fn credits_of_links() {
    let c = config("dcqcn+cbfc", &[]);
    assert_eq!(c.switch.hop, HopConfig::None);
    assert_eq!(c.switch.link.credit, Some(CbfcConfig::STANDARD));
    assert_eq!(c.switch.mmu.admission, Admission::SharedPool);
    assert!(c.switch.classes.iter().all(|class| !class.pausable));
    let one = config(
        "hpcc",
        &[
            "scheme.backpressure=cbfc",
            "scheme.admission=shared-pool",
            "scheme.cbfc.limit=80",
        ],
    );
    let limit = one.switch.link.credit.map(|cbfc| cbfc.limit);
    assert_eq!(limit, Some(Limit::Credits(80)));
}

// CBFC-21: a leaf in this network has two links of 100 Gbps and two of 400 Gbps.
#[test]
fn credits_must_fit_the_buffer() {
    let parse = |buffer: &str| {
        let changes = Changes {
            scheme: Some("dcqcn+cbfc".to_owned()),
            set: vec![format!("switch.buffer={buffer}")],
            ..Changes::default()
        };
        Scenario::parse(NETWORK, "x.toml", Path::new("."), &changes).map_err(|e| e.to_string())
    };
    assert!(parse("1MB").is_ok());
    let refused = parse("200KB").expect_err("too small");
    assert!(
        refused.contains("CBFC promises the neighbours of"),
        "{refused}"
    );
}

// CBFC-23: a frame of 1048 bytes needs five credits of 256 bytes.
#[test]
fn credits_must_suffice_for_a_frame() {
    let parse = |limit: u32| {
        let changes = Changes {
            scheme: Some("dcqcn+cbfc".to_owned()),
            set: vec![format!("scheme.cbfc.limit={limit}")],
            ..Changes::default()
        };
        Scenario::parse(NETWORK, "x.toml", Path::new("."), &changes).map_err(|e| e.problems)
    };
    assert!(parse(5).is_ok());
    let problems = parse(4).expect_err("a frame has too few credits");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].message.contains("takes 5"),
        "{}",
        problems[0].message
    );
}

// PRE-01, PRE-02, PRE-03, PRE-04, PRE-42: values that are common to all presets.
#[test]
fn common() {
    for preset in PRESETS {
        let c = config(preset.name, &[]);
        if c.nic.recovery == Recovery::Own {
            continue; // other tests check receiver-driven transports
        }
        // PRE-200, PRE-203, PRE-223: timestamps enlarge the header
        let stamped = matches!(
            c.nic.control,
            Sending::Control(
                ControlConfig::Timely(_)
                    | ControlConfig::Swift(_)
                    | ControlConfig::ThetaPowerTcp(_)
                    | ControlConfig::Bolt(_)
            )
        );
        let told = matches!(
            c.nic.control,
            Sending::Control(ControlConfig::Hpcc(_) | ControlConfig::PowerTcp(_))
        );
        assert_eq!(
            (c.nic.mtu, c.nic.header),
            (1000, if stamped { 56 } else { 48 }),
            "{}",
            preset.name
        );
        assert_eq!(c.nic.ack, if told { 46 } else { 60 }, "{}", preset.name); // PRE-19, PRE-202
        // PRE-210: paths that senders select
        let of_sender = c.nic.spray.is_some();
        assert_eq!(c.switch.path == PathChoice::Flow, !of_sender);
        assert_eq!(c.base_rtt, BaseRtt::Network);
        assert_eq!(
            (c.switch.mmu.buffer_bytes, c.switch.mmu.reserved_bytes),
            (12_000_000, 4_096)
        );
        assert_eq!(c.nic.data_class, DATA_CLASS);
        assert_eq!(c.nic.ack_every, 1);
        assert_eq!(c.switch.classes.len(), usize::from(DATA_CLASS) + 1);
        assert!(!c.switch.classes[0].pausable && !c.switch.classes[0].buffered);
    }
}

// PRE-06, PRE-08, PRE-20, PRE-21, PRE-22, PRE-23, PRE-24, PRE-25, PRE-26, PRE-39: values of the
// preset `bfc`
#[test]
fn bfc() {
    let c = config("bfc", &[]);
    assert_eq!(
        c.switch.classify,
        Classify::Dynamic {
            queues: 31,
            table: 3200,
            sticky_ps: 0
        }
    );
    assert_eq!(c.switch.assign.sticky_hrtts, Some(2 << 16));
    assert_eq!(c.switch.schedule, Schedule::Drr { quantum: 1048 });
    assert_eq!(c.switch.mmu.admission, Admission::SharedPool);
    let bfc = *c.switch.hop.bfc().unwrap();
    assert_eq!(
        (bfc.threshold_factor, bfc.hrtt_ps, bfc.frame_bytes),
        (65_536, None, 64)
    );
    // PRE-45: first packet, arriving packets
    assert!(bfc.first_exempt && !bfc.count_arriving);
    assert_eq!(bfc.upstream_queues, 1024);
    assert!(c.switch.ecn.is_none() && c.switch.int.is_none());
    assert_eq!(
        c.nic.control,
        Sending::Control(ControlConfig::LineRate(LineRateConfig))
    );
    assert_eq!(c.nic.recovery, Recovery::go_back_n(10 * MS));
    assert_eq!(c.nic.ack_class, 1);
    assert!(c.nic.obeys.contains(Scheme::Bfc.number()));
    assert_eq!(c.nic.queues, 1024);
    // A port with 128 queues has 128 × 100 entries in the flow table.
    let wide = config(
        "bfc",
        &["scheme.queues=128", "scheme.dynamic.sticky=\"7us\""],
    );
    assert_eq!(
        wide.switch.classify,
        Classify::Dynamic {
            queues: 127,
            table: 12_800,
            sticky_ps: 7 * US
        }
    );
}

// PRE-27, PRE-28: variants of `bfc`
#[test]
fn bfc_variants() {
    let c = config("bfc-single", &[]);
    assert!(matches!(
        c.switch.classify,
        Classify::Dynamic { queues: 1, .. }
    ));
    assert!(c.switch.hop.bfc().is_some());
    let c = config("bfc-stochastic", &[]);
    let counted = matches!(
        c.switch.classify,
        Classify::Dynamic {
            queues: 31,
            table: 3200,
            ..
        }
    );
    assert!(counted && c.switch.assign.by == AssignBy::Hash);
    assert!(c.switch.hop.bfc().is_some());
    let c = config("bfc-nic-deaf", &[]);
    assert!(!c.nic.obeys.contains(Scheme::Bfc.number()));
    assert_eq!(
        c.nic.control,
        Sending::Control(ControlConfig::FixedWindow(FixedWindowConfig {
            window: None
        }))
    );
}

// PRE-50, PRE-51, PRE-52, PRE-53, PRE-54, PRE-55, PRE-56, PRE-57, PRE-58: options of BFC
#[test]
fn bfc_whole() {
    use dataplane::config::AssignConfig;
    let plain = config("bfc", &[]);
    let paper = AssignConfig {
        sticky_hrtts: Some(2 << 16),
        ..AssignConfig::PAPER
    };
    assert_eq!(plain.switch.assign, paper);
    assert_eq!(plain.switch.hop, HopConfig::Bfc(BfcConfig::PAPER));
    // Four traffic classes share the 32 queues of a port.
    let class = "traffic.t.class=3";
    let queues = |set: &[&str]| match config("bfc", set).switch.classify {
        Classify::Dynamic { queues, .. } => queues,
        other => panic!("{other:?}"),
    };
    assert_eq!(queues(&[class]), 8);
    assert_eq!(queues(&[class, "scheme.queues=128"]), 32);
    assert_eq!(queues(&[class, "scheme.queues_per=class"]), 31);
    let bfc = |set: &[&str]| config("bfc", set).switch.hop.bfc().copied().unwrap();
    let told = bfc(&["scheme.bfc.tell=edges+bitmap", "scheme.bfc.floor=frame"]);
    let bitmap = BitmapConfig {
        period_ps: 10 * US,
        frame_bytes: 156,
        edges: true,
    };
    assert_eq!((told.bitmap, told.floor_bytes), (Some(bitmap), 1048));
    let flow = config("bfc-flow", &[]).switch;
    assert_eq!(flow.hop.bfc().unwrap().by, PauseBy::Flow);
    assert_eq!(flow.assign.sticky_hrtts, Some(0));
    assert_eq!(
        config("bfc-sampling", &[])
            .switch
            .hop
            .bfc()
            .copied()
            .unwrap()
            .sampling,
        32_768
    );
    assert!(config("bfc-incast-label", &[]).switch.assign.incast_queue);
    let window = config("bfc+window", &[]).nic.control;
    assert_eq!(
        window,
        Sending::Control(ControlConfig::DelayWindow(DELAY_WINDOW))
    );
    for name in ["bfc-srf", "ideal-srf"] {
        let c = config(name, &[]);
        assert_eq!(c.switch.schedule, Schedule::ShortestRemaining);
        assert_eq!(c.nic.order, FlowOrder::ShortestFirst);
    }
    let dqa = config("hpcc+dqa", &[]).switch;
    assert!(
        matches!(dqa.classify, Classify::Dynamic { queues: 31, .. }) && dqa.hop.bfc().is_none()
    );
}

// BFCC-01, BFCC-02, BFCC-03, BFCC-04, BFCC-05, BFCC-06, BFCC-07, BFCC-08, BFCC-09, BFCC-10,
// BFCC-11, BFCC-12: profile of the authors' code
#[test]
fn the_code_of_the_bfc_paper() {
    use dataplane::config::{SearchStart, SlotBy, WhenFull};
    let c = config("bfc", &["scheme.profile=nsdi22-code"]);
    assert_eq!(
        (c.nic.data_bytes(1000), c.nic.ack, c.nic.ack_every),
        (1020, 30, 256)
    );
    assert_eq!(
        (c.switch.mmu.admission, c.nic.recovery),
        (Admission::Unlimited, Recovery::NONE)
    );
    let Classify::Dynamic { queues, table, .. } = c.switch.classify else {
        panic!()
    };
    assert_eq!((queues, table), (31, 7200));
    let assign = c.switch.assign;
    assert_eq!(assign.sticky_hrtts, Some(3 << 16));
    assert_eq!(assign.slot, SlotBy::Source);
    assert_eq!(
        (assign.start, assign.when_full),
        (SearchStart::Random { reserved: 5 }, WhenFull::ByEntry)
    );
    let bfc = *c.switch.hop.bfc().unwrap();
    assert!(bfc.count_arriving && bfc.first_exempt);
    assert_eq!((bfc.hrtt_ps, bfc.tau_ps), (Some(2 * US), US));
    let bitmap = BitmapConfig {
        period_ps: US,
        frame_bytes: 156,
        edges: false,
    };
    assert_eq!(bfc.bitmap, Some(bitmap));
    assert_eq!(
        (c.switch.schedule, c.nic.order),
        (Schedule::Cyclic, FlowOrder::Cyclic)
    );
    // With other schemes, the profile only changes the packets.
    let c = config("hpcc", &["scheme.profile=nsdi22-code"]);
    assert_eq!((c.switch.classify, c.nic.header), (Classify::Fifo, 20));
}

// PRE-09, PRE-11, PRE-12, PRE-13, PRE-18, PRE-31, PRE-32, PRE-40: values of the preset `hpcc`
#[test]
fn hpcc() {
    let c = config("hpcc", &[]);
    let Sending::Control(ControlConfig::Hpcc(hpcc)) = &c.nic.control else {
        panic!()
    };
    assert_eq!(
        (hpcc.eta, hpcc.max_stage, hpcc.wai, hpcc.min_rate_bps),
        (0.95, 5, Increase::Bytes(80.0), 1e8)
    );
    assert!(c.switch.int.is_some());
    assert_eq!(
        (c.nic.int, c.nic.data_bytes(1000), c.nic.ack_bytes()),
        (42, 1090, 88)
    );
    assert_eq!(c.switch.max_frame, 1090);
    let Admission::Pfc(pfc) = c.switch.mmu.admission else {
        panic!()
    };
    assert_eq!(pfc.threshold, PfcThreshold::Dynamic(Alpha::new(0.11)));
    assert_eq!(
        (
            pfc.xon_offset,
            pfc.frame_bytes,
            pfc.headroom,
            pfc.response_ps
        ),
        (3_072, 64, None, 0)
    );
    assert_eq!(
        (c.nic.ack_class, c.switch.classify, c.switch.schedule),
        (DATA_CLASS, Classify::Fifo, Schedule::Fifo)
    );
    assert!(c.switch.classes[usize::from(DATA_CLASS)].pausable);
    assert!(c.nic.obeys.contains(Scheme::Pfc.number()));
    let paper = config("hpcc", &["scheme.parameters=hpcc-paper"]);
    assert_eq!((paper.nic.int, paper.nic.ack_bytes()), (42, 88));
}

// PRE-70: format of INT, as switches write it and HPCC reads it.
#[test]
fn telemetry() {
    let both = |set: &[&str]| {
        let c = config("hpcc", set);
        let Sending::Control(ControlConfig::Hpcc(hpcc)) = c.nic.control else {
            panic!()
        };
        let int = c.switch.int.expect("INT is on");
        assert_eq!(hpcc.format, int.format, "written and read alike");
        (int, c.switch.classes.iter().map(|c| c.int).collect())
    };
    assert_eq!(both(&[]), (IntConfig::default(), vec![false, true, true]));
    let (int, classes) = both(&[
        "scheme.int.format=wire",
        "scheme.int.multiplier=4",
        "scheme.int.qlen_bits=17",
        "scheme.int.pauses=true",
    ]);
    assert_eq!(int.format, IntFormat::Wire(Layout::new(4, 17)));
    assert_eq!(classes, [true; 3]);
    let (int, _) = both(&["scheme.int.format=wire"]);
    assert_eq!(int.format, IntFormat::Wire(Layout::new(1, 16)));
}

// PRE-71: the variants of HPCC, and the values without any variant.
#[test]
fn variants_of_hpcc() {
    let hpcc = |set: &[&str]| match config("hpcc", set).nic.control {
        Sending::Control(ControlConfig::Hpcc(hpcc)) => hpcc,
        other => panic!("{other:?}"),
    };
    assert_eq!(hpcc(&[]), HpccConfig::paper(1e11));
    let one = |set: &str| hpcc(&[&format!("scheme.hpcc.{set}")]);
    assert_eq!(one("reaction=per-ack").reaction, Reaction::PerAck);
    assert_eq!(one("reaction=per-rtt").reaction, Reaction::PerRtt);
    assert_eq!(one("rate=rx").counted, Counter::Arrived);
    let c = config("hpcc", &["scheme.hpcc.rate=rx"]);
    assert_eq!(c.switch.int.unwrap().counter, Counter::Arrived);
    assert_eq!(one("alpha_fair=2").alpha, Fairness(Some(2.0)));
    assert_eq!(
        one("alpha_fair=max-min").alpha,
        Fairness(Some(f64::INFINITY))
    );
    assert!(one("sample_feedback=true").sample_feedback);
    let flows = one("wai=100 flows");
    assert_eq!(flows.wai, Increase::Flows(100));
    let Division::Table(table) = one("division=table").division else {
        panic!()
    };
    assert_eq!(table.epsilon(), 0.01);
    let coarse = hpcc(&["scheme.hpcc.division=table", "scheme.hpcc.epsilon=5%"]);
    assert!(matches!(coarse.division, Division::Table(t) if t.epsilon() == 0.05));
    // HPCC-41: fixed-point arithmetic
    let fixed = hpcc(&[
        "scheme.hpcc.arithmetic=fixed",
        "scheme.hpcc.division=table",
        "scheme.int.format=wire",
    ]);
    assert_eq!(fixed.arithmetic, Arithmetic::Fixed);
}

// PRE-29: stochastic fair queuing
#[test]
fn hpcc_sfq() {
    let c = config("hpcc+sfq", &[]);
    assert_eq!(
        (c.switch.classify, c.switch.schedule),
        (
            Classify::Hash { queues: 31 },
            Schedule::Drr { quantum: 1090 }
        )
    );
    assert!(
        matches!(c.nic.control, Sending::Control(ControlConfig::Hpcc(_))) && c.switch.int.is_some()
    );
}

// PRE-15, PRE-16, PRE-17, PRE-33, PRE-34, PRE-35, PRE-40: values of the preset `dcqcn`
#[test]
fn dcqcn() {
    let c = config("dcqcn", &[]);
    let red = |c: &SchemeConfig, gbps: u64| {
        let ecn = c.switch.ecn.clone().unwrap();
        assert!(ecn.at_dequeue);
        let red = ecn.at(Rate::from_gbps(gbps));
        (red.kmin_bytes, red.kmax_bytes, red.pmax)
    };
    assert_eq!(red(&c, 100), (100_000, 400_000, 0.2));
    assert_eq!(red(&c, 400), (400_000, 1_600_000, 0.2));
    let Sending::Control(ControlConfig::Dcqcn(d)) = c.nic.control else {
        panic!()
    };
    assert_eq!(
        d,
        dataplane::cc::dcqcn::DcqcnConfig::vendor(1e11),
        "as the vendor's values in the dataplane"
    );
    assert_eq!(d.reaction, CnpReaction::Sampled);
    assert_eq!(
        (c.nic.cnp_interval_ps, c.nic.cnp, c.nic.cnp_class),
        (Some(US), 60, DATA_CLASS)
    );
    let paper = config("dcqcn", &["scheme.parameters=hpcc-paper"]);
    assert_eq!(red(&paper, 100), (400_000, 1_600_000, 0.2));
    let Sending::Control(ControlConfig::Dcqcn(d)) = config("dcqcn+win", &[]).nic.control else {
        panic!()
    };
    assert_eq!(d.window, cc::Limit::Rate);
}

// PRE-36, PRE-34: values of the preset `timely`
#[test]
fn timely() {
    let Sending::Control(ControlConfig::Timely(t)) = config("timely", &[]).nic.control else {
        panic!()
    };
    assert_eq!(
        t,
        dataplane::cc::timely::TimelyConfig::hpcc_comparison(1e11)
    );
    let Sending::Control(ControlConfig::Timely(t)) = config("timely+win", &[]).nic.control else {
        panic!()
    };
    assert_eq!(t.window, cc::Limit::Rate);
}

// PRE-37, PRE-40: values of the preset `dctcp`
#[test]
fn dctcp() {
    let c = config("dctcp", &[]);
    let Sending::Control(ControlConfig::Dctcp(d)) = c.nic.control else {
        panic!()
    };
    assert_eq!(d, dataplane::cc::dctcp::DctcpConfig::line_rate_start());
    let first = |c: SchemeConfig| c.switch.ecn.unwrap().profiles[0].1;
    assert_eq!(first(c).kmin_bytes, 100_000);
    let step = first(config("dctcp", &["scheme.parameters=hpcc-paper"]));
    assert_eq!(
        (step.kmin_bytes, step.kmax_bytes, step.pmax),
        (300_000, 300_000, 1.0)
    );
}

// PRE-30, PRE-05, PRE-07: presets for comparison
#[test]
fn ideal_and_plain() {
    let c = config("ideal-fq", &[]);
    assert_eq!(
        (c.switch.classify, c.switch.mmu.admission),
        (Classify::PerFlow, Admission::Unlimited)
    );
    assert_eq!(
        (c.nic.control, c.nic.recovery),
        (
            Sending::Control(ControlConfig::FixedWindow(FixedWindowConfig {
                window: None
            })),
            Recovery::NONE
        )
    );
    assert_eq!(c.nic.ack_class, 1);
    let c = config("line-rate", &[]);
    assert_eq!(
        (c.nic.control, c.switch.classify),
        (
            Sending::Control(ControlConfig::LineRate(LineRateConfig)),
            Classify::Fifo
        )
    );
    assert!(matches!(c.switch.mmu.admission, Admission::Pfc(_)) && c.switch.hop.bfc().is_none());
    let c = config("fixed-window", &["scheme.fixed-window.window=\"64KB\""]);
    assert_eq!(
        c.nic.control,
        Sending::Control(ControlConfig::FixedWindow(FixedWindowConfig {
            window: Some(64_000)
        }))
    );
}

// PRE-41, PRE-42, PRE-43, PRE-44, PRE-90: defaults of keys that the scenario does not set.
#[test]
fn defaults() {
    let scenario = Scenario::parse(NETWORK, "x.toml", Path::new("."), &Changes::default()).unwrap();
    let spec = &scenario.spec;
    assert_eq!(spec.seed, 1);
    assert_eq!(
        (spec.buffer_bytes, spec.reserved_bytes),
        (12_000_000, 4_096)
    );
    assert_eq!((spec.run.probe_ps, spec.run.warmup_ps), (10 * US, 0));
    assert_eq!(spec.run.epoch_ps, 0);
    assert_eq!(
        (spec.scheme.preset.as_str(), spec.scheme.parameters.as_str()),
        ("bfc", "none")
    );
}

// PRE-10, PRE-14: words of axes that no preset uses.
#[test]
fn axes_alone() {
    let c = config("hpcc", &["scheme.classify=hash", "scheme.schedule=drr"]);
    assert_eq!(c.switch.schedule, Schedule::Drr { quantum: 1090 });
    let c = config("dctcp", &["scheme.admission=egress-dynamic"]);
    assert_eq!(
        c.switch.mmu.admission,
        Admission::EgressDynamic {
            alpha: Alpha(65_536),
            per_queue: false
        }
    );
    assert!(!c.switch.classes[usize::from(DATA_CLASS)].pausable);
    let c = config("hpcc", &["scheme.pfc.xoff=500KB"]);
    assert!(
        matches!(c.switch.mmu.admission, Admission::Pfc(p) if p.threshold == PfcThreshold::Static(500_000))
    );
    let c = config("hpcc", &["scheme.pfc.xoff=2"]);
    assert!(
        matches!(c.switch.mmu.admission, Admission::Pfc(p) if p.threshold == PfcThreshold::Dynamic(Alpha(131_072)))
    );
}

const LOSSY: &str = "scheme.admission=egress-dynamic";

fn pfc(c: &SchemeConfig) -> Pfc {
    let Admission::Pfc(pfc) = c.switch.mmu.admission else {
        panic!("no PFC")
    };
    pfc
}

// PRE-120, PRE-121, PRE-122, PRE-123, PRE-124, PRE-125, SPFC-01, SPFC-05, SPFC-06, SPFC-18:
// selective PFC
#[test]
fn spfc_and_its_rivals() {
    for control in ["dcqcn", "timely"] {
        let plain = config(control, &[]);
        assert_eq!(
            (pfc(&plain).victims, pfc(&plain).headroom_beside),
            (None, false)
        );
        let [st, dt, spfc] =
            ["st", "dt", "spfc"].map(|name| config(&format!("{control}+{name}"), &[]));
        assert_eq!(pfc(&st).threshold, PfcThreshold::Equal);
        assert_eq!(pfc(&dt).threshold, PfcThreshold::Dynamic(Alpha::new(2.0)));
        assert_eq!(pfc(&dt).victims, None);
        assert!(pfc(&dt).headroom_beside && pfc(&st).headroom_beside);
        let selective = pfc(&spfc);
        let without = Pfc {
            victims: None,
            ..selective
        };
        assert_eq!(without, pfc(&dt), "what else differs from DT is nothing");
        assert_eq!(spfc.nic.control, plain.nic.control);
        let found = selective.victims.expect("SPFC");
        assert_eq!(
            (found.k, found.count, found.unpaused_waits),
            (5 << 16, Departures::Packets, false)
        );
        // 17.5 round trips over a link of 1 us take 35 us. This is more than 4 round trips of the
        // network, which take 8 us each plus the transmission times of frames and ACKs.
        assert_eq!(found.interval_ps, 35 * US);
        let four = config(&format!("{control}+spfc"), &["scheme.spfc.interval=4"]);
        let four_ps = pfc(&four).victims.expect("SPFC").interval_ps;
        assert!((32 * US..35 * US).contains(&four_ps), "{four_ps}");
    }
}

// PRE-122, SPFC-08, SPFC-14, SPFC-16, SPFC-18, SPFC-20 to SPFC-22: each open point of the paper is
// an option. SPFC works with any congestion control.
#[test]
fn spfc_is_an_axis() {
    let set = [
        "scheme.victims=spfc",
        "scheme.spfc.interval=80us",
        "scheme.spfc.k=7",
    ];
    for preset in ["hpcc", "hpcc+sfq", "fixed-window", "dcqcn+win"] {
        let found = pfc(&config(preset, &set)).victims.expect("SPFC");
        assert_eq!((found.interval_ps, found.k), (80 * US, 7 << 16), "{preset}");
    }
    let set = [
        "scheme.victims=spfc",
        "scheme.spfc.count=bytes",
        "scheme.spfc.unpaused=waits",
        "scheme.spfc.after_resume=at-once",
        "scheme.spfc.detect=at-once",
        "scheme.spfc.rate=400Gbps",
        "scheme.spfc.interval=6",
        "scheme.base_rtt=10us",
    ];
    let found = pfc(&config("hpcc", &set)).victims.expect("SPFC");
    assert_eq!(
        (found.count, found.unpaused_waits, found.interval_ps),
        (Departures::Bytes, true, 60 * US)
    );
    assert!(found.resumes_at_once && found.detects_at_once);
    assert_eq!(found.rate, Some(Rate::from_gbps(400)));
    for (said, beside) in [
        ("0B", Beside::Bytes(0)),
        ("2MB", Beside::Bytes(2_000_000)),
        ("buffer", Beside::Buffer),
        ("unbounded", Beside::Unbounded),
    ] {
        let set = ["scheme.victims=spfc", &format!("scheme.spfc.beside={said}")];
        let found = pfc(&config("hpcc", &set)).victims.expect("SPFC");
        assert_eq!((found.beside, found.resumes_at_once), (beside, false));
        assert_eq!((found.detects_at_once, found.rate), (false, None));
    }
    // With links of 1 us, the interval is 35 us for the runs with K = 5, and 120 us for the runs
    // with K = 10.
    let auto = |k: &str| {
        let set = ["scheme.victims=spfc", &format!("scheme.spfc.k={k}")];
        let interval_ps = pfc(&config("hpcc", &set))
            .victims
            .expect("SPFC")
            .interval_ps;
        (interval_ps, interval_ps == 120 * US)
    };
    assert!(
        (34 * US..38 * US).contains(&auto("5").0),
        "4 round trips or 35 us"
    );
    assert!(auto("10").1);
    let bfc = config("bfc", &["scheme.admission=pfc", "scheme.victims=spfc"]);
    assert!(bfc.switch.hop.bfc().is_some() && pfc(&bfc).victims.is_some());
}

// PRE-126, PRE-127: host parameters of the SPFC paper
#[test]
fn hosts_of_the_spfc_paper_have_the_values_of_the_papers_it_cites() {
    let paper = "scheme.parameters=spfc-paper";
    let c = config("dcqcn+spfc", &[paper]);
    let Sending::Control(ControlConfig::Dcqcn(dcqcn)) = c.nic.control else {
        panic!()
    };
    assert_eq!(dcqcn, DcqcnConfig::paper());
    assert_eq!(c.nic.cnp_interval_ps, Some(PAPER_CNP_INTERVAL_PS));
    let red = c.switch.ecn.unwrap().at(Rate::from_gbps(100));
    assert_eq!(
        (red.kmin_bytes, red.kmax_bytes, red.pmax),
        (12_500, 500_000, 0.01)
    );
    let timely = config("timely+dt", &[paper]);
    assert_eq!(timely.nic.control, config("timely", &[]).nic.control);
}

// PRE-128: DCQCN in the mode-DCQCN paper
#[test]
fn dcqcn_of_the_mode_dcqcn_paper_differs_by_its_timers_and_its_least_rate() {
    let [plain, paper] = ["hpcc-paper", "dcqcn-paper@hpcc"].map(|set| {
        let c = config("dcqcn+spfc", &[&format!("scheme.parameters={set}")]);
        let Sending::Control(ControlConfig::Dcqcn(dcqcn)) = c.nic.control else {
            panic!()
        };
        (dcqcn, c.switch.ecn)
    });
    let expected = DcqcnConfig {
        alpha_timer_ps: 50 * US,
        decrease_interval_ps: 50 * US,
        increase_timer_ps: 55 * US,
        min_rate_bps: 1e9,
        ..plain.0
    };
    assert_eq!(paper, (expected, plain.1));
}

// PRE-129: DCQCN in the BFC paper
#[test]
fn dcqcn_of_the_bfc_paper_is_that_of_its_authors_with_a_window() {
    let c = config("dcqcn", &["scheme.parameters=ns3-rdma@bfc"]);
    let Sending::Control(ControlConfig::Dcqcn(dcqcn)) = c.nic.control else {
        panic!()
    };
    let expected = DcqcnConfig {
        alpha_start: 0.5,
        alpha_first: true,
        increase_timer_ps: 60 * US,
        byte_counter: Some(300_000_000),
        fast_recovery: 4,
        hai_bps: 2e8,
        min_rate_bps: 1e8,
        clamp_target: true,
        window: cc::Limit::Bdp,
        cnp_cycle: true,
        cnp_class: CnpClass::Control,
        ..DcqcnConfig::paper()
    };
    assert_eq!(dcqcn, expected);
    assert!(c.nic.host.cnp_cycle);
    assert_eq!(c.nic.cnp_interval_ps, Some(50 * US));
    assert_ne!(c.nic.cnp_class, c.nic.data_class);
    assert_eq!(c.nic.header, 20);
    let plain = config("dcqcn", &[]);
    assert!(!plain.nic.host.cnp_cycle);
    assert_eq!(plain.nic.cnp_class, plain.nic.data_class);
}

// PRE-130: HPCC and DCTCP in the BFC paper
#[test]
fn hpcc_and_dctcp_of_the_bfc_papers_curves_are_those_of_a_fork() {
    let set = ["scheme.parameters=ns3-hpcc@bfc"];
    for preset in ["hpcc", "hpcc-no-pfc"] {
        let c = config(preset, &set);
        let Sending::Control(ControlConfig::Hpcc(hpcc)) = c.nic.control else {
            panic!()
        };
        let expected = HpccConfig {
            max_stage: 0,
            wai: Increase::Rate(5e7),
            ..HpccConfig::paper(1e11)
        };
        assert_eq!(hpcc, expected);
        assert_eq!(c.nic.int, 42);
        assert_ne!(c.nic.ack_class, c.nic.data_class);
    }
    let c = config("dctcp", &set);
    let Sending::Control(ControlConfig::Dctcp(dctcp)) = c.nic.control else {
        panic!()
    };
    let plain = dataplane::cc::dctcp::DctcpConfig::line_rate_start();
    let expected = dataplane::cc::dctcp::DctcpConfig {
        g: 1.0 / 256.0,
        ai_bps: Some(5e8),
        ..plain
    };
    assert_eq!(dctcp, expected);
    let red = c.switch.ecn.unwrap().profiles[0].1;
    assert_eq!(
        (red.kmin_bytes, red.kmax_bytes, red.pmax),
        (100_000, 400_000, 1.0)
    );
    assert_ne!(c.nic.ack_class, c.nic.data_class);
}

/// HPCC paper, Fig. 12: the configurations of two congestion controls with three flow controls.
// PRE-08, PRE-14, PRE-60: flow control
#[test]
fn flow_control_choices_of_the_hpcc_paper() {
    for control in ["dcqcn", "hpcc"] {
        let paper = "scheme.parameters=hpcc-paper";
        let pfc = config(control, &[paper]);
        let back = config(control, &[paper, LOSSY]);
        let irn = config(control, &[paper, LOSSY, "scheme.recovery=irn"]);
        assert!(matches!(pfc.switch.mmu.admission, Admission::Pfc(_)));
        for lossy in [&back, &irn] {
            let Admission::EgressDynamic { alpha, per_queue } = lossy.switch.mmu.admission else {
                panic!("{control}")
            };
            assert_eq!((alpha, per_queue), (Alpha(65_536), false));
            assert!(lossy.switch.classes.iter().all(|c| !c.pausable));
            assert_eq!(lossy.nic.control, pfc.nic.control, "nothing else changes");
            assert_eq!(lossy.switch.ecn, pfc.switch.ecn);
        }
        assert!(matches!(pfc.nic.recovery, Recovery::GoBackN { .. }));
        assert_eq!(back.nic.recovery, pfc.nic.recovery);
        assert_eq!(irn.nic.recovery, Recovery::Irn(IrnConfig::paper()));
    }
}

/// The configurations run on a small network that stresses all three flow controls: PFC pauses, and
/// the other two drop packets.
// PRE-14, PRE-60: flow control
#[test]
fn flow_control_choices_run() {
    let text = "name = \"fig12\"\ntopology = { kind = \"star\", hosts = 17, link = { rate = \"100Gbps\", delay = \"1us\" } \
                }\nswitch.buffer = \"1500KB\"\nswitch.reserved = \"0B\"\n[[traffic]]\nname = \"t\"\npattern = \"incast\"\n\
                degree = 16\nsize = \"500KB\"\nreceiver = 16\n[scheme]\nparameters = \"hpcc-paper\"\n";
    for control in ["dcqcn", "hpcc"] {
        for (choice, set) in [
            ("pfc", vec![]),
            ("go-back-n", vec![LOSSY]),
            ("irn", vec![LOSSY, "scheme.recovery=irn"]),
        ] {
            let changes = Changes {
                scheme: Some(control.to_owned()),
                set: set.iter().map(|s| (*s).to_owned()).collect(),
                seed: None,
                profile: None,
            };
            let scenario = Scenario::parse(text, "x.toml", Path::new("."), &changes)
                .unwrap_or_else(|e| panic!("{e}"));
            let plan = scenario.build().expect("a sound scenario").plan;
            let outcome = fabric::engine::Simulation::new(plan).run(&mut Nobody, &mut |_| true);
            let what = format!("{control} {choice}");
            assert_eq!(outcome.violations, [], "{what}");
            assert_eq!(outcome.finished, 16, "{what}");
            let drops: u64 = outcome.counters.drops.iter().sum();
            assert_eq!(
                outcome.counters.hop["pfc_pauses"] > 0,
                choice == "pfc",
                "{what}"
            );
            assert_eq!(drops > 0, choice != "pfc", "{what}: {drops}");
        }
    }
}

/// Recorder that discards all records.
struct Nobody;

impl fabric::record::Recorder for Nobody {
    fn rows(&mut self, _: &dyn fabric::record::Rows) {}
}

// PRE-60, PRE-61, REC-15, NIC-21: loss recovery
#[test]
fn recoveries() {
    let of = |set: &[&str]| {
        let mut all = vec![LOSSY];
        all.extend(set);
        config("dcqcn", &all).nic.recovery
    };
    assert_eq!(
        of(&["scheme.go-back-n.timeout=off"]),
        Recovery::go_back_n(NEVER)
    );
    let irn = |set: &str| match of(&["scheme.recovery=irn", set]) {
        Recovery::Irn(irn) => irn,
        other => panic!("{other:?}"),
    };
    assert_eq!(irn("scheme.irn.window=off").window, IrnWindow::Off);
    assert_eq!(
        irn("scheme.irn.window=64KB").window,
        IrnWindow::Bytes(64_000)
    );
    assert_eq!(irn("scheme.irn.rto_high=1ms").rto_high_ps, MS);
    assert_eq!(irn("scheme.irn.lost_after=8").lost_after, 8);
    assert_eq!(irn("scheme.irn.few=5").few, 5);
    let ideal = |set: &[&str]| {
        let mut all = vec!["scheme.recovery=ideal"];
        all.extend(set);
        of(&all)
    };
    assert_eq!(ideal(&[]), Recovery::ideal(None));
    assert_eq!(ideal(&["scheme.ideal.delay=0us"]), Recovery::ideal(Some(0)));
}

// PRE-64: HPCC without PFC
#[test]
fn hpcc_without_pfc() {
    // Each preset without PFC differs from a preset with PFC in nothing else.
    for (name, classify) in [
        ("hpcc-no-pfc", Classify::Fifo),
        ("hpcc-no-pfc+sfq", Classify::Hash { queues: 31 }),
        (
            "hpcc-no-pfc+dqa",
            Classify::Dynamic {
                queues: 31,
                table: 3200,
                sticky_ps: 0,
            },
        ),
    ] {
        let c = config(name, &[]);
        assert_eq!(c.switch.classify, classify);
        assert!(matches!(
            c.switch.mmu.admission,
            Admission::EgressDynamic { .. }
        ));
        assert_eq!(c.nic.recovery, Recovery::ideal(None));
        assert!(
            matches!(c.nic.control, Sending::Control(ControlConfig::Hpcc(_)))
                && c.switch.int.is_some()
        );
        let with = config(&name.replace("-no-pfc", ""), &[]);
        assert!(matches!(with.switch.mmu.admission, Admission::Pfc(_)));
        assert_ne!(with.nic.recovery, c.nic.recovery);
        let mut lossy = with.switch.clone();
        lossy.mmu.admission = c.switch.mmu.admission;
        lossy.classes.iter_mut().for_each(|c| c.pausable = false);
        assert_eq!(lossy, c.switch);
    }
}

// PRE-62, PRE-63, TIMELY-33, DCTCP-15: variants of TIMELY and DCTCP
#[test]
fn variants_of_the_rivals() {
    let Sending::Control(ControlConfig::Timely(t)) =
        config("timely+win", &["scheme.timely.gradient=patched"])
            .nic
            .control
    else {
        panic!()
    };
    assert_eq!(t.patched, Some(PATCHED));
    let set = [
        "scheme.timely.gradient=patched",
        "scheme.timely.patched.beta=0.1",
    ];
    let Sending::Control(ControlConfig::Timely(t)) = config("timely", &set).nic.control else {
        panic!()
    };
    assert!(t.patched.is_some_and(|patched| patched.beta == 0.1));
    let Sending::Control(ControlConfig::Dctcp(d)) =
        config("dctcp", &["scheme.dctcp.window=false"]).nic.control
    else {
        panic!()
    };
    assert!(!d.window);
}

// SW-31, PRE-15: ECN thresholds by link rate
#[test]
fn ecn_profiles_by_rate() {
    let profiles = "scheme.ecn.profiles=[{ rate = \"400Gbps\", kmin = \"1MB\", kmax = \"2MB\", pmax = 0.5 }, \
                    { rate = \"40Gbps\", kmin = \"10KB\", kmax = \"20KB\", pmax = 1.0 }]";
    let ecn = config("dcqcn", &[profiles]).switch.ecn.unwrap();
    let found = [100, 400].map(|gbps| {
        let red = ecn.at(Rate::from_gbps(gbps));
        (red.kmin_bytes, red.kmax_bytes, red.pmax)
    });
    // 100 Gbps has no profile of its own. The thresholds are 2.5 times those of the 40 Gbps
    // profile.
    assert_eq!(found, [(25_000, 50_000, 1.0), (1_000_000, 2_000_000, 0.5)]);
    // If no profile has a lower rate, the profile with the lowest rate is scaled.
    let high =
        "scheme.ecn.profiles=[{ rate = \"400Gbps\", kmin = \"1MB\", kmax = \"2MB\", pmax = 0.5 }]";
    let ecn = config("dcqcn", &[high]).switch.ecn.unwrap();
    assert_eq!(ecn.at(Rate::from_gbps(100)).kmin_bytes, 250_000);
}

/// Returns all words of a text that start with `PRE-`.
fn rules(text: &str) -> BTreeSet<String> {
    let found = text
        .match_indices("PRE-")
        .map(|(at, _)| &text[at..(at + 6).min(text.len())]);
    found
        .filter(|r| r[4..].bytes().all(|b| b.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_value_names_a_rule_and_every_rule_is_named() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stated = rules(&std::fs::read_to_string(folder.join("../../specs/presets.md")).unwrap());
    let mut cited = BTreeSet::new();
    for entry in std::fs::read_dir(folder.join("presets")).unwrap() {
        let path = entry.unwrap().path();
        let text = match path.file_name().unwrap().to_str().unwrap() {
            "common.toml" => scenario::common(),
            _ => std::fs::read_to_string(&path).unwrap(),
        };
        let of_profile = |line: &str| {
            let name = path.file_name().unwrap().to_string_lossy();
            let rules = ["NS3-", "BFCC-", "FGC-"];
            name.starts_with("profile-") && rules.iter().any(|rule| line.contains(rule))
        };
        for line in text.lines() {
            let value =
                line.contains(" = ") && !line.starts_with('#') && !line.starts_with("summary");
            assert!(
                !value || !rules(line).is_empty() || of_profile(line),
                "{}: `{line}` names no rule",
                path.display()
            );
        }
        cited.extend(rules(&text));
    }
    cited.extend(rules(&scenario::default_text()));
    assert_eq!(stated, cited);
}

// PRE-80, PRE-81, PRE-82, PRE-83, PRE-84, PRE-85: without a profile, no other simulator is
// reproduced.
#[test]
fn no_profile() {
    for preset in PRESETS {
        let changes = Changes {
            scheme: Some(preset.name.to_owned()),
            ..Changes::default()
        };
        let scenario = Scenario::parse(NETWORK, "x.toml", Path::new("."), &changes).unwrap();
        let scheme = &scenario.spec.scheme;
        assert_eq!(
            (scheme.profile, scheme.cut_times, scheme.in_order),
            (None, false, false)
        );
        let c = scheme.configure(&surroundings(&scenario.spec, &scenario.graph));
        assert_eq!(c.nic.host, HostConfig::default(), "{}", preset.name);
        assert_ne!(c.switch.path, PathChoice::Tuple);
        if let Admission::Pfc(pfc) = c.switch.mmu.admission {
            assert_eq!(pfc.accounting, Accounting::Pool);
        }
        assert!(c.switch.ecn.is_none_or(|ecn| !ecn.replay));
        let real = match c.nic.control {
            Sending::Control(ControlConfig::Hpcc(c)) => c.wai.rate_bps().is_none(),
            Sending::Control(ControlConfig::Dcqcn(c)) => c.window != cc::Limit::Bdp,
            Sending::Control(ControlConfig::Timely(c)) => c.window != cc::Limit::Bdp,
            Sending::Control(ControlConfig::Dctcp(c)) => {
                c.ai_bps.is_none() && c.min_rate_bps.is_none()
            }
            _ => true,
        };
        assert!(real, "{}", preset.name);
    }
}

// PRE-90: an epoch is also in `resolved.toml`, and changes no result.
#[test]
fn epoch() {
    let text = format!("{NETWORK}\n[run]\nepoch = \"2s\"\n");
    let scenario = Scenario::parse(&text, "x.toml", Path::new("."), &Changes::default()).unwrap();
    let plain = Scenario::parse(NETWORK, "x.toml", Path::new("."), &Changes::default()).unwrap();
    assert_eq!(scenario.spec.run.epoch_ps, 2_000_000 * US);
    assert!(scenario.resolved.contains("epoch = \"2s\"  # scenario"));
    assert_eq!(scenario.spec.run.until_ps, plain.spec.run.until_ps);
    assert_eq!(scenario.spec.traffic, plain.spec.traffic);
}

// PRE-200, PRE-204, PRE-205: values of the preset `swift`
#[test]
fn swift() {
    let c = config("swift", &[]);
    assert_eq!(
        c.nic.control,
        Sending::Control(ControlConfig::Swift(SwiftConfig::default()))
    );
    let plain = config("swift", &["scheme.swift.fs_range=\"off\""]);
    let Sending::Control(ControlConfig::Swift(plain)) = plain.nic.control else {
        panic!("{:?}", plain.nic.control);
    };
    assert_eq!(plain.fs_range_ps, None);
}

// PRE-210, PRE-211, PRE-212, SPR-10, SPR-13, SPR-20, SPR-30, SPR-31: path policies of senders
#[test]
fn reps_and_the_other_path_policies() {
    let c = config("reps", &[]);
    assert_eq!(c.switch.path, PathChoice::Entropy);
    let reps = RepsConfig {
        values: 65_536,
        ring: 8,
        freeze_ps: 10 * MS,
    };
    assert_eq!(c.nic.spray, Some(SprayConfig::Reps(reps)));
    assert!(matches!(c.nic.recovery, Recovery::Irn(irn) if irn.lost_after == 128));
    assert!(matches!(
        c.switch.mmu.admission,
        Admission::EgressDynamic { .. }
    ));
    let spray = |set: &str| config("reps", &[set]).nic.spray;
    let oblivious = ObliviousConfig { values: 64 };
    assert_eq!(
        spray("scheme.path=oblivious"),
        Some(SprayConfig::Oblivious(oblivious))
    );
    let bitmap = paths::BitmapConfig {
        values: 64,
        mark: 1,
        loss: 4,
        timeout: 15,
    };
    assert_eq!(
        spray("scheme.path=bitmap"),
        Some(SprayConfig::Bitmap(bitmap))
    );
    let permutation = config("reps", &["scheme.path=permutation"]);
    assert_eq!(permutation.switch.path, PathChoice::Label);
    assert_eq!(config("dctcp", &[]).nic.spray, None);
}

// PRE-201: processing time of hosts
#[test]
fn hosts_take_no_time() {
    let host = |set: &[&str]| config("swift", set).nic.host.processing;
    assert_eq!(host(&[]), None);
    let processing = host(&[
        "scheme.nic.host_delay=\"5us\"",
        "scheme.nic.host_rate=\"40Gbps\"",
    ])
    .unwrap();
    assert_eq!(processing.delay_ps, 5 * US);
    assert!(host(&["scheme.nic.host_delay=\"5us\""]).is_some());
}

// PRE-202, PRE-203, PRE-206, PRE-207: values of the presets of PowerTCP
#[test]
fn powertcp() {
    let power = PowerConfig {
        gamma: 0.9,
        beta: Increase::Rate(6e8),
        eta: 1.0,
        floor: 0.5,
        min_rate_bps: 1e8,
    };
    let c = config("powertcp", &[]);
    assert_eq!(
        c.nic.control,
        Sending::Control(ControlConfig::PowerTcp(PowerTcpConfig {
            power,
            ..PowerTcpConfig::paper(1e11)
        }))
    );
    assert!(c.switch.int.is_some());
    let theta = config("theta-powertcp", &[]);
    assert_eq!(
        theta.nic.control,
        Sending::Control(ControlConfig::ThetaPowerTcp(power))
    );
    assert!(theta.switch.int.is_none());
    let flows = config("powertcp", &["scheme.powertcp.beta=\"10 flows\""]);
    let Sending::Control(ControlConfig::PowerTcp(flows)) = flows.nic.control else {
        panic!("{:?}", flows.nic.control);
    };
    assert_eq!(flows.power.beta, Increase::Flows(10));
}

/// PRE-220, PRE-222, PRE-223: values of the preset `bolt`
#[test]
fn bolt_in_switches_and_senders() {
    let c = config("bolt", &[]);
    assert_eq!(
        c.nic.control,
        Sending::Control(ControlConfig::Bolt(SenderConfig::default()))
    );
    let notifier = |threshold, supply| {
        NotifierConfig::Bolt(BoltConfig {
            threshold,
            ramp_up_tokens: 256,
            supply,
            notice_bytes: 64,
        })
    };
    let preset = notifier(Amount::Packets(3), Amount::Packets(1));
    assert_eq!(c.switch.notifier, Some(preset));
    let default = config("hpcc", &["scheme.notices=bolt"]).switch.notifier;
    let expected = notifier(Amount::Bytes(62_000), Amount::Bytes(30_000));
    assert_eq!(default, Some(expected));
}

/// A switch with 64 ports of 400 Gbps and cables of 500 m. 32 hosts send to one port.
const MANY_PORTS: &str = "name = \"pool\"\n\
    topology = { kind = \"star\", hosts = 64, link = { rate = \"400Gbps\", delay = \"2.5us\" } }\n\
    [switch]\nbuffer = \"64MB\"\n[[traffic]]\nname = \"t\"\npattern = \"incast\"\ndegree = 32\nreceiver = 0\n\
    total = \"64MB\"\nstart = \"0us\"\n[scheme]\npreset = \"line-rate\"\npfc.headroom = \"1MB\"\n[run]\non_loss = \"warn\"\n";

// SW-56, PRE-275: 64 MB of headroom for separate ports do not fit. A shared pool with a quarter of
// that fits, and causes a warning.
#[test]
fn ports_share_a_pool_of_headroom() {
    let load = |set: &[&str]| {
        let changes = Changes {
            set: set.iter().map(|s| (*s).to_owned()).collect(),
            ..Changes::default()
        };
        Scenario::parse(MANY_PORTS, "x.toml", Path::new("."), &changes)
    };
    let refused = load(&[]).expect_err("the buffer is too small").to_string();
    assert!(refused.contains("scheme.pfc.headroom_pool"), "{refused}");
    let drops = |pool: &str| {
        let scenario = load(&[pool]).unwrap_or_else(|e| panic!("{e}"));
        let warned = scenario.warnings.iter().map(|w| w.message.as_str());
        let oversubscribed = warned.filter(|w| w.contains("times as much")).count();
        assert_eq!(oversubscribed, 1, "{:?}", scenario.warnings);
        let plan = scenario.build().expect("sound").plan;
        let outcome = fabric::engine::Simulation::new(plan).run(&mut Nobody, &mut |_| true);
        // AUD-05: the run reports its drops, and `on_loss` makes them a warning.
        assert!(outcome.violations.iter().all(|v| v.check == "lossless"));
        outcome.counters.drops[DropCause::Buffer as usize]
    };
    // After their pause, 32 ports continue to send for 5 us plus two frames each: 8 MB in total.
    assert_eq!(drops("scheme.pfc.headroom_pool=16MB"), 0);
    assert!(drops("scheme.pfc.headroom_pool=2MB") > 0);
}
