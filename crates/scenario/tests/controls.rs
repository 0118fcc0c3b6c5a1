//! Controls and transports as scenarios give them: what their parameters refuse, and several at a NIC.

use std::path::Path;

use dataplane::cc::CONTROLS;
use dataplane::config::{ControlConfig, Sending};
use dataplane::param::{Fallback, Kind, Param};
use dataplane::switch::DATA_CLASS;
use dataplane::transport::TRANSPORTS;
use scenario::{Changes, Scenario, ScenarioError, surroundings};

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

/// A value just beyond each end of a parameter's range, as TOML.
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

/// HPCC-21, DCQCN-17, TIMELY-33, DCTCP-10: every parameter of every control and transport refuses what is outside
/// of its range, and names its key.
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
            // Some act only beside a word of another.
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

/// Nothing of a list is without a name, a sentence or a default.
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

/// TIMELY-07, TIMELY-08: what only several values together make wrong.
#[test]
fn thresholds_that_cross_are_refused() {
    refused(
        "timely",
        &["scheme.timely.t_low=600us"],
        "t_low 600us is above t_high 500us",
    );
}

/// A list of controls names one for each traffic class; the last one is that of all further classes.
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
    for class in [1, 2, 5] {
        let dctcp = matches!(controls.of(class), ControlConfig::Dctcp(c) if c.g == 0.25);
        assert!(dctcp, "{:?}", controls.of(class));
    }
    // Only flows of DCQCN are notified of marks.
    assert_eq!(nic.cnp_classes, 1 << DATA_CLASS);
    assert!(nic.cnp_interval_ps.is_some());
    let one = load("dcqcn", &[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        one.spec.scheme.configure(&around).nic.cnp_classes,
        0b1111_1100
    );
}

/// What a list of controls cannot say.
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

/// NS3-60: the scan of ns-3 has no CNPs, which would be ignored; as flags of ACKs they are what it knows.
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

/// SW-55
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
