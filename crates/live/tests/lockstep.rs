//! Runs scenarios on real frames through the kernel, in network namespaces that the test creates.
//!
//! Only a process with a single thread can create a user namespace. So this file has its own `main`
//! instead of the test harness. An argument selects test cases by name.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stderr)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fabric::engine::Threads;
use fabric::engine::lockstep::{Carrier, LinkError};
use fabric::topology::{Graph, LinkSpec, Loss, TopologySpec};
use live::network::{self, Failure};
use live::{Carriers, Report, enter_user_namespace};
use nix::unistd::{getgid, getuid};
use scenario::{Changes, Options, Scenario};
use wire::frame::mac;

/// Eight hosts with short flows that load the core to 50 %, and incasts.
const BASE: &str = r#"
name = "live"
seed = 3
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
link = { rate = "100Gbps", delay = "1us" }
[switch]
buffer = "3MB"
[[traffic]]
name = "background"
pattern = "uniform"
sizes = "google-allrpc@bfc"
load = { fraction = 0.5, of = "core" }
window = ["0us", "50us"]
[[traffic]]
name = "incast"
pattern = "incast"
degree = 7
total = "1MB"
every = "50us"
window = ["0us", "50us"]
[scheme]
preset = "bfc"
"#;

fn scenario_with(scheme: &str, set: &[&str]) -> Scenario {
    let changes = Changes {
        scheme: Some(scheme.to_owned()),
        set: set.iter().map(|s| (*s).to_owned()).collect(),
        ..Changes::default()
    };
    let read = Scenario::parse(BASE, "live.toml", Path::new("/"), &changes);
    read.unwrap_or_else(|error| panic!("{scheme}: {error}"))
}

fn options(name: &str) -> Options<'static> {
    Options {
        out_dir: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name),
        force: true,
        key: None,
        threads: Threads::ONE,
        progress: None,
        interrupt: None,
    }
}

/// Runs a scenario through the kernel, and checks that its digest equals the digest of the
/// simulator.
fn same(name: &str, scenario: &Scenario) -> Report {
    let report = live::run(scenario, options(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let compared = live::compare(scenario, &report.summary.digest).unwrap();
    if let Some(difference) = compared.difference {
        panic!("{name}: {difference}");
    }
    assert_eq!(compared.digest, report.summary.digest, "{name}");
    // Without any effect of a scheme, for example without any ECN mark, the comparison would not
    // cover the scheme.
    let idle = |warning: &&String| warning.contains("a lighter load than meant");
    let idle: Vec<&String> = report.summary.warnings.iter().filter(idle).collect();
    assert_eq!(idle, [] as [&str; 0], "{name}");
    assert!(
        report.frames > 1000 && report.nodes == 12,
        "{name}: {report:?}"
    );
    eprintln!(
        "    {name}: {} frames in {:.2} s, {:.0} frames/s",
        report.frames,
        report.seconds,
        report.frames as f64 / report.seconds
    );
    report
}

// LIV-01, LIV-03, LIV-04, LIV-05, LIV-06, LIV-07, LIV-08: equal digests
fn every_scheme_has_the_digest_of_the_simulator() {
    for scheme in [
        "bfc",
        "hpcc",
        "dcqcn+floodgate",
        "dcqcn+spfc",
        "dcqcn",
        "dctcp",
        "timely",
        "swift",
        "expresspass",
        "ndp",
        "homa",
        "dcqcn+cbfc",
        "powertcp",
    ] {
        // Selective PFC has an effect only if there are pauses, so its buffer is small.
        let small: &[&str] = if scheme == "dcqcn+spfc" {
            &["switch.buffer=300kB"]
        } else {
            &[]
        };
        same(scheme, &scenario_with(scheme, small));
    }
}

// LIV-03: equal digests
fn runs_with_losses_pauses_and_failures_have_the_digest_of_the_simulator() {
    for scheme in ["bfc", "hpcc", "dcqcn"] {
        let lossy = same(
            "lossy",
            &scenario_with(scheme, &["topology.link.loss=0.001"]),
        );
        assert!(lossy.summary.drops["link"] > 0, "{scheme}");
    }
    let paused = same("paused", &scenario_with("timely", &["switch.buffer=300kB"]));
    assert!(paused.summary.pfc_paused_ps > 0);
    let down =
        "topology.failures=[{ links = [\"leaf0--spine0\"], at = \"20us\", until = \"40us\" }]";
    let failing = same("failing", &scenario_with("dcqcn", &[down]));
    assert!(failing.summary.counters["link_changes"] > 0);
}

/// A fault that affects the tenth data packet of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    Marked,
    Lost,
}

/// A carrier that injects a fault.
struct Faulty {
    inner: Box<dyn Carrier>,
    fault: Fault,
    data: u64,
}

/// Byte positions of the ECN byte and of the IPv4 checksum in a frame.
const ECN: usize = 14 + 4 + 1;
const CHECKSUM: usize = ECN + 9;

impl Carrier for Faulty {
    fn begin_round(&mut self) {
        self.inner.begin_round();
    }

    fn send(&mut self, port: u16, frame: &[u8]) -> Result<bool, LinkError> {
        if frame.len() < 500 {
            return self.inner.send(port, frame);
        }
        let mut frame = frame.to_vec();
        if self.data == 10 && self.fault == Fault::Lost {
            self.data += 1;
            return Ok(true);
        }
        if self.data == 10 {
            assert_eq!(frame[ECN] & 3, 2, "the packet must be ECN-capable");
            frame[ECN] |= 3;
            let sum = u16::from_be_bytes([frame[CHECKSUM], frame[CHECKSUM + 1]]).wrapping_sub(1);
            frame[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        }
        let sent = self.inner.send(port, &frame)?;
        self.data += u64::from(sent);
        Ok(sent)
    }

    fn receive(
        &mut self,
        port: u16,
        count: usize,
        take: &mut dyn FnMut(&[u8]) -> Result<(), LinkError>,
    ) -> Result<(), LinkError> {
        self.inner.receive(port, count, take)
    }
}

/// Builds carriers. The carrier of the first node injects a fault.
fn carriers_with(fault: Fault, graph: &Graph) -> Result<Carriers, Failure> {
    let carriers = network::build(graph)?;
    let boxed = carriers.into_iter().enumerate().map(|(node, carrier)| {
        let inner: Box<dyn Carrier> = Box::new(carrier);
        match node {
            0 => Box::new(Faulty {
                inner,
                fault,
                data: 0,
            }),
            _ => inner,
        }
    });
    Ok(boxed.collect())
}

// LIV-05, LIV-11: changed frame
fn a_changed_frame_changes_the_run() {
    let scenario = scenario_with("dctcp", &[]);
    let marking = |graph: &Graph| carriers_with(Fault::Marked, graph);
    let digest = live::simulated_digest(&scenario).unwrap();
    let changed = live::run_over(&scenario, options("changed"), marking).unwrap();
    assert_ne!(changed.summary.digest, digest);
    let difference = live::first_difference(&scenario, marking).unwrap().unwrap();
    let text = difference.to_string();
    eprintln!("    {text}");
    // The mark that the test adds at the host is only in the frame on the wire. The first node
    // whose own frames differ is the leaf.
    assert!(difference.link.starts_with("leaf0->"), "{text}");
    assert!(
        difference
            .live
            .is_some_and(|frame| frame.ends_with(", marked")),
        "{text}"
    );
    let unmarked = difference.simulated.unwrap();
    assert!(
        unmarked.starts_with("Data of flow ") && !unmarked.contains("marked"),
        "{text}"
    );
}

// LIV-07: missing frame
fn a_missing_frame_ends_the_run_with_an_error() {
    let scenario = scenario_with("dctcp", &[]);
    let losing = |graph: &Graph| carriers_with(Fault::Lost, graph);
    let ran = live::run_over(&scenario, options("lost"), losing);
    let text = ran.expect_err("a frame is missing").to_string();
    eprintln!("    {text}");
    assert!(text.contains("host0->leaf0: "), "{text}");
    assert!(text.contains("arrived within 10 s"), "{text}");
    let numbers: Vec<u64> = text
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|word| word.parse().ok())
        .collect();
    let [.., sent, received, 10] = numbers[..] else {
        panic!("{text}");
    };
    assert_eq!(received + 1, sent, "{text}");
}

// LIV-02: refused scenarios
fn a_scenario_that_needs_more_than_frames_is_refused() {
    let refused = |scheme: &str, set: &[&str]| {
        let error = live::run(&scenario_with(scheme, set), options("refused"));
        error.unwrap_err().to_string()
    };
    let why = refused("dcqcn", &["scheme.recovery=ideal"]);
    assert!(
        why.contains("cannot run in lockstep") && why.contains("ideal retransmission"),
        "{why}"
    );
    for record in ["record.pauses.flows=true", "record.blame={}"] {
        let why = refused("dcqcn", &[record]);
        assert!(why.contains("cannot run in lockstep"), "{record}: {why}");
    }
}

// LIV-09: other frames
fn frames_from_outside_the_run_are_ignored() {
    let link = LinkSpec {
        rate: dataplane::units::Rate::from_gbps(100),
        delay_ps: 1000,
        loss: Loss::NONE,
    };
    let graph = TopologySpec::Star { hosts: 2, link }.build().unwrap();
    let mut carriers = network::build(&graph).unwrap();
    let from = |source: [u8; 6], tagged: bool, bytes: usize| {
        let mut frame = mac(2, 0).to_vec();
        frame.extend_from_slice(&source);
        if tagged {
            frame.extend_from_slice(&[0x81, 0, 0x60, 0]);
        }
        frame.extend_from_slice(&[0x08, 0]);
        frame.resize(bytes, 7);
        frame
    };
    let own = mac(0, 0);
    carriers[0].begin_round();
    // Three frames of the run (short, tagged, and as large as the interface allows), and frames
    // from other sources.
    for (source, tagged, bytes) in [
        ([0x32, 1, 2, 3, 4, 5], false, 90),
        (own, false, 60),
        (own, true, 200),
        ([0x32, 1, 2, 3, 4, 5], true, 1500),
        (own, false, 65_549),
    ] {
        let frame = from(source, tagged, bytes);
        assert!(carriers[0].send(0, &frame).unwrap());
    }
    let mut received = Vec::new();
    let take = &mut |frame: &[u8]| {
        received.push((frame.len(), frame[12..14].to_vec()));
        Ok(())
    };
    carriers[2].receive(0, 3, take).unwrap();
    // The kernel removes the VLAN tag.
    let expected = [60, 196, 65_549].map(|bytes| (bytes, vec![0x08, 0]));
    assert_eq!(received, expected);
    assert!(
        carriers[0].send(0, &from(own, false, 65_600)).is_err(),
        "larger than the interface allows"
    );
}

/// Name and function of a test case.
type Case = (&'static str, fn());

macro_rules! cases {
    ($($case:ident),* $(,)?) => { [$((stringify!($case), $case as fn())),*] };
}

fn main() -> ExitCode {
    let users = (getuid(), getgid());
    if let Err(why) = enter_user_namespace() {
        let mut text = String::new();
        let _ = write!(text, "skipped: all of crates/live/tests/lockstep.rs: {why}");
        eprintln!("{text}");
        let needed = std::env::var_os("BACKWATER_NO_SKIP").is_some_and(|value| value == "1");
        return if needed {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        };
    }
    // LIV-10: user IDs
    assert_eq!((getuid(), getgid()), users, "user ids must not change");
    let cases: [Case; 6] = cases![
        frames_from_outside_the_run_are_ignored,
        every_scheme_has_the_digest_of_the_simulator,
        runs_with_losses_pauses_and_failures_have_the_digest_of_the_simulator,
        a_changed_frame_changes_the_run,
        a_missing_frame_ends_the_run_with_an_error,
        a_scenario_that_needs_more_than_frames_is_refused,
    ];
    let wanted = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    for (name, case) in cases {
        if wanted
            .as_ref()
            .is_none_or(|wanted| name.contains(wanted.as_str()))
        {
            case();
            eprintln!("{name}: ok");
        }
    }
    ExitCode::SUCCESS
}
