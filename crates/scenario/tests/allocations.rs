//! Tests that no preset allocates memory per packet or per probe of queues: longer flows need more
//! packets and more probes, but not more allocations.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

use fabric::engine::{Plan, Simulation, Threads};
use scenario::{Changes, PRESETS, Scenario};

/// The system allocator, with a count of allocations per thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending may allocate memory after its counter has been destroyed.
    let _ = ALLOCATIONS.try_with(|counter| counter.set(counter.get() + 1));
}

// SAFETY: all calls go to the system allocator with unchanged arguments. Counting changes a
// thread-local integer and allocates no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Recorder that discards all records.
pub struct Nobody;

impl fabric::record::Recorder for Nobody {
    fn rows(&mut self, _: &dyn fabric::record::Rows) {}
}

/// Two leaves and two spines. Each host of one leaf sends to the host at the same position of the
/// other leaf, and to another host of its own leaf.
fn network(flow_kilobytes: u32) -> String {
    let mut text = "name = \"allocations\"\nseed = 3\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\n\
        hosts_per_leaf = 4\nlink = { rate = \"100Gbps\", delay = \"1us\" }\n[switch]\nbuffer = \"2MB\"\n\
        [[traffic]]\nname = \"flows\"\npattern = \"list\"\nflows = [\n"
        .to_owned();
    for src in 0..4 {
        for dst in [4, 4 + src] {
            text += &format!(
                "{{ start = \"{src}us\", src = {src}, dst = {dst}, bytes = \"{flow_kilobytes}KB\" }},\n"
            );
        }
    }
    text + "]\n[run]\nuntil = \"100ms\"\nprobe = \"1us\"\n"
}

/// Returns the packet hops and the allocations of a run with flows of this size.
fn run(preset: &str, set: &[&str], flow_kilobytes: u32) -> (u64, u64) {
    let changes = Changes {
        scheme: Some(preset.to_owned()),
        set: set.iter().map(|s| (*s).to_owned()).collect(),
        ..Changes::default()
    };
    let text = network(flow_kilobytes);
    let scenario = Scenario::parse(&text, "x.toml", Path::new("."), &changes)
        .unwrap_or_else(|errors| panic!("{preset} {set:?}: {errors}"));
    let plan = Plan {
        threads: Threads {
            asked: 1,
            forced: false,
        },
        ..scenario.build().expect("a sound scenario").plan
    };
    let simulation = Simulation::new(plan);
    let before = ALLOCATIONS.get();
    let outcome = simulation.run(&mut Nobody, &mut |_| true);
    let allocations = ALLOCATIONS.get() - before;
    assert_eq!(outcome.violations, [], "{preset} {set:?}");
    assert_eq!(outcome.finished, 8, "{preset} {set:?}");
    (outcome.counters.packet_hops, allocations)
}

/// Compares the counts of two runs after the warm-up. The second run has flows four times as long,
/// and is allowed one more allocation per `HOPS` additional hops. The additional allocations are
/// vectors that double, and the first list of a frame in each slot of the packet arena.
fn allocates_nothing_per_packet(preset: &str, set: &[&str]) -> Result<(), String> {
    const HOPS: u64 = 500;
    let (hops, allocations) = run(preset, set, 1_600);
    let (more_hops, more_allocations) = run(preset, set, 6_400);
    let packets = more_hops - hops;
    let grown = more_allocations.saturating_sub(allocations);
    assert!(packets > 100_000, "{preset}: {packets} hops");
    match grown <= packets / HOPS {
        true => Ok(()),
        false => Err(format!(
            "{preset} {set:?}: {allocations} allocations in {hops} hops, {more_allocations} in {more_hops}"
        )),
    }
}

/// Options that change the work per packet, each with a preset to which it applies.
const OPTIONS: [(&str, &[&str]); 6] = [
    ("bfc", &["scheme.bfc.tell=bitmap"]),
    ("bfc", &["scheme.bfc.tell=edges+bitmap"]),
    ("bfc", &["scheme.bfc.pause=flow"]),
    ("dcqcn", &["scheme.pfc.pause=quanta"]),
    ("dcqcn", &["scheme.backpressure=floodgate"]),
    ("hpcc", &["scheme.hpcc.alpha_fair=2"]),
];

#[test]
fn no_preset_allocates_per_packet() {
    let presets = PRESETS.iter().map(|preset| (preset.name, &[][..]));
    let failed: Vec<String> = presets
        .chain(OPTIONS)
        .filter_map(|(preset, set)| allocates_nothing_per_packet(preset, set).err())
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
