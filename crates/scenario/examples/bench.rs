//! Runs one scenario with results and audit, as `backwater run` does. Prints the digest of the
//! results and the cost of the run as one line of JSON:
//! `cargo run --release -p backwater-scenario --example bench -- SCENARIO [SCHEME] [OPTION]... [KEY=VALUE]...`
//!
//! | option | effect |
//! |---|---|
//! | `--threads=N` | runs on N threads |
//! | `--forced` | uses N threads even for a network that is too small for them to pay off |
//! | `--profile=NAME` | reproduces another simulator |
//! | `--out=FOLDER` | keeps the results in this folder, which must not exist |
//!
//! `benches/speed.py` calls this program for the table of speeds, and `benches/same.py` to compare
//! the results of two revisions. `benches/instructions.py` counts the instructions of
//! [`event_loop`] with callgrind.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fabric::engine::{Plan, Simulation, Threads};
use fabric::record::{Outcome, Recorder};
use scenario::{Changes, Scenario};

/// Runs the simulation from the first to the last event, and the audit. This is a separate function
/// so that profilers can distinguish it from setup and output.
#[inline(never)]
fn event_loop(simulation: Simulation, recorder: &mut dyn Recorder) -> Outcome {
    simulation.run(recorder, &mut |_| true)
}

/// Nanoseconds of processor time that this thread has used, if the system reports them (Linux).
fn cpu_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Peak memory of this process in bytes, if the system reports it (Linux).
fn peak_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Formats a number, or `null`, as JSON.
fn number(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

/// Options of the run, and changes to the scenario, from the command line.
#[derive(Default)]
struct Options {
    threads: u32,
    forced: bool,
    out: Option<PathBuf>,
    changes: Changes,
}

impl Options {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut options = Self {
            threads: 1,
            ..Self::default()
        };
        for argument in arguments {
            let (key, value) = argument.split_once('=').unwrap_or((&argument, ""));
            match key {
                "--threads" => {
                    let number = value.parse();
                    options.threads = number.map_err(|_| "--threads=N takes a number")?;
                }
                "--forced" => options.forced = true,
                "--profile" => options.changes.profile = Some(value.to_owned()),
                "--out" => options.out = Some(value.into()),
                _ if key.starts_with("--") => return Err(format!("no option {key}").into()),
                _ => options.changes.set.push(argument),
            }
        }
        Ok(options)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which scenario?")?;
    let scheme = arguments.next();
    let mut options = Options::read(arguments)?;
    options.changes.scheme = scheme;
    let began = Instant::now();
    let scenario = Scenario::load(Path::new(&path), &options.changes).map_err(|e| e.to_string())?;
    let threads = Threads {
        asked: options.threads,
        forced: options.forced,
    };
    let plan = Plan {
        threads,
        ..scenario.build()?.plan
    };
    let simulation = Simulation::new(plan);
    let ready_s = began.elapsed().as_secs_f64();

    let temporary = std::env::temp_dir().join(format!("backwater-bench-{}", std::process::id()));
    let folder = options.out.as_ref().unwrap_or(&temporary);
    let mut writer = results::Writer::create(folder, scenario.info(), false)?;
    let (before, started) = (cpu_ns(), Instant::now());
    let outcome = event_loop(simulation, &mut writer);
    let loop_s = started.elapsed().as_secs_f64();
    let cpu_s = cpu_ns().zip(before).map(|(b, a)| (b - a) as f64 / 1e9);
    writer.finish(&outcome, &[])?;
    if options.out.is_none() {
        std::fs::remove_dir_all(&temporary)?;
    }

    println!(
        "{{\"scenario\": \"{}\", \"scheme\": \"{}\", \"ending\": \"{:?}\", \"digest\": \"{:016x}\", \
         \"flows\": {}, \"hops\": {}, \"events\": {}, \"ready_s\": {ready_s:.3}, \"loop_s\": {loop_s:.3}, \
         \"loop_cpu_s\": {}, \"peak_bytes\": {}}}",
        scenario.spec.name,
        scenario.spec.scheme.preset,
        outcome.ending,
        outcome.digest,
        outcome.finished,
        outcome.counters.packet_hops,
        outcome.counters.events,
        number(cpu_s.map(|s| format!("{s:.3}"))),
        number(peak_bytes()),
    );
    let broken: Vec<&str> = outcome.violations.iter().map(|v| v.check).collect();
    if !broken.is_empty() {
        return Err(format!("the audit found: {}", broken.join(", ")).into());
    }
    Ok(())
}
