//! Tests of `[[workload]]`: values that are read, refused, or set by default.

use std::path::Path;

use fabric::engine::Simulation;
use fabric::record::{CollectiveRecord, Ending, Recorder, Rows};
use kernel::Wheel;
use scenario::{Changes, Scenario, ScenarioError, WorkSpec};
use traffic::operations::{Operation, Work};

const STEP: &str = r#"
name = "step"
[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 4
link = { rate = "100Gbps", delay = "1us" }
[[workload]]
name = "reduce"
collective = "all-reduce"
size = "1MB"
compute = "10us"
repeats = 2
[scheme]
preset = "dcqcn"
"#;

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, "step.toml", Path::new("."), &Changes::default())
}

fn with(line: &str) -> String {
    STEP.replace("repeats = 2", &format!("repeats = 2\n{line}"))
}

/// Checks that a line is refused: the error is at line 15 and contains these words.
fn refused(line: &str, words: &[&str]) {
    let text = parse(&with(line)).unwrap_err().to_string();
    assert!(text.contains("step.toml:15:"), "{text}");
    for words in words {
        assert!(text.contains(words), "no \"{words}\" in {text}");
    }
}

// RNK-13, RNK-14: one collective, placement
#[test]
fn a_workload_needs_no_traffic_and_is_read_back() {
    let scenario = parse(STEP).unwrap_or_else(|e| panic!("{e}"));
    let again = parse(&scenario.resolved).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.spec, scenario.spec, "{}", scenario.resolved);
    let [work] = &scenario.spec.workloads[..] else {
        panic!("{:?}", scenario.spec.workloads)
    };
    assert!(work.hosts.iter().map(|host| host.bits()).eq(0..16));
    let job = work.job(0);
    // Two computations and two all-reduces. Each operation depends on the previous one.
    assert_eq!(job.source.count(7), 4);
    let block = job.source.read(7, 0).unwrap();
    let kinds: Vec<_> = block.operations.iter().map(|o| o.work.word()).collect();
    assert_eq!(kinds, ["calc", "all-reduce", "calc", "all-reduce"]);
    assert_eq!(block.operations[3].after_end, [2]);
    let built = scenario.build().unwrap();
    assert_eq!(built.plan.jobs.jobs.len(), 1);
    assert_eq!(scenario.info().sources, ["reduce"]);
    let text = parse(&STEP.replace("[[workload]]", "[[workloads]]")).unwrap_err();
    let text = text.to_string();
    assert!(text.contains("neither traffic nor a workload"), "{text}");
}

// RNK-15, RNK-16, NIC-53: queue pairs and ports
#[test]
fn queue_pairs_and_ports_are_read_and_what_has_no_effect_is_told() {
    use traffic::operations::{QueuePairs, ReceiveEnd, SendEnd};
    let read = |line: &str| parse(&with(line)).unwrap_or_else(|e| panic!("{e}"));
    let plain = read("");
    let job = plain.spec.workloads[0].job(0);
    assert_eq!(job.workload.options.queue_pairs, QueuePairs::PerChannel);
    assert!(!job.by_rail);
    let late = read("latency = \"2us\"").spec.workloads[0].job(0);
    let block = late.source.read(0, 0).unwrap();
    let traffic::operations::Work::Collective(reduce) = &block.operations[1].work else {
        panic!("{:?}", block.operations)
    };
    assert_eq!(reduce.latency_ps, 2_000_000);
    let shared = read("queue_pairs = \"per-channel\"\nports = \"rail\"");
    let job = shared.spec.workloads[0].job(0);
    assert_eq!(job.workload.options.queue_pairs, QueuePairs::PerChannel);
    assert!(job.by_rail);
    assert_eq!(job.workload.options.receive_end, ReceiveEnd::Received);
    let late = read("send_end = \"received\"\nreceive_end = \"acknowledged\"");
    let options = late.spec.workloads[0].job(0).workload.options.clone();
    let ends = (options.send_end, options.receive_end);
    assert_eq!(ends, (SendEnd::Received, ReceiveEnd::Acknowledged));
    assert!(job.shares_queue_pairs(&shared.build().unwrap().plan.nic));
    let told = |scenario: &Scenario| {
        let mut told = scenario.warnings.iter().map(ToString::to_string);
        told.any(|text| text.contains("are to share queue pairs, which has no effect"))
    };
    assert!(!told(&shared));
    assert!(
        !told(&parse(&with("").replace("dcqcn", "homa")).unwrap()),
        "a default"
    );
    let text = with("queue_pairs = \"per-channel\"").replace("dcqcn", "homa");
    let homa = parse(&text).unwrap_or_else(|e| panic!("{e}"));
    assert!(told(&homa), "{:?}", homa.warnings);
    let told: Vec<String> = homa.warnings.iter().map(ToString::to_string).collect();
    assert!(told.join("\n").contains("step.toml:15:"), "{told:#?}");
    assert!(
        !homa.spec.workloads[0]
            .job(0)
            .shares_queue_pairs(&homa.build().unwrap().plan.nic)
    );
    refused("ports = \"side\"", &["there are: hash, rail"]);
    refused(
        "receive_end = \"eager\"",
        &["there are: received, acknowledged"],
    );
}

const TREE: &str = r#"
name = "tree"
topology = { kind = "star", hosts = 8, link = { rate = "400Gbps", delay = "500ns" } }
scheme = { preset = "line-rate", mtu = "4096B" }
[[workload]]
name = "w"
collective = "all-reduce"
algorithm = "double-binary-tree"
size = "32MB"
"#;

/// As in NCCL, chunks have 512 KiB: a tree with 16 MB has 31 chunks.
// OPS-63: chunks of trees
#[test]
fn a_double_binary_tree_pipelines_as_in_nccl() {
    let scenario = |line: &str| parse(&TREE.replace("size", &format!("{line}\nsize"))).unwrap();
    let ends = |scenario: &Scenario| {
        let plan = scenario.build().unwrap().plan;
        let mut keep = Kept::default();
        Simulation::new(plan).run(&mut keep, &mut |_| true);
        keep.0[0].end_ps - keep.0[0].start_ps
    };
    let usual = scenario("");
    let WorkSpec::Collective(of) = &usual.spec.workloads[0].work else {
        panic!("a collective")
    };
    assert_eq!(
        of.algorithm.as_deref(),
        Some("double-binary-tree:chunks=31")
    );
    assert_eq!(usual.warnings, []);
    let again = parse(&usual.resolved).unwrap();
    assert_eq!(again.spec, usual.spec);
    // Each rank sends as many bytes as in a ring, so the bus bandwidth is close to the link rate.
    let bus_bps = 2.0 * 7.0 / 8.0 * 32e6 * 8e12 / ends(&usual) as f64;
    assert!((250e9..345e9).contains(&bus_bps), "{bus_bps} bps");
    // Two settings prevent pipelining. With each, the run takes longer and has a warning.
    let whole = parse(&TREE.replace("-tree\"", "-tree:chunks=1\"")).unwrap();
    let apart = scenario("queue_pairs = \"per-message\"");
    for (slow, said) in [(&whole, "does not pipeline"), (&apart, "hardly pipelines")] {
        assert!(ends(slow) > 5 * ends(&usual) / 4, "{said}");
        assert!(
            slow.warnings.iter().any(|w| w.message.contains(said)),
            "{said}"
        );
    }
}

// OPS-63: number of chunks
#[test]
fn chunks_of_trees_follow_the_size_and_the_depth() {
    use traffic::collectives::Algorithm;
    let chunks =
        |text: &str, bytes, members| Algorithm::pipelined(text, bytes, members).unwrap().chunks;
    let tree = "double-binary-tree";
    assert_eq!(chunks(tree, 256_000_000, 8), 245);
    // 1 MiB for a tree of depth 3 would be fewer than 12 chunks of 128 KiB, so chunks have 64 KiB.
    assert_eq!(chunks(tree, 2 << 20, 8), 16);
    assert_eq!(chunks(tree, 1_000, 8), 1);
    assert_eq!(chunks("double-binary-tree:channels=4", 256_000_000, 8), 62);
    assert_eq!(chunks("double-binary-tree:chunks=3", 256_000_000, 8), 3);
    assert_eq!(chunks("ring", 256_000_000, 8), 1);
    let across = "hierarchical:server=4,across=double-binary-tree";
    assert_eq!(chunks(across, 256_000_000, 32), chunks(tree, 64_000_000, 8));
}

// RNK-14: placement of ranks
#[test]
fn ranks_are_placed_in_a_row_rack_by_rack_by_chance_or_as_listed() {
    let hosts_of = |text: &str| {
        let scenario = parse(text).unwrap_or_else(|e| panic!("{e}"));
        let hosts = scenario.spec.workloads[0].hosts.iter();
        hosts.map(|host| host.bits()).collect::<Vec<_>>()
    };
    let placed = |line: &str| hosts_of(&with(line));
    assert_eq!(placed("ranks = 5"), [0, 1, 2, 3, 4]);
    assert_eq!(
        placed("ranks = 5\nplacement = \"round-robin\""),
        [0, 4, 8, 12, 1]
    );
    assert_eq!(placed("placement = [3, \"host9\", 3]"), [3, 9, 3]);
    let random = "ranks = 9\nplacement = \"random\"";
    let drawn = placed(random);
    assert_eq!(drawn, placed(random));
    let mut sorted = drawn.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), 9);
    assert_ne!(sorted, drawn);
    let other = with(random).replace("name = \"reduce\"", "name = \"other\"");
    assert_ne!(hosts_of(&other), drawn);
}

// OPS-70: slow ranks
#[test]
fn ranks_are_slow_by_number_or_by_chance() {
    let factors = |line: &str| {
        let scenario = parse(&with(line)).unwrap_or_else(|e| panic!("{e}"));
        let again = parse(&scenario.resolved).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.spec, scenario.spec, "{}", scenario.resolved);
        let job = scenario.spec.workloads[0].job(0);
        let factors: Vec<f64> = (0..16).map(|rank| job.stragglers.factor(rank)).collect();
        factors
    };
    let listed = factors("slow = [{ rank = 3, factor = 1.5 }]");
    assert_eq!((listed[3], listed[4]), (1.5, 1.0));
    let drawn = factors("slow = [{ probability = \"30%\", factor = 2.0 }]");
    assert!(drawn.contains(&1.0) && drawn.contains(&2.0), "{drawn:?}");
    let both = factors("slow = [{ probability = 0.3, factor = 2.0 }, { rank = 3, factor = 1.5 }]");
    assert_eq!((both[3], both[4]), (drawn[3] * 1.5, drawn[4]));
    let spread = factors("slow = [{ probability = 1, sigma = 0.1 }]");
    assert!(spread.iter().all(|factor| (0.5..2.0).contains(factor)));
    assert_ne!(spread[3], spread[4]);
    let text = with("slow = [{ probability = 1, sigma = 0.1 }]");
    let other = parse(&text.replace("name = \"step\"", "name = \"step\"\nseed = 2"));
    let other = other.unwrap_or_else(|e| panic!("{e}")).spec.workloads[0].job(0);
    assert_ne!(other.stragglers.factor(3), spread[3], "another seed");
}

// OPS-70: independent draws
#[test]
fn each_workload_draws_its_own_slow_ranks() {
    let slow =
        "slow = [{ probability = 1, sigma = 0.1 }]\nnoise = { kind = \"uniform\", width = 0.5 }";
    let one = with(slow);
    let entry = &one[one.find("[[workload]]").unwrap()..one.find("[scheme]").unwrap()];
    let two = one.replace(
        "[scheme]",
        &format!("{}[scheme]", entry.replace("\"reduce\"", "\"other\"")),
    );
    let draws = |text: &str, number: usize| {
        let scenario = parse(text).unwrap_or_else(|e| panic!("{e}"));
        let stragglers = scenario.spec.workloads[number].job(0).stragglers;
        let noise = |index| stragglers.duration_ps(1.0, 3, index, 1_000_000);
        let factors: Vec<f64> = (0..16).map(|rank| stragglers.factor(rank)).collect();
        (factors, (0..16).map(noise).collect::<Vec<u64>>())
    };
    let (first, second) = (draws(&two, 0), draws(&two, 1));
    assert!(
        first
            .0
            .iter()
            .zip(&second.0)
            .all(|(one, other)| one != other)
    );
    assert!(
        first
            .1
            .iter()
            .zip(&second.1)
            .any(|(one, other)| one != other)
    );
    // The draws of a workload depend neither on other workloads nor on their order.
    assert_eq!(draws(&one, 0), first);
    assert_eq!(draws(&one.replace("\"reduce\"", "\"other\""), 0), second);
}

/// Recorder that keeps the collectives of a run.
#[derive(Default)]
struct Kept(Vec<CollectiveRecord>);

impl Recorder for Kept {
    fn rows(&mut self, rows: &dyn Rows) {
        self.0.extend_from_slice(rows.of().unwrap_or_default());
    }
}

/// Returns the scenario with `steps` instead of the all-reduce, which is at line 11.
fn steps(steps: &str) -> String {
    let from = STEP.find("collective").unwrap();
    let to = STEP.find("[scheme]").unwrap();
    format!("{}{steps}\n{}", &STEP[..from], &STEP[to..])
}

// OPS-30, RNK-21: steps and instances
#[test]
fn ranks_go_through_steps_in_groups() {
    let text = steps(
        r#"ranks = 5
groups = [{ name = "pair", ranks = [3, 0] }, { name = "rest", ranks = [1, 2] }]
steps = [
    { compute = "10us", groups = ["pair"] },
    { collective = "all-reduce", size = "1MB", groups = ["pair", "rest"], algorithm = "direct" },
    { send = [[0, 4], [4, 0], [1, 4]], size = "2KB" },
    { collective = "all-to-allv", sizes = [["1KB", "0B"], ["3KB", "4KB"]], groups = ["pair"] },
    { collective = "all-to-allv", sizes = ["1KB", "2KB", "0B", "4KB", "5KB"] },
]
repeats = 2
class = 1"#,
    );
    let scenario = parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let again = parse(&scenario.resolved).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.spec, scenario.spec, "{}", scenario.resolved);
    assert_eq!(scenario.spec.workloads[0].max_class(), 1);
    let job = scenario.spec.workloads[0].job(0);
    let of = |rank: u32| job.source.read(rank, 0).unwrap().operations;
    let told = |rank: u32| -> Vec<(&'static str, Vec<u32>)> {
        let told = |one: &Operation| (one.work.word(), one.after_end.clone());
        of(rank).iter().map(told).collect()
    };
    let once = [
        ("calc", vec![]),
        ("all-reduce", vec![0]),
        ("send", vec![1]),
        ("recv", vec![1]),
        ("all-to-allv", vec![2, 3]),
        ("all-to-allv", vec![4]),
    ];
    assert_eq!(told(0)[..6], once);
    assert_eq!(told(0)[6], ("calc", vec![5]));
    assert_eq!(told(0).len(), 12);
    assert_eq!(
        told(2)[..2],
        [("all-reduce", vec![]), ("all-to-allv", vec![0])]
    );
    let fourth = [
        ("recv", vec![]),
        ("send", vec![]),
        ("recv", vec![]),
        ("all-to-allv", vec![0, 1, 2]),
    ];
    assert_eq!(told(4)[..4], fourth);
    let collective = |rank: u32, at: usize| match &of(rank)[at].work {
        Work::Collective(collective) => (**collective).clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(collective(2, 0).group, Some(1));
    assert_eq!(job.workload.groups[0].ranks[..], [3, 0]);
    // Rank 0 is the second member of its pair.
    let pair = collective(0, 4);
    assert_eq!(
        (pair.to_each, pair.from_each),
        (vec![3_000, 4_000], vec![0, 4_000])
    );
    let all = collective(3, 3);
    assert_eq!((all.group, all.class), (None, 1));
    assert_eq!(all.to_each, [1_000, 2_000, 0, 4_000, 5_000]);
    assert_eq!(all.from_each, [4_000; 5]);
    // Messages of different steps have different tags.
    let tag = |at: usize| match &of(0)[at].work {
        Work::Send(send) => send.tag,
        other => panic!("{other:?}"),
    };
    assert_ne!(tag(2), tag(8));
    let plan = scenario.build().unwrap().plan;
    let mut kept = Kept::default();
    let outcome = Simulation::<Wheel>::new(plan).run(&mut kept, &mut |_| true);
    assert_eq!(outcome.ending, Ending::Drained);
    // Two repetitions of: an all-reduce per group (two groups), an all-to-allv of the pair, and an
    // all-to-allv of all ranks.
    assert_eq!(kept.0.len(), 2 * 4);
    let pair = (kept.0.iter()).find(|row| row.kind == "all-to-allv" && row.group == Some(0));
    assert_eq!(pair.map(|row| row.bytes), Some(8_000));
}

/// Checks that steps are refused: the error is at the position marked by `^`, and contains these
/// words.
fn refused_at(marked: &str, words: &str) {
    let before = marked.split('^').next().unwrap();
    let line = 11 + before.matches('\n').count();
    let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
    let text = parse(&steps(&marked.replace('^', "")));
    let text = text.unwrap_err().to_string();
    let place = format!("--> step.toml:{line}:{column}\n");
    assert!(text.contains(&place), "not {line}:{column}: {text}");
    assert!(text.contains(words), "no \"{words}\" in {text}");
}

// RNK-21: invalid steps
#[test]
fn steps_that_cannot_be_are_refused_where_they_stand() {
    for (marked, words) in [
        (r#"groups = [{ name = "a", ranks = ^[16] }]"#, "0 to 15"),
        (
            r#"groups = [{ name = "a", ranks = ^[1, 1] }]"#,
            "or one twice",
        ),
        (r#"groups = [{ name = "a", ranks = ^[] }]"#, "has no rank"),
        (
            r#"groups = [{ name = "a", ranks = [1] }, { name = ^"a", ranks = [0] }]"#,
            "there is a group \"a\" already",
        ),
    ] {
        refused_at(
            &format!("{marked}\nsteps = [{{ compute = \"1us\" }}]"),
            words,
        );
    }
    for (marked, words) in [
        (r#"^{ groups = ["a"] }"#, "a step says what is done"),
        (r#"{ compute = "1us", groups = ^["b"] }"#, "no group \"b\""),
        (
            r#"{ compute = "1us", groups = ^["aa"] }"#,
            "did you mean \"a\"?",
        ),
        (r#"{ compute = "1us", groups = ^[] }"#, "has no group"),
        (
            r#"{ compute = "1us", groups = ^["a", "a"] }"#,
            "or one twice",
        ),
        (r#"{ send = ^[], size = "1B" }"#, "has no message"),
        (
            r#"{ compute = "1us", ^collective = "barrier" }"#,
            "one of compute, collective and send",
        ),
        (
            r#"{ collective = "barrier", send = ^[[0, 1]] }"#,
            "for steps without `collective` only",
        ),
        (
            r#"{ collective = "barrier", size = ^"1B" }"#,
            "moves no data",
        ),
        (
            r#"{ collective = ^"all-reduce" }"#,
            "all-reduce needs a `size`",
        ),
        (
            r#"{ collective = "all-reduce", size = "1B", algorithm = ^"rign" }"#,
            "did you mean ring?",
        ),
        (
            r#"{ collective = "all-reduce", size = "1B", ^sizes = ["1B"] }"#,
            "only an all-to-allv has it",
        ),
        (r#"{ collective = ^"all-to-allv" }"#, "needs `sizes`"),
        (
            r#"{ collective = "all-to-allv", groups = ["a"], sizes = ^["1B"] }"#,
            "1 sizes for 2 ranks",
        ),
        (
            r#"{ collective = "all-to-allv", groups = ["a"], sizes = ^[["1B", "1B"]] }"#,
            "1 rows for 2 ranks",
        ),
        (
            r#"{ collective = "all-to-allv", sizes = ^["1MG"] }"#,
            "is not a unit of size",
        ),
        (r#"{ send = ^[[0, 1]] }"#, "a send needs a `size`"),
        (r#"{ send = ^[[0, 0]], size = "1B" }"#, "[0, 0] is no pair"),
        (r#"{ send = ^[[0, 16]], size = "1B" }"#, "ranks of 0 to 15"),
        (r#"{ send = ^[[0, 1, 2]], size = "1B" }"#, "is no pair"),
        (r#"{ send = ^[0, 1], size = "1B" }"#, "a list"),
        (r#"{ ^sned = [[0, 1]] }"#, "did you mean `send`?"),
    ] {
        let groups = r#"groups = [{ name = "a", ranks = [0, 1] }]"#;
        refused_at(&format!("{groups}\nsteps = [{marked}]"), words);
    }
    refused_at(
        "^groups = []\ncollective = \"barrier\"",
        "only `steps` name groups",
    );
    let barrier = "steps = [{ collective = \"barrier\" }]\n";
    let both = format!("{barrier}^collective = \"barrier\"");
    refused_at(&both, "`steps` say what the ranks do");
    let slow = format!("{barrier}slow = ^[{{ rank = 1, factor = 2.0 }}]");
    refused_at(&slow, "about computations, and there are none");
}

#[test]
fn what_cannot_be_is_refused_where_it_stands() {
    refused("ranks = 17", &["17 ranks do not fit on 16 hosts"]);
    refused(
        "placement = [0, 16]",
        &["there is no host 16", "from 0 to 15"],
    );
    refused("placement = [0, \"leaf1\"]", &["\"leaf1\" is a switch"]);
    refused("placement = [0]", &["needs two ranks"]);
    refused("pxn = true", &["where there are rails", "rail-optimised"]);
    refused(
        "slow = [{ rank = 16, factor = 2.0 }]",
        &["step.toml:15:18", "there is no rank 16", "0 to 15"],
    );
    refused(
        "slow = [{ rank = 1, factor = 2.0 }, { probability = 1.2, factor = 2.0 }]",
        &["`probability`: 1.2 is out of range"],
    );
    refused(
        "slow = [{ probability = 0.2, rank = 1, factor = 2.0 }]",
        &["`rank` would do nothing: ranks are drawn"],
    );
    refused(
        "slow = [{ rank = 1, sigma = 0.2, factor = 2.0 }]",
        &["`factor` would do nothing: the factor is drawn"],
    );
    refused("slow = [{ factor = 2.0 }]", &["needs `rank`"]);
    refused("slow = [{ probability = 0.2 }]", &["needs `factor`"]);
    refused(
        "slow = [{ probability = 0.2, sigma = -1.0 }]",
        &["sigma", "out of range"],
    );
    refused(
        "algorithm = \"rign\"",
        &["no algorithm \"rign\"", "did you mean ring?"],
    );
    refused(
        "algorithm = \"direct:server=2\"",
        &["no parameter \"server\""],
    );
    refused("algorithm = \"dissemination\"", &["cannot do all-reduce"]);
    refused("algoritm = \"ring\"", &["unknown key", "algorithm"]);
    let none = STEP.replace("compute = \"10us\"", "slow = [{ rank = 1, factor = 2.0 }]");
    let text = parse(&none).unwrap_err().to_string();
    assert!(
        text.contains("about computations, and there are none"),
        "{text}"
    );
    let barrier = STEP.replace("all-reduce", "barrier");
    let text = parse(&barrier).unwrap_err().to_string();
    assert!(text.contains("a barrier moves no data"), "{text}");
    assert!(parse(&barrier.replace("size = \"1MB\"\n", "")).is_ok());
    let twice = STEP.replace(
        "[scheme]",
        "[[workload]]\nname = \"reduce\"\n\
        collective = \"all-to-all\"\nsize = \"1KB\"\n[scheme]",
    );
    let text = parse(&twice).unwrap_err().to_string();
    assert!(
        text.contains("workload.0 is called \"reduce\" already"),
        "{text}"
    );
}

// RNK-07: PXN
#[test]
fn pxn_is_for_rails() {
    let rails = r#"
kind = "rail-optimised"
servers = 2
gpus_per_server = 4
spines = 2
scale_up = { rate = "2400Gbps", delay = "500ns" }
link = { rate = "400Gbps", delay = "1us" }
"#;
    let text = with("pxn = true");
    let from = text.find("kind =").unwrap();
    let to = text.find("[[workload]]").unwrap();
    let text = format!("{}{rails}{}", &text[..from], &text[to..]);
    let scenario = parse(&text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario.spec.workloads[0].relay, Some(4));
}

const RAILS: &str = r#"
name = "rails"
switch = { buffer = "128MB" }
topology = { kind = "rail-optimised", servers = 4, gpus_per_server = 4, spines = 4, link = { rate = "400Gbps", delay = "1us" }, scale_up = { rate = "2400Gbps", delay = "500ns" } }
scheme = { preset = "dcqcn", mtu = "4096B", pfc = { response = "500ns" } }
[[workload]]
name = "w"
collective = "all-reduce"
size = "1MB"
"#;

/// Returns the keys of the notes about a scenario.
fn noted(text: &str) -> Vec<String> {
    let scenario = parse(text).unwrap_or_else(|e| panic!("{text}\n{e}"));
    assert_eq!(scenario.warnings, [], "{text}");
    (scenario.notes.into_iter().map(|note| note.key)).collect()
}

#[test]
fn a_note_names_each_value_that_fast_fabrics_do_not_have() {
    let all_rails = "algorithm = \"ring:channels=4,server=4\"\nsize";
    let good = RAILS.replace("size", all_rails);
    assert_eq!(noted(&good), [""; 0]);
    assert_eq!(noted(&good.replace("4096B", "1000B")), ["scheme.mtu"]);
    let at_once = good.replace(", pfc = { response = \"500ns\" }", "");
    assert_eq!(noted(&at_once), ["scheme.pfc.response"]);
    // A scheme without PFC has no response time. At slow hosts, small packets are usual.
    assert_eq!(noted(&at_once.replace("dcqcn", "homa")), [""; 0]);
    let slow = at_once
        .replace("4096B", "1000B")
        .replace("400Gbps", "200Gbps");
    assert_eq!(noted(&slow), [""; 0]);
}

#[test]
fn a_note_names_a_collective_that_leaves_nics_idle() {
    let with = |line: &str| RAILS.replace("size", &format!("{line}\nsize"));
    assert_eq!(noted(RAILS), ["workload.0.collective"]);
    // Channels with equal rings send over the same NICs.
    let equal = "algorithm = \"ring:channels=4\"";
    assert_eq!(noted(&with(equal)), ["workload.0.algorithm"]);
    let half = "algorithm = \"ring:channels=2,server=4\"";
    assert_eq!(noted(&with(half)), ["workload.0.algorithm"]);
    let steps = RAILS.replace(
        "collective = \"all-reduce\"\nsize = \"1MB\"",
        "steps = [{ collective = \"all-gather\", size = \"1MB\" }]",
    );
    assert_eq!(noted(&steps), ["workload.0.steps"]);
    // The proposed ring uses the servers of the group: four servers with two members each.
    let pairs = "ranks = 8\nplacement = [0, 1, 4, 5, 8, 9, 12, 13]";
    assert_eq!(noted(&with(pairs)), ["workload.0.collective"]);
    let proposed = "algorithm = \"ring:channels=2,server=2\"";
    assert_eq!(noted(&with(&format!("{pairs}\n{proposed}"))), [""; 0]);
    // Trees and the ring of an all-to-all cross servers at few members.
    let of_eight = |line: &str| with(line).replace("gpus_per_server = 4", "gpus_per_server = 8");
    let tree = "algorithm = \"double-binary-tree:channels=2\"";
    assert_eq!(noted(&of_eight(tree)), ["workload.0.algorithm"]);
    let inside_first = "algorithm = \"hierarchical:server=8,across=double-binary-tree\"";
    assert_eq!(noted(&of_eight(inside_first)), [""; 0]);
    let exchange = RAILS.replace("\"all-reduce\"", "\"all-to-all\"\nalgorithm = \"ring\"");
    assert_eq!(noted(&exchange), ["workload.0.algorithm"]);
    // The rings of a broadcast cannot start at different members.
    let broadcast = RAILS.replace("\"all-reduce\"", "\"broadcast\"\nalgorithm = \"ring\"");
    assert_eq!(noted(&broadcast), [""; 0]);
    // Cases without an idle NIC: one rank per server, all ranks in one server, halving-doubling.
    for line in [
        "ranks = 4\nplacement = [0, 4, 8, 12]",
        "ranks = 4",
        "algorithm = \"halving-doubling\"",
    ] {
        assert_eq!(noted(&with(line)), [""; 0], "{line}");
    }
}
