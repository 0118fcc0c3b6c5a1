//! Congestion controls and transports in scenarios: ranges of parameters, invalid combinations, and
//! several controls at one NIC.

use std::path::Path;

use dataplane::cc::CONTROLS;
use dataplane::config::{ControlConfig, Sending, TransportConfig};
use dataplane::param::{Fallback, Kind, Param};
use dataplane::switch::DATA_CLASS;
use dataplane::transport::TRANSPORTS;
use dataplane::units::{MS, US};
use scenario::{Changes, PRESETS, Scenario, ScenarioError, surroundings};

const NETWORK: &str = "name = \"x\"\ntopology = { kind = \"star\", hosts = 3, link = { rate = \"100Gbps\", delay = \"1us\" } }\n\
                       [[traffic]]\nname = \"t\"\npattern = \"permutation\"\nsize = \"1MB\"\n";

fn load(preset: &str, set: &[&str]) -> Result<Scenario, ScenarioError> {
    let changes = Changes {
        scheme: Some(preset.to_owned()),
        set: set.iter().map(|s| (*s).to_owned()).collect(),
        seed: None,
        profile: None,
    };
    Scenario::parse(NETWORK, "x.toml", Path::new("."), &changes)
}

#[track_caller]
fn refused(preset: &str, set: &[&str], message: &str) {
    let error = load(preset, set)
        .expect_err("should be refused")
        .to_string();
    assert!(error.contains(message), "{error}");
}

/// Returns values just outside the range of a parameter, as TOML.
fn beyond(param: &Param) -> Vec<String> {
    let around = |min: u64, max: u64, unit: &str| {
        let below = min.checked_sub(1).map(|v| format!("\"{v}{unit}\""));
        let above = max.checked_add(1).map(|v| format!("\"{v}{unit}\""));
        below.into_iter().chain(above).collect()
    };
    match param.kind {
        Kind::Size { min, max } => around(min, max, "B"),
        Kind::Time { min, max } => around(min, max, "ps"),
        Kind::Rate { min, max } => around(min, max, "bps"),
        Kind::Count { min, max } => {
            let values: Vec<String> = around(min, max, "");
            values.iter().map(|v| v.replace('"', "")).collect()
        }
        Kind::Number { min, max } | Kind::Fraction { min, max } => {
            let mut values = vec![format!("{:?}", min - min.abs() * 1e-3 - 1e-9)];
            values.push(format!("{:?}", max * 1.001));
            values.push("nan".to_owned());
            values
        }
        Kind::Flag | Kind::Word(_) => vec!["\"nonsense\"".to_owned()],
        _ => Vec::new(),
    }
}

/// HPCC-21, DCQCN-17, TIMELY-33, DCTCP-10: every parameter of every control and transport refuses
/// values outside its range, with an error at its key.
#[test]
fn every_parameter_refuses_what_is_outside_of_its_range() {
    let mut tried = 0;
    let controls = CONTROLS.iter().map(|c| (c.name, c.params));
    for (name, params) in controls.chain(TRANSPORTS.iter().map(|t| (t.name, t.params))) {
        let nested = params.iter().flat_map(|param| match param.kind {
            Kind::Table(inner) => inner.iter().map(|p| (Some(param.key), p)).collect(),
            _ => vec![(None, param)],
        });
        for (table, param) in nested {
            // Some parameters have an effect only together with a word of another key.
            let beside = match (name, table.unwrap_or(param.key)) {
                ("hpcc", "epsilon") => "scheme.hpcc.division=table",
                ("timely", "patched") => "scheme.timely.gradient=patched",
                _ => "seed=1",
            };
            for value in beyond(param) {
                let key = match table {
                    Some(table) => format!("{table}.{}", param.key),
                    None => param.key.to_owned(),
                };
                let set = format!("scheme.{name}.{key}={value}");
                let control = format!("scheme.control={name}");
                let error = load("line-rate", &[&control, beside, &set]);
                let error = error.expect_err(&set).to_string();
                let found = error.contains(&format!("`{}`", param.key));
                assert!(found, "{set}: {error}");
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

/// Every scheme and parameter in the lists has a name, a description and a default.
#[test]
fn every_scheme_of_a_list_describes_itself() {
    let controls = CONTROLS.iter().map(|c| (c.name, c.about, c.params));
    let transports = TRANSPORTS.iter().map(|t| (t.name, t.about, t.params));
    let mut names = Vec::new();
    for (name, about, params) in controls.chain(transports) {
        assert!(about.ends_with('.'), "{name}: {about}");
        assert!(!names.contains(&name), "{name} stands twice");
        names.push(name);
        let tables = |param: &&Param| matches!(param.kind, Kind::Table(_));
        for param in params.iter().filter(|param| !tables(param)) {
            let default = matches!(param.fallback, Fallback::Value(_));
            assert!(default, "{name}.{} has a default", param.key);
        }
    }
}

/// TIMELY-07, TIMELY-08: refuses combinations of values that are individually valid.
#[test]
fn thresholds_that_cross_are_refused() {
    refused(
        "timely",
        &["scheme.timely.t_low=600us"],
        "t_low 600us is above t_high 500us",
    );
}

// SW-03: up to eight traffic classes
#[test]
fn every_preset_takes_eight_traffic_classes_and_no_more() {
    for preset in PRESETS.iter().map(|preset| preset.name) {
        let of = |class: u8| load(preset, &[&format!("traffic.t.class={class}")]);
        let scenario = of(7).unwrap_or_else(|e| panic!("{preset}: {e}"));
        let around = surroundings(&scenario.spec, &scenario.graph);
        let classes = scenario.spec.scheme.configure(&around).switch.classes;
        assert_eq!(classes.len(), usize::from(DATA_CLASS) + 8, "{preset}");
        let refused = of(8).unwrap_err().to_string();
        assert!(refused.contains("from 0 to 7"), "{refused}");
    }
}

/// A list of controls contains one control per traffic class. The last one applies to all further
/// classes.
#[test]
fn traffic_classes_have_controls_of_their_own() {
    let scenario = load(
        "dcqcn",
        &[
            "scheme.control=[\"dcqcn\", \"dctcp\"]",
            "scheme.dctcp.g=0.25",
            "traffic.t.class=1",
        ],
    );
    let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
    let resolved = &scenario.resolved;
    let again = Scenario::parse(
        resolved,
        "resolved.toml",
        Path::new("/"),
        &Changes::default(),
    );
    let again = again.unwrap_or_else(|e| panic!("{e}\n{resolved}"));
    assert_eq!(scenario.spec, again.spec, "it reads back as itself");
    let around = surroundings(&scenario.spec, &scenario.graph);
    let nic = scenario.spec.scheme.configure(&around).nic;
    let Sending::PerClass(controls) = &nic.control else {
        panic!("{:?}", nic.control)
    };
    assert!(matches!(controls.of(0), ControlConfig::Dcqcn(_)));
    for class in [1, 2, 7] {
        let dctcp = matches!(controls.of(class), ControlConfig::Dctcp(c) if c.g == 0.25);
        assert!(dctcp, "{:?}", controls.of(class));
    }
    // Only flows of DCQCN receive CNPs.
    assert_eq!(nic.cnp_classes, 1 << DATA_CLASS);
    assert!(nic.cnp_interval_ps.is_some());
    let one = load("dcqcn", &[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        one.spec.scheme.configure(&around).nic.cnp_classes,
        0b11_1111_1100
    );
}

/// Refuses lists of controls that are not supported.
#[test]
fn impossible_lists_of_controls_are_refused() {
    let list = |words: &str| format!("scheme.control=[{words}]");
    refused(
        "dcqcn",
        &[&list("")],
        "0 controls, one for each traffic class",
    );
    refused(
        "dcqcn",
        &[&list("\"dcqcn\", \"dctpc\"")],
        "there is no \"dctpc\"",
    );
    refused(
        "dcqcn",
        &[&list("\"dcqcn\", \"ndp\"")],
        "\"ndp\" serves all traffic classes of a NIC",
    );
    refused(
        "dcqcn",
        &[&list("\"line-rate\", \"dcqcn\""), "scheme.hpcc.eta=0.9"],
        "`hpcc` would do nothing: `control` is not \"hpcc\"",
    );
    refused(
        "dcqcn",
        &[&list("\"dcqcn\", \"hpcc\"")],
        "HPCC reads INT, and `signal` writes none",
    );
    refused(
        "dcqcn",
        &[&list("\"dcqcn\", \"dctcp\""), "scheme.nic.arbiter=scan"],
        "nic.arbiter = \"scan\" works with whole rates",
    );
}

/// NS3-60: the flow scan of ns-3 refuses CNPs as frames. As flags of ACKs they are accepted.
#[test]
fn a_scan_refuses_cnps_that_are_frames() {
    let scan = ["scheme.nic.arbiter=scan", "scheme.dcqcn.arithmetic=integer"];
    refused(
        "dcqcn",
        &scan,
        "here CNPs are frames of their own: it would ignore them",
    );
    let on_ack = [&scan[..], &["scheme.dcqcn.cnp=on-ack"]].concat();
    assert!(load("dcqcn", &on_ack).is_ok());
}

/// NS3-60: the error is at the key that the user has set, not at a table of the preset.
#[test]
fn whole_rates_without_a_scan_are_refused_at_the_control() {
    let integer = "scheme.hpcc.arithmetic=integer";
    refused("hpcc", &[integer], integer);
}

/// HOM-05: strict-priority scheduling
#[test]
fn strict_order_without_priorities_is_refused_with_the_transports_that_set_them() {
    let strict = ["scheme.schedule=strict", "scheme.classify=priority"];
    refused("dcqcn", &strict, "control = \"homa\", or none of them");
    refused(
        "homa",
        &["scheme.classify=hash", "scheme.schedule=drr"],
        "control = \"homa\"",
    );
}

/// SW-55: ACKs that cannot be paused
#[test]
fn replies_that_no_pause_holds_are_refused_where_no_loss_is_promised() {
    let deaf = "scheme.ack.pausable=false";
    for (set, message) in [
        (&[deaf][..], "they can overrun the headroom"),
        (
            &[
                deaf,
                "scheme.ack.class=control",
                "scheme.dcqcn.cnp_class=data",
            ],
            "they can overrun the headroom",
        ),
    ] {
        refused("dcqcn", set, message);
    }
    let cnps = [deaf, "scheme.ack.class=control"];
    refused("dcqcn", &cnps, "cnp_class = \"control\" in the table");
    for set in [
        &[
            deaf,
            "scheme.ack.class=control",
            "scheme.dcqcn.cnp_class=control",
        ][..],
        &[deaf, "scheme.admission=unlimited"],
    ] {
        let loaded = load("dcqcn", set).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        assert_eq!(loaded.warnings, [], "{set:?}");
    }
    let own = load("dcqcn", &[deaf, "scheme.pfc.headroom=60KB"]).unwrap();
    let warnings: Vec<String> = own.warnings.iter().map(ToString::to_string).collect();
    assert!(
        warnings
            .iter()
            .any(|w| w.contains("large enough for certain")),
        "{warnings:?}"
    );
}

/// Creates a scenario with one flow between two hosts, whose links have a one-way delay of `delay`.
fn lone(preset: &str, delay: &str, set: &[&str]) -> Scenario {
    let text = format!(
        "name = \"lone\"\ntopology = {{ kind = \"star\", hosts = 2, link = {{ rate = \"100Gbps\", delay = \"{delay}\" }} }}\n\
         switch.buffer = \"1GB\"\n[[traffic]]\nname = \"t\"\npattern = \"list\"\n\
         flows = [{{ src = 0, dst = 1, bytes = \"20MB\" }}]\n[run]\nuntil = \"1s\"\n"
    );
    let changes = Changes {
        scheme: Some(preset.to_owned()),
        set: set.iter().map(|s| (*s).to_owned()).collect(),
        ..Changes::default()
    };
    Scenario::parse(&text, "lone.toml", Path::new("."), &changes).unwrap_or_else(|e| panic!("{e}"))
}

fn timeout_ps(scenario: &Scenario) -> u64 {
    let scheme = &scenario.spec.scheme;
    match &scheme.nic.control {
        Sending::Transport(TransportConfig::ExpressPass(c)) => c.timeout_ps,
        Sending::Transport(TransportConfig::Ndp(c)) => c.timeout_ps,
        Sending::Transport(TransportConfig::Homa(c)) => c.timeout_ps,
        _ => scheme
            .nic
            .recovery
            .shortest_timeout_ps()
            .expect("a timeout"),
    }
}

// PRE-270: links of 5 ms give a base round trip of 20 ms. The declared default timeouts are at most
// 10 ms.
#[test]
fn default_timeouts_are_above_the_base_round_trip() {
    for (preset, set, usual_ps) in [
        ("line-rate", vec![], 10 * MS),
        ("line-rate", vec!["scheme.recovery=irn"], 100 * US),
        ("expresspass", vec![], 10 * MS),
        ("ndp", vec![], MS),
        ("homa", vec![], 10 * MS),
    ] {
        let near = lone(preset, "1us", &set);
        assert_eq!(timeout_ps(&near), usual_ps, "{preset}");
        let far = lone(preset, "5ms", &set);
        let found_ps = timeout_ps(&far);
        assert!(
            (60 * MS..61 * MS).contains(&found_ps),
            "{preset}: {found_ps}"
        );
        let again = Scenario::parse(
            &far.resolved,
            "resolved.toml",
            Path::new("."),
            &Changes::default(),
        );
        assert_eq!(again.expect("it reads back").spec, far.spec, "{preset}");
    }
    // Floodgate switches send a switchSYN after their own timeout, which is adapted as well.
    let text = NETWORK.replace("1us", "5ms");
    let set = ["scheme.floodgate.loss=numbers", "switch.buffer=2GB"];
    let set = set.map(str::to_owned).to_vec();
    let changes = Changes {
        scheme: Some("dcqcn+floodgate".to_owned()),
        set,
        ..Changes::default()
    };
    let far = Scenario::parse(&text, "x.toml", Path::new("."), &changes).expect("sound");
    assert!(far.resolved.contains("timeout = \"60"), "{}", far.resolved);
}

// PRE-270, NIC-40: a timeout that the scenario sets is not changed. The warning contains the
// timeout and the round trip.
#[test]
fn timeouts_within_a_base_round_trip_are_warned_of() {
    let given = |preset: &str, delay: &str, set: &[&str]| {
        let scenario = lone(preset, delay, set);
        let warned = scenario.warnings.iter().map(|w| w.message.clone());
        let warned: Vec<String> = warned
            .filter(|w| w.contains("timeout") || w.contains("_interval"))
            .collect();
        warned.join("\n")
    };
    let warned = given("line-rate", "5ms", &["scheme.go-back-n.timeout=10ms"]);
    assert!(
        warned.contains("is 10ms, and") && warned.contains("is 20001us"),
        "{warned}"
    );
    let warned = given("ndp", "5ms", &["scheme.ndp.timeout=1ms"]);
    assert!(warned.contains("is 1ms, and"), "{warned}");
    let warned = given("line-rate", "5ms", &["scheme.go-back-n.nak_interval=3ms"]);
    assert!(warned.contains("nak_interval is 3ms"), "{warned}");
    // The base round trip is 4.3 us, and the hosts take 2 ms.
    let slow = ["scheme.go-back-n.timeout=3ms", "scheme.nic.host_delay=2ms"];
    let warned = given("line-rate", "1us", &slow);
    assert!(
        warned.contains("is 3ms, and") && warned.contains("is 4005us"),
        "{warned}"
    );
    assert_eq!(given("line-rate", "1us", &slow[..1]), "");
    assert_eq!(
        given("line-rate", "5ms", &["scheme.go-back-n.timeout=off"]),
        ""
    );
}

// PRE-272: delay targets
#[test]
fn delay_targets_below_the_base_round_trip_are_warned_of() {
    let warned = |preset: &str, delay: &str, set: &[&str]| {
        let warned = lone(preset, delay, set).warnings.into_iter();
        let of_targets = warned.filter(|w| w.message.contains("even if it is alone"));
        let keys: Vec<(String, String)> = of_targets.map(|w| (w.key, w.message)).collect();
        keys
    };
    let swift = warned("swift", "8us", &[]);
    assert_eq!(swift.len(), 1, "{swift:?}");
    assert_eq!(swift[0].0, "scheme.swift.base_target");
    let both = ["come to 22us", "is 32179ns"];
    assert!(
        both.iter().all(|part| swift[0].1.contains(part)),
        "{swift:?}"
    );
    // The base round trip of 21.3 us is below the target of 22 us (20 us, and 2 us for the switch).
    assert_eq!(warned("swift", "5.3us", &[]), []);
    assert_eq!(
        warned("swift", "8us", &["scheme.swift.base_target=40us"]),
        []
    );
    // The processing time of hosts is compared with a separate target.
    let hosts = warned("swift", "1us", &["scheme.nic.host_delay=60us"]);
    assert_eq!(hosts.len(), 1, "{hosts:?}");
    assert_eq!(hosts[0].0, "scheme.swift.endpoint_target");
    // The round trips that TIMELY measures include the processing time of hosts.
    assert_eq!(warned("timely", "100us", &[]), []);
    let timely = warned("timely", "100us", &["scheme.nic.host_delay=60us"]);
    assert_eq!(timely[0].0, "scheme.timely.t_high");
    let patched = warned("timely", "20us", &["scheme.timely.gradient=patched"]);
    assert_eq!(patched[0].0, "scheme.timely.patched.reference");
}

// PRE-273: periods
#[test]
fn timers_longer_than_the_measured_window_are_warned_of() {
    let warned = |window: &str| {
        let text = NETWORK.replace(
            "pattern = \"permutation\"\nsize = \"1MB\"",
            "pattern = \"uniform\"\nsizes = { fixed = \"9KB\" }\nload = { fraction = 0.3, of = \"hosts\" }",
        );
        let text =
            format!("{text}window = [\"0us\", \"{window}\"]\n[scheme]\npreset = \"dcqcn\"\n");
        let scenario = Scenario::parse(&text, "x.toml", Path::new("."), &Changes::default());
        let warned = scenario.expect("sound").warnings.into_iter();
        let keys: Vec<String> = warned
            .filter(|w| w.message.contains("hardly acts"))
            .map(|w| w.key)
            .collect();
        keys
    };
    assert_eq!(warned("200us"), ["scheme.dcqcn.increase_timer"]);
    assert_eq!(warned("2ms"), Vec::<String>::new());
}

// PRE-274: scaling with the host rate
#[test]
fn increments_scale_with_the_rate_of_the_hosts() {
    let ai_bps = |preset: &str, rate: &str, set: &[&str]| {
        let text = NETWORK.replace("100Gbps", rate);
        let changes = Changes {
            scheme: Some(preset.to_owned()),
            set: set.iter().map(|s| (*s).to_owned()).collect(),
            ..Changes::default()
        };
        let scenario = Scenario::parse(&text, "x.toml", Path::new("."), &changes).expect("sound");
        match scenario.spec.scheme.nic.control {
            Sending::Control(ControlConfig::Dcqcn(c)) => (c.ai_bps, c.hai_bps),
            Sending::Control(ControlConfig::Timely(c)) => (c.ai_bps, c.hai_bps),
            _ => panic!("another control"),
        }
    };
    assert_eq!(ai_bps("dcqcn", "100Gbps", &[]), (20e6, 200e6));
    assert_eq!(ai_bps("dcqcn", "400Gbps", &[]), (80e6, 800e6));
    assert_eq!(ai_bps("dcqcn", "25Gbps", &[]), (5e6, 50e6));
    assert_eq!(ai_bps("timely", "10Gbps", &[]), (10e6, 50e6));
    // A value that the scenario sets is not scaled. Neither are the values of a paper's parameter
    // set.
    let given = ["scheme.dcqcn.ai=20Mbps"];
    assert_eq!(ai_bps("dcqcn", "400Gbps", &given), (20e6, 800e6));
    let paper = ["scheme.parameters=hpcc-paper"];
    assert_eq!(ai_bps("dcqcn", "400Gbps", &paper), (20e6, 200e6));
    let mixed = "name = \"x\"\ntopology = { kind = \"links\", hosts = [\"a\", \"b\"], switches = [\"s\"], links = [\
                 { a = \"a\", b = \"s\", rate = \"100Gbps\", delay = \"1us\" }, \
                 { a = \"b\", b = \"s\", rate = \"25Gbps\", delay = \"1us\" }] }\n\
                 [[traffic]]\nname = \"t\"\npattern = \"permutation\"\nsize = \"1MB\"\n[scheme]\npreset = \"dcqcn\"\n";
    let scenario = Scenario::parse(mixed, "x.toml", Path::new("."), &Changes::default());
    let warned = scenario.unwrap_or_else(|e| panic!("{e}")).warnings;
    let both = |w: &scenario::problem::Problem| w.message.contains("scaled to hosts of 25Gbps");
    assert!(warned.iter().any(both), "{warned:?}");
}

// PRE-271, BFC-31: bitmaps of pauses
#[test]
fn bfc_repeats_its_pauses_where_links_lose_frames_or_fail() {
    let bitmap = |lossy: bool, set: &[&str]| {
        let mut text = NETWORK.to_owned();
        if lossy {
            text = text.replace("delay = \"1us\"", "delay = \"1us\", loss = 1e-4");
        }
        let changes = Changes {
            scheme: Some("bfc".to_owned()),
            set: set.iter().map(|s| (*s).to_owned()).collect(),
            ..Changes::default()
        };
        let scenario = Scenario::parse(&text, "x.toml", Path::new("."), &changes);
        let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
        let around = surroundings(&scenario.spec, &scenario.graph);
        let hop = scenario.spec.scheme.configure(&around).switch.hop;
        let repeats = hop
            .declaration()
            .expect("BFC")
            .has(dataplane::properties::Property::RepeatsPauses);
        let warned = scenario
            .warnings
            .iter()
            .map(|w| w.hint.clone().unwrap_or_default());
        let named = warned
            .filter(|hint| hint.contains("scheme.bfc.tell"))
            .count();
        (repeats, named)
    };
    assert_eq!(bitmap(false, &[]), (false, 0));
    assert_eq!(bitmap(true, &[]), (true, 0));
    assert_eq!(bitmap(true, &["scheme.bfc.tell=edges"]), (false, 1));
    let failing =
        "topology.failures=[{ links = [\"host1--switch0\"], at = \"50us\", until = \"90us\" }]";
    assert_eq!(bitmap(false, &[failing]), (true, 0));
    // Pauses of single flows cannot be repeated in a bitmap.
    let of_flows = ["scheme.bfc.pause=flow", "scheme.classify=per-flow"];
    assert_eq!(bitmap(true, &of_flows), (false, 1));
    // BFC-31: the setting that the hint proposes is valid.
    let of_queues = [
        of_flows.as_slice(),
        &[
            "scheme.bfc.pause=queue",
            "scheme.classify=dynamic",
            "scheme.bfc.tell=edges+bitmap",
        ],
    ];
    assert_eq!(bitmap(true, &of_queues.concat()), (true, 0));
}
