//! Scenarios through the kernel, in network namespaces of this test's own.
//!
//! A user namespace can be made only by a process with one thread, so this file has a `main` of its own.

use std::path::PathBuf;
use std::process::ExitCode;

use fabric::engine::Threads;
use live::enter_user_namespace;
use scenario::{Changes, Options, Scenario};

fn scenario(text: &str, scheme: &str) -> Scenario {
    let changes = Changes {
        scheme: Some(scheme.to_owned()),
        ..Changes::default()
    };
    let read = Scenario::parse(text, "test.toml", std::path::Path::new("/"), &changes);
    read.unwrap_or_else(|error| panic!("{error}"))
}

fn options(name: &str) -> Options<'static> {
    let out_dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    Options {
        out_dir,
        force: true,
        threads: Threads::ONE,
        progress: None,
        interrupt: None,
    }
}

const INCAST: &str = r#"
name = "incast"
seed = 1
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
link = { rate = "100Gbps", delay = "1us" }
[switch]
buffer = "200kB"
[[traffic]]
name = "incast"
pattern = "incast"
degree = 7
total = "700kB"
every = "100us"
window = ["0us", "100us"]
[scheme]
preset = "dcqcn"
"#;

fn main() -> ExitCode {
    if let Err(why) = enter_user_namespace() {
        eprintln!("skipped: {why}");
        let needed = std::env::var_os("BACKWATER_NO_SKIP").is_some_and(|value| value == "1");
        return if needed {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        };
    }
    for scheme in ["dcqcn", "bfc"] {
        let scenario = scenario(INCAST, scheme);
        let report = live::run(&scenario, options(scheme)).unwrap_or_else(|e| panic!("{e}"));
        let compared = live::compare(&scenario, &report.summary.digest).unwrap();
        eprintln!(
            "{scheme}: {} frames, {} rounds, {:.2} s, {:.0} frames/s, {} {compared:?}",
            report.frames,
            report.rounds,
            report.seconds,
            report.frames as f64 / report.seconds,
            report.summary.digest
        );
    }
    ExitCode::SUCCESS
}
