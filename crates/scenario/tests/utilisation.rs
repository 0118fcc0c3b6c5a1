//! Loads and utilisations of links in the summary, in every kind of topology.

use std::path::Path;

use fabric::engine::Threads;
use results::Summary;
use scenario::{Changes, Options, Scenario};

const LINK: &str = "link = { rate = \"100Gbps\", delay = \"1us\" }";

/// A small network of each kind of topology: kind and keys.
const NETWORKS: &[(&str, &str)] = &[
    ("star", "hosts = 4"),
    (
        "dumbbell",
        "left = 3\nright = 3\ncore = { rate = \"100Gbps\", delay = \"1us\" }",
    ),
    ("leaf-spine", "leaves = 2\nspines = 2\nhosts_per_leaf = 3"),
    (
        "clos",
        "pods = 2\ntors_per_pod = 2\naggs_per_pod = 2\ncores = 2\nhosts_per_tor = 2",
    ),
    ("fat-tree", "k = 4"),
    ("dual-homed", "pairs = 2\nhosts = 6\naggs = 2"),
    (
        "multi-dc",
        "sites = 2\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n\
         interconnect = { rate = \"100Gbps\", delay = \"5us\" }",
    ),
    (
        "rail-optimised",
        "servers = 3\ngpus_per_server = 4\nspines = 2\nservers_per_segment = 2\n\
         scale_up = { rate = \"800Gbps\", delay = \"500ns\" }",
    ),
    (
        "gpu-racks",
        "servers = 3\ngpus_per_server = 4\nspines = 2\nservers_per_segment = 1\n\
         scale_up = { rate = \"800Gbps\", delay = \"500ns\" }",
    ),
    ("links", ""),
];

/// One host has links to two switches. Each of these switches has one more host, and a chain of
/// switches leads to another host.
const LISTED: &str = r#"
hosts = ["a", "b", "c", "d"]
switches = ["x", "y", "z"]
links = [
    { a = "a", b = "x", rate = "100Gbps", delay = "1us" },
    { a = "a", b = "y", rate = "100Gbps", delay = "1us" },
    { a = "b", b = "x", rate = "100Gbps", delay = "1us" },
    { a = "c", b = "y", rate = "100Gbps", delay = "1us" },
    { a = "d", b = "z", rate = "25Gbps", delay = "1us" },
    { a = "x", b = "y", rate = "100Gbps", delay = "1us" },
    { a = "y", b = "z", rate = "100Gbps", delay = "1us" },
]
"#;

fn network(kind: &str) -> String {
    let (_, keys) = NETWORKS.iter().find(|(name, _)| *name == kind).unwrap();
    let own = match kind {
        "links" => LISTED.to_owned(),
        _ => format!("{LINK}\n{keys}\n"),
    };
    format!("name = \"load\"\n[topology]\nkind = \"{kind}\"\n{own}")
}

fn run(label: &str, text: &str) -> Summary {
    let changes = Changes::default();
    let scenario = Scenario::parse(text, "load.toml", Path::new("."), &changes)
        .unwrap_or_else(|error| panic!("{label}: {error}"));
    let name = format!(
        "backwater-load-{}-{}",
        std::process::id(),
        label.replace(' ', "-")
    );
    let folder = std::env::temp_dir().join(name);
    let options = Options {
        out_dir: folder.clone(),
        force: false,
        key: None,
        threads: Threads::ONE,
        progress: None,
        interrupt: None,
    };
    let summary = scenario.run(options);
    let _ = std::fs::remove_dir_all(&folder);
    summary.unwrap_or_else(|error| panic!("{label}: {error}"))
}

/// Returns each value of a summary that is a fraction of link capacity or of time.
fn shares(summary: &Summary) -> Vec<(String, f64)> {
    let mut shares = Vec::new();
    for (links, load) in [("core", summary.core), ("host", Some(summary.host))] {
        let Some(load) = load else { continue };
        shares.push((format!("{links}.carried"), load.carried));
        shares.push((format!("{links}.wire"), load.wire));
    }
    for group in &summary.links {
        let name = format!("{} to {}", group.from, group.to);
        shares.push((format!("{name}, wire"), group.wire_utilisation));
        shares.push((format!("{name}, data"), group.data_utilisation));
        shares.push((format!("{name}, paused"), group.paused_fraction));
    }
    shares
}

/// TOP-27: no utilisation exceeds 1, for any offered load. This also holds with a warm-up in which
/// a backlog builds up, and if the end of the run interrupts transmissions.
#[test]
fn no_link_is_used_more_than_it_can_be() {
    let load = |name: &str| {
        format!(
            "[[traffic]]\nname = \"{name}\"\npattern = \"uniform\"\nsize = \"40KB\"\n\
             load = {{ fraction = 1.0, of = \"hosts\" }}\nwindow = [\"0us\", \"60us\"]\n"
        )
    };
    // Twice the capacity of the host links.
    let overload = load("one") + &load("two");
    let whole = "";
    let warm = "[run]\nwarmup = \"40us\"\n";
    let cut = "[run]\nuntil = \"37us\"\n";
    for (kind, about) in scenario::topology::topologies() {
        let network = network(kind);
        for (name, run_keys) in [("whole", whole), ("warm", warm), ("cut", cut)] {
            let text =
                format!("{network}\n{overload}\n{run_keys}\n[scheme]\npreset = \"line-rate\"\n");
            let label = format!("{kind} {name}");
            let summary = run(&label, &text);
            assert!(summary.flows.started > 10, "{label}: {about}");
            for (what, share) in shares(&summary) {
                assert!((0.0..=1.0).contains(&share), "{label}: {what} is {share}");
            }
            let busiest = shares(&summary).iter().map(|one| one.1).fold(0.0, f64::max);
            assert!(busiest > 0.1, "{label}: nothing is used: {busiest}");
        }
    }
}

/// TOP-27: a collective of all GPUs, together with traffic whose time window ends much earlier.
#[test]
fn workloads_are_measured_until_they_end() {
    for kind in ["rail-optimised", "gpu-racks"] {
        let text = format!(
            "{}\n[[workload]]\nname = \"step\"\ncollective = \"all-reduce\"\nalgorithm = \"ring\"\nsize = \"1MB\"\n\
             [[traffic]]\nname = \"few\"\npattern = \"uniform\"\nsize = \"1KB\"\n\
             load = {{ fraction = 0.1, of = \"hosts\" }}\nwindow = [\"0us\", \"1us\"]\n",
            network(kind)
        );
        let summary = run(kind, &text);
        assert_eq!(summary.measure_to_ps, summary.end_ps, "{kind}");
        for (what, share) in shares(&summary) {
            assert!((0.0..=1.0).contains(&share), "{kind}: {what} is {share}");
        }
        let core = summary.core.unwrap();
        assert!(core.offered <= core.wire, "{kind}: {core:?}");
    }
}

/// TOP-27: bytes count on the links that they cross, and on no other links.
#[test]
fn load_of_the_core_is_of_the_bytes_that_cross_it() {
    let flow = |src: u32, dst: u32| {
        format!(
            "[[traffic]]\nname = \"one\"\npattern = \"list\"\nflows = [{{ src = {src}, dst = {dst}, bytes = \"1MB\" }}]\n"
        )
    };
    // For each flow: true if it crosses the core, and true if it leaves its server.
    let cases = [
        ("rail-optimised", 0, 1, false, false),
        ("rail-optimised", 0, 4, false, true),
        ("rail-optimised", 0, 5, true, true),
        ("rail-optimised", 0, 8, true, true),
        ("gpu-racks", 0, 1, false, false),
        ("gpu-racks", 0, 4, true, true),
        ("leaf-spine", 0, 1, false, true),
        ("leaf-spine", 0, 3, true, true),
        ("dual-homed", 0, 1, false, true),
        ("dual-homed", 0, 5, true, true),
        ("multi-dc", 0, 2, true, true),
        // If two hosts have a common switch, the flow uses this switch.
        ("links", 0, 1, false, true),
        ("links", 0, 2, false, true),
        ("links", 1, 2, true, true),
        ("links", 0, 3, true, true),
    ];
    for (kind, src, dst, crosses, leaves) in cases {
        let label = format!("{kind} {src} to {dst}");
        let summary = run(&label, &format!("{}\n{}", network(kind), flow(src, dst)));
        let (core, host) = (summary.core.unwrap(), summary.host);
        let nonzero = |load: f64| load > 0.0;
        assert_eq!(
            (nonzero(core.offered), nonzero(core.carried)),
            (crosses, crosses),
            "{label}"
        );
        assert_eq!(
            (nonzero(host.offered), nonzero(host.carried)),
            (leaves, leaves),
            "{label}"
        );
        // The byte counters of the ports give the same result.
        assert_eq!(
            (nonzero(core.wire), nonzero(host.wire)),
            (crosses, leaves),
            "{label}"
        );
    }
}

/// TOP-27: a load that refers to host links has a core load only if the racks of two hosts
/// determine whether their flow crosses the core.
#[test]
fn a_requested_load_has_a_share_of_the_core_where_racks_determine_it() {
    let asked = |kind: &str, of: &str| {
        let text = format!(
            "{}\n[[traffic]]\nname = \"all\"\npattern = \"uniform\"\nsize = \"10KB\"\n\
             load = {{ fraction = 0.1, of = \"{of}\" }}\nwindow = [\"0us\", \"10us\"]\n",
            network(kind)
        );
        let scenario = Scenario::parse(&text, "load.toml", Path::new("."), &Changes::default());
        let scenario = scenario.unwrap_or_else(|error| panic!("{kind}: {error}"));
        scenario::asked_loads(&scenario.spec, &scenario.graph)[0]
            .of_core
            .is_some()
    };
    for (kind, exact) in [
        ("leaf-spine", true),
        ("dual-homed", true),
        ("rail-optimised", false),
        ("links", false),
    ] {
        assert_eq!(
            (asked(kind, "hosts"), asked(kind, "core")),
            (exact, true),
            "{kind}"
        );
    }
}
