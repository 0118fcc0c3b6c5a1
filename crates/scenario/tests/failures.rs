//! Link failures in scenarios. The rules are in `specs/links.md`.

use fabric::LinkId;
use std::path::Path;

use dataplane::switch::Stranded;
use fabric::engine::OnDeadlock;
use fabric::topology::NodeKind;
use scenario::{Changes, Problem, Scenario};

const US: u64 = 1_000_000;

fn text(failures: &str, run: &str, scheme: &str) -> String {
    format!(
        r#"name = "pod"
seed = 7

[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 4
link = {{ rate = "100Gbps", delay = "1us" }}
{failures}

[[traffic]]
name = "web"
pattern = "uniform"
sizes = "web-search@hpcc"
load = {{ fraction = 0.3, of = "hosts" }}
window = ["0us", "1ms"]

[run]
{run}

[scheme]
{scheme}
"#
    )
}

fn load_set(text: &str, set: &[&str]) -> Result<Scenario, Vec<Problem>> {
    let changes = Changes {
        set: set.iter().map(|s| (*s).to_owned()).collect(),
        ..Changes::default()
    };
    Scenario::parse(text, "pod.toml", Path::new("."), &changes).map_err(|e| e.problems)
}

fn load(text: &str) -> Result<Scenario, Vec<Problem>> {
    load_set(text, &[])
}

#[track_caller]
fn good(failures: &str) -> Scenario {
    load(&text(failures, "", "preset = \"dcqcn\"")).unwrap_or_else(|e| panic!("{e:?}"))
}

#[track_caller]
fn refused(failures: &str, word: &str) {
    let problems =
        load(&text(failures, "", "preset = \"dcqcn\"")).expect_err("this must be refused");
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 1, "{shown:?}");
    assert!(shown[0].contains(word), "{} does not say {word}", shown[0]);
    assert!(shown[0].contains("pod.toml:"), "{}", shown[0]);
    assert!(problems[0].hint.is_some(), "{}", shown[0]);
}

fn warnings(scenario: &Scenario) -> Vec<String> {
    scenario.warnings.iter().map(ToString::to_string).collect()
}

/// The two failed links in Fig. 17 of the SPFC paper.
const POD: &str = "[[topology.failures]]\nlinks = [\"spine0--leaf3\", \"leaf0 -- spine1\"]\n";

// LNK-03, LNK-04: listed links, default times
#[test]
fn links_are_named_and_times_have_defaults() {
    let scenario = good(
        "reconvergence = \"50us\"\ndead_queues = \"reroute\"\n\
         [[topology.failures]]\nlinks = [\"leaf1--spine0\"]\nat = \"100us\"\nuntil = \"300us\"\n\
         [[topology.failures]]\nlinks = [\"host3--leaf0\"]\n",
    );
    let graph = &scenario.graph;
    let link_failures = scenario.spec.link_failures(graph);
    let names: Vec<String> = link_failures
        .initial()
        .iter()
        .map(|&l| graph.link_name(LinkId::new(l.index())))
        .collect();
    assert_eq!(names, ["host3--leaf0"]);
    let changes: Vec<(u64, String, bool)> = link_failures
        .changes()
        .iter()
        .map(|c| {
            (
                c.at_ps / US,
                graph.link_name(LinkId::new(c.link.index())),
                c.up,
            )
        })
        .collect();
    let uplink = "leaf1--spine0".to_owned();
    assert_eq!(changes, [(100, uplink.clone(), false), (300, uplink, true)]);
    assert_eq!(link_failures.reconvergence_ps, 50 * US);
    assert_eq!(link_failures.stranded, Stranded::Wait);
    let plain = good(POD).spec.link_failures(graph);
    assert_eq!(
        (plain.reconvergence_ps, plain.stranded),
        (0, Stranded::Drop)
    );
    assert_eq!(plain.initial().len(), 2);
    assert!(good("").spec.link_failures(graph).is_empty());
}

// LNK-04: failures in `resolved.toml`
#[test]
fn resolved_scenarios_keep_their_failures() {
    for failures in [
        POD,
        "reconvergence = \"1us\"\n[[topology.failures]]\nrandom = 3\nat = \"5us\"\n",
    ] {
        let first = good(failures);
        let again = load(&first.resolved).unwrap_or_else(|e| panic!("{e:?}\n{}", first.resolved));
        assert_eq!(first.spec, again.spec, "{}", first.resolved);
        assert!(
            first.resolved.contains("dead_queues = \"drop\""),
            "{}",
            first.resolved
        );
    }
    let set = [
        "topology.failures=[{ links = [\"leaf0--spine0\"] }]",
        "topology.reconvergence=2us",
    ];
    let by_option = load_set(&text("", "", ""), &set).unwrap();
    assert_eq!(
        by_option
            .spec
            .link_failures(&by_option.graph)
            .initial()
            .len(),
        1
    );
}

// LNK-05: random failures
#[test]
fn chance_draws_other_links_for_other_seeds_and_none_twice() {
    let failures = "[[topology.failures]]\nlinks = [\"leaf0--spine0\"]\n\
                    [[topology.failures]]\nrandom = 3\n[[topology.failures]]\nrandom = 4\n";
    let drawn = |seed: &str| {
        let s = load_set(&text(failures, "", ""), &[seed]).unwrap();
        let down = s.spec.link_failures(&s.graph).initial().to_vec();
        assert_eq!(down.len(), 8, "all eight uplinks, each once");
        let first: Vec<String> = {
            let mut one = s.spec.clone();
            one.failures.entries.truncate(2);
            let down = one.link_failures(&s.graph);
            down.initial()
                .iter()
                .map(|&l| s.graph.link_name(LinkId::new(l.index())))
                .collect()
        };
        for &link in &down {
            let port = s.graph.port(LinkId::new(link.index()));
            assert_eq!(s.graph.kind(port.peer), NodeKind::Switch);
            assert_eq!(
                s.graph.kind(s.graph.sender(LinkId::new(link.index()))),
                NodeKind::Switch
            );
        }
        first
    };
    assert_eq!(drawn("seed=1"), drawn("seed=1"));
    let all: std::collections::BTreeSet<_> = (1..9).map(|n| drawn(&format!("seed={n}"))).collect();
    assert!(all.len() > 4, "{all:?}");
    let hosts = "[[topology.failures]]\nrandom = 24\namong = \"all\"\n";
    assert_eq!(
        good(hosts)
            .spec
            .link_failures(&good("").graph)
            .initial()
            .len(),
        24
    );
}

// LNK-04, LNK-05, LNK-06: invalid entries
#[test]
fn what_cannot_be_is_refused_at_its_place() {
    let one = |body: &str| format!("[[topology.failures]]\n{body}\n");
    refused(&one("links = [\"leaf0--spine7\"]"), "no node \"spine7\"");
    refused(
        &one("links = [\"leaf0--leaf1\"]"),
        "no link joins leaf0 and leaf1",
    );
    refused(&one("links = [\"leaf0-spine1\"]"), "two dashes");
    refused(&one("links = []"), "no link is named");
    refused(&one("links = \"leaf0--spine0\""), "expected a list");
    refused(&one("at = \"1us\""), "needs `links`");
    refused(&one("random = 0"), "out of range");
    refused(&one("random = 9"), "there are no 9 such links");
    refused(
        &one("random = 2\nlinks = [\"leaf0--spine0\"]"),
        "would do nothing",
    );
    refused(
        &one("random = 2\namong = \"hosts\""),
        "there is no \"hosts\"",
    );
    refused(
        &one("links = [\"leaf0--spine0\"]\namong = \"all\""),
        "would do nothing",
    );
    refused(
        &one("random = 1\nat = \"5us\"\nuntil = \"5us\""),
        "back before it fails",
    );
    refused(&one("random = 1\nat = 5"), "needs a unit");
    refused(&one("random = 1\nuntill = \"5us\""), "did you mean `until`");
    refused("failures = 3", "expected a list of failures");
    refused("failures = [1]", "a failure is a table");
    refused("reconvergence = \"5us\"", "would do nothing");
    refused("dead_queues = \"reroute\"", "would do nothing");
    refused("failure = []", "did you mean `failures`");
    let both = one("links = [\"leaf0--spine0\"]") + &one("random = 8");
    refused(&both, "1 links more are to fail than there are");
    let star = text("", "", "").replace(
        "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4",
        "kind = \"star\"\nhosts = 4",
    );
    let star = star.replace(
        "\n\n[[traffic]]",
        "\n[[topology.failures]]\nrandom = 1\n[[traffic]]",
    );
    let problems = load(&star).unwrap_err();
    assert!(
        problems[0].message.contains("no link joins two switches"),
        "{problems:?}"
    );
}

// LNK-06: failures need a recovery
#[test]
fn failures_need_a_recovery_and_no_replay() {
    let changes = "[[topology.failures]]\nrandom = 1\nat = \"5us\"\n";
    let with = |failures: &str, scheme: &str| load(&text(failures, "", scheme));
    let none = "preset = \"bfc\"\nrecovery = \"none\"\nadmission = \"unlimited\"";
    let problems = with(changes, none).unwrap_err();
    assert!(
        problems[0].message.contains("not sent again"),
        "{problems:?}"
    );
    assert!(
        with("[[topology.failures]]\nrandom = 1\n", none).is_ok(),
        "nothing is lost"
    );
    let problems = with(POD, "preset = \"dcqcn\"\nprofile = \"ns3\"").unwrap_err();
    assert!(
        problems
            .iter()
            .any(|p| p.message.contains("knows no failing links")),
        "{problems:?}"
    );
    // FG-35: schemes that do not support failures
    for preset in ["dcqcn+floodgate", "dcqcn+pfc-tag"] {
        let scheme = format!("preset = \"{preset}\"");
        assert!(with(changes, &scheme).is_ok() && with(POD, &scheme).is_ok());
    }
    let patient = with(changes, "preset = \"dcqcn\"\ngo-back-n.timeout = \"off\"").unwrap();
    assert!(
        warnings(&patient)
            .iter()
            .any(|w| w.contains("without a timeout"))
    );
    let late = "[[topology.failures]]\nrandom = 1\nat = \"5ms\"\n";
    let late = load(&text(late, "until = \"2ms\"", "")).unwrap();
    assert!(
        warnings(&late)[0].contains("when the run is over"),
        "{:?}",
        warnings(&late)
    );
}

// LNK-06: options without failures during a run
#[test]
fn what_follows_single_frames_or_shares_windows_goes_with_no_failures_during_a_run() {
    let changes = "[[topology.failures]]\nrandom = 1\nat = \"5us\"\n";
    let refusal = |scheme: &str, record: &str| -> Option<String> {
        let text = text(changes, "", scheme) + record;
        load(&text).err().map(|p| p[0].message.clone())
    };
    let floodgate = "preset = \"dcqcn+floodgate\"\n";
    assert_eq!(refusal(floodgate, ""), None);
    let shared = refusal(&format!("{floodgate}floodgate.table = 64"), "");
    assert!(shared.unwrap().contains("cannot follow new routes"));
    let plain = refusal(&format!("{floodgate}floodgate.loss = \"off\""), "");
    assert!(plain.unwrap().contains("never regain"));
    let followed = refusal("", "[record]\npauses = { flows = false }\n");
    assert!(followed.unwrap().contains("cannot be followed"));
    for preset in ["expresspass", "ndp", "homa"] {
        assert_eq!(
            refusal(&format!("preset = \"{preset}\"\n"), ""),
            None,
            "{preset}"
        );
    }
}

// LNK-13: unreachable hosts
#[test]
fn hosts_out_of_reach_are_named_with_the_time() {
    let cut = good(
        "[[topology.failures]]\nlinks = [\"leaf2--spine0\", \"leaf2--spine1\", \"host1--leaf0\"]\nat = \"10us\"\n",
    );
    let said = warnings(&cut);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0]
            .contains("from 10us on most hosts cannot reach host1, host8, host9, host10, host11"),
        "{said:?}"
    );
}

#[test]
fn a_note_names_new_routes_at_the_instant_of_a_failure() {
    let noted = |failures: &str| {
        let notes = good(failures).notes;
        notes.iter().any(|note| note.message.contains("new routes"))
    };
    let later = format!("{POD}at = \"5us\"\n");
    assert!(noted(&later));
    assert!(!noted(&format!("reconvergence = \"1us\"\n{later}")));
    assert!(!noted(POD));
    assert!(
        !noted(&format!("{POD}until = \"5us\"\n")),
        "the links only recover during the run"
    );
}

// LNK-40: cyclic buffer dependency
#[test]
fn check_names_the_cycle_that_failed_links_close() {
    assert_eq!(warnings(&good("")), [""; 0]);
    let said = warnings(&good(POD));
    assert_eq!(said.len(), 1, "{said:?}");
    for part in [
        "PFC can deadlock",
        "spine0->leaf",
        "leaf1->spine",
        "spine1->leaf",
        "leaf2->spine",
        "again",
        "one of 2",
    ] {
        assert!(said[0].contains(part), "{part}: {said:?}");
    }
    let later = warnings(&good(&format!("{POD}at = \"20us\"\nuntil = \"30us\"\n")));
    assert!(
        later[0].contains("from 20us on PFC can deadlock"),
        "{later:?}"
    );
    assert_eq!(later.len(), 1, "{later:?}");
    // Without PFC no port waits for another. BFC exempts the port pairs that could form the cycle,
    // unless `elide` is off.
    let with = |scheme: &str| warnings(&load(&text(POD, "", scheme)).unwrap());
    assert_eq!(
        with("preset = \"dcqcn\"\nadmission = \"egress-dynamic\""),
        [""; 0]
    );
    assert_eq!(with("preset = \"bfc\""), [""; 0]);
    assert!(with("preset = \"bfc\"\nbfc.elide = \"off\"")[0].contains("BFC can deadlock"));
    let graph = good(POD).backpressure_graph().unwrap();
    assert_eq!(graph.cycles.len(), 2);
}

// LNK-43: deadlock
#[test]
fn a_run_says_what_it_does_with_a_deadlock() {
    let with = |run: &str| load(&text(POD, run, "")).unwrap().spec.run.on_deadlock;
    assert_eq!(with(""), OnDeadlock::GoOn); // PRE-86
    assert_eq!(with("on_deadlock = \"end\""), OnDeadlock::End);
    let problems = load(&text(POD, "on_deadlock = \"stop\"", "")).unwrap_err();
    assert!(
        problems[0].hint.as_ref().unwrap().contains("go-on, end"),
        "{problems:?}"
    );
}
