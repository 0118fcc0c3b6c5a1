//! Receiver-driven transports in scenarios: presets, refused settings, and the priority levels of
//! Homa.

use std::path::Path;

use dataplane::config::{
    Admission, Classify, FlowletConfig, LeastLoaded, PathChoice, Recovery, Schedule, Sending,
    TransportConfig,
};
use dataplane::transport::homa::HomaConfig;
use dataplane::units::{MS, US};
use scenario::{Changes, Scenario, ScenarioError, SchemeConfig, surroundings};

const NETWORK: &str = "name = \"x\"\ntopology = { kind = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 4, \
                       link = { rate = \"100Gbps\", delay = \"1us\" } }\n";

fn traffic(sizes: &str) -> String {
    format!(
        "{NETWORK}[[traffic]]\nname = \"t\"\npattern = \"uniform\"\n{sizes}\nload = {{ fraction = 0.5, of = \"hosts\" }}\n\
         window = [\"0us\", \"100us\"]\n"
    )
}

fn parse(text: &str, scheme: &str, set: &[&str]) -> Result<Scenario, ScenarioError> {
    let changes = Changes {
        scheme: Some(scheme.to_owned()),
        set: set.iter().map(|s| (*s).to_owned()).collect(),
        seed: None,
        profile: None,
    };
    Scenario::parse(text, "x.toml", Path::new("."), &changes)
}

fn config(text: &str, scheme: &str, set: &[&str]) -> SchemeConfig {
    let scenario = parse(text, scheme, set).unwrap_or_else(|e| panic!("{e}"));
    let around = surroundings(&scenario.spec, &scenario.graph);
    scenario.spec.scheme.configure(&around)
}

#[track_caller]
fn refused(scheme: &str, set: &[&str], message: &str) {
    let text = traffic("size = \"1MB\"");
    let error = parse(&text, scheme, set).expect_err("this must be refused");
    assert!(error.to_string().contains(message), "{error}");
}

// PRE-140, PRE-141, PRE-142, PRE-143, PRE-144, PRE-145: values of the preset `expresspass`
#[test]
fn expresspass() {
    let c = config(&traffic("size = \"1MB\""), "expresspass", &[]);
    assert_eq!((c.nic.mtu, c.nic.header, c.nic.ack), (1460, 78, 84));
    assert_eq!(c.switch.max_frame, 1538);
    assert_eq!(c.switch.path, PathChoice::Symmetric);
    assert_eq!(
        c.switch.mmu.admission,
        Admission::PerPort { bytes: 75_000_000 }
    );
    assert_eq!(c.nic.recovery, Recovery::Own);
    let Sending::Transport(TransportConfig::ExpressPass(x)) = c.nic.control else {
        panic!("{:?}", c.nic.control)
    };
    assert_eq!(
        (x.alpha, x.w_init, x.w_max, x.w_min),
        (0.5, 0.0625, 0.5, 0.01)
    );
    assert_eq!((x.target_loss, x.jitter, x.timeout_ps), (0.1, 0.1, 10 * MS));
    let q = x.queue;
    assert_eq!(
        (q.credit_bytes, q.frame_bytes, q.limit, q.burst),
        (84, 1538, 16, 2)
    );
    assert_eq!(c.switch.shaped, Some(q));
    // If frames are smaller, the credit rate is higher.
    let c = config(
        &traffic("size = \"1MB\""),
        "expresspass",
        &["scheme.mtu=1000B"],
    );
    let Some(q) = c.switch.shaped else { panic!() };
    assert_eq!(q.frame_bytes, 1078);
}

// PRE-146, PRE-147, PRE-148, NDP-03: values of the preset `ndp`
#[test]
fn ndp() {
    let c = config(&traffic("size = \"1MB\""), "ndp", &[]);
    assert_eq!((c.nic.mtu, c.nic.header, c.nic.ack), (1452, 48, 64));
    assert_eq!(c.switch.path, PathChoice::Label);
    assert_eq!(c.switch.mmu.admission, Admission::Unlimited);
    let Some(trim) = c.switch.trim else { panic!() };
    assert_eq!((trim.packets, trim.header_bytes, trim.weight), (8, 64, 10));
    assert_eq!(trim.control_bytes, 12_000);
    assert!(trim.either && trim.returns);
    let Sending::Transport(TransportConfig::Ndp(x)) = c.nic.control else {
        panic!("{:?}", c.nic.control)
    };
    assert_eq!((x.window, x.timeout_ps, x.trim), (None, MS, trim));
}

fn levels(text: &str, set: &[&str]) -> HomaConfig {
    match config(text, "homa", set).nic.control {
        Sending::Transport(TransportConfig::Homa(homa)) => homa,
        other => panic!("{other:?}"),
    }
}

// PTH-02, PTH-05, PRE-161: least-loaded paths
#[test]
fn paths_by_load_have_parameters_and_are_refused_where_paths_are_given() {
    let text = traffic("size = \"1MB\"");
    let path = |set: &[&str]| config(&text, "hpcc", set).switch.path;
    let least_loaded = path(&["scheme.path=least-loaded"]);
    assert_eq!(least_loaded, PathChoice::LeastLoaded(LeastLoaded));
    let (gap_ps, entries) = (100 * US, 4096);
    let flowlet = FlowletConfig { gap_ps, entries };
    assert_eq!(path(&["scheme.path=flowlet"]), PathChoice::Flowlet(flowlet));
    let set = [
        "scheme.path=flowlet",
        "scheme.flowlet.gap=7us",
        "scheme.flowlet.entries=9",
    ];
    let flowlet = FlowletConfig {
        gap_ps: 7 * US,
        entries: 9,
    };
    assert_eq!(path(&set), PathChoice::Flowlet(flowlet));
    let symmetric = "set path = \"symmetric\"";
    refused("expresspass", &["scheme.path=least-loaded"], symmetric);
    refused("expresspass", &["scheme.path=flowlet"], symmetric);
    let useless = "`path` is not \"flowlet\"";
    refused("hpcc", &["scheme.flowlet.gap=7us"], useless);
}

// PRE-149, PRE-150, PRE-151, HOM-09: values of the preset `homa`
#[test]
fn homa() {
    let text = traffic("size = \"1MB\"");
    for (name, path) in [
        ("homa", PathChoice::Packet),
        ("homa-ecmp", PathChoice::Flow),
    ] {
        let c = config(&text, name, &[]);
        assert_eq!(c.switch.path, path);
        assert_eq!(c.switch.classify, Classify::Priority { levels: 32 });
        assert_eq!(c.switch.schedule, Schedule::Strict);
        assert_eq!(c.switch.mmu.admission, Admission::Unlimited);
        assert_eq!((c.nic.ack_class, c.nic.recovery), (1, Recovery::Own));
    }
    assert_eq!(levels(&text, &[]).timeout_ps, 10 * MS);
    let shared = config(&text, "homa", &["scheme.admission=shared-pool"]);
    assert_eq!(shared.switch.mmu.admission, Admission::SharedPool);
}

// HOM-04, HOM-06: priority levels
#[test]
fn homas_levels_follow_from_the_traffic() {
    // A base round trip of this network takes 8 us and a few frames, or 100 packets. Thus a tenth
    // of each 1 MB message is unscheduled, which gives 3.2 of 32 levels.
    let homa = levels(&traffic("size = \"1MB\""), &[]);
    assert_eq!((homa.unscheduled, homa.overcommitment), (3, 29));
    // All bytes are unscheduled. One level remains for scheduled bytes.
    let homa = levels(&traffic("size = \"1KB\""), &[]);
    assert_eq!((homa.unscheduled, homa.overcommitment), (31, 1));
    // With a mix of sizes, each level has the same number of unscheduled bytes, so the cutoffs
    // increase.
    let homa = levels(&traffic("sizes = \"google-allrpc@bfc\""), &[]);
    let cutoffs = &homa.cutoffs[..usize::from(homa.unscheduled) - 1];
    assert!(cutoffs.is_sorted() && cutoffs[0] > 100, "{cutoffs:?}");
    assert!(homa.level_of(100) == 0);
    assert_eq!(homa.level_of(u64::MAX), u16::from(homa.unscheduled) - 1);
    // Levels that the scenario sets are used unchanged.
    let homa = levels(
        &traffic("size = \"1MB\""),
        &[
            "scheme.homa.levels=8",
            "scheme.homa.cutoffs=[\"1KB\", \"10KB\"]",
        ],
    );
    assert_eq!((homa.unscheduled, homa.overcommitment), (3, 5));
    let of = |bytes| homa.level_of(bytes);
    assert_eq!((of(1_000), of(1_001), of(10_000), of(10_001)), (0, 1, 1, 2));
}

/// Half of the unscheduled bytes are in messages of 1 KB, and half in messages of 50 KB.
// HOM-04: equal bytes per level
#[test]
fn levels_have_equally_many_unscheduled_bytes() {
    let flow = |bytes: &str| format!("{{ src = 0, dst = 1, bytes = \"{bytes}\" }}");
    let mut flows: Vec<String> = (0..50).map(|_| flow("1KB")).collect();
    flows.push(flow("50KB"));
    let text = format!(
        "{NETWORK}[[traffic]]\nname = \"t\"\npattern = \"list\"\nflows = [{}]\n",
        flows.join(", ")
    );
    let homa = levels(
        &text,
        &["scheme.homa.levels=3", "scheme.homa.unscheduled=2"],
    );
    assert_eq!(homa.cutoffs[0], 1_000);
    assert_eq!((homa.level_of(1_000), homa.level_of(50_000)), (0, 1));
}

// CBFC-35: invalid combinations
#[test]
fn what_cannot_work_is_refused() {
    refused(
        "expresspass",
        &["scheme.path=flow"],
        "data must take the same",
    );
    refused(
        "expresspass",
        &["scheme.ack.class=control"],
        "belongs to ExpressPass' credits",
    );
    refused(
        "expresspass",
        &["scheme.recovery=irn"],
        "repeats what is lost in its own way",
    );
    refused(
        "expresspass",
        &["scheme.expresspass.w_init=0.001"],
        "w_init",
    );
    refused(
        "bfc",
        &["scheme.recovery=own"],
        "that of receiver-driven transports",
    );
    refused(
        "expresspass",
        &["scheme.path=permutation"],
        "expresspass sends packets by itself",
    );
    refused("ndp", &["scheme.path=reps"], "ndp sends packets by itself");
    refused(
        "hpcc",
        &["scheme.classify=priority", "scheme.schedule=strict"],
        "no others do",
    );
    refused(
        "homa",
        &["scheme.classify=fifo", "scheme.schedule=fifo"],
        "name queues by priority",
    );
    refused(
        "homa",
        &["scheme.ack.class=data"],
        "must not wait behind data",
    );
    refused("homa", &["scheme.nic.schedule=srf"], "an order of its own");
    refused(
        "homa",
        &["scheme.ack.every=4"],
        "says itself what is acknowledged",
    );
    refused(
        "homa",
        &["scheme.homa.cutoffs=[\"2KB\", \"1KB\"]"],
        "the sizes must grow",
    );
    refused(
        "homa",
        &["scheme.homa.cutoffs=[\"1KB\"]", "scheme.homa.unscheduled=5"],
        "part messages into 2",
    );
    refused(
        "homa",
        &["scheme.homa.overcommitment=32"],
        "more than there are levels",
    );
    refused(
        "homa",
        &["scheme.backpressure=bfc"],
        "BFC pauses queues of the NIC",
    );
    refused(
        "ndp",
        &["scheme.backpressure=floodgate"],
        "both limit the packets to a destination",
    );
    refused(
        "ndp",
        &["scheme.backpressure=cbfc"],
        "with credits no buffer overflows",
    );
    refused(
        "ndp",
        &["scheme.classify=hash", "scheme.schedule=drr"],
        "the one data queue of its port",
    );
    refused("ndp", &["scheme.path=tuple"], "that of another simulator");
    refused(
        "ndp",
        &["scheme.homa.levels=3"],
        "`control` is not \"homa\"",
    );
}

// XP-05: symmetric paths
#[test]
fn paths_that_are_not_symmetric_earn_a_warning() {
    let links = "name = \"x\"\n[topology]\nkind = \"links\"\nhosts = [\"a\", \"b\"]\nswitches = [\"s\", \"t\", \"u\", \"v\"]\n\
                 links = [\n{ a = \"a\", b = \"s\", rate = \"100Gbps\", delay = \"1us\" },\n{ a = \"s\", b = \"t\", rate = \"100Gbps\", delay = \"1us\" },\n\
                 { a = \"s\", b = \"u\", rate = \"100Gbps\", delay = \"1us\" },\n{ a = \"u\", b = \"v\", rate = \"100Gbps\", delay = \"1us\" },\n\
                 { a = \"t\", b = \"v\", rate = \"100Gbps\", delay = \"1us\" },\n{ a = \"b\", b = \"v\", rate = \"100Gbps\", delay = \"1us\" },\n]\n\
                 [[traffic]]\nname = \"t\"\npattern = \"list\"\nflows = [{ src = \"a\", dst = \"b\", bytes = \"1MB\" }]\n";
    let said = |text: &str| {
        let scenario = parse(text, "expresspass", &[]).unwrap_or_else(|e| panic!("{e}"));
        let mut warnings = scenario.warnings.iter();
        warnings.any(|w| w.message.contains("other links than what comes back"))
    };
    assert!(
        said(links),
        "the two switches list the middle ones in different orders"
    );
    assert!(!said(&traffic("size = \"1MB\"")));
}

// BOLT-07, PRE-220: notices of switches
#[test]
fn receivers_need_no_notices_and_other_senders_discard_them() {
    let text = traffic("size = \"1MB\"");
    let set = ["scheme.notices=bolt"];
    for scheme in ["expresspass", "ndp", "homa"] {
        let error = parse(&text, scheme, &set).expect_err("this must be refused");
        assert!(error.to_string().contains("notices = \"none\""), "{error}");
    }
    let scenario = parse(&text, "hpcc", &set).unwrap();
    assert!(
        scenario
            .warnings
            .iter()
            .any(|w| w.message.contains("notices"))
    );
    let notifier = config(&text, "hpcc", &set).switch.notifier;
    assert_eq!(notifier.map(|notifier| notifier.notice_bytes()), Some(64));
}

// BOLT-22: requirements of Bolt
#[test]
fn bolts_sender_needs_notices_and_an_ack_for_each_packet() {
    let text = traffic("size = \"1MB\"");
    let error = parse(&text, "bolt", &["scheme.notices=none"]).expect_err("this must be refused");
    assert!(error.to_string().contains("notices = \"bolt\""), "{error}");
    let warnings = |set: &[&str]| {
        let scenario = parse(&text, "bolt", set).unwrap_or_else(|e| panic!("{e}"));
        scenario
            .warnings
            .iter()
            .map(|w| w.message.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(warnings(&[]), [""; 0]);
    let every = warnings(&["scheme.ack.every=4"]);
    assert!(
        every.iter().any(|w| w.contains("marks of each packet")),
        "{every:?}"
    );
}

// PFCWD-09, PRE-221: watchdog of PFC
#[test]
fn a_guard_needs_pfc() {
    let text = traffic("size = \"1MB\"");
    let set = ["scheme.guard=watchdog", "scheme.admission=shared-pool"];
    let error = parse(&text, "dcqcn", &set).expect_err("this must be refused");
    assert!(error.to_string().contains("guard = \"none\""), "{error}");
    let set = ["scheme.guard=watchdog", "scheme.recovery=none"];
    let error = parse(&text, "dcqcn", &set).expect_err("dropped packets must be sent again");
    assert!(error.to_string().contains("recovery"), "{error}");
    let guard = config(&text, "dcqcn", &set[..1]).switch.guard.unwrap();
    assert_eq!(guard.patience_ps(), 400 * MS);
}

/// Runs a scenario with each transport: flows complete, the audit passes, and the counters are in
/// the summary.
#[test]
fn runs_from_scenario_to_summary() {
    let text = format!(
        "{NETWORK}[[traffic]]\nname = \"t\"\npattern = \"incast\"\ndegree = 6\nreceiver = 0\ntotal = \"1.2MB\"\n[record]\n\
         delay = {{ bin = \"100ns\", window = [\"0us\", \"10ms\"] }}\n"
    );
    for (scheme, acted) in [
        ("expresspass", "credits_wasted"),
        ("ndp", "trims"),
        ("homa", "grants"),
        ("homa-ecmp", "grants"),
    ] {
        let scenario = parse(&text, scheme, &[]).unwrap_or_else(|e| panic!("{e}"));
        let dir =
            std::env::temp_dir().join(format!("bw-receivers-{}-{scheme}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let summary = scenario
            .run(scenario::Options {
                out_dir: dir.clone(),
                force: false,
                key: None,
                progress: None,
                interrupt: None,
                threads: fabric::engine::Threads::ONE,
            })
            .unwrap();
        assert!(summary.ok, "{scheme}: {:?}", summary.violations);
        assert_eq!(summary.flows.finished, 6, "{scheme}");
        assert!(summary.counters[acted] > 0, "{scheme}");
        assert_eq!(summary.drops["total"], 0, "{scheme}");
        assert!(dir.join("delay_histogram.parquet").exists());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
