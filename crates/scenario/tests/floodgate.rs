//! Floodgate in scenarios: values of the presets and of the authors' profile, refused settings, and
//! memory.

use dataplane::cc::Limit;
use dataplane::hop::HopConfig;
use dataplane::hop::floodgate::{
    Aggregation, Amount, CreditAt, FloodgateConfig, HoldBy, HostPauseBy, PauseThresholds, Release,
    Voqs, WindowConfig, WindowUnit,
};
use std::path::Path;

use dataplane::config::{
    Accounting, Admission, Alpha, Arbiter, BaseRtt, ControlConfig, PathChoice, Recovery, Sending,
};
use dataplane::reliability::GoBackNConfig;
use dataplane::units::{MS, NEVER, Rate, US};
use scenario::{Changes, Scenario, SchemeConfig, surroundings};

const NETWORK: &str = "name = \"x\"\ntopology = { kind = \"leaf-spine\", leaves = 10, spines = 4, hosts_per_leaf = 16, \
                       link = { rate = \"100Gbps\", delay = \"600ns\" }, uplink = { rate = \"400Gbps\", delay = \"600ns\" \
                       } }\n[switch]\nbuffer = \"20MB\"\n[[traffic]]\nname = \"t\"\npattern = \"permutation\"\nsize = \"1MB\"\n";

fn parse(preset: &str, set: &[&str], profile: Option<&str>) -> Result<Scenario, String> {
    let changes = Changes {
        scheme: Some(preset.to_owned()),
        set: set.iter().map(|s| (*s).to_owned()).collect(),
        seed: None,
        profile: profile.map(str::to_owned),
    };
    Scenario::parse(NETWORK, "x.toml", Path::new("."), &changes).map_err(|e| e.to_string())
}

fn config(preset: &str, set: &[&str], profile: Option<&str>) -> SchemeConfig {
    let scenario = parse(preset, set, profile).unwrap_or_else(|e| panic!("{e}"));
    let around = surroundings(&scenario.spec, &scenario.graph);
    scenario.spec.scheme.configure(&around)
}

fn floodgate(preset: &str, set: &[&str]) -> FloodgateConfig {
    config(preset, set, None)
        .switch
        .hop
        .floodgate()
        .copied()
        .expect("it is on")
}

fn windows(config: FloodgateConfig) -> WindowConfig {
    *config.windows().expect("it has windows")
}

// PRE-100, PRE-101, PRE-102, PRE-103, PRE-104, PRE-105, PRE-106, PRE-107, PRE-108, PRE-109, PRE-110, PRE-111, PRE-112,
// PRE-113, PRE-114: values of the presets
#[test]
fn presets_are_the_designs_of_the_paper_over_pfc() {
    for control in ["dcqcn", "timely", "hpcc"] {
        let practical = config(&format!("{control}+floodgate"), &[], None);
        assert_eq!(
            practical.switch.hop,
            HopConfig::Floodgate(FloodgateConfig::PRACTICAL)
        );
        assert!(matches!(practical.switch.mmu.admission, Admission::Pfc(_)));
        match practical.nic.control {
            Sending::Control(ControlConfig::Dcqcn(c)) => assert_eq!(c.window, Limit::Rate),
            Sending::Control(ControlConfig::Timely(c)) => assert_eq!(c.window, Limit::Rate),
            Sending::Control(ControlConfig::Hpcc(_)) => {}
            other => panic!("{other:?}"),
        }
        let ideal = floodgate(&format!("{control}+floodgate-ideal"), &[]);
        assert_eq!(ideal, FloodgateConfig::IDEAL);
    }
    assert_eq!(floodgate("dcqcn+pfc-tag", &[]), FloodgateConfig::TAGS);
}

// PRE-115: parameters of the paper
#[test]
fn parameters_of_the_paper() {
    let c = config(
        "dcqcn+floodgate",
        &["scheme.parameters=floodgate-paper"],
        None,
    );
    assert_eq!(c.nic.mtu, 1460);
    let Admission::Pfc(pfc) = c.switch.mmu.admission else {
        panic!("no PFC")
    };
    assert_eq!(
        pfc.threshold,
        dataplane::config::PfcThreshold::Dynamic(Alpha::new(2.0))
    );
    let red = &c.switch.ecn.expect("ECN").profiles[0].1;
    assert_eq!((red.kmin_bytes, red.kmax_bytes), (400_000, 1_600_000));
}

#[test]
fn every_key_is_read() {
    let f = floodgate(
        "hpcc+floodgate",
        &[
            "scheme.floodgate.unit=bytes",
            "scheme.floodgate.window=590KB",
            "scheme.floodgate.interval=20us",
            "scheme.floodgate.byte_counter=10240B",
            "scheme.floodgate.generator=1us",
            "scheme.floodgate.credit_at=voq",
            "scheme.floodgate.delay_credit=90KB",
            "scheme.floodgate.credit_frame=20B",
            "scheme.floodgate.credit_entry=8B",
            "scheme.floodgate.timeout=2ms",
            "scheme.floodgate.table=1000",
            "scheme.floodgate.clear=50us",
            "scheme.floodgate.voqs=8",
            "scheme.floodgate.groups=false",
            "scheme.floodgate.release=behind",
            "scheme.floodgate.vup=1us",
            "scheme.floodgate.ecn=egress",
            "scheme.floodgate.int=egress",
            "scheme.floodgate.dst_pause=1.5",
            "scheme.floodgate.dst_resume_below=3KB",
            "scheme.floodgate.frame=84B",
        ],
    );
    let w = windows(f);
    assert_eq!(w.unit, WindowUnit::Bytes);
    assert_eq!(w.initial, Amount::Bytes(590_000));
    let aggregation = Aggregation {
        interval_ps: 20 * US,
        byte_counter: Some(10_240),
        generator_ps: Some(US),
    };
    assert_eq!(w.credit.aggregation, Some(aggregation));
    assert_eq!(w.credit.at, CreditAt::Voq);
    assert_eq!(w.credit.delay, Some(Amount::Bytes(90_000)));
    assert_eq!((w.credit.frame_bytes, w.credit.entry_bytes), (20, 8));
    assert_eq!((w.entries, w.clear_ps), (Some(1000), Some(50 * US)));
    assert_eq!(w.numbers_timeout_ps, Some(2 * MS));
    let pool = Voqs::Pool {
        count: 8,
        groups: false,
    };
    assert_eq!(
        (f.voqs, f.release, f.vup_ps),
        (pool, Release::Behind, Some(US))
    );
    assert!(!f.ecn_sees_held && !f.int_sees_held);
    let pause = PauseThresholds {
        off: Amount::HopBdps(Alpha::new(1.5)),
        on_below_bytes: 3000,
    };
    assert_eq!((f.host_pause, f.frame_bytes), (Some(pause), 84));
    let tags = floodgate(
        "dcqcn+pfc-tag",
        &[
            "scheme.pfc-tag.threshold=100KB",
            "scheme.pfc-tag.hosts=true",
        ],
    );
    let thresholds = PauseThresholds {
        off: Amount::Bytes(100_000),
        on_below_bytes: 0,
    };
    assert_eq!(
        (tags.by, tags.host_pause),
        (HoldBy::Tags(thresholds), Some(thresholds))
    );
}

#[test]
fn what_does_nothing_or_cannot_be_is_refused() {
    for (preset, set, says) in [
        (
            "dcqcn",
            "scheme.floodgate.window=2.0",
            "`backpressure` is not \"floodgate\"",
        ),
        (
            "dcqcn+floodgate-ideal",
            "scheme.floodgate.interval=5us",
            "sends each credit at once",
        ),
        (
            "dcqcn+floodgate-ideal",
            "scheme.floodgate.groups=true",
            "a VOQ of its own",
        ),
        (
            "dcqcn+floodgate",
            "scheme.floodgate.dst_resume_below=3KB",
            "`dst_pause` is off",
        ),
        (
            "dcqcn+floodgate",
            "scheme.floodgate.dst_pause_by=ingress",
            "`dst_pause` is off",
        ),
        (
            "dcqcn+floodgate",
            "scheme.floodgate.voqs=1",
            "two groups of VOQs need two VOQs",
        ),
        (
            "dcqcn+floodgate",
            "scheme.floodgate.window=0",
            "hop BDPs such as 1.5",
        ),
        (
            "dcqcn+floodgate",
            "scheme.floodgate.delay_credit=much",
            "\"off\"",
        ),
        ("dcqcn+pfc-tag", "scheme.pfc-tag.treshold=1.0", "threshold"),
        (
            "dcqcn+floodgate",
            "traffic.t.class=4",
            "at most 4 traffic classes",
        ),
    ] {
        let mut sets = vec![set];
        if set.contains("class=4") {
            sets.push("scheme.floodgate.release=behind");
        }
        let error = parse(preset, &sets, None).expect_err(set);
        assert!(error.contains(says), "{set}: {error}");
    }
    let queues = [
        "scheme.classify=per-flow",
        "scheme.schedule=round-robin",
        "scheme.floodgate.release=behind",
    ];
    let error = parse("dcqcn+floodgate", &queues, None).expect_err("per-flow");
    assert!(error.contains("release = \"shared\""), "{error}");
    let error = parse("dcqcn+floodgate", &["topology.kind=star"], None);
    assert!(error.is_err(), "keys of a leaf-spine");
}

#[test]
fn doubtful_sets_earn_a_warning() {
    let loses = "topology.uplink.loss=0.01";
    let scenario = parse(
        "dcqcn+floodgate",
        &[loses, "scheme.floodgate.loss=off"],
        None,
    )
    .expect("it can be");
    let said: Vec<&str> = scenario
        .warnings
        .iter()
        .map(|w| w.message.as_str())
        .collect();
    assert!(
        said.iter().any(|m| m.contains("reduces a window")),
        "{said:?}"
    );
    let scenario = parse("dcqcn+floodgate", &[loses], None).expect("it can be");
    assert!(
        !scenario
            .warnings
            .iter()
            .any(|w| w.message.contains("reduces a window"))
    );
}

// FGC-01, FGC-02, FGC-03, FGC-04, FGC-05, FGC-06, FGC-07, FGC-08, FGC-09, FGC-10, FGC-20, FGC-21, FGC-22, FGC-23, FGC-24, FGC-25,
// FGC-26, FGC-27, FGC-28: values of the profile
#[test]
fn the_profile_of_the_authors_code() {
    let profile = Some("conext21-code");
    let c = config("dcqcn+floodgate", &[], profile);
    assert_eq!((c.nic.mtu, c.nic.header, c.nic.ack), (1460, 72, 84));
    assert_eq!(c.base_rtt, BaseRtt::Ns3Network);
    assert_eq!(
        (c.nic.host.arbiter, c.nic.host.ack_pausable),
        (Arbiter::Scan, true)
    );
    assert_eq!(c.switch.path, PathChoice::Tuple);
    let go_back_n = GoBackNConfig {
        nak_interval_ps: Some(500 * US),
        acknowledges_repeats: false,
        ..GoBackNConfig::new(NEVER)
    };
    assert_eq!(c.nic.recovery, Recovery::GoBackN(go_back_n));
    let Admission::Pfc(pfc) = c.switch.mmu.admission else {
        panic!("no PFC")
    };
    let accounting = Accounting::Ns3 {
        shift: 2,
        nic_bps: 100_000_000_000,
        headroom_delays: 8,
    };
    assert_eq!((pfc.accounting, pfc.xon_offset), (accounting, 3072));
    let ecn = c.switch.ecn.as_ref().expect("ECN");
    let of_400 = ecn.at(Rate::from_gbps(400));
    assert_eq!(
        (of_400.kmin_bytes, of_400.kmax_bytes),
        (1_600_000, 6_400_000)
    );
    let Sending::Control(ControlConfig::Dcqcn(d)) = c.nic.control else {
        panic!("no DCQCN")
    };
    assert_eq!(
        (d.increase_timer_ps, d.ai_bps, d.hai_bps),
        (900 * US, 5e7, 1e8)
    );
    assert!(d.window == Limit::Rate && d.min_rate_bps == 1e8);
    let f = c.switch.hop.floodgate().copied().expect("it is on");
    let w = windows(f);
    assert_eq!(
        (w.unit, w.initial),
        (WindowUnit::Bytes, Amount::HopBdps(Alpha::new(1.5)))
    );
    let aggregation = w.credit.aggregation.expect("a timer");
    assert_eq!(
        (aggregation.interval_ps, aggregation.byte_counter),
        (10 * US, Some(10_240))
    );
    let fast = (dataplane::units::Rate::from_gbps(400), 600_000);
    assert_eq!(w.credit.delay.map(|d| d.bytes(fast)), Some(90_000));
    assert_eq!(w.numbers_timeout_ps, None);
    let pool = Voqs::Pool {
        count: 100,
        groups: false,
    };
    assert_eq!(
        (f.voqs, f.int_sees_held, f.ecn_sees_held),
        (pool, false, true)
    );
    // Without Floodgate the configuration is the same, except for the hop-by-hop scheme.
    let plain = config("dcqcn+win", &[], profile);
    assert_eq!((plain.switch.hop, plain.nic), (HopConfig::None, c.nic));
    let ideal = config("dcqcn+floodgate-ideal", &[], profile);
    let per_packet = windows(ideal.switch.hop.floodgate().copied().expect("it is on")).credit;
    assert_eq!((per_packet.aggregation, per_packet.delay), (None, None));
    let pause = ideal
        .switch
        .hop
        .floodgate()
        .and_then(|f| f.host_pause)
        .expect("pauses");
    assert_eq!(pause.on_below_bytes, 3072);
    let ingress = ideal.switch.hop.floodgate().map(|f| f.host_pause_by);
    assert_eq!(ingress, Some(HostPauseBy::Ingress)); // FGC-36: pause by ingress
    assert_eq!((per_packet.frame_bytes, per_packet.entry_bytes), (58, 0)); // FGC-35: credit frames
    assert_eq!(
        pause
            .off
            .bytes((dataplane::units::Rate::from_gbps(100), 600_000)),
        22_500
    );
}

// FGC-03, FGC-11: the authors' profile with HPCC and TIMELY
#[test]
fn the_profile_with_other_controls() {
    let hpcc = config("hpcc+floodgate", &[], Some("conext21-code"));
    assert_eq!(
        (hpcc.nic.data_bytes(1460), hpcc.nic.ack_bytes()),
        (1574, 112)
    );
    let timely = config("timely+floodgate", &[], Some("conext21-code"));
    assert_eq!(timely.nic.data_bytes(1460), 1540);
}

// FG-62: memory
#[test]
fn memory_for_a_number_of_destinations() {
    let scenario = parse("dcqcn+floodgate", &[], None).expect("sound");
    let found = scenario
        .floodgate_resources(Some(100_000))
        .expect("it is on");
    assert_eq!(found.len(), 2);
    let (leaf, spine) = (&found[0], &found[1]);
    assert_eq!(
        (leaf.count, leaf.host_ports, leaf.switch_ports),
        (10, 16, 4)
    );
    assert_eq!((leaf.windows, leaf.window_bits), (99_984, 99_984 * 32));
    // Per destination: a flag, a VOQ index, counters of packets and bytes. Per VOQ: number of its
    // destinations, and a scheduler bit.
    assert_eq!(
        (leaf.voqs, leaf.voq_bits),
        (100, 99_984 * (1 + 7 + 16 + 24) + 100 * (18 + 1))
    );
    assert_eq!((spine.windows, spine.credit_counters), (100_000, 1_000_000));
    // A position in the credit queue of a port has 17 bits. One bit per destination marks withheld
    // credits.
    assert_eq!(spine.credit_bits, 1_000_000 * (32 + 17) + 100_000);
    assert_eq!(spine.number_bits, 3 * 1_000_000 * 32);
    assert_eq!(
        spine.bits(),
        spine.window_bits + spine.voq_bits + spine.credit_bits + spine.number_bits
    );
    let changed = |set: &[&str]| {
        let scenario = parse("dcqcn+floodgate", set, None).expect("sound");
        scenario
            .floodgate_resources(Some(100_000))
            .expect("it is on")
            .remove(0)
    };
    let hashed = changed(&["scheme.floodgate.table=4096", "scheme.floodgate.loss=off"]);
    assert_eq!(
        (hashed.windows, hashed.window_bits, hashed.number_bits),
        (4096, 4096 * 32, 0)
    );
    // With VUPs a destination needs one more flag, and a position in the list of waiting
    // destinations.
    let vups = changed(&["scheme.floodgate.vup=2us"]);
    assert_eq!(vups.voq_bits - leaf.voq_bits, 99_984 * (1 + 17));
    let ideal = parse("hpcc+floodgate-ideal", &[], None).expect("sound");
    let found = ideal.floodgate_resources(None).expect("it is on");
    assert_eq!((found[0].voqs, found[0].pause_bits), (144, 16 * 160));
    assert_eq!(
        parse("dcqcn", &[], None)
            .expect("sound")
            .floodgate_resources(None),
        None
    );
}

// PRE-160, FGC-31, FGC-32, FGC-33: options of the authors' simulator in other schemes
#[test]
fn options_of_the_authors_simulator_elsewhere() {
    let plain = config("dcqcn", &[], None);
    assert!(!plain.switch.acks_return);
    let set = ["scheme.ack.path=reverse"];
    assert!(config("dcqcn", &set, None).switch.acks_return);
    let says = parse("dcqcn", &["scheme.ties=scheduling, starts first"], None).unwrap_err();
    assert!(says.contains("clock"), "{says}");
    let profile = Some("conext21-code");
    let spec = parse("hpcc", &[], profile).expect("sound").spec.scheme;
    assert!(spec.in_order && spec.starts_first);
    let Sending::Control(ControlConfig::Hpcc(hpcc)) = spec.nic.control else {
        panic!("no HPCC")
    };
    assert_eq!(hpcc.alpha.0, Some(f64::INFINITY), "the lowest of all hops");
}
