//! Cost of one pop and push of a calendar, in ns, with deltas as in a network.
//!
//! `cargo run --release -p backwater-kernel --example calendar_bench [SHIFT]...`

#![allow(clippy::print_stdout)]

use std::time::Instant;

use kernel::{Calendar, Event, Naive, Purpose, Stream, Wheel, phase};

const OPERATIONS: u32 = 500_000;
const REPEATS: u32 = 6;
const DELTAS: usize = 1 << 14;
const TIMER: u32 = 1;

/// How events follow each other.
#[derive(Clone, Copy, PartialEq)]
enum Load {
    /// A busy network: frames of many sizes cross links of 1 µs, or are serialised (about 80 ns);
    /// one pending event in eight is a timer of 10 µs to 10 ms.
    Busy,
    /// All hosts send full frames in step: every instant has many ties.
    Lockstep,
}

/// A table of deltas, so that drawing one costs next to nothing.
struct Deltas {
    frames: Vec<u64>,
    timers: Vec<u64>,
    next: usize,
}

impl Deltas {
    fn new(load: Load) -> Self {
        let mut stream = Stream::new(1, 1, Purpose::Test);
        let mut frame = || {
            let bytes = if load == Load::Lockstep || stream.below(4) > 0 {
                1040
            } else {
                60 + stream.below(980)
            };
            let link_ps = if stream.below(2) == 0 { 1_000_000 } else { 0 };
            80 * bytes + link_ps
        };
        let frames = (0..DELTAS).map(|_| frame()).collect();
        let timers = (0..DELTAS)
            .map(|_| (1e7 * libm::pow(1e3, stream.unit())) as u64)
            .collect();
        Self {
            frames,
            timers,
            next: 0,
        }
    }

    #[inline]
    fn after(&mut self, kind: u32) -> u64 {
        self.next = (self.next + 1) % DELTAS;
        if kind == TIMER {
            self.timers[self.next]
        } else {
            self.frames[self.next]
        }
    }
}

/// Fills a calendar with `pending` events, lets it settle, and times pop and push.
fn nanoseconds<C: Calendar>(mut calendar: C, pending: u32, load: Load) -> f64 {
    let mut deltas = Deltas::new(load);
    let mut stream = Stream::new(2, 1, Purpose::Test);
    for id in 0..pending {
        let kind = u32::from(load == Load::Busy && id % 8 == 7);
        let time = if load == Load::Busy {
            stream.below(1 + deltas.after(kind))
        } else {
            0
        };
        calendar.push(Event::new(time, phase::ARRIVAL + kind, id, kind));
    }
    let mut hold = |operations: u32| {
        let start = Instant::now();
        for _ in 0..operations {
            let event = calendar
                .pop_before(u64::MAX)
                .expect("the population is constant");
            let time = event.time + deltas.after(event.arg);
            calendar.push(Event { time, ..event });
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(operations)
    };
    hold(OPERATIONS);
    (0..REPEATS)
        .map(|_| hold(OPERATIONS))
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    let mut shifts: Vec<u32> = std::env::args()
        .skip(1)
        .filter_map(|arg| arg.parse().ok())
        .collect();
    if shifts.is_empty() {
        shifts = vec![10];
    }
    for (name, load) in [("busy", Load::Busy), ("lockstep", Load::Lockstep)] {
        println!(
            "{name:12} {:>8} {:>8} {:>8} {:>8} {:>8}",
            "10", "10^2", "10^4", "10^5", "10^6"
        );
        let row = |name: String, cost: &dyn Fn(u32) -> f64| {
            let cells: Vec<String> = [10, 100, 10_000, 100_000, 1_000_000]
                .map(|pending| format!("{:8.1}", cost(pending)))
                .to_vec();
            println!("{name:12} {}", cells.join(" "));
        };
        for &shift in &shifts {
            row(format!("wheel 2^{shift}"), &|n| {
                nanoseconds(Wheel::new(shift), n, load)
            });
        }
        if std::env::var_os("NO_NAIVE").is_none() {
            row("naive".into(), &|n| nanoseconds(Naive::new(), n, load));
        }
    }
}
