//! Measures the time of one pop and one push of a calendar, in ns, with times as in a network.
//!
//! `cargo run --release -p backwater-kernel --example calendar_bench [SHIFT]...` measures wheels
//! with buckets of 2^SHIFT ps. Without an argument it uses the default shift.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use kernel::{Calendar, Event, Naive, Purpose, Stream, Wheel, phase};

const OPERATIONS: u32 = 2_000_000;
const REPEATS: u32 = 4;
const DELTAS: usize = 1 << 14;
const TIMER: u32 = 1;

/// Pattern of the events.
#[derive(Clone, Copy, PartialEq)]
enum Load {
    /// A busy network: events after 1 µs (link delays) or about 80 ns (serialisation of frames).
    /// One pending event in eight is a timer of 10 µs to 10 ms.
    Busy,
    /// All hosts send full frames at the same times, so each instant has many events.
    Lockstep,
}

/// A table of random times between push and pop of an event, so that a draw takes little time.
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

/// Fills a calendar with `pending` events, and returns the mean time of a pop and a push in ns.
fn nanoseconds<C: Calendar>(mut calendar: C, pending: u32, load: Load) -> f64 {
    let epoch = Instant::now();
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
    let operations = OPERATIONS.max(2 * pending);
    let mut hold = || {
        let start = busy_ns(epoch);
        for _ in 0..operations {
            let event = calendar
                .pop_before(u64::MAX)
                .expect("the population is constant");
            let time = event.time + deltas.after(event.arg());
            calendar.push(event.at(time));
        }
        (busy_ns(epoch) - start) as f64 / f64::from(operations)
    };
    hold();
    (0..REPEATS).map(|_| hold()).fold(f64::INFINITY, f64::min)
}

/// Returns the processor time of this process where the system reports it (Linux). Otherwise
/// returns the time since `epoch`.
fn busy_ns(epoch: Instant) -> u64 {
    std::fs::read_to_string("/proc/self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| epoch.elapsed().as_nanos() as u64)
}

const PENDING: [u32; 5] = [10, 100, 10_000, 100_000, 1_000_000];

fn row(name: &str, cost: impl Fn(u32) -> f64) {
    let cells = PENDING.map(|pending| format!("{:8.0}", cost(pending)));
    println!("{name:12} {}", cells.join(" "));
}

fn main() -> Result<(), String> {
    let shift = |arg: String| {
        let parsed = arg.parse().ok().filter(|&shift| shift <= Wheel::MAX_SHIFT);
        parsed.ok_or(format!(
            "SHIFT is {arg:?}, but must be a whole number from 0 to {}",
            Wheel::MAX_SHIFT
        ))
    };
    let mut shifts = std::env::args()
        .skip(1)
        .map(shift)
        .collect::<Result<Vec<u32>, _>>()?;
    if shifts.is_empty() {
        shifts = vec![Wheel::DEFAULT_SHIFT];
    }
    for (name, load) in [("busy", Load::Busy), ("lockstep", Load::Lockstep)] {
        let heads = PENDING.map(|pending| format!("{pending:8}"));
        println!("{name:12} {}", heads.join(" "));
        for &shift in &shifts {
            row(&format!("wheel 2^{shift}"), |pending| {
                nanoseconds(Wheel::new(shift), pending, load)
            });
        }
        row("naive", |pending| nanoseconds(Naive::new(), pending, load));
    }
    Ok(())
}
