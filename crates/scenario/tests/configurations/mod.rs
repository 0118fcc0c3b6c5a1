//! No configuration makes the simulator panic: each one is refused or runs.

mod extremes;

use std::path::{Path, PathBuf};

use fabric::engine::Threads;
use fabric::measure::MEASURES;
use scenario::{Changes, Options, PRESETS, Scenario};

/// Three hosts send to the fourth host, so switches queue, mark and pause.
const NETWORK: &str = r#"name = "small"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
link = { rate = "100Gbps", delay = "1us" }
[[traffic]]
name = "incast"
pattern = "incast"
degree = 3
size = "20KB"
receiver = 0
"#;

/// A directory for the results of one test. It is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("backwater-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a scenario. Returns a message if it is refused, or if the run or a check fails.
fn run(text: &str, preset: &str, folder: &Folder) -> Result<(), String> {
    let changes = Changes {
        scheme: Some(preset.to_owned()),
        ..Changes::default()
    };
    let scenario = Scenario::parse(text, "x.toml", Path::new("."), &changes)
        .map_err(|error| error.to_string())?;
    let options = Options {
        out_dir: folder.0.clone(),
        force: true,
        threads: Threads::ONE,
        progress: None,
        interrupt: None,
        key: None,
    };
    match scenario.run(options) {
        Ok(summary) if summary.ok => Ok(()),
        Ok(summary) => Err(format!("{:?}", summary.violations)),
        Err(error) => Err(error.to_string()),
    }
}

/// Runs each preset with all measurements of `[record]`, and the preset `bfc` with each of them
/// alone.
#[test]
fn every_preset_runs_with_every_recorder() {
    let folder = Folder::new("recorders");
    let each: Vec<&str> = MEASURES.iter().map(|measure| measure.example).collect();
    let all = each.join("\n");
    let presets = PRESETS.iter().map(|preset| (preset.name, all.as_str()));
    let recorders = each.iter().map(|record| ("bfc", *record));
    let failed: Vec<String> = presets
        .chain(recorders)
        .filter_map(|(preset, record)| {
            let text = format!("{NETWORK}[run]\nuntil = \"1ms\"\n[record]\n{record}\n");
            let message = run(&text, preset, &folder).err()?;
            Some(format!("{preset} with {record}: {message}"))
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
