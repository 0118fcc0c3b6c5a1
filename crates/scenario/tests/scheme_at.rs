//! Tests of `[[scheme.at]]`: switches whose scheme differs from that of the other switches.

use std::path::Path;

use dataplane::config::Classify;
use dataplane::switch::SwitchConfig;
use fabric::engine::Simulation;
use fabric::record::Outcome;
use scenario::{Changes, Scenario};

use crate::allocations::Nobody;

/// Two racks with two spines. Eight hosts send to one host.
const NETWORK: &str = "name = \"x\"\ntopology = { kind = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 4, \
                       link = { rate = \"100Gbps\", delay = \"1us\" }, uplink = { rate = \"100Gbps\", delay = \"1us\" } }\n\
                       [switch]\nbuffer = \"12MB\"\n[[traffic]]\nname = \"t\"\npattern = \"incast\"\ndegree = 7\n\
                       total = \"2MB\"\nevery = \"1ms\"\nwindow = [\"0us\", \"1us\"]\n[run]\nuntil = \"20ms\"\n";

fn parse(scheme: &str) -> Result<Scenario, String> {
    let text = format!("{NETWORK}[scheme]\n{scheme}");
    Scenario::parse(&text, "x.toml", Path::new("."), &Changes::default()).map_err(|e| e.to_string())
}

fn good(scheme: &str) -> Scenario {
    parse(scheme).unwrap_or_else(|errors| panic!("{scheme}: {errors}"))
}

fn run(scenario: &Scenario) -> Outcome {
    let plan = scenario.build().expect("a sound scenario").plan;
    let outcome = Simulation::new(plan).run(&mut Nobody, &mut |_| true);
    assert_eq!(outcome.violations, []);
    outcome
}

const FIFO: &str = "classify = \"fifo\"\nschedule = \"fifo\"\nbackpressure = \"none\"\n";

// PRE-292: exceptions for some switches
#[test]
fn an_entry_changes_the_switches_that_it_names() {
    let scenario = good(&format!(
        "preset = \"bfc+window\"\n[[scheme.at]]\nswitches = [\"spine*\"]\n{FIFO}"
    ));
    let config = scenario.spec.configure(&scenario.graph);
    let is_fifo = |switch: &SwitchConfig| switch.classify == Classify::Fifo;
    for node in scenario.graph.switch_ids() {
        let is_spine = scenario.graph.name(node).starts_with("spine");
        assert_eq!(is_fifo(config.switch_of(node)), is_spine, "{node}");
    }
    let warned = |text: &str| scenario.warnings.iter().any(|w| w.key == text);
    assert!(warned("scheme.at"), "{:?}", scenario.warnings);
    let again = Scenario::parse(
        &scenario.resolved,
        "r.toml",
        Path::new("."),
        &Changes::default(),
    );
    assert_eq!(again.expect("it reads its own text").spec, scenario.spec);
}

// PRE-292: an entry for all switches gives the same run as the same keys in `[scheme]`.
#[test]
fn an_entry_for_all_switches_is_like_the_scheme_itself() {
    let keys = "backpressure = \"none\"\n";
    let own = run(&good(&format!(
        "preset = \"bfc+window\"\nnic.obeys = []\n{keys}"
    )));
    let entry = run(&good(&format!(
        "preset = \"bfc+window\"\n[[scheme.at]]\nswitches = [\"*\"]\n{keys}"
    )));
    assert_eq!(own.digest, entry.digest);
}

// PRE-292, SW-46: if only some switches run BFC, it pauses the queues of their neighbours that run
// BFC; other switches ignore its pauses.
#[test]
fn bfc_acts_in_a_part_of_the_network() {
    let pauses = |outcome: &Outcome| outcome.counters.hop["bfc_pauses"];
    let all = run(&good("preset = \"bfc+window\"\n"));
    let leaves = run(&good(&format!(
        "preset = \"bfc+window\"\n[[scheme.at]]\nswitches = [\"spine*\"]\n{FIFO}"
    )));
    assert!(pauses(&leaves) > 0 && leaves.digest != all.digest);
    assert_eq!(leaves.finished, all.finished);
    let none = run(&good(&format!(
        "preset = \"bfc+window\"\n[[scheme.at]]\nswitches = [\"*\"]\n{FIFO}"
    )));
    assert_eq!(pauses(&none), 0);
}

// PRE-292: invalid entries
#[test]
fn entries_that_cannot_work_are_refused() {
    let entry = |base: &str, text: &str| {
        parse(&format!("preset = \"{base}\"\n[[scheme.at]]\n{text}")).unwrap_err()
    };
    for (base, text, expected) in [
        ("bfc", "switches = [\"spin*\", \"leaf9\"]\n", "leaf9"),
        ("bfc", "switches = [\"host*\"]\n", "names no switch"),
        ("bfc", "switches = [\"leaf0\"]\nmtu = \"4KB\"\n", "mtu"),
        ("bfc", "backpressure = \"none\"\n", "switches"),
        (
            "bfc",
            "switches = [\"leaf*\"]\nbackpressure = \"none\"\n[[scheme.at]]\nswitches = [\"leaf1\"]\n",
            "leaf1",
        ),
        (
            "dcqcn+floodgate",
            "switches = [\"spine*\"]\nbackpressure = \"none\"\n",
            "floodgate",
        ),
        (
            "dcqcn",
            "switches = [\"spine*\"]\npfc.pause = \"quanta\"\n",
            "pause",
        ),
        (
            "bfc",
            "switches = [\"spine*\"]\nclassify = \"fifo\"\n",
            "classify",
        ),
    ] {
        let error = entry(base, text);
        assert!(error.contains(expected), "{base} {text}: {error}");
    }
}
