//! Runs a scenario that can select the schemes of this crate, and prints a summary:
//! `cargo run --release -p backwater-outside -- SCENARIO FOLDER`
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;

use fabric::engine::Threads;
use scenario::{Changes, Options, Scenario};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("name a scenario and a folder for its results".into());
    };
    // After this call scenarios can select the schemes of this crate.
    outside::add();
    // The error contains file, line and key, also for the parameters of these schemes.
    let changes = Changes::default();
    let scenario = Scenario::load(Path::new(&path), &changes).map_err(|e| e.to_string())?;
    let summary = scenario.run(Options {
        out_dir: folder.clone().into(),
        force: false,
        key: None,
        threads: Threads::ONE,
        progress: None,
        interrupt: None,
    })?;
    println!(
        "flows finished: {} of {}",
        summary.flows.finished, summary.flows.started
    );
    println!("largest buffer: {} bytes", summary.buffer.max_bytes);
    println!("packets dropped: {}", summary.drops["total"]);
    println!("orders to stop: {}", summary.counters["brake_stops"]);
    println!("results: {folder} (backwater report {folder} describes them)");
    Ok(())
}
