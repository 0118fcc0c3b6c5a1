//! Scenarios that are shipped with Backwater, round trips through `resolved.toml`, and random
//! texts.

use fabric::{LinkId, NodeId};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use scenario::{Changes, PRESETS, Scenario};

fn shipped() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    assert!(files.len() >= 6, "{files:?}");
    files
}

fn with_scheme(name: &str) -> Changes {
    Changes {
        scheme: Some(name.to_owned()),
        ..Changes::default()
    }
}

#[test]
fn shipped_scenarios_are_sound_under_every_preset_and_read_back_as_themselves() {
    for file in shipped() {
        let own = Scenario::load(&file, &Changes::default())
            .unwrap_or_else(|e| panic!("{}:\n{e}", file.display()));
        assert_eq!(own.warnings, [], "{} warns", file.display());
        for preset in PRESETS {
            let what = format!("{} with {}", file.display(), preset.name);
            let first = Scenario::load(&file, &with_scheme(preset.name))
                .unwrap_or_else(|e| panic!("{what}:\n{e}"));
            let again = Scenario::parse(
                &first.resolved,
                "resolved.toml",
                Path::new("/"),
                &Changes::default(),
            )
            .unwrap_or_else(|e| panic!("{what}:\n{e}\n{}", first.resolved));
            assert_eq!(first.spec, again.spec, "{what}");
            assert_eq!(first.hash(), again.hash(), "{what}");
            assert!(first.build().is_ok(), "{what}");
        }
    }
}

#[test]
fn scenarios_of_the_benchmarks_are_sound() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/scenarios");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let scenario = Scenario::load(&file, &with_scheme("hpcc"))
            .unwrap_or_else(|e| panic!("{}:\n{e}", file.display()));
        assert_eq!(scenario.warnings, [], "{} warns", file.display());
        names.push(scenario.spec.name);
    }
    names.sort();
    let expected = [
        "all-to-all-256",
        "hadoop-128",
        "incast-128",
        "million-flows",
        "permutation-101306",
        "permutation-1024",
        "permutation-8192",
        "ring-1024",
        "training-64",
    ];
    assert_eq!(names, expected);
}

/// Options of HPCC, with values that only these options accept.
#[test]
fn variants_of_hpcc_read_back_as_themselves() {
    let file = shipped()
        .into_iter()
        .find(|f| f.ends_with("demo.toml"))
        .unwrap();
    let set = [
        "scheme.int.format=wire",
        "scheme.int.multiplier=4",
        "scheme.hpcc.reaction=per-rtt",
        "scheme.hpcc.rate=rx",
        "scheme.hpcc.alpha_fair=max-min",
        "scheme.hpcc.division=table",
        "scheme.hpcc.wai=100 flows",
    ];
    let changes = Changes {
        set: set.iter().map(|s| (*s).to_owned()).collect(),
        ..with_scheme("hpcc")
    };
    let first = Scenario::load(&file, &changes).unwrap_or_else(|e| panic!("{e}"));
    let again = Scenario::parse(
        &first.resolved,
        "resolved.toml",
        Path::new("/"),
        &Changes::default(),
    )
    .unwrap_or_else(|e| panic!("{e}\n{}", first.resolved));
    assert_eq!(first.spec, again.spec);
    assert_eq!(first.hash(), again.hash());
}

#[test]
fn every_scheme_meets_the_same_flows() {
    let file = shipped()
        .into_iter()
        .find(|f| f.ends_with("demo.toml"))
        .unwrap();
    let flows = |scheme: &str| {
        let scenario = Scenario::load(&file, &with_scheme(scheme)).unwrap();
        scenario.feed().unwrap().take(2_000).collect::<Vec<_>>()
    };
    let bfc = flows("bfc");
    assert_eq!(bfc.len(), 2_000);
    for preset in PRESETS {
        assert!(
            flows(preset.name) == bfc,
            "{} meets other flows",
            preset.name
        );
    }
}

#[test]
fn the_demo_is_what_it_says() {
    let file = shipped()
        .into_iter()
        .find(|f| f.ends_with("demo.toml"))
        .unwrap();
    let scenario = Scenario::load(&file, &Changes::default()).unwrap();
    assert_eq!(scenario.graph.hosts(), 128);
    assert_eq!(scenario.spec.buffer_bytes, 12_000_000);
    let loads = scenario::asked_loads(&scenario.spec, &scenario.graph);
    let core: Vec<f64> = loads.iter().map(|l| l.of_core.unwrap()).collect();
    assert!((core[0] - 0.55).abs() < 1e-9, "{core:?}");
    // 20 MB per 500 us is 320 Gbps. 112 of 127 senders are in other racks. The capacity of the core
    // is 6.4 Tbps.
    assert!((core[1] - 0.05 * 112.0 / 127.0).abs() < 1e-9, "{core:?}");
}

#[test]
fn resolved_says_where_values_come_from() {
    let text = "name = \"x\"\ntopology = { kind = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 2, link = { \
                rate = \"0.1Tbps\", delay = \"1000ns\" } }\n[[traffic]]\nname = \"t\"\npattern = \
                \"uniform\"\nsize = \"1MB\"\nload = { fraction = \"30%\", of = \"core\" }\nwindow = [\"0us\", \"1ms\"]\n";
    let changes = Changes {
        set: vec!["scheme.bfc.threshold=1.5".into()],
        ..Changes::default()
    };
    let resolved = Scenario::parse(text, "x.toml", Path::new("."), &changes)
        .unwrap()
        .resolved;
    for line in [
        "name = \"x\"  # scenario",
        "seed = 1  # default: PRE-41, our choice",
        "uplink = { rate = \"100Gbps\", delay = \"1us\" }  # default: as link",
        "fraction = \"30%\"  # scenario",
        "arrivals = { kind = \"poisson\" }  # default: exponential gaps",
        "until = \"101ms\"  # default: 100 ms after the last flow may start",
        "threshold = 1.5  # --set",
        "classify = \"dynamic\"  # PRE-20: flow table and empty queues (BFC paper 3.3.1)",
    ] {
        assert!(
            resolved.lines().any(|l| l == line),
            "{resolved}\nlacks {line}"
        );
    }
    assert!(
        !resolved.contains("[scheme.hpcc]"),
        "what has no effect is not written:\n{resolved}"
    );
}

/// Short runs write results, and equal runs give equal results.
#[test]
fn a_run_leaves_results() {
    let folder = std::env::temp_dir().join(format!("backwater-run-{}", std::process::id()));
    let text = "name = \"small\"\ntopology = { kind = \"star\", hosts = 3, link = { rate = \"100Gbps\", delay = \"1us\" } \
                }\n[[traffic]]\nname = \"t\"\npattern = \"incast\"\ndegree = 2\nsize = \"100KB\"\nreceiver = 0\n";
    let (mut digests, mut fullest) = (Vec::new(), None);
    for preset in PRESETS {
        let scenario =
            Scenario::parse(text, "x.toml", Path::new("."), &with_scheme(preset.name)).unwrap();
        let mut calls = 0;
        let mut progress = |now: &fabric::record::Progress| {
            calls += 1;
            fullest = fullest.max(now.fullest.map(|(node, bytes)| (bytes, node)));
            assert!(now.moved_ps <= now.now_ps);
        };
        let options = scenario::Options {
            out_dir: folder.join(preset.name),
            force: false,
            key: None,
            threads: fabric::engine::Threads::ONE,
            progress: Some(&mut progress),
            interrupt: None,
        };
        let summary = scenario
            .run(options)
            .unwrap_or_else(|e| panic!("{}: {e}", preset.name));
        assert!(summary.ok, "{}: {summary:?}", preset.name);
        assert_eq!(summary.ending, "drained", "{}", preset.name);
        assert!(calls > 0, "progress is told");
        let written =
            std::fs::read_to_string(folder.join(preset.name).join("resolved.toml")).unwrap();
        assert_eq!(written, scenario.resolved);
        digests.push(summary.digest);
    }
    let (bytes, node) = fullest.expect("an incast of two fills a buffer under some scheme");
    assert!(bytes > 0);
    assert_eq!(node, NodeId::new(3), "the only switch");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// With headroom for one frame, packets are lost. This is an error, unless the scenario allows
/// losses.
// AUD-05, PRE-280: allowed losses
#[test]
fn losses_on_purpose_are_a_warning() {
    let text = "name = \"lose\"\ntopology = { kind = \"star\", hosts = 4, link = { rate = \"100Gbps\", delay = \"1us\" } \
                }\nscheme = { preset = \"line-rate\", pfc = { xoff = \"50KB\", headroom = \"1048B\" } }\n\
                [[traffic]]\nname = \"t\"\npattern = \"incast\"\ndegree = 3\nsize = \"200KB\"\nreceiver = 0\n";
    let run = |on_loss: &str| {
        let folder =
            std::env::temp_dir().join(format!("backwater-{on_loss}-{}", std::process::id()));
        let changes = Changes {
            set: vec![format!("run.on_loss={on_loss}")],
            ..Changes::default()
        };
        let scenario = Scenario::parse(text, "x.toml", Path::new("."), &changes).unwrap();
        let options = scenario::Options {
            out_dir: folder.clone(),
            force: false,
            key: None,
            threads: fabric::engine::Threads::ONE,
            progress: None,
            interrupt: None,
        };
        let summary = scenario.run(options).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        summary
    };
    let (strict, lax) = (run("error"), run("warn"));
    assert!(strict.drops["total"] > 0);
    assert_eq!((&strict.drops, &strict.digest), (&lax.drops, &lax.digest));
    assert!(!strict.ok && lax.ok);
    assert_eq!(strict.violations[0].check, "lossless");
    assert_eq!(lax.warnings.len(), strict.warnings.len() + 1);
    let number = strict.drops["total"].to_string();
    assert!(lax.warnings.iter().any(|said| said.contains(&number)));
}

#[test]
fn an_interrupt_keeps_what_was_computed() {
    let folder = std::env::temp_dir().join(format!("backwater-stop-{}", std::process::id()));
    let file = shipped()
        .into_iter()
        .find(|f| f.ends_with("two-flows.toml"))
        .unwrap();
    let scenario = Scenario::load(&file, &Changes::default()).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(true);
    let options = scenario::Options {
        out_dir: folder.clone(),
        force: false,
        key: None,
        threads: fabric::engine::Threads::ONE,
        progress: None,
        interrupt: Some(&stop),
    };
    let summary = scenario.run(options).unwrap();
    assert_eq!(summary.ending, "interrupted");
    assert!(summary.partial && folder.join("summary.json").exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A shipped scenario with some bytes removed, inserted or changed.
fn mutated() -> impl Strategy<Value = String> {
    let texts: Vec<String> = shipped()
        .iter()
        .map(|f| std::fs::read_to_string(f).unwrap())
        .collect();
    let pieces = prop::sample::select(vec![
        "\"",
        "[",
        "]",
        "{",
        "}",
        "=",
        "\n",
        "-",
        "0",
        "9999999999999999999999",
        "1e30",
        "nan",
        "inf",
        "us",
        "\"1e30B\"",
        "true",
        "[[traffic]]",
        "[scheme]",
        ".",
        ",",
        "\u{feff}",
        "µ",
        "\0",
        "#",
        "1979-05-27",
    ]);
    let edit = (any::<prop::sample::Index>(), 0usize..12, pieces);
    (
        prop::sample::select(texts),
        prop::collection::vec(edit, 1..6),
    )
        .prop_map(|(mut text, edits)| {
            for (at, length, piece) in edits {
                let mut from = at.index(text.len() + 1);
                while !text.is_char_boundary(from) {
                    from -= 1;
                }
                let mut to = (from + length).min(text.len());
                while !text.is_char_boundary(to) {
                    to -= 1;
                }
                text.replace_range(from..to.max(from), piece);
            }
            text
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(text in "\\PC{0,200}", set in "\\PC{0,40}") {
        let changes = Changes { set: vec![set], ..Changes::default() };
        if let Err(error) = Scenario::parse(&text, "x.toml", Path::new("."), &changes) {
            prop_assert!(!error.problems.is_empty());
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn mutated_scenarios_are_answered(text in mutated()) {
        match Scenario::parse(&text, "x.toml", Path::new("."), &Changes::default()) {
            Err(error) => {
                prop_assert!(!error.problems.is_empty());
                for problem in &error.problems {
                    prop_assert!(!problem.message.contains("a mistake in backwater"), "{}", problem);
                    prop_assert!(!problem.to_string().is_empty());
                }
            }
            Ok(scenario) => {
                let again = Scenario::parse(&scenario.resolved, "r.toml", Path::new("/"), &Changes::default());
                let again = again.map_err(|e| TestCaseError::fail(format!("{e}\n{}", scenario.resolved)))?;
                prop_assert_eq!(scenario.spec, again.spec);
            }
        }
    }
}

fn parse(text: &str) -> Result<Scenario, scenario::ScenarioError> {
    Scenario::parse(text, "test.toml", Path::new("/"), &Changes::default())
}

const RECORDING: &str = r#"
name = "recording"
topology = { kind = "star", hosts = 4, link = { rate = "100Gbps", delay = "1us" } }
[[traffic]]
name = "web"
pattern = "uniform"
sizes = "web-search@hpcc"
load = 0.3
window = ["0us", "200us"]
[run]
warmup = "20us"
[record]
throughput = { every = "10us" }
queues = { every = "1us", ports = ["switch0->host2", "switch0 -> host0"] }
histogram = { every = "100ns", bin = "1KB" }
rtt = { bin = "100ns", window = ["0us", "50us"] }
"#;

// RCD-01, RCD-08: `[record]`
#[test]
fn what_is_recorded_is_read_filled_in_and_read_back() {
    let text = RECORDING.replace("load = 0.3", "load = { fraction = 0.3, of = \"hosts\" }");
    let scenario = parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let record = &scenario.spec.record;
    assert_eq!(record.throughput.map(|t| t.every_ps), Some(10_000_000));
    let queues = record.queues.as_ref().unwrap();
    assert_eq!(queues.every_ps, 1_000_000);
    assert_eq!(
        queues.ports,
        fabric::measure::RecordedPorts::Listed(vec![(NodeId::new(4), 0), (NodeId::new(4), 2)])
    );
    let histogram = record.histogram.unwrap();
    assert_eq!((histogram.every_ps, histogram.bin_bytes), (100_000, 1000));
    assert_eq!(
        histogram.window_ps,
        (20_000_000, 200_000_000),
        "the measured time"
    );
    let info = scenario.info();
    assert_eq!(
        histogram.window_ps,
        (info.measure_from_ps, info.measure_to_ps.unwrap())
    );
    assert_eq!(record.rtt.unwrap().window_ps, (0, 50_000_000));
    assert_eq!(scenario.build().unwrap().plan.record, *record);
    let again = parse(&scenario.resolved).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.spec, scenario.spec, "{}", scenario.resolved);

    let nothing = text.split("[record]").next().unwrap();
    let plain = parse(nothing).unwrap().spec.record;
    assert_eq!(plain, fabric::measure::RecordSpec::default());
}

// RCD-13: recorded ingresses
#[test]
fn ingresses_that_nobody_pauses_are_told() {
    let told = |scheme: &str| {
        let record = "[record]\ningress = { every = \"1us\", ports = \"switches\" }\n";
        let load = "load = { fraction = 0.3, of = \"hosts\" }";
        let plain = RECORDING
            .split("[record]")
            .next()
            .unwrap()
            .replace("load = 0.3", load);
        let text = plain + record;
        let scenario = Scenario::parse(&text, "own.toml", Path::new("/"), &with_scheme(scheme));
        let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
        let mut told = scenario.warnings.iter().map(ToString::to_string);
        told.find(|text| text.contains("port_ingress will be empty"))
    };
    assert_eq!(told("dcqcn"), None);
    let said = told("bfc").expect("a scheme without PFC");
    assert!(said.contains("own.toml:"), "{said}");
}

// TOP-19: round trips of the testbed
#[test]
fn the_testbed_has_the_round_trips_of_the_paper() {
    let file = |name: &str| {
        let files = shipped();
        let file = files.iter().find(|f| f.ends_with(name)).unwrap();
        Scenario::load(file, &Changes::default()).unwrap()
    };
    let testbed = file("hpcc-testbed.toml").graph;
    assert_eq!((testbed.hosts(), testbed.switches()), (32, 5));
    let mut paths = fabric::paths::Paths::new(testbed);
    // The first two ports belong to host 0. Its neighbour has the next two ports.
    assert_eq!(
        paths.base_rtt_ps(LinkId::new(0), LinkId::new(2), 1048, 60),
        5_400_000
    );
    assert_eq!(
        paths.base_rtt_ps(LinkId::new(0), LinkId::new(63), 1048, 60),
        8_500_000
    );
    let pod = file("hpcc-pod.toml").graph;
    assert_eq!((pod.hosts(), pod.switches()), (230, 16 + 8));
}

// TOP-20: lossy links
#[test]
fn loss_of_links_is_read_handed_down_and_read_back() {
    let text = r#"
name = "lossy"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 2
link = { rate = "100Gbps", delay = "1us", loss = "0.1%" }
[[traffic]]
name = "one"
pattern = "list"
flows = [{ src = 0, dst = 3, bytes = "1MB" }]
[scheme]
preset = "ideal-fq"
recovery = "go-back-n"
"#;
    let scenario = parse(text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario.warnings, []);
    for index in scenario.graph.link_ids() {
        let p = scenario.graph.loss(index).probability();
        assert!((p - 1e-3).abs() < 1e-12, "also of the uplinks: {p}");
    }
    let again = parse(&scenario.resolved).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.spec, scenario.spec, "{}", scenario.resolved);

    let warned = parse(&text.replace("ideal-fq", "hpcc")).unwrap().warnings;
    assert_eq!(warned.len(), 1);
    assert!(
        warned[0].message.contains("pauses and resumes of PFC"),
        "{}",
        warned[0]
    );
    let error = parse(&text.replace("go-back-n", "none")).unwrap_err();
    assert!(error.to_string().contains("is not sent again"), "{error}");
    let error = parse(&text.replace("0.1%", "101%")).unwrap_err();
    assert!(
        error.to_string().contains("`loss`: 1.01 is out of range"),
        "{error}"
    );
}

// QNT-05, QNT-07, PRE-240, PRE-241: pause times
#[test]
fn pause_times_are_read_and_those_that_run_out_before_they_are_repeated_are_refused() {
    let text = r#"
name = "timed"
[topology]
kind = "star"
hosts = 4
link = { rate = "100Gbps", delay = "1us", loss = "0.1%" }
[[traffic]]
name = "one"
pattern = "list"
flows = [{ src = 0, dst = 3, bytes = "1MB" }]
[scheme]
preset = "dcqcn"
recovery = "go-back-n"
pfc = { pause = "quanta" }
"#;
    let scenario = parse(text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario.warnings, [], "lost pauses are repeated");
    for line in ["quanta = 65535", "refresh = 0.5"] {
        assert!(scenario.resolved.contains(line), "{}", scenario.resolved);
    }
    let again = parse(&scenario.resolved).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.spec, scenario.spec, "{}", scenario.resolved);

    let plain = parse(&text.replace("pfc = { pause = \"quanta\" }\n", "")).unwrap();
    assert!(plain.resolved.contains("pause = \"until-resumed\""));
    // A pause of 20 quanta lasts 1280 bytes. After half of it, less time is left than a frame of
    // 1048 bytes and a pause frame need.
    let short = text.replace("\"quanta\"", "\"quanta\", quanta = 20");
    let error = parse(&short).unwrap_err().to_string();
    assert!(
        error.contains("a pause of 20 quanta is repeated after 10"),
        "{error}"
    );
    assert!(error.contains("test.toml:14:"), "{error}");
    let enough = short.replace("= 20", "= 20, refresh = 0.05");
    assert!(parse(&enough).is_ok());
    let idle = text.replace("pause = \"quanta\"", "quanta = 20");
    assert!(
        parse(&idle)
            .unwrap_err()
            .to_string()
            .contains("`pause` is not")
    );
}

// PRE-290: omitted effects
#[test]
fn what_is_not_modelled_is_true_for_the_configuration() {
    let sentences = |scheme: &str, link: &str| {
        let text = format!(
            "name = \"foot\"\ntopology = {{ kind = \"star\", hosts = 3, link = {{ rate = \"100Gbps\", delay = \"1us\"{link} \
             }} }}\n[[traffic]]\nname = \"t\"\npattern = \"list\"\nflows = [{{ src = 0, dst = 1, bytes = \"1KB\" }}]\n\
             [scheme]\n{scheme}\n"
        );
        let scenario = parse(&text).unwrap_or_else(|e| panic!("{scheme}: {e}"));
        scenario.info().not_modelled
    };
    let has = |sentences: &[String], part: &str| sentences.iter().any(|s| s.contains(part));
    let plain = sentences("preset = \"dcqcn\"", "");
    for part in [
        "pauses do not expire",
        "process a packet without delay",
        "lose no frames",
    ] {
        assert!(has(&plain, part), "{part}: {plain:?}");
    }
    let timed = sentences("preset = \"dcqcn\"\npfc = { pause = \"quanta\" }", "");
    assert!(!has(&timed, "expire"), "{timed:?}");
    let without = sentences("preset = \"dcqcn+cbfc\"", "");
    assert!(!has(&without, "PFC"), "{without:?}");
    for key in ["host_delay = \"1us\"", "host_rate = \"10Gbps\""] {
        let hosts = sentences(&format!("preset = \"dcqcn\"\nnic = {{ {key} }}"), "");
        assert!(!has(&hosts, "without delay"), "{hosts:?}");
        assert!(has(&hosts, "does not vary"), "{hosts:?}");
    }
    let lossy = sentences("preset = \"dcqcn\"", ", loss = \"0.1%\"");
    assert!(
        !has(&lossy, "lose no frames") && has(&lossy, "independently"),
        "{lossy:?}"
    );
}

// TOP-21, TRA-20, TRA-21: several data centres
#[test]
fn data_centres_sites_and_locality_are_read_and_read_back() {
    let text = r#"
name = "sites"
[topology]
kind = "multi-dc"
sites = 2
leaves = 2
spines = 2
hosts_per_leaf = 3
link = { rate = "100Gbps", delay = "1us" }
interconnect = { rate = "200Gbps", delay = "200us" }
[[traffic]]
name = "local"
pattern = "uniform"
sites = 2
size = "10KB"
load = { fraction = 0.2, of = "core" }
window = ["0us", "100us"]
[scheme]
preset = "bfc"
"#;
    let scenario = parse(text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        (scenario.graph.hosts(), scenario.graph.switches()),
        (12, 10)
    );
    let last = scenario.info().nodes.last().unwrap().clone();
    assert_eq!(
        (last.name.as_str(), last.tier.as_str()),
        ("gateway1", "gateway")
    );
    assert!(scenario.feed().unwrap().all(|f| f.src / 6 == f.dst / 6));
    let again = parse(&scenario.resolved).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.spec, scenario.spec, "{}", scenario.resolved);
    // A path between two sites: host, leaf, spine, gateway, gateway, spine, leaf, host.
    let mut paths = fabric::paths::Paths::new(scenario.graph.clone());
    assert_eq!(
        paths.base_rtt_ps(LinkId::new(0), LinkId::new(11), 0, 0),
        2 * 206_000_000
    );
    assert_eq!(
        paths.base_rtt_ps(LinkId::new(0), LinkId::new(5), 0, 0),
        2 * 4_000_000
    );

    let crossing = parse(&text.replace("sites = 2\nsize", "crossing = \"25%\"\nsize"))
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        crossing.spec.traffic[0].pattern,
        traffic::Pattern::Local { crossing: 0.25 }
    );
    let again = parse(&crossing.resolved).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.spec, crossing.spec, "{}", crossing.resolved);

    for (bad, told) in [
        (
            "sites = 2\ncrossing = 0.5",
            "`sites` would do nothing: `crossing`",
        ),
        ("sites = 5", "cannot be shared out among 5 sites"),
        ("crossing = 1.5", "`crossing`: 1.5 is out of range"),
    ] {
        let error = parse(&text.replace("sites = 2\nsize", &format!("{bad}\nsize"))).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
}

const GPUS: &str = r#"
name = "gpus"
[topology]
kind = "rail-optimised"
servers = 4
gpus_per_server = 2
servers_per_segment = 2
nic_ports = 2
planes = 2
spines = 3
scale_up = { rate = "2400Gbps", delay = "500ns" }
link = { rate = "200Gbps", delay = "1us" }
[[traffic]]
name = "all"
pattern = "all-to-all"
size = "10KB"
[scheme]
preset = "dcqcn"
"#;

// TOP-06, TOP-23: servers with GPUs
#[test]
fn servers_with_gpus_are_read_and_read_back() {
    let scenario = parse(GPUS).unwrap_or_else(|e| panic!("{e}"));
    let again = parse(&scenario.resolved).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.spec, scenario.spec, "{}", scenario.resolved);
    // One switch per server, two leaves per segment and rail (two rails), and two planes of spines.
    let tiers = |name| {
        let nodes = scenario.info().nodes;
        nodes.iter().filter(|node| node.tier == name).count()
    };
    let counted = ["gpu", "nvswitch", "leaf", "spine"].map(tiers);
    assert_eq!(counted, [8, 4, 8, 6]);
    let one = GPUS
        .replace("planes = 2\n", "")
        .replace("servers_per_segment = 2\n", "");
    let one = parse(&one).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(one.graph.switches(), 4 + 4 + 3);
    assert!(one.graph.find("spine3").is_none());
    let error = parse(&GPUS.replace("planes = 2", "planes = 3")).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains(
            "error: 3 planes cannot be had with 2 ports of a NIC
 --> test.toml:9:10"
        ),
        "{text}"
    );
    assert!(
        text.contains("`planes` must be 1, or the number of `nic_ports`"),
        "{text}"
    );
}
