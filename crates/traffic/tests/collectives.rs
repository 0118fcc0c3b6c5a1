//! Tests of collectives. Each contribution reaches each member that needs it exactly once, for all
//! orders of lanes and arrivals. No collective is faster than the closed form, and without
//! contention some reach it exactly.

use crate::programs::{Program, bandwidth_only, collective, latency};
use kernel::{Purpose, Stream};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use traffic::collectives::bounds::{bus_factor, least_across, least_between, least_bytes};
use traffic::collectives::{Algorithm, Name, Part, Plan, Span, Step, algorithms_of, plan};
use traffic::operations::{CollectiveKind, Options};

/// The set of members whose contributions a byte contains, one bit per member.
type Contributions = u64;

/// Executes the plans of all members symbolically. For each byte it tracks which contributions the
/// byte contains.
struct Symbolic {
    plans: Vec<Box<dyn Plan>>,
    /// The contributions in each byte of the address space, per member.
    content: Vec<Vec<Contributions>>,
    done: Vec<Vec<u32>>,
    /// Messages in flight by sender, receiver and tag, each with the contributions in its bytes at
    /// the time of sending.
    under_way: BTreeMap<(u32, u32, u64), (Span, Vec<Contributions>)>,
    used: BTreeSet<(u32, u32, u64)>,
}

fn range(span: Span) -> std::ops::Range<usize> {
    span.offset as usize..(span.offset + span.bytes) as usize
}

impl Symbolic {
    /// Executes the next step of a lane. Returns false if the step must wait.
    fn step(&mut self, member: u32, lane: u32) -> bool {
        let at = member as usize;
        let step = self.done[at][lane as usize];
        if step == self.plans[at].steps(lane) {
            return false;
        }
        match self.plans[at].step(lane, step) {
            Step::Await { lane: other, steps } => {
                if self.done[at][other as usize] < steps {
                    return false;
                }
            }
            Step::Send { span, .. } | Step::Receive { span, .. } if span.bytes == 0 => {}
            Step::Send { to, span, tag } => {
                assert_ne!(to, member, "nobody sends to itself");
                assert!(self.used.insert((member, to, tag)), "a tag is used once");
                let bytes = self.content[at][range(span)].to_vec();
                self.under_way.insert((member, to, tag), (span, bytes));
            }
            Step::Receive {
                from,
                span,
                tag,
                reduce,
            } => {
                let Some((sent, bytes)) = self.under_way.remove(&(from, member, tag)) else {
                    return false;
                };
                assert_eq!(sent, span, "both ends mean the same bytes");
                for (old, new) in self.content[at][range(span)].iter_mut().zip(bytes) {
                    if reduce {
                        assert_eq!(*old & new, 0, "a contribution is added once");
                        *old |= new;
                    } else {
                        *old = new;
                    }
                }
            }
        }
        self.done[at][lane as usize] += 1;
        true
    }
}

fn own_block(kind: CollectiveKind, n: u32, bytes: u64, member: u32) -> Vec<Span> {
    match kind {
        CollectiveKind::AllToAll => (0..n)
            .map(|source| {
                let whole = Span {
                    offset: u64::from(source) * bytes,
                    bytes,
                };
                whole.part((member + n - source) % n, n)
            })
            .collect(),
        CollectiveKind::ReduceScatter => vec![Span::whole(bytes).part(member, n)],
        _ => vec![Span::whole(bytes)],
    }
}

/// Executes a collective with a random order of lanes, and checks the final data of each member.
fn check(kind: CollectiveKind, algorithm: &Algorithm, n: u32, bytes: u64, root: u32, seed: u64) {
    let space = if kind == CollectiveKind::AllToAll {
        bytes * u64::from(n)
    } else {
        bytes
    };
    let mut content = vec![vec![0; space as usize]; n as usize];
    for (member, content) in (0..n).zip(&mut content) {
        let has = match kind {
            CollectiveKind::AllReduce | CollectiveKind::ReduceScatter => Span::whole(bytes),
            CollectiveKind::AllGather => Span::whole(bytes).part(member, n),
            CollectiveKind::AllToAll => Span {
                offset: u64::from(member) * bytes,
                bytes,
            },
            _ if member == root => Span::whole(bytes),
            _ => Span::whole(0),
        };
        content[range(has)].fill(1 << member);
    }
    let plans: Vec<_> = (0..n)
        .map(|position| {
            let part = Part {
                kind,
                position,
                members: n,
                bytes,
                root,
                to_each: &[],
                from_each: &[],
            };
            plan(&part, algorithm)
        })
        .collect();
    let done = plans.iter().map(|plan| vec![0; plan.lanes() as usize]);
    let mut run = Symbolic {
        done: done.collect(),
        plans,
        content,
        under_way: BTreeMap::new(),
        used: BTreeSet::new(),
    };
    let mut lanes: Vec<(u32, u32)> = (0..n)
        .flat_map(|member| {
            let lanes = run.plans[member as usize].lanes();
            (0..lanes).map(move |lane| (member, lane))
        })
        .collect();
    let mut stream = Stream::new(seed, 0, Purpose::Test);
    while !lanes.is_empty() {
        // A random lane executes steps until it must wait. If it cannot execute any, each lane
        // tries one step.
        let chosen = stream.below(lanes.len() as u64) as usize;
        let (member, lane) = lanes[chosen];
        let mut moved = false;
        while run.step(member, lane) {
            moved = true;
        }
        if !moved {
            for &(member, lane) in &lanes {
                moved |= run.step(member, lane);
            }
            let over = |&(member, lane): &(u32, u32)| {
                let at = member as usize;
                run.done[at][lane as usize] == run.plans[at].steps(lane)
            };
            assert!(moved || lanes.iter().all(over), "it is stuck");
            lanes.retain(|lane| !over(lane));
        }
    }
    assert!(run.under_way.is_empty(), "all that is sent is received");
    let all = (1 << n) - 1;
    for member in 0..n {
        let content = &run.content[member as usize];
        for span in own_block(kind, n, bytes, member) {
            for (at, &found) in range(span).zip(&content[range(span)]) {
                let expected = match kind {
                    CollectiveKind::AllReduce | CollectiveKind::ReduceScatter => all,
                    CollectiveKind::Broadcast => 1 << root,
                    CollectiveKind::AllToAll => 1 << (at as u64 / bytes),
                    _ => {
                        let owner =
                            |owner: &u32| range(Span::whole(bytes).part(*owner, n)).contains(&at);
                        1 << (0..n).find(owner).unwrap()
                    }
                };
                assert_eq!(found, expected, "{algorithm}: member {member}, byte {at}");
            }
        }
    }
}

const MOVES_DATA: [CollectiveKind; 5] = [
    CollectiveKind::AllReduce,
    CollectiveKind::AllGather,
    CollectiveKind::ReduceScatter,
    CollectiveKind::AllToAll,
    CollectiveKind::Broadcast,
];

/// Generates a kind of collective, an algorithm, and a number of members that both support.
fn any_collective() -> impl Strategy<Value = (CollectiveKind, Algorithm, u32)> {
    let kind = prop::sample::select(MOVES_DATA.to_vec());
    let shape = (1..9_u32, 1..5_u32);
    let knobs = (1..4_u32, 1..5_u32, 1..5_u32, 1..9_u32);
    let inside = prop::sample::select(vec![Name::Direct, Name::Ring]);
    let across = prop::sample::select(vec![
        Name::Ring,
        Name::Direct,
        Name::DoubleBinaryTree,
        Name::HalvingDoubling,
    ]);
    let which = any::<prop::sample::Index>();
    (kind, shape, knobs, inside, across, which).prop_filter_map(
        "the algorithm can do it",
        |(kind, (servers, server), (channels, chunks, active, window), inside, across, which)| {
            let n = servers * server;
            let name = *which.get(algorithms_of(kind));
            let plain = Algorithm::new(name);
            let takes = |key| name.parameters().contains(&key);
            let keep = |key, value, default| if takes(key) { value } else { default };
            let algorithm = Algorithm {
                channels: keep("channels", channels, 1),
                chunks: keep("chunks", chunks, 1),
                active: keep("active", active.min(chunks), 1),
                window: keep("window", window, plain.window),
                server: keep("server", server, 1),
                inside: if takes("inside") {
                    inside
                } else {
                    plain.inside
                },
                across: if takes("across") {
                    across
                } else {
                    plain.across
                },
                name,
            };
            // If the algorithm does not support the collective, the test uses the variant without
            // parameters.
            let able = |algorithm: &Algorithm| algorithm.check(kind, n).is_ok();
            [algorithm, plain]
                .into_iter()
                .find(able)
                .map(|able| (kind, able, n))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// OPS-31, OPS-33, OPS-35, OPS-36 and the algorithms OPS-50, OPS-51, OPS-52, OPS-53, OPS-54,
    /// OPS-55, OPS-56, OPS-57, OPS-58, OPS-60: each contribution reaches each member that needs it
    /// exactly once.
    #[test]
    fn each_contribution_arrives_once(
        (kind, algorithm, n) in any_collective(),
        bytes in 0..200_u64,
        root in 0..32_u32,
        seed in any::<u64>(),
    ) {
        check(kind, &algorithm, n, bytes, root % n, seed);
    }

    /// OPS-61: no algorithm is faster than the bound. Each channel has its own NIC, and time passes
    /// only for transmission by NICs.
    #[test]
    fn never_below_the_bound((kind, algorithm, n) in any_collective(), bytes in 1..100_000_u64) {
        let took = took_ps(kind, &algorithm.to_string(), n, bytes);
        let least = least_bytes(kind, n, bytes).unwrap();
        let nics = u64::from(algorithm.channels);
        prop_assert!((took + PS_PER_BYTE) * nics >= least * PS_PER_BYTE, "{took}");
    }

    /// OPS-32: the text of an algorithm, when parsed, gives the same algorithm.
    #[test]
    fn algorithms_are_written_and_read((_, algorithm, _) in any_collective()) {
        prop_assert_eq!(Algorithm::parse(&algorithm.to_string()), Ok(algorithm));
    }
}

const PS_PER_BYTE: u64 = 20;

/// Returns the duration of a collective if each NIC needs 20 ps per byte and everything else takes
/// no time.
fn took_ps(kind: CollectiveKind, algorithm: &str, n: u32, bytes: u64) -> u64 {
    let options = Options {
        gap_ps: PS_PER_BYTE,
        ..bandwidth_only(PS_PER_BYTE)
    };
    let mut program = Program::new(n, options);
    program.everywhere(&collective(kind, bytes, algorithm));
    let found = program.run(latency(0)).unwrap();
    assert_eq!(found.warnings, [""; 0]);
    *found.rank_end_ps.iter().max().unwrap()
}

/// OPS-50, OPS-53, OPS-54, OPS-60: these algorithms reach the bound exactly. The NIC model
/// transfers the last byte of each message in no time.
#[test]
fn the_bound_is_reached() {
    use CollectiveKind::{AllGather, AllReduce, AllToAll, ReduceScatter};
    for (kind, algorithm) in [
        (AllReduce, "ring"),
        (AllReduce, "halving-doubling"),
        (AllReduce, "direct"),
        (AllReduce, "hierarchical:server=4"),
        (
            AllReduce,
            "hierarchical:server=4,inside=ring,across=halving-doubling",
        ),
        (AllGather, "ring"),
        (AllGather, "halving-doubling"),
        (AllGather, "direct"),
        (ReduceScatter, "ring"),
        (ReduceScatter, "direct"),
        (AllToAll, "direct"),
    ] {
        for (n, bytes) in [(4, 4_000), (16, 1 << 20), (64, 64_000)] {
            let least = least_bytes(kind, n, bytes).unwrap() * PS_PER_BYTE;
            let took = took_ps(kind, algorithm, n, bytes);
            assert_eq!(took + PS_PER_BYTE, least, "{kind} {algorithm} of {n}");
        }
    }
}

/// OPS-56, OPS-57: a pipelined algorithm takes its minimum time plus the time to fill the pipeline.
/// A member sends 2 S bytes in a double tree and S bytes in a chain.
#[test]
fn pipelines_fill() {
    let (bytes, chunks) = (1 << 20, 64);
    for n in [8, 16, 64] {
        let took = took_ps(
            CollectiveKind::Broadcast,
            &format!("ring:chunks={chunks}"),
            n,
            bytes,
        );
        let fill = (u64::from(n) - 2) * bytes / chunks;
        // On each of the n − 1 links, the NIC model transfers the last byte in no time.
        let at_once = (u64::from(n) - 1) * PS_PER_BYTE;
        assert_eq!(took + at_once, (bytes + fill) * PS_PER_BYTE);
        let name = format!("double-binary-tree:chunks={chunks}");
        let took = took_ps(CollectiveKind::AllReduce, &name, n, bytes);
        let deep = u64::from(n.ilog2()) + 1;
        let fill = 6 * deep * (bytes / 2 / chunks);
        let most = (2 * bytes + fill) * PS_PER_BYTE;
        assert!(took <= most, "{n}: {took} ps, expected at most {most}");
    }
}

/// OPS-58, OPS-59: trees and barriers take log2 n rounds.
#[test]
fn rounds_are_logarithms() {
    for (n, rounds) in [(2, 1), (3, 2), (8, 3), (9, 4), (64, 6)] {
        let mut program = Program::new(n, Options::default());
        let mut barrier = collective(CollectiveKind::Barrier, 0, "dissemination");
        program.everywhere(&barrier);
        let found = program.run(latency(1_000)).unwrap();
        assert_eq!(found.rank_end_ps, vec![rounds * 1_000; n as usize]);
        barrier = collective(CollectiveKind::Broadcast, 10, "binomial-tree");
        let mut program = Program::new(n, Options::default());
        program.everywhere(&barrier);
        let (found, _) = program.recorded(latency(1_000)).unwrap();
        // Without overheads, all children of a member receive their messages at the same time.
        let deepest = (0..n).map(u32::count_ones).max().unwrap();
        let last = found.rank_end_ps.iter().max().unwrap();
        assert_eq!(*last, u64::from(deepest) * 1_000);
    }
}

/// OPS-32: invalid combinations of algorithm and collective are errors.
#[test]
fn invalid_algorithms_are_errors() {
    let parse = |text: &str| Algorithm::parse(text).unwrap_err();
    assert!(parse("rings").contains("did you mean ring?"));
    assert!(parse("zzz").contains("expected ring, double-binary-tree"));
    assert!(parse("ring:chanels=2").contains("expected channels, chunks, active, server"));
    assert!(parse("ring:channels=0").contains("expected 1 to 65536"));
    assert!(parse("ring:channels").contains("key=value"));
    assert!(parse("dissemination:chunks=2").contains("it has none"));
    let check = |text: &str, kind, n| Algorithm::parse(text).unwrap().check(kind, n);
    let gather = CollectiveKind::AllGather;
    assert!(
        check("halving-doubling", gather, 6)
            .unwrap_err()
            .contains("use ring")
    );
    assert!(
        check("double-binary-tree", gather, 6)
            .unwrap_err()
            .contains("cannot do all-gather")
    );
    let reduce = CollectiveKind::AllReduce;
    assert!(
        check("hierarchical:server=4", reduce, 6)
            .unwrap_err()
            .contains("whole servers")
    );
    let inside = "hierarchical:server=6,inside=halving-doubling";
    assert!(check(inside, reduce, 12).unwrap_err().contains("inside:"));
    assert!(check("hierarchical:across=hierarchical", reduce, 4).is_err());
    let many = check("ring:channels=2048,chunks=1024", reduce, 4);
    assert!(many.unwrap_err().contains("at most 1048576 are possible"));
    assert!(check("ring:channels=1024,chunks=1024", reduce, 4).is_ok());
}

/// OPS-61: bounds and bus bandwidth
#[test]
fn closed_forms() {
    assert_eq!(
        least_bytes(CollectiveKind::AllReduce, 8, 1 << 20),
        Some(1_835_008)
    );
    assert_eq!(least_bytes(CollectiveKind::AllToAll, 1, 1 << 20), Some(0));
    assert_eq!(
        least_bytes(CollectiveKind::AllReduce, u32::MAX, u64::MAX),
        None
    );
    assert_eq!(bus_factor(CollectiveKind::AllReduce, 8), Some(1.75));
    assert_eq!(bus_factor(CollectiveKind::AllGather, 8), Some(0.875));
    assert_eq!(bus_factor(CollectiveKind::Barrier, 8), None);
}

/// OPS-62: minimum number of bytes that leave one set of members, and minimum over all sets
/// together.
#[test]
fn closed_forms_of_sets() {
    use CollectiveKind::{AllGather, AllReduce, AllToAll, Barrier, Broadcast, ReduceScatter};
    for (kind, one, half) in [
        (AllReduce, 800, 800),
        (Broadcast, 800, 800),
        (AllGather, 700, 400),
        (ReduceScatter, 700, 400),
        (AllToAll, 700, 1600),
        (Barrier, 0, 0),
    ] {
        assert_eq!(least_across(kind, 8, 1, 800), one, "{kind}");
        assert_eq!(least_across(kind, 8, 4, 800), half, "{kind}");
        assert_eq!(least_across(kind, 8, 8, 800), 0, "{kind}");
        assert_eq!(least_across(kind, 8, 0, 800), 0, "{kind}");
    }
    // With each of eight members as a set, the bound per set is 2 (n − 1)/n · S.
    let each = least_bytes(AllReduce, 8, 800).map(u128::from);
    assert_eq!(Some(least_between(AllReduce, 8, 800) / 8), each);
    assert_eq!(least_between(AllReduce, 1, 800), 0);
    assert_eq!(least_between(AllGather, 8, 800), 0);
}

/// Checks that the random tests above generate each algorithm.
#[test]
fn all_algorithms_are_tried() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..400 {
        let tree = any_collective().new_tree(&mut runner).unwrap();
        let (kind, algorithm, _) = proptest::strategy::ValueTree::current(&tree);
        seen.insert((kind, algorithm.name.word()));
    }
    let all = MOVES_DATA.iter().flat_map(|&kind| {
        let names = algorithms_of(kind).iter();
        names.map(move |name| (kind, name.word()))
    });
    assert_eq!(seen, all.collect());
}
