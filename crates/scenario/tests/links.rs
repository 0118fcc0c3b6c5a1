//! Tests of `scheme.link`: link schemes alone, in combination, and below hop-by-hop schemes.

use std::path::Path;

use dataplane::hop::HopConfig;
use dataplane::link::cbfc::CbfcConfig;
use dataplane::link::llr::{Flush, LlrConfig};
use dataplane::switch::SwitchConfig;
use dataplane::units::US;
use fabric::engine::Simulation;
use fabric::record::{Ending, Outcome};
use scenario::{Changes, Scenario};

use crate::allocations::Nobody;

/// Two racks with two spines. Seven hosts send to one host, over links that lose 0.1 % of the
/// frames.
const NETWORK: &str = "name = \"x\"\ntopology = { kind = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 4, \
                       link = { rate = \"100Gbps\", delay = \"1us\", loss = 0.001 }, uplink = { rate = \"100Gbps\", \
                       delay = \"1us\", loss = 0.001 } }\n[switch]\nbuffer = \"12MB\"\n[[traffic]]\nname = \"t\"\n\
                       pattern = \"incast\"\ndegree = 7\ntotal = \"2MB\"\nevery = \"1ms\"\n\
                       window = [\"0us\", \"1us\"]\n[run]\nuntil = \"20ms\"\n";

fn parse(scheme: &str) -> Result<Scenario, String> {
    let text = format!("{NETWORK}[scheme]\n{scheme}");
    Scenario::parse(&text, "x.toml", Path::new("."), &Changes::default()).map_err(|e| e.to_string())
}

fn switch(scheme: &str) -> SwitchConfig {
    let scenario = parse(scheme).unwrap_or_else(|errors| panic!("{scheme}: {errors}"));
    scenario.spec.configure(&scenario.graph).switch
}

fn run(scheme: &str) -> Outcome {
    let scenario = parse(scheme).unwrap_or_else(|errors| panic!("{scheme}: {errors}"));
    let plan = scenario.build().expect("a sound scenario").plan;
    let outcome = Simulation::new(plan).run(&mut Nobody, &mut |_| true);
    assert_eq!(outcome.violations, []);
    outcome
}

#[track_caller]
fn refused(scheme: &str, words: &[&str]) {
    let error = parse(scheme).expect_err("this must be refused");
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
}

// PRE-295: link schemes
#[test]
fn a_link_has_one_scheme_or_several() {
    let (credit, replay) = (Some(CbfcConfig::STANDARD), Some(LlrConfig::STANDARD));
    let pool = "preset = \"dcqcn\"\nadmission = \"shared-pool\"\n";
    let cases = [
        ("link = \"none\"", None, None),
        ("link = \"cbfc\"", credit, None),
        ("backpressure = \"cbfc\"", credit, None),
        ("link = \"llr\"", None, replay),
        ("link = [\"llr\", \"cbfc\"]", credit, replay),
        ("backpressure = \"cbfc\"\nlink = [\"llr\"]", credit, replay),
    ];
    for (keys, credit, replay) in cases {
        let switch = switch(&format!("{pool}{keys}\n"));
        let found = (switch.link.credit, switch.link.replay);
        assert_eq!(found, (credit, replay), "{keys}");
        assert_eq!(switch.hop, HopConfig::None, "{keys}");
    }
    let below = switch("preset = \"bfc\"\nlink = \"cbfc\"\n");
    assert!(below.hop.bfc().is_some() && below.link.credit.is_some());
    let changed =
        switch("link = \"llr\"\nllr = { replays = 7, timer = \"9us\", flush = \"block\" }\n");
    let expected = LlrConfig {
        replays: 7,
        timer_ps: Some(9 * US),
        flush: Flush::Block,
        ..LlrConfig::STANDARD
    };
    assert_eq!(changed.link.replay, Some(expected));
}

// LLR-20: hosts retransmit nothing, and every flow completes
#[test]
fn links_that_lose_frames_need_no_recovery_with_replay() {
    for scheme in [
        "preset = \"dcqcn+cbfc\"\nlink = [\"cbfc\", \"llr\"]\n",
        "preset = \"dcqcn+floodgate\"\nlink = [\"cbfc\", \"llr\"]\nadmission = \"shared-pool\"\n",
    ] {
        let outcome = run(&format!("{scheme}recovery = \"none\"\n"));
        assert_eq!(
            (outcome.ending, outcome.finished),
            (Ending::Drained, 7),
            "{scheme}"
        );
        assert!(outcome.counters.hop["llr_replays"] > 0, "{scheme}");
    }
    // BFC does not guarantee that its buffer is sufficient, so a recovery is required; but it
    // retransmits nothing here.
    let outcome = run("preset = \"bfc\"\nlink = \"llr\"\n");
    let counters = &outcome.counters;
    assert!(counters.hop["llr_replays"] > 0 && counters.hop["bfc_pauses"] > 0);
    assert_eq!((counters.retransmissions, counters.timeouts), (0, 0));
    refused(
        "preset = \"dcqcn\"\nrecovery = \"none\"\n",
        &["links lose frames"],
    );
}

// LLR-13, LLR-30, PRE-292: incompatible settings
#[test]
fn what_cannot_go_with_replay_is_refused() {
    refused("llr = { replays = 7 }\n", &["`link` is not \"llr\""]);
    refused(
        "link = \"llr\"\nllr = { bytes = \"500B\" }\n",
        &["500 B", "largest frame"],
    );
    refused(
        "link = \"llr\"\nrecovery = \"ideal\"\n",
        &["recovery = \"ideal\"", "LLR"],
    );
    refused(
        "preset = \"dcqcn\"\nlink = \"llr\"\npfc = { response = \"1us\" }\n",
        &["pfc.response", "LLR"],
    );
    refused(
        "link = \"llr\"\n[record]\nblame = {}\n",
        &["record.blame", "LLR"],
    );
    refused(
        "[[scheme.at]]\nswitches = [\"spine*\"]\nlink = \"llr\"\n",
        &["both ends of a link", "llr", "none"],
    );
}

// LLR-23: delayed pauses
#[test]
fn a_replayed_pause_is_a_warning() {
    let warnings = |scheme: &str| {
        let scenario = parse(scheme).unwrap_or_else(|errors| panic!("{scheme}: {errors}"));
        let late = |warning: &&scenario::Problem| warning.message.contains("a replay late");
        scenario.warnings.iter().filter(late).count()
    };
    assert_eq!(warnings("preset = \"dcqcn\"\nlink = \"llr\"\n"), 1);
    assert_eq!(warnings("preset = \"bfc\"\nlink = \"llr\"\n"), 0);
}
