//! Measures the speed of a run with one thread, with several threads, and with several threads even
//! if the engine would use one.
//! `cargo run --release --example threads -- WORKLOAD HOSTS BYTES THREADS REPEATS PRESET`, where
//! WORKLOAD is `permutation` (on a fat-tree), `incast` or `light` (both on a leaf-spine with 16
//! hosts per leaf).
#![allow(clippy::print_stdout)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::*;
use dataplane::units::{MS, US};
use fabric::engine::{Simulation, Threads};
use fabric::topology::TopologySpec;
use kernel::random::{Purpose, Stream};
use traffic::Flow;

/// Every host sends to one other host and receives from one other host.
fn permutation(hosts: u32, bytes: u64) -> Vec<Flow> {
    let mut stream = Stream::new(1, 0, Purpose::Test);
    let mut order: Vec<u32> = (0..hosts).collect();
    for at in (1..hosts as usize).rev() {
        order.swap(at, stream.below(at as u64 + 1) as usize);
    }
    // Each host sends to the next in a shuffled cyclic order, so no host sends to itself.
    let next = |at: usize| order[(at + 1) % order.len()];
    let pairs = order.iter().enumerate().map(|(at, &src)| (src, next(at)));
    pairs
        .zip(0..)
        .map(|((src, dst), id)| flow(id, 0, src, dst, bytes))
        .collect()
}

/// A hundred hosts send to one host.
fn incast(hosts: u32, bytes: u64) -> Vec<Flow> {
    (1..hosts.min(101))
        .map(|src| flow(src - 1, 0, src, 0, bytes))
        .collect()
}

/// Flows of this mean size, at 10 % of the total rate of the hosts.
fn light(hosts: u32, bytes: u64) -> Vec<Flow> {
    let mut stream = Stream::new(1, 0, Purpose::Test);
    let mut at = 0.0;
    (0..20_000)
        .map(|id| {
            at += stream.exponential() * bytes as f64 * 80.0 / (0.1 * f64::from(hosts));
            let src = stream.below(u64::from(hosts)) as u32;
            let dst = (src + 1 + stream.below(u64::from(hosts) - 1) as u32) % hosts;
            let size = 1 + (stream.exponential() * bytes as f64) as u64;
            flow(id, at as u64, src, dst, size)
        })
        .collect()
}

/// Returns the CPU seconds of this process, if the system reports them (Linux).
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit(')').next().unwrap_or_default();
    let ticks = after.split_whitespace().skip(11).take(2);
    let ticks = ticks.filter_map(|word| word.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

fn main() {
    let argument = |nth: usize| std::env::args().nth(nth);
    let number = |nth: usize, default: u64| {
        let given = argument(nth).and_then(|text| text.parse().ok());
        given.unwrap_or(default)
    };
    let workload = argument(1).unwrap_or_else(|| "permutation".to_owned());
    let (hosts, bytes) = (number(2, 1024) as u32, number(3, 1 << 20));
    let (threads, repeats) = (number(4, 2) as u32, number(5, 3));
    let wanted = argument(6).unwrap_or_else(|| "hpcc".to_owned());
    let found = PRESETS.into_iter().find(|(name, _)| *name == wanted);
    let (_, preset) = found.expect("a preset of tests/common");
    let (topology, flows) = match workload.as_str() {
        "incast" => (leaf_spine(hosts / 16, 8, 16), incast(hosts, bytes)),
        "light" => (leaf_spine(hosts / 16, 8, 16), light(hosts, bytes)),
        _ => {
            let k = (4.0 * f64::from(hosts)).cbrt().round() as u32;
            let topology = TopologySpec::FatTree {
                k,
                link: LINK,
                fabric_link: LINK,
            };
            (topology, permutation(k * k * k / 4, bytes))
        }
    };
    for _ in 0..repeats {
        let mut one = 0.0;
        for (name, asked, forced) in [
            ("one", 1, false),
            ("auto", threads, false),
            ("forced", threads, true),
        ] {
            let mut setup = preset(topology.clone(), flows.clone());
            setup.until_ps = 200 * MS;
            setup.probe_ps = 10 * US;
            setup.threads = Threads { asked, forced };
            let built = std::time::Instant::now();
            let simulation = Simulation::new(setup.plan());
            let built = built.elapsed().as_secs_f64();
            let before = cpu_seconds();
            let outcome = simulation.run(&mut Keep::default(), &mut |_| true);
            let cpu = cpu_seconds() - before;
            if asked == 1 {
                one = outcome.loop_seconds;
            }
            let hops = outcome.counters.packet_hops as f64;
            let used = &outcome.threads;
            println!(
                "{workload} {wanted} {hosts} hosts, {name}: {} threads, {:.2} M hops/s, {:.2} x, {:.2} s, {cpu:.2} s of \
                 processors, built in {built:.2} s, {:.2} events/hop, {} + {} windows, {:.1} % crossed, {:016x}, {:?}, {} \
                 violations",
                used.used,
                hops / outcome.loop_seconds / 1e6,
                one / outcome.loop_seconds,
                outcome.loop_seconds,
                outcome.counters.events as f64 / hops,
                used.windows.together,
                used.windows.alone,
                used.crossed as f64 / hops * 100.0,
                outcome.digest,
                outcome.ending,
                outcome.violations.len(),
            );
        }
    }
}
