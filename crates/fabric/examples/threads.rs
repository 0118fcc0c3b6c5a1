//! What several threads gain: a permutation on a fat-tree, run with one thread and with several in
//! turn. `cargo run --release --example threads -- K BYTES THREADS REPEATS PRESET`.
#![allow(clippy::print_stdout)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::*;
use dataplane::units::MS;
use fabric::engine::{Simulation, Threads};
use fabric::topology::TopologySpec;
use kernel::random::{Purpose, Stream};
use traffic::Flow;

/// Every host sends to one other, and every host receives from one other.
fn permutation(hosts: u32, bytes: u64) -> Vec<Flow> {
    let mut stream = Stream::new(1, 0, Purpose::Test);
    let mut order: Vec<u32> = (0..hosts).collect();
    for at in (1..hosts as usize).rev() {
        order.swap(at, stream.below(at as u64 + 1) as usize);
    }
    // Along the circle that the shuffled hosts form, so that nobody sends to itself.
    let next = |at: usize| order[(at + 1) % order.len()];
    let pairs = order.iter().enumerate().map(|(at, &src)| (src, next(at)));
    pairs
        .zip(0..)
        .map(|((src, dst), id)| flow(id, 0, src, dst, bytes))
        .collect()
}

fn main() {
    let argument = |nth: usize, default: u64| {
        let given = std::env::args().nth(nth);
        given.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (k, bytes) = (argument(1, 16) as u32, argument(2, 1 << 20));
    let (threads, repeats) = (argument(3, 2) as u32, argument(4, 3));
    let wanted = std::env::args().nth(5).unwrap_or_else(|| "hpcc".to_owned());
    let (_, preset) = PRESETS
        .into_iter()
        .find(|(name, _)| *name == wanted)
        .expect("a preset of tests/common");
    let topology = TopologySpec::FatTree {
        k,
        link: LINK,
        fabric_link: LINK,
    };
    let hosts = k * k * k / 4;
    for _ in 0..repeats {
        let mut seconds = [0.0; 2];
        for (nth, asked) in [1, threads].into_iter().enumerate() {
            let mut setup = preset(topology.clone(), permutation(hosts, bytes));
            setup.until_ps = 50 * MS;
            setup.threads = Threads {
                asked,
                forced: true,
            };
            let built = std::time::Instant::now();
            let simulation = Simulation::new(setup.plan());
            let build_seconds = built.elapsed().as_secs_f64();
            let outcome = simulation.run(&mut Keep::default(), &mut |_| true);
            seconds[nth] = outcome.loop_seconds;
            let hops = outcome.counters.packet_hops as f64;
            println!(
                "{wanted} {hosts} hosts, {} threads: {:.2} M hops/s, {:.2} s, built in {build_seconds:.2} s, {:.2} \
                 events/hop, {} windows, {:.1} % crossed, {:016x}, {:?}, {} violations",
                outcome.threads.used,
                hops / outcome.loop_seconds / 1e6,
                outcome.loop_seconds,
                outcome.counters.events as f64 / hops,
                outcome.threads.windows.together,
                outcome.threads.crossed as f64 / hops * 100.0,
                outcome.digest,
                outcome.ending,
                outcome.violations.len(),
            );
        }
        println!("   {:.2} times as fast", seconds[0] / seconds[1]);
    }
}
