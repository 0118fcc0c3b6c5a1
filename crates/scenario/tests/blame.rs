//! The delay breakdowns of flows add up to the FCT under every preset, and recording them changes
//! no result.

use std::path::Path;

use fabric::engine;
use fabric::measure::{BlameHopRecord, BlameRecord, Part, RecordSpec};
use fabric::record::{FlowRecord, Outcome, Recorder, Rows};
use scenario::{Changes, PRESETS, Scenario};

/// Two leaves with four hosts each. Every host sends to every other host, and there are two incasts
/// from all hosts.
const BUSY: &str = r#"
name = "busy"
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 4, link = { rate = "100Gbps", delay = "1us" }, uplink = { rate = "100Gbps", delay = "1us" } }

[switch]
buffer = "400KB"

[[traffic]]
name = "web"
pattern = "uniform"
sizes = "web-search@hpcc"
load = { fraction = "60%", of = "hosts" }
window = ["0us", "150us"]

[[traffic]]
name = "incast"
pattern = "incast"
degree = 6
total = "240KB"
every = "60us"
window = ["10us", "150us"]
"#;

#[derive(Default)]
struct Keep {
    flows: Vec<FlowRecord>,
    blame: Vec<BlameRecord>,
    hops: Vec<BlameHopRecord>,
}

impl Recorder for Keep {
    fn rows(&mut self, rows: &dyn Rows) {
        self.flows.extend_from_slice(rows.of().unwrap_or_default());
        self.blame.extend_from_slice(rows.of().unwrap_or_default());
        self.hops.extend_from_slice(rows.of().unwrap_or_default());
    }
}

fn scenario(preset: &str, profile: Option<&str>, set: &[&str]) -> Scenario {
    let changes = Changes {
        scheme: Some(preset.to_owned()),
        profile: profile.map(str::to_owned),
        set: set.iter().map(|s| (*s).to_owned()).collect(),
        ..Changes::default()
    };
    Scenario::parse(BUSY, "busy.toml", Path::new("."), &changes)
        .unwrap_or_else(|e| panic!("{preset}:\n{e}"))
}

fn run(scenario: &Scenario) -> (Outcome, Keep) {
    let mut keep = Keep::default();
    let outcome = engine::run(scenario.build().unwrap().plan, &mut keep, &mut |_| true);
    (outcome, keep)
}

/// Runs a scenario with and without delay breakdowns, and checks the breakdowns. Returns the
/// recorded rows.
fn check(what: &str, plain: &Scenario, recorded: &Scenario) -> Keep {
    assert_eq!(plain.spec.record, RecordSpec::default());
    let (without, _) = run(plain);
    let (with, keep) = run(recorded);
    assert_eq!(with.violations, [], "{what}");
    assert_eq!(without.digest, with.digest, "{what}");
    let finished = keep.flows.iter().filter(|f| f.received_ps.is_some());
    assert_eq!(finished.count(), keep.blame.len(), "{what}");
    assert!(keep.blame.len() > 10, "{what}: {}", keep.blame.len());
    let mut hops = keep.hops.iter().peekable();
    for row in &keep.blame {
        let sum: u64 = row.parts.sum();
        let flow = keep.flows.iter().find(|f| f.flow.id == row.flow).unwrap();
        let fct_ps = flow.received_ps.unwrap() - flow.flow.start_ps;
        assert_eq!((row.fct_ps, sum), (fct_ps, fct_ps), "{what}: {row:?}");
        let mut by_hop = [0; Part::ALL.len()];
        for part in [Part::Sending, Part::Propagation, Part::Serialisation] {
            by_hop[part as usize] = row.parts.get(part);
        }
        while let Some(hop) = hops.next_if(|hop| hop.flow == row.flow) {
            by_hop[hop.part as usize] += hop.spent_ps;
        }
        assert_eq!(by_hop, row.parts.all(), "{what}: {row:?}");
    }
    keep
}

/// Components of the delay breakdown that must be nonzero under a preset, because they are typical
/// of its mechanisms.
const SHOWN: &[(&str, &[Part])] = &[
    ("bfc", &[Part::NicQueuePause, Part::QueuePause]),
    ("bfc-flow", &[Part::NicQueuePause, Part::QueuePause]),
    ("hpcc", &[Part::Pace, Part::ClassPause]),
    ("dcqcn", &[Part::NicClassPause, Part::ClassPause]),
    ("ideal-fq", &[Part::Window, Part::BehindIncast]),
    ("expresspass", &[Part::Receiver]),
    ("ndp", &[Part::Receiver, Part::Recovery]),
    ("homa", &[Part::Receiver, Part::BehindOwn]),
    (
        "hpcc+floodgate-ideal",
        &[Part::Held, Part::NicDestinationPause],
    ),
    ("dcqcn+cbfc", &[Part::NicNoRoom, Part::NoRoom]),
];

fn spent(keep: &Keep, part: Part) -> u64 {
    let of = keep.blame.iter().map(|row| row.parts.get(part));
    of.sum()
}

// BLM-01, BLM-02, BLM-03, BLM-24, BLM-31, BLM-33: components add up to the FCT
#[test]
fn the_parts_of_each_flow_add_up_under_every_preset() {
    for preset in PRESETS {
        let set = ["record.blame={}"];
        let recorded = scenario(preset.name, None, &set);
        let keep = check(preset.name, &scenario(preset.name, None, &[]), &recorded);
        let shown = SHOWN.iter().find(|(name, _)| *name == preset.name);
        for part in shown.iter().flat_map(|(_, parts)| parts.iter()) {
            assert!(spent(&keep, *part) > 0, "{}: {part:?}", preset.name);
        }
        let paused = |part| {
            use Part::{ClassPause, Held, NicClassPause, NicDestinationPause};
            use Part::{NicQueuePause, NoRoom, QueuePause};
            let pauses = [ClassPause, Held, NicClassPause, NicDestinationPause];
            pauses.contains(&part) || [NicQueuePause, NoRoom, QueuePause].contains(&part)
        };
        for hop in &keep.hops {
            assert_eq!(
                hop.root.is_some(),
                paused(hop.part),
                "{}: {hop:?}",
                preset.name
            );
        }
    }
}

// BLM-03: breakdown without ports
#[test]
fn it_can_be_told_without_ports_and_resolved_scenarios_keep_it() {
    let read = |set: &str| {
        let first = scenario("bfc", None, &[set]);
        let (text, at) = (&first.resolved, Path::new("/"));
        let again = Scenario::parse(text, "resolved.toml", at, &Changes::default()).unwrap();
        assert_eq!(first.spec.record, again.spec.record, "{text}");
        first
    };
    let (_, whole) = run(&read("record.blame={}"));
    let (_, flows) = run(&read("record.blame.hops=false"));
    assert_eq!(whole.blame, flows.blame);
    assert!(!whole.hops.is_empty() && flows.hops.is_empty());
}

// BLM-11: breakdown with a profile
#[test]
fn they_add_up_in_the_replay_of_other_simulators() {
    let set = ["record.blame={}", "switch.buffer=2MB"];
    for (profile, preset) in [
        ("ns3", "hpcc"),
        ("ns3", "dcqcn"),
        ("conext21-code", "dcqcn+floodgate"),
        ("nsdi22-code", "bfc"),
    ] {
        let plain = scenario(preset, Some(profile), &set[1..]);
        let recorded = scenario(preset, Some(profile), &set);
        check(&format!("{profile} {preset}"), &plain, &recorded);
    }
}

// BLM-25: breakdown with link failures
#[test]
fn they_add_up_where_links_fail_and_come_back() {
    let fails =
        "topology.failures=[{ links = [\"leaf0--spine0\"], at = \"40us\", until = \"90us\" }]";
    let set = ["record.blame={}", fails];
    for preset in ["dcqcn", "bfc", "hpcc-no-pfc"] {
        let plain = scenario(preset, None, &set[1..]);
        check(preset, &plain, &scenario(preset, None, &set));
    }
}
