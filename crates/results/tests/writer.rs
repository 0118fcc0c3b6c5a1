//! The contents of a results directory after finished, interrupted and failed runs.

use fabric::measure::{
    Blame, BlameHopRecord, BlameRecord, CaptureSpec, CapturedFrame, CauseRecord, DelayBin,
    DelayHistogram, HeldFlowRecord, IngressHeld, IngressSample, IngressSeries, Part, Parts,
    PauseRecording, QueueBin, QueueHistogram, QueueSample, QueueSeries, RecordSpec, RecordedPorts,
    RttBin, RttHistogram, Throughput, ThroughputRecord, Utilisation, UtilisationRecord, Waiting,
    WaitingRecord,
};
use fabric::record::{
    BufferSample, CollectiveRecord, Counters, Ending, FlowRecord, Outcome, PauseRecord, PortRecord,
    Recorder, ThreadUse, Violation, Windows,
};
use fabric::{LinkId, NodeId};
use parquet::file::reader::{FileReader, SerializedFileReader};
use results::{CapturedLink, NodeInfo, RunInfo, Summary, Writer};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use traffic::Flow;

/// A temporary directory, which is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("results-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn node(name: &str, tier: &str, level: u8, switches: &[u32]) -> NodeInfo {
    NodeInfo {
        name: name.into(),
        tier: tier.into(),
        level,
        switches: switches.to_vec(),
        scale_up: tier == "nvswitch",
    }
}

/// Describes a network of two racks with one host each, and one spine.
fn info() -> RunInfo {
    RunInfo {
        hosts_take_time: false,
        name: "two".into(),
        scheme: "hpcc".into(),
        seed: 7,
        version: "0".into(),
        nodes: vec![
            node("a", "host", 0, &[2]),
            node("b", "host", 0, &[3]),
            node("leaf0", "leaf", 1, &[]),
            node("leaf1", "leaf", 1, &[]),
            node("spine0", "spine", 2, &[]),
        ],
        sources: vec!["background".into(), "incast".into()],
        measure_from_ps: 1_000,
        fct_acked: false,
        measure_to_ps: Some(2_000_000),
        resolved: "seed = 7\n".into(),
        ..RunInfo::default()
    }
}

fn flow(id: u32, bytes: u64, start_ps: u64) -> FlowRecord {
    FlowRecord {
        flow: Flow {
            id,
            start_ps,
            src: 0,
            dst: 1,
            bytes,
            class: 0,
            source: 0,
            incast: false,
            port: 100,
            src_port: None,
        },
        received_ps: Some(start_ps + 2_000),
        acked_ps: Some(start_ps + 4_000),
        ideal_received_ps: 1_000,
        ideal_acked_ps: 4_000,
        retransmitted: 0,
    }
}

fn port(node: u32, peer: u32) -> PortRecord {
    PortRecord {
        node: NodeId::from_bits(node),
        peer: NodeId::from_bits(peer),
        rate_bps: 100_000_000_000,
        ..PortRecord::default()
    }
}

fn outcome() -> Outcome {
    Outcome {
        ending: Ending::Drained,
        end_ps: 4_000_000,
        digest: 0xab,
        started: 3,
        finished: 3,
        counters: Counters {
            packet_hops: 10,
            events: 25,
            ..Counters::default()
        },
        ports: vec![
            port(0, 2),
            port(1, 3),
            port(2, 0),
            port(2, 4),
            port(3, 1),
            port(3, 4),
            port(4, 2),
            port(4, 3),
        ],
        checks: vec!["conservation"],
        violations: Vec::new(),
        storms: Vec::new(),
        deadlocks: Vec::new(),
        stall: Vec::new(),
        threads: ThreadUse {
            asked: 4,
            used: 2,
            why: Some("this machine has 2 processors".to_owned()),
            lookahead_ps: Some(1_003_920),
            windows: Windows {
                together: 30,
                alone: 7,
            },
            crossed: 5,
            lanes: 3,
        },
        loop_seconds: 2.0,
    }
}

fn names_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn rows(dir: &Path, name: &str) -> i64 {
    let file = fs::File::open(dir.join(name)).unwrap();
    SerializedFileReader::new(file)
        .unwrap()
        .metadata()
        .file_metadata()
        .num_rows()
}

/// The columns of all tables. They are part of the interface, because programs of users read
/// columns by name.
const COLUMNS: [(&str, &str); 15] = [
    (
        "flows",
        "id source src dst bytes class incast port start_ps received_ps acked_ps \
         ideal_received_ps ideal_acked_ps slowdown slowdown_acked retransmitted finished",
    ),
    (
        "queues",
        "at_ps node name tier used_bytes max_port_bytes from_ps probes",
    ),
    (
        "pauses",
        "node name tier port class from_ps to_ps open number",
    ),
    (
        "ports",
        "node name tier port peer peer_name peer_tier direction rate_bps delay_ps tx_packets \
         tx_bytes tx_data_bytes tx_reply_bytes tx_credit_bytes marked max_queue_bytes \
         max_port_bytes pauses resumes pause_frames resume_frames paused_ps \
         dropped_buffer dropped_egress_threshold dropped_no_route dropped_link dropped_credit_limit",
    ),
    ("active", "node name tier port direction active probes"),
    ("throughput", "at_ps flow bytes"),
    (
        "utilisation",
        "at_ps node name port peer peer_name bytes busy_ps",
    ),
    ("port_queues", "at_ps node name port peer peer_name bytes"),
    (
        "port_ingress",
        "at_ps node name port peer peer_name class bytes threshold_bytes victim",
    ),
    (
        "queue_histogram",
        "node name tier port peer peer_name bin_bytes samples",
    ),
    ("rtt", "bin_ps samples"),
    (
        "waiting",
        "node name tier port peer peer_name incast packets mean_ps max_ps",
    ),
    (
        "delay_histogram",
        "node name tier port peer peer_name scheduled bin_ps samples",
    ),
    (
        "pause_causes",
        "at_ps node name port peer peer_name peer_port class number held_bytes \
         threshold_bytes pool_bytes victim egress egress_name egress_bytes parent depth \
         root_node root_name root_port root_peer_name",
    ),
    (
        "held_flows",
        "flow node name port peer_name root_node root_name root_port root_peer_name pauses \
         held_ps victim",
    ),
];

fn columns(dir: &Path, name: &str) -> Vec<String> {
    let file = fs::File::open(dir.join(name)).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let schema = reader.metadata().file_metadata().schema().clone();
    let fields = schema.get_fields().iter();
    fields.map(|field| field.name().to_owned()).collect()
}

const WHOLE: [&str; 7] = [
    "active.parquet",
    "flows.parquet",
    "pauses.parquet",
    "ports.parquet",
    "queues.parquet",
    "resolved.toml",
    "summary.json",
];

#[test]
fn a_directory_has_one_writer_at_a_time() {
    let dir = Scratch::new();
    let first = Writer::create(&dir.0, info(), false).unwrap();
    let second = Writer::create(&dir.0, info(), true)
        .map(|_| ())
        .unwrap_err();
    assert!(second.to_string().contains("another run is writing here"));
    drop(first);
    assert!(Writer::create(&dir.0, info(), false).is_ok());
}

#[test]
fn a_finished_run_has_all_files_and_no_temporary_one() {
    let dir = Scratch::new();
    let mut writer = Writer::create(&dir.0, info(), false).unwrap();
    assert!(
        names_in(&dir.0).iter().all(|n| n.ends_with(".part")),
        "a final name too early"
    );
    writer.rows(&vec![flow(0, 1, 0), flow(1, 1, 1_000)]);
    writer.rows(&vec![BufferSample {
        at_ps: 0,
        from_ps: 0,
        probes: 1,
        node: NodeId::new(2),
        used_bytes: 5,
        max_port_bytes: 5,
    }]);
    writer.rows(&vec![PauseRecord {
        node: NodeId::new(0),
        port: 0,
        class: 1,
        from_ps: 1,
        to_ps: 2,
        open: false,
        number: None,
    }]);
    let mut outcome = outcome();
    outcome.ports[0].active_flows = vec![3, 0, 1];
    writer.finish(&outcome, &[]).unwrap();
    assert_eq!(names_in(&dir.0), WHOLE);
    let counts = WHOLE[..5]
        .iter()
        .map(|name| rows(&dir.0, name))
        .collect::<Vec<_>>();
    assert_eq!(counts, [2, 2, 1, 8, 1]);
    assert_eq!(
        fs::read_to_string(dir.0.join("resolved.toml")).unwrap(),
        "seed = 7\n"
    );
}

fn recording() -> RunInfo {
    let window_ps = (0, 1_000_000);
    let record = RecordSpec {
        throughput: Some(Throughput { every_ps: 1_000 }),
        utilisation: Some(Utilisation { every_ps: 1_000 }),
        queues: Some(QueueSeries {
            every_ps: 1_000,
            ports: RecordedPorts::Switches,
        }),
        ingress: Some(IngressSeries {
            every_ps: 1_000,
            ports: RecordedPorts::Switches,
        }),
        histogram: Some(QueueHistogram {
            every_ps: 1_000,
            bin_bytes: 1_000,
            window_ps,
        }),
        rtt: Some(RttHistogram {
            bin_ps: 1_000,
            window_ps,
        }),
        pauses: Some(PauseRecording { flows: true }),
        waiting: Some(Waiting { window_ps }),
        delay: Some(DelayHistogram {
            bin_ps: 1_000,
            window_ps,
        }),
        blame: Some(Blame { hops: true }),
        capture: None,
    };
    RunInfo { record, ..info() }
}

// RCD-09, SPFC-40
#[test]
fn optional_tables_have_files_and_percentiles() {
    let dir = Scratch::new();
    let mut writer = Writer::create(&dir.0, recording(), false).unwrap();
    let total = 70_000;
    for at in 1..=total {
        writer.rows(&vec![ThroughputRecord {
            at_ps: at * 1_000,
            flow: 3,
            bytes: 9,
        }]);
    }
    writer.rows(&vec![QueueSample {
        at_ps: 0,
        node: NodeId::new(2),
        port: 1,
        peer: NodeId::new(4),
        bytes: 7,
    }]);
    writer.rows(&vec![IngressSample {
        at_ps: 0,
        node: NodeId::new(2),
        port: 1,
        peer: NodeId::new(4),
        class: 2,
        level: IngressHeld {
            bytes: 7,
            threshold_bytes: 9,
            victim: true,
        },
    }]);
    let bin = |node, bin_bytes, samples| QueueBin {
        node,
        port: 1,
        peer: NodeId::new(4),
        bin_bytes,
        samples,
    };
    writer.rows(&vec![
        bin(NodeId::new(2), 0, 94),
        bin(NodeId::new(2), 5_000, 2),
        bin(NodeId::new(3), 0, 1),
        bin(NodeId::new(3), 1_000, 3),
    ]);
    writer.rows(&vec![
        RttBin {
            bin_ps: 4_000,
            samples: 1,
        },
        RttBin {
            bin_ps: 9_000,
            samples: 1,
        },
    ]);
    writer.rows(&vec![CauseRecord {
        at_ps: 5,
        node: NodeId::new(2),
        port: 1,
        peer: NodeId::new(0),
        peer_port: 0,
        class: 2,
        number: 1,
        held_bytes: 10,
        threshold_bytes: 9,
        pool_bytes: 11,
        victim: true,
        egress: 0,
        egress_peer: NodeId::new(1),
        egress_bytes: 8,
        parent: None,
        depth: 1,
        root_node: NodeId::new(2),
        root_port: 0,
        root_peer: NodeId::new(1),
    }]);
    writer.rows(&vec![HeldFlowRecord {
        flow: 3,
        node: NodeId::new(0),
        port: 0,
        peer: NodeId::new(2),
        root_node: NodeId::new(2),
        root_port: 0,
        root_peer: NodeId::new(1),
        pauses: 1,
        held_ps: 7,
        victim: true,
    }]);
    let waited = |scheduled| DelayBin {
        node: NodeId::new(2),
        port: 1,
        peer: NodeId::new(4),
        scheduled,
        bin_ps: 3_000,
        samples: 5,
    };
    writer.rows(&vec![waited(false), waited(true)]);
    writer.rows(&vec![UtilisationRecord {
        at_ps: 1_000,
        node: NodeId::new(2),
        port: 1,
        peer: NodeId::new(4),
        bytes: 100,
        busy_ps: 800,
    }]);
    writer.rows(&vec![WaitingRecord {
        node: NodeId::new(2),
        port: 1,
        peer: NodeId::new(4),
        incast: false,
        packets: 2,
        total_ps: 6,
        max_ps: 4,
    }]);
    writer.rows(&vec![BlameRecord {
        received_ps: 9,
        flow: 3,
        fct_ps: 9,
        parts: Parts::default(),
    }]);
    writer.rows(&vec![BlameHopRecord {
        received_ps: 9,
        flow: 3,
        hop: 0,
        node: NodeId::new(0),
        port: 0,
        peer: NodeId::new(2),
        part: Part::Pace,
        spent_ps: 9,
        root: None,
    }]);
    let summary = writer.finish(&outcome(), &[]).unwrap();
    let mut names: Vec<&str> = WHOLE.to_vec();
    let recorded = [
        ("throughput.parquet", total as i64),
        ("utilisation.parquet", 1),
        ("port_queues.parquet", 1),
        ("port_ingress.parquet", 1),
        ("queue_histogram.parquet", 4),
        ("rtt.parquet", 2),
        ("pause_causes.parquet", 1),
        ("held_flows.parquet", 1),
        ("waiting.parquet", 1),
        ("delay_histogram.parquet", 2),
        ("blame.parquet", 1),
        ("blame_hops.parquet", 1),
        ("blame_losses.parquet", 0),
    ];
    names.extend(recorded.map(|(name, _)| name));
    names.sort_unstable();
    assert_eq!(names_in(&dir.0), names);
    for (name, count) in recorded {
        assert_eq!(rows(&dir.0, name), count, "{name}");
    }
    for (table, names) in COLUMNS {
        let names: Vec<&str> = names.split(' ').collect();
        assert_eq!(
            columns(&dir.0, &format!("{table}.parquet")),
            names,
            "{table}"
        );
    }
    let queue = summary.percentiles["queue"].unwrap();
    assert_eq!((queue.samples, queue.p50, queue.p95), (100, 0, 0));
    assert_eq!((queue.p99, queue.max), (5_000, 5_000));
    let rtt = summary.percentiles["rtt"].unwrap();
    assert_eq!((rtt.samples, rtt.p50, rtt.p99), (2, 4_000, 9_000));
    let json: serde_json::Value = serde_json::from_str(&summary.to_json()).unwrap();
    assert_eq!(
        json["rtt"],
        serde_json::json!({
            "samples": 2, "p50_ps": 4_000, "p95_ps": 9_000, "p99_ps": 9_000, "max_ps": 9_000,
        })
    );
    assert_eq!(json["queue"]["p99_bytes"], 5_000);

    // The next run requests no optional tables, so its directory must contain none.
    let again = Writer::create(&dir.0, info(), false).unwrap();
    let summary = again.finish(&outcome(), &[]).unwrap();
    assert_eq!(names_in(&dir.0), WHOLE);
    assert_eq!(summary.percentiles["queue"], None);
    assert_eq!(summary.percentiles["rtt"], None);
}

// RNK-12, RNK-17
#[test]
fn rows_of_collectives_have_names_and_bounds() {
    let dir = Scratch::new();
    let info = RunInfo {
        workloads: vec!["incast".into()],
        ..info()
    };
    let mut writer = Writer::create(&dir.0, info, false).unwrap();
    let of_all = CollectiveRecord {
        workload: 1,
        group: None,
        group_name: None,
        instance: 0,
        composed: false,
        kind: "barrier",
        ranks: 4,
        bytes: 0,
        start_ps: 1_000,
        last_start_ps: 1_000,
        end_ps: 2_000,
        last_rank: 3,
        bus_bytes: None,
        least_ps: None,
    };
    let of_group = CollectiveRecord {
        group: Some(0),
        group_name: Some("tensor-0".into()),
        kind: "all-reduce",
        bytes: 100,
        bus_bytes: Some(150.0),
        least_ps: Some(500.0),
        ..of_all.clone()
    };
    writer.rows(&vec![of_all, of_group]);
    let summary = writer.finish(&outcome(), &[]).unwrap();
    let file = fs::File::open(dir.0.join("collectives.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let told = reader.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        let wanted = ["group_name", "algorithm_bps", "bus_bps", "bound_bps"];
        let columns = row
            .get_column_iter()
            .filter(|(name, _)| wanted.contains(&name.as_str()));
        let values: Vec<String> = columns.map(|(_, value)| value.to_string()).collect();
        values.join(" ")
    });
    let told: Vec<String> = told.collect();
    assert_eq!(
        told,
        [
            "null null null null",
            "\"tensor-0\" 800000000000.0 1200000000000.0 2400000000000.0",
        ]
    );
    assert_eq!(summary.workloads[0].mean_bus_bps, Some(1.2e12));
}

#[test]
fn many_rows_are_written_in_parts() {
    let dir = Scratch::new();
    let mut writer = Writer::create(&dir.0, info(), false).unwrap();
    let total = 300_000_u32;
    for id in 0..total {
        writer.rows(&vec![flow(id, 1, 1_000)]);
    }
    let summary = writer.finish(&outcome(), &[]).unwrap();
    assert_eq!(rows(&dir.0, "flows.parquet"), i64::from(total));
    assert_eq!(summary.fct.short.finished, u64::from(total));
}

// PRE-242
#[test]
fn times_of_flows_count_until_the_last_byte_or_the_last_ack() {
    for (fct_acked, until, slowdown, fct_ps) in [
        (false, "received", 2.0, 2_000.0),
        (true, "acked", 1.0, 4_000.0),
    ] {
        let dir = Scratch::new();
        let info = RunInfo {
            fct_acked,
            ..info()
        };
        let mut writer = Writer::create(&dir.0, info, false).unwrap();
        writer.rows(&vec![flow(0, 1, 1_000)]);
        let summary = writer.finish(&outcome(), &[]).unwrap();
        let short = summary.fct.short;
        assert_eq!(summary.fct_until, until);
        assert_eq!(
            (short.slowdown.unwrap().p99, short.fct_ps.unwrap().p99),
            (slowdown, fct_ps)
        );
    }
}

#[test]
fn flows_are_counted_by_size_and_incast_without_the_warm_up() {
    let dir = Scratch::new();
    let mut writer = Writer::create(&dir.0, info(), false).unwrap();
    let mut incast = flow(5, 200_000, 2_000);
    incast.flow.incast = true;
    let unfinished = FlowRecord {
        received_ps: None,
        acked_ps: None,
        ..flow(6, 20_000, 2_000)
    };
    writer.rows(&vec![
        flow(0, 10_000, 999),
        flow(1, 10_000, 1_000),
        flow(2, 10_001, 1_000),
        flow(3, 1_000_000, 1_000),
        flow(4, 1_000_001, 1_000),
        incast,
        unfinished,
    ]);
    let summary = writer
        .finish(
            &Outcome {
                started: 7,
                finished: 6,
                ..outcome()
            },
            &[],
        )
        .unwrap();
    let fct = &summary.fct;
    let finished = [&fct.short, &fct.medium, &fct.long, &fct.incast].map(|bin| bin.finished);
    assert_eq!(finished, [1, 2, 1, 1]);
    assert_eq!((fct.medium.unfinished, summary.flows.unfinished), (1, 1));
    assert_eq!(summary.flows.measured, 6);
    assert_eq!(fct.short.slowdown.unwrap().p99, 2.0);
    assert_eq!(fct.short.fct_ps.unwrap().mean, 2_000.0);
    assert!(
        summary
            .warnings
            .iter()
            .any(|w| w.contains("did not finish")),
        "{:?}",
        summary.warnings
    );
}

#[test]
fn loads_are_payload_over_capacity_in_the_measured_time() {
    let dir = Scratch::new();
    let mut writer = Writer::create(&dir.0, info(), false).unwrap();
    let mut within_rack = flow(1, 3_000, 5_000);
    within_rack.flow.dst = 0;
    let late = FlowRecord {
        received_ps: Some(2_000_001),
        ..flow(2, 7_000, 5_000)
    };
    // TOP-27: flows that started in the warm-up are not counted, because part of their payload was
    // carried before the measured time.
    let early = flow(3, 50_000, 500);
    writer.rows(&vec![flow(0, 2_000, 5_000), within_rack, late, early]);
    let mut outcome = outcome();
    outcome.ports[3].tx_bytes = 10_000;
    let summary = writer.finish(&outcome, &[]).unwrap();
    // Capacity of the core in one direction: 2 links · 100 Gbit/s · 1 999 000 ps of measured time =
    // 49 975 bytes.
    let core = summary.core.unwrap();
    assert_eq!(core.capacity_bps, 200_000_000_000);
    assert!(
        (core.offered - 9_000.0 / 49_975.0).abs() < 1e-12,
        "{}",
        core.offered
    );
    assert!(
        (core.carried - 2_000.0 / 49_975.0).abs() < 1e-12,
        "{}",
        core.carried
    );
    // Bytes on the wire are counted over the whole run and both directions: 4 · 100 Gbit/s · 4 µs =
    // 200 000 bytes.
    assert!(
        (core.wire - 10_000.0 / 200_000.0).abs() < 1e-12,
        "{}",
        core.wire
    );
    assert!(
        (summary.host.offered - 12_000.0 / 49_975.0).abs() < 1e-12,
        "{}",
        summary.host.offered
    );
    let up = summary
        .links
        .iter()
        .find(|l| l.from == "leaf" && l.to == "spine")
        .unwrap();
    assert_eq!((up.ports, up.wire_utilisation), (2, 10_000.0 / 100_000.0));
}

#[test]
fn buffers_are_measured_per_tier_within_the_measured_time() {
    let dir = Scratch::new();
    let mut writer = Writer::create(&dir.0, info(), false).unwrap();
    let sample = |at_ps, node, used_bytes| BufferSample {
        at_ps,
        from_ps: at_ps,
        probes: 1,
        node,
        used_bytes,
        max_port_bytes: 0,
    };
    writer.rows(&vec![
        sample(0, NodeId::new(2), 9_000_000),
        sample(1_000, NodeId::new(2), 100),
        sample(1_000, NodeId::new(4), 300),
        sample(2_000_000, NodeId::new(4), 400),
        sample(2_000_001, NodeId::new(4), 5_000),
    ]);
    let buffer = writer.finish(&outcome(), &[]).unwrap().buffer;
    assert_eq!(
        (buffer.samples, buffer.p50_bytes, buffer.p99_bytes),
        (3, 300, 400)
    );
    assert_eq!(buffer.max_bytes, 9_000_000);
    let spine = buffer.tiers.iter().find(|t| t.tier == "spine").unwrap();
    assert_eq!((spine.p50_bytes, spine.max_bytes), (300, 5_000));
}

// ENG-33
#[test]
fn a_sample_counts_as_the_probes_that_it_summarises_in_the_measured_time() {
    let many = |from_ps, at_ps, probes| BufferSample {
        at_ps,
        from_ps,
        probes,
        node: NodeId::new(2),
        used_bytes: 0,
        max_port_bytes: 0,
    };
    // The measured time is from 1 000 ps to 2 000 000 ps, both included.
    let cases = [
        (many(0, 999, 1000), 0),
        (many(0, 1_000, 1001), 1),
        (many(0, 4_000_000, 5), 2),
        (many(500, 3_000_500, 4), 1),
        (many(1_000, 2_000_000, 2), 2),
        (many(999, 2_000_001, 2), 0),
        (many(2_000_001, 9_000_001, 8), 0),
    ];
    for (sample, measured) in cases {
        let dir = Scratch::new();
        let mut writer = Writer::create(&dir.0, info(), false).unwrap();
        writer.rows(&vec![sample]);
        let buffer = writer.finish(&outcome(), &[]).unwrap().buffer;
        assert_eq!(buffer.samples, measured, "{sample:?}");
        // The same probes as individual samples must give the same count.
        let dir = Scratch::new();
        let mut writer = Writer::create(&dir.0, info(), false).unwrap();
        let every = (sample.at_ps - sample.from_ps) / (sample.probes - 1).max(1);
        for k in 0..sample.probes {
            let at_ps = sample.from_ps + k * every;
            writer.rows(&vec![many(at_ps, at_ps, 1)]);
        }
        let one_by_one = writer.finish(&outcome(), &[]).unwrap().buffer;
        assert_eq!(one_by_one.samples, measured, "{sample:?}");
    }
}

#[test]
fn pause_fractions_are_per_direction() {
    let dir = Scratch::new();
    let writer = Writer::create(&dir.0, info(), false).unwrap();
    let mut outcome = outcome();
    outcome.ports[3].paused_ps = 1_000_000;
    outcome.ports[3].pauses = 4;
    let summary = writer.finish(&outcome, &[]).unwrap();
    let up = summary
        .links
        .iter()
        .find(|l| l.from == "leaf" && l.to == "spine")
        .unwrap();
    assert_eq!(
        (up.paused_fraction, up.pauses, summary.pfc_paused_ps),
        (0.125, 4, 1_000_000)
    );
    let down = summary
        .links
        .iter()
        .find(|l| l.from == "spine" && l.to == "leaf")
        .unwrap();
    assert_eq!(down.paused_fraction, 0.0);
}

#[test]
fn a_flow_faster_than_its_ideal_is_a_violation() {
    let dir = Scratch::new();
    let mut writer = Writer::create(&dir.0, info(), false).unwrap();
    let good = flow(0, 1, 1_000);
    let fast = FlowRecord {
        ideal_received_ps: 2_001,
        ..flow(1, 1, 1_000)
    };
    writer.rows(&vec![good]);
    writer.rows(&vec![fast; 12]);
    let summary = writer.finish(&outcome(), &[]).unwrap();
    assert!(!summary.ok);
    assert_eq!(summary.violations.len(), 11, "ten examples and a count");
    assert!(
        summary.violations[0].message.contains("flow 1"),
        "{:?}",
        summary.violations[0]
    );
    assert!(
        summary.violations[10].message.contains("2 more"),
        "{:?}",
        summary.violations[10]
    );
    assert!(!summary.checks.contains(&"slowdown".to_string()));
}

/// If packets take several paths, the last, shorter packet of a flow does not wait behind other
/// packets of the flow.
#[test]
fn sprayed_flows_may_be_faster_than_the_ideal_of_one_path() {
    let dir = Scratch::new();
    let sprayed = RunInfo {
        sprays: true,
        ..info()
    };
    let mut writer = Writer::create(&dir.0, sprayed, false).unwrap();
    writer.rows(&vec![FlowRecord {
        ideal_received_ps: 2_001,
        ..flow(1, 1, 1_000)
    }]);
    let summary = writer.finish(&outcome(), &[]).unwrap();
    assert!(summary.ok && !summary.checks.contains(&"slowdown".to_string()));
}

#[test]
fn exactly_the_ideal_is_no_violation() {
    let dir = Scratch::new();
    let mut writer = Writer::create(&dir.0, info(), false).unwrap();
    writer.rows(&vec![FlowRecord {
        ideal_received_ps: 2_000,
        ..flow(1, 1, 1_000)
    }]);
    let summary = writer.finish(&outcome(), &[]).unwrap();
    assert!(summary.ok && summary.checks.contains(&"slowdown".to_string()));
}

#[test]
fn violations_of_the_run_are_in_the_summary() {
    let dir = Scratch::new();
    let writer = Writer::create(&dir.0, info(), false).unwrap();
    let violation = Violation {
        check: "conservation",
        message: "one byte is gone".into(),
    };
    let outcome = Outcome {
        violations: vec![violation],
        ..outcome()
    };
    let summary = writer.finish(&outcome, &["later".into()]).unwrap();
    assert!(!summary.ok && summary.violations[0].message == "one byte is gone");
    assert_eq!(summary.warnings, ["later"]);
}

#[test]
fn an_interrupted_run_is_kept_and_marked_partial() {
    let dir = Scratch::new();
    let mut writer = Writer::create(&dir.0, info(), false).unwrap();
    writer.rows(&vec![flow(0, 1, 1_000)]);
    let outcome = Outcome {
        ending: Ending::Interrupted,
        ..outcome()
    };
    let summary = writer.finish(&outcome, &[]).unwrap();
    assert!(summary.partial && summary.ending == "interrupted");
    assert_eq!(names_in(&dir.0), WHOLE);
}

#[test]
fn a_writer_that_is_dropped_unfinished_leaves_only_the_earlier_run() {
    let dir = Scratch::new();
    Writer::create(&dir.0, info(), false)
        .unwrap()
        .finish(&outcome(), &[])
        .unwrap();
    let before = fs::read(dir.0.join("summary.json")).unwrap();
    let mut writer = Writer::create(&dir.0, info(), false).unwrap();
    writer.rows(&vec![flow(0, 1, 1_000)]);
    drop(writer);
    assert_eq!(names_in(&dir.0), WHOLE);
    assert_eq!(fs::read(dir.0.join("summary.json")).unwrap(), before);
}

#[test]
fn an_earlier_run_is_replaced_with_its_report() {
    let dir = Scratch::new();
    Writer::create(&dir.0, info(), false)
        .unwrap()
        .finish(&outcome(), &[])
        .unwrap();
    fs::write(dir.0.join("report.html"), "old").unwrap();
    let next = RunInfo { seed: 8, ..info() };
    Writer::create(&dir.0, next, false)
        .unwrap()
        .finish(&outcome(), &[])
        .unwrap();
    assert_eq!(names_in(&dir.0), WHOLE);
    let text = fs::read_to_string(dir.0.join("summary.json")).unwrap();
    assert!(text.contains("\"seed\": 8"), "{text}");
}

#[test]
fn a_directory_with_other_files_is_an_error_without_force() {
    let dir = Scratch::new();
    fs::write(dir.0.join("thesis.tex"), "dear").unwrap();
    let error = Writer::create(&dir.0, info(), false)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("thesis.tex") && error.contains("--force"),
        "{error}"
    );
    assert_eq!(names_in(&dir.0), ["thesis.tex"]);
    Writer::create(&dir.0, info(), true)
        .unwrap()
        .finish(&outcome(), &[])
        .unwrap();
    assert_eq!(
        fs::read_to_string(dir.0.join("thesis.tex")).unwrap(),
        "dear"
    );
}

#[test]
fn a_path_that_is_a_file_is_an_error_with_the_path() {
    let dir = Scratch::new();
    let path = dir.0.join("file");
    fs::write(&path, "").unwrap();
    let error = Writer::create(&path, info(), true)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains(&*path.to_string_lossy()), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_with_the_path_and_no_complete_file() {
    let dir = Scratch::new();
    let mut writer = Writer::create(&dir.0, info(), false).unwrap();
    // All later writes of the summary go to a device that is always full.
    let part = dir.0.join("summary.json.part");
    std::os::unix::fs::symlink("/dev/full", &part).unwrap();
    writer.rows(&vec![flow(0, 1, 1_000)]);
    let error = writer.finish(&outcome(), &[]).err().unwrap().to_string();
    assert!(
        error.contains("summary.json.part") && error.contains("free some space"),
        "{error}"
    );
    assert!(names_in(&dir.0).is_empty(), "{:?}", names_in(&dir.0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_fills_up_during_the_run_is_reported_immediately() {
    let dir = Scratch::new();
    std::os::unix::fs::symlink("/dev/full", dir.0.join("flows.parquet.part")).unwrap();
    let mut writer = Writer::create(&dir.0, info(), false).unwrap();
    let mut id = 0;
    while writer.error().is_none() {
        writer.rows(&vec![flow(id, u64::from(id) * 7_919, 1_000)]);
        id += 1;
        assert!(id < 2_000_000, "the full disk went unnoticed");
    }
    let error = writer.finish(&outcome(), &[]).err().unwrap().to_string();
    assert!(error.contains("flows.parquet.part"), "{error}");
    assert!(!dir.0.join("flows.parquet").exists());
}

#[test]
fn the_summary_is_json_with_the_digest_in_hexadecimal() {
    let dir = Scratch::new();
    Writer::create(&dir.0, info(), false)
        .unwrap()
        .finish(&outcome(), &[])
        .unwrap();
    let text = fs::read_to_string(dir.0.join("summary.json")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["digest"], "00000000000000ab");
    assert_eq!(value["performance"]["packet_hops_per_s"], 5.0);
    assert_eq!(value["performance"]["events_per_hop"], 2.5);
    assert_eq!(
        value["performance"]["threads"],
        serde_json::json!({
            "asked": 4, "used": 2, "why": "this machine has 2 processors",
            "look_ahead_ps": 1_003_920, "windows_together": 30, "windows_alone": 7, "crossed": 5, "lanes": 3,
        })
    );
    assert_eq!(value["fct"]["long"]["slowdown"], serde_json::Value::Null);
    assert_eq!(value["tiers"], serde_json::json!(["host", "leaf", "spine"]));
}

/// Returns the sizes of the frames in a pcapng file, in the order of the file.
fn frames_in(path: &Path) -> Vec<u32> {
    let data = fs::read(path).unwrap();
    let word = |at: usize| u32::from_le_bytes(*data[at..].first_chunk().unwrap());
    let (mut at, mut frames) = (0, Vec::new());
    while at < data.len() {
        let length = word(at + 4) as usize;
        assert_eq!(word(at + length - 4) as usize, length);
        if word(at) == 6 {
            frames.push(word(at + 24));
        }
        at += length;
    }
    frames
}

fn capture_of(files: u16, dir: &Path) -> Summary {
    let mut info = info();
    info.record.capture = Some(CaptureSpec {
        links: vec![(NodeId::new(0), 0)],
        from_ps: 0,
        until_ps: u64::MAX,
        snaplen: 100,
        limit_bytes: 1_000,
        files,
    });
    info.captured = vec![CapturedLink {
        link: LinkId::new(0),
        name: "a->leaf0".into(),
        rate_bps: 100_000_000_000,
    }];
    let mut writer = Writer::create(dir, info, false).unwrap();
    for nth in 0..20 {
        // The last frames are shorter: they would fit into a file that is too full for the earlier
        // frames.
        let kept = vec![nth as u8; if nth < 15 { 100 } else { 60 }];
        writer.rows(&vec![CapturedFrame {
            at_ps: u64::from(nth) * 1_000,
            link: LinkId::new(0),
            bytes: 1_000 + nth,
            kept: kept.into(),
        }]);
    }
    writer.finish(&outcome(), &[]).unwrap()
}

// RCD-32
#[test]
fn a_capture_ends_when_its_file_is_full_and_a_ring_keeps_the_last_files() {
    let dir = Scratch::new();
    let summary = capture_of(1, &dir.0);
    let seen = frames_in(&dir.0.join("capture.pcapng"));
    assert_eq!(seen, (1_000..1_000 + seen.len() as u32).collect::<Vec<_>>());
    assert!((4..8).contains(&seen.len()), "{} frames", seen.len());
    let left_out = format!("{} frames are missing", 20 - seen.len());
    assert!(summary.warnings.iter().any(|text| text.contains(&left_out)));

    let summary = capture_of(2, &dir.0);
    let files = ["capture-01.pcapng", "capture-02.pcapng"].map(|name| dir.0.join(name));
    let kept: Vec<u32> = files.iter().flat_map(|file| frames_in(file)).collect();
    assert_eq!(kept, (1_020 - kept.len() as u32..1_020).collect::<Vec<_>>());
    for file in &files {
        assert!(fs::metadata(file).unwrap().len() <= 1_000);
    }
    assert!(!dir.0.join("capture.pcapng").exists(), "of the run before");
    assert!(
        summary
            .warnings
            .iter()
            .all(|text| !text.contains("no room"))
    );
}
