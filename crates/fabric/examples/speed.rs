//! Measures packet-hops per second of the engine without output, on a 128-host Clos: `cargo run
//! --release -p backwater-fabric --example speed [PRESET] [MICROSECONDS] [MEAN] [SENDERS]`. Flows
//! have MEAN bytes (default 30 kB). With SENDERS, this number of hosts send 200 kB each to one host
//! every 200 µs.
#![allow(clippy::print_stdout)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::*;
use dataplane::units::MS;
use kernel::random::{Purpose, Stream};

fn main() {
    let only = std::env::args().nth(1);
    let number = |nth| std::env::args().nth(nth).and_then(|text| text.parse().ok());
    let until = number(2).unwrap_or(2_000.0) * 1e6;
    let mean = number(3).unwrap_or(30_000.0);
    let senders = number(4).unwrap_or(0.0) as u32;
    for (name, preset) in PRESETS.into_iter().chain(DRIVEN) {
        if only.as_deref().is_some_and(|o| o != name) {
            continue;
        }
        let mut stream = Stream::new(1, 0, Purpose::Test);
        let mut at = 0.0;
        let mut flows = Vec::new();
        let mut burst = 0.0;
        // Poisson arrivals at 30 % of the rate of 128 host links.
        while at < until {
            at += stream.exponential() * mean * 8.0 / (0.3 * 128.0 * 0.1);
            if senders > 0 && at >= burst {
                let dst = stream.below(128) as u32;
                for n in 0..senders.min(127) {
                    let src = (dst + 1 + n) % 128;
                    flows.push(flow(flows.len() as u32, at as u64, src, dst, 200_000));
                }
                burst += 200e6;
            }
            let src = stream.below(128) as u32;
            let dst = (src + 1 + stream.below(127) as u32) % 128;
            let bytes = 1 + (stream.exponential() * mean) as u64;
            flows.push(flow(flows.len() as u32, at as u64, src, dst, bytes));
        }
        let n = flows.len();
        let mut s = preset(leaf_spine(8, 8, 16), flows);
        s.until_ps = 50 * MS;
        let (o, _) = s.run_raw();
        let hops = o.counters.packet_hops as f64;
        println!(
            "{name:10} {n} flows {:?} {} hops, {:.2} M/s, {:.2} events/hop, {:016x}, {} violations",
            o.ending,
            hops,
            hops / o.loop_seconds / 1e6,
            o.counters.events as f64 / hops,
            o.digest,
            o.violations.len()
        );
        for v in o.violations.iter().take(5) {
            println!("   {}: {}", v.check, v.message);
        }
    }
}
