//! Compares the profile `ns3` with the ns-3 simulator that it reproduces. The reference runs
//! contain every completion time and pause. Their files belong to third parties and are not part of
//! the project. If they are missing, these tests pass and print that they were skipped.
#![allow(clippy::print_stderr)]

use fabric::NodeId;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fabric::engine;
use fabric::ns3::node_numbers;
use fabric::record::{FlowRecord, Outcome, PauseRecord, Recorder, Rows};
use scenario::{Changes, Scenario};

/// Values in `config.txt`, by key.
type Config = BTreeMap<String, Vec<String>>;

fn reference() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/hpcc-ns3");
    if !root.is_dir() {
        eprintln!("skipped: there are no reference runs beside the project");
        return None;
    }
    Some(root)
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn config(dir: &Path) -> Config {
    let text = read(dir.join("config.txt"));
    let lines = text.lines().map(|line| line.split_whitespace());
    lines
        .filter_map(|mut words| {
            Some((words.next()?.to_owned(), words.map(str::to_owned).collect()))
        })
        .collect()
}

/// Converts `topology.txt` to a topology with listed links. Each node is named by its number.
fn topology(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut number = || words.next().unwrap().parse::<u32>().unwrap();
    let (nodes, switches) = (number(), number());
    let _links = number();
    let switches: Vec<u32> = (0..switches).map(|_| number()).collect();
    let hosts: Vec<String> = (0..nodes)
        .filter(|node| !switches.contains(node))
        .map(|node| format!("\"{node}\""))
        .collect();
    let switches: Vec<String> = switches.iter().map(|s| format!("\"{s}\"")).collect();
    let words: Vec<&str> = words.collect();
    let mut out = format!(
        "[topology]\nkind = \"links\"\nhosts = [{}]\nswitches = [{}]\nlinks = [\n",
        hosts.join(","),
        switches.join(",")
    );
    for link in words.chunks_exact(5) {
        let [a, b, rate, delay, _] = link else {
            unreachable!()
        };
        let _ = writeln!(
            out,
            "{{ a = \"{a}\", b = \"{b}\", rate = \"{rate}\", delay = \"{delay}\" }},"
        );
    }
    out + "]\n"
}

/// Converts the flows in `flow.txt`. Their start times count from 2 s.
fn flows(text: &str) -> String {
    let mut out = "[[traffic]]\nname = \"flows\"\npattern = \"list\"\nflows = [\n".to_owned();
    for line in text.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let start = words[5].strip_prefix("2.").unwrap_or("0");
        let _ = writeln!(
            out,
            "{{ src = \"{}\", dst = \"{}\", bytes = \"{}B\", start = \"0.{start}s\", port = {} }},",
            words[0], words[1], words[4], words[3]
        );
    }
    out + "]\n"
}

fn scheme(c: &Config) -> String {
    let one = |key: &str| c[key][0].as_str();
    let rate = |key: &str| one(key).replace("Mb/s", "Mbps");
    let control = match one("CC_MODE") {
        "1" => "dcqcn",
        "3" => "hpcc",
        "7" => "timely",
        "8" => "dctcp",
        other => panic!("mode {other}"),
    };
    let mut s = format!(
        "[scheme]\npreset = \"{control}\"\nprofile = \"ns3\"\nack.pausable = {}\n",
        one("ACK_HIGH_PRIO") == "0"
    );
    let min = rate("MIN_RATE");
    let window = match (one("HAS_WIN"), one("VAR_WIN")) {
        ("0", _) => "false",
        (_, "0") => "\"bdp\"",
        _ => "true",
    };
    let _ = match control {
        "hpcc" => writeln!(
            s,
            "hpcc = {{ eta = {}, max_stage = {}, wai = \"{}\", min_rate = \"{min}\", reaction = \"{}\" }}\n\
             int = {{ multiplier = {}, qlen_bits = 16 }}",
            one("U_TARGET"),
            one("MI_THRESH"),
            rate("RATE_AI"),
            if one("FAST_REACT") == "0" {
                "per-rtt"
            } else {
                "combined"
            },
            one("INT_MULTI")
        ),
        "dcqcn" => writeln!(
            s,
            "dcqcn = {{ g = {}, alpha_timer = \"{}us\", decrease_interval = \"{}us\", increase_timer = \"{}us\", \
             fast_recovery = {}, ai = \"{}\", hai = \"{}\", min_rate = \"{min}\", clamp_target = {}, window = {window} }}",
            one("EWMA_GAIN"),
            one("ALPHA_RESUME_INTERVAL"),
            one("RATE_DECREASE_INTERVAL"),
            one("RP_TIMER"),
            one("FAST_RECOVERY_TIMES"),
            rate("RATE_AI"),
            rate("RATE_HAI"),
            one("CLAMP_TARGET_RATE") == "1"
        ),
        "timely" => writeln!(
            s,
            "timely = {{ ai = \"{}\", hai = \"{}\", min_rate = \"{min}\", window = {window} }}",
            rate("RATE_AI"),
            rate("RATE_HAI")
        ),
        _ => writeln!(
            s,
            "dctcp = {{ g = {}, ai = \"{}\", min_rate = \"{min}\" }}",
            one("EWMA_GAIN"),
            rate("DCTCP_RATE_AI")
        ),
    };
    if matches!(control, "dcqcn" | "dctcp") {
        let of = |key: &str, i: usize| c[key][i].clone();
        let profiles: Vec<String> = (1..c["KMIN_MAP"].len())
            .step_by(2)
            .map(|i| {
                assert_eq!(
                    of("KMIN_MAP", i),
                    of("KMAX_MAP", i),
                    "rates in the same order"
                );
                format!(
                    "{{ rate = \"{}bps\", kmin = \"{}KB\", kmax = \"{}KB\", pmax = {} }}",
                    of("KMIN_MAP", i),
                    of("KMIN_MAP", i + 1),
                    of("KMAX_MAP", i + 1),
                    of("PMAX_MAP", i + 1)
                )
            })
            .collect();
        let _ = writeln!(s, "ecn.profiles = [{}]", profiles.join(", "));
    }
    s
}

/// Creates a scenario from the files of a case.
fn import(dir: &Path) -> Scenario {
    let c = config(dir);
    let shared = dir.parent().unwrap();
    let network = read(shared.join("topology.txt"));
    let text = format!(
        "name = \"case\"\n{}\n[switch]\nbuffer = \"{}MiB\"\n\n{}\n[run]\nuntil = \"100ms\"\nprobe = \"1ms\"\nepoch = \"2s\"\n\n{}",
        topology(&network),
        c["BUFFER_SIZE"][0],
        flows(&read(shared.join("flow.txt"))),
        scheme(&c)
    );
    Scenario::parse(&text, "case.toml", dir, &Changes::default())
        .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
}

/// A flow in `fct.txt`: source, destination, source port, bytes, start in ns, and duration in ns.
type Row = (u32, u32, u32, u64, u64, u64);

#[derive(Default)]
struct Listener {
    flows: Vec<FlowRecord>,
    pauses: Vec<PauseRecord>,
}

impl Recorder for Listener {
    fn rows(&mut self, rows: &dyn Rows) {
        self.flows.extend_from_slice(rows.of().unwrap_or_default());
        self.pauses.extend_from_slice(rows.of().unwrap_or_default());
    }
}

const EPOCH_NS: u64 = 2_000_000_000;

/// Runs a case. Returns the flows in the order of completion, the pauses and resumes with times and
/// nodes, and the outcome.
fn run(scenario: &Scenario) -> (Vec<Row>, Vec<(u64, u32, bool)>, Outcome) {
    let mut heard = Listener::default();
    let plan = scenario.build().unwrap().plan;
    let outcome = engine::run(plan, &mut heard, &mut |_| true);
    let numbers = node_numbers(&scenario.graph);
    // ns-3 assigns source ports in the order of flow starts.
    heard.flows.sort_by_key(|r| r.flow.id);
    let mut ports: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut rows: Vec<Row> = Vec::new();
    for r in &heard.flows {
        let port = ports.entry((r.flow.src, r.flow.dst)).or_insert(10_000);
        let took_ps = r.acked_ps.map(|at| at - r.flow.start_ps);
        rows.push((
            numbers[NodeId::from_bits(r.flow.src)],
            numbers[NodeId::from_bits(r.flow.dst)],
            *port,
            r.flow.bytes,
            r.flow.start_ps / 1000 + EPOCH_NS,
            took_ps.unwrap_or(0) / 1000,
        ));
        *port += 1;
    }
    rows.sort_unstable();
    let mut pauses: Vec<(u64, u32, bool)> = Vec::new();
    for p in &heard.pauses {
        let node = numbers[NodeId::new(p.node.index())];
        pauses.push((p.from_ps / 1000 + EPOCH_NS, node, true));
        pauses.push((p.to_ps / 1000 + EPOCH_NS, node, false));
    }
    pauses.sort_unstable();
    (rows, pauses, outcome)
}

fn expected(dir: &Path) -> (Vec<Row>, Vec<(u64, u32, bool)>) {
    let node = |hex: &str| u32::from_str_radix(hex, 16).unwrap() >> 8 & 0xffff;
    let row = |line: &str| -> Row {
        let w: Vec<&str> = line.split_whitespace().collect();
        let n = |i: usize| w[i].parse::<u64>().unwrap();
        (node(w[0]), node(w[1]), n(2) as u32, n(4), n(5), n(6))
    };
    let mut rows: Vec<Row> = read(dir.join("fct.txt")).lines().map(row).collect();
    rows.sort_unstable();
    let pause = |line: &str| {
        let n: Vec<u64> = line
            .split_whitespace()
            .map(|w| w.parse().unwrap())
            .collect();
        (n[0], n[1] as u32, n[4] == 1)
    };
    let mut pauses: Vec<_> = read(dir.join("pfc.txt")).lines().map(pause).collect();
    pauses.sort_unstable();
    (rows, pauses)
}

fn compare(case: &str, control: &str) {
    if let Some(root) = reference() {
        compare_in(&root, case, control);
    }
}

fn compare_in(root: &Path, case: &str, control: &str) {
    let dir = root.join(case).join(control);
    let scenario = import(&dir);
    let (rows, pauses, outcome) = run(&scenario);
    assert_eq!(outcome.violations, [], "{case} {control}");
    let (known_rows, known_pauses) = expected(&dir);
    assert_eq!(rows.len(), known_rows.len(), "{case} {control}");
    let pairs = || rows.iter().zip(&known_rows);
    let exact = pairs().filter(|(a, b)| a == b).count();
    let worst = pairs()
        .map(|(a, b)| (a.5 as f64 - b.5 as f64).abs() / b.5 as f64)
        .fold(0.0, f64::max);
    eprintln!(
        "{case} {control}: {exact} of {} flows exact, worst {worst:.2e}; pauses {} of {} alike: {}; {} events in {:.3} s",
        rows.len(),
        pauses.len(),
        known_pauses.len(),
        pauses == known_pauses,
        outcome.counters.events,
        outcome.loop_seconds,
    );
    if exact < rows.len() {
        let first = pairs()
            .filter(|(a, b)| a != b)
            .min_by_key(|(_, b)| b.4 + b.5);
        eprintln!("  first that differs: {first:?}");
    }
    assert_eq!(exact, rows.len(), "{case} {control}");
    assert_eq!(pauses, known_pauses, "{case} {control}");
}

const CONTROLS: [&str; 4] = ["hpcc", "dcqcn", "timely", "dctcp"];

// NS3-01, NS3-06, NS3-43: timing of single flows
#[test]
fn single_flows() {
    for case in [
        "single_1sw_1KB",
        "single_1sw_100KB",
        "single_1sw_10MB",
        "single_3sw_1KB",
        "single_3sw_1MB",
    ] {
        for control in CONTROLS {
            compare(case, control);
        }
    }
}

// NS3-24, NS3-50, NS3-52, NS3-56, NS3-57: congestion control in an incast
#[test]
fn incast() {
    for control in CONTROLS {
        compare("incast2to1_500KB", control);
    }
}

// NS3-12, NS3-13, NS3-14: PFC in an incast
#[test]
fn incast_with_pauses() {
    for control in CONTROLS {
        compare("incast16to1_500KB_buf2MB", control);
    }
}

// NS3-04, NS3-05, NS3-18, NS3-40: all mechanisms at the same time. A single change in the order of
// simultaneous events would be visible.
#[test]
fn loaded_network() {
    for control in CONTROLS {
        compare("wbfc1ms", control);
    }
}

/// Additional cases of the same form, in the folder `BACKWATER_NS3_CASES`.
#[test]
fn cases_elsewhere() {
    let Some(root) = std::env::var_os("BACKWATER_NS3_CASES").map(PathBuf::from) else {
        eprintln!("skipped: BACKWATER_NS3_CASES is not set");
        return;
    };
    let mut cases: Vec<String> = std::fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    cases.sort();
    let mut wrong = Vec::new();
    for case in &cases {
        for control in CONTROLS {
            let compared = std::panic::catch_unwind(|| compare_in(&root, case, control));
            if compared.is_err() {
                wrong.push(format!("{case} {control}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
