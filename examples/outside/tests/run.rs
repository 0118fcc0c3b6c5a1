//! Both schemes have an effect, and their parameters are checked like those of other schemes.

use std::path::Path;
use std::sync::Once;

use fabric::engine::Simulation;
use fabric::record::{Outcome, Recorder, Rows};
use scenario::{Changes, Scenario, key_tables};

/// Recorder that discards all rows.
struct Discard;

impl Recorder for Discard {
    fn rows(&mut self, _rows: &dyn Rows) {}
}

/// Registers the schemes of this crate, once for all tests.
fn add() {
    static ADD: Once = Once::new();
    ADD.call_once(outside::add);
}

/// Reads the scenario of this example with other settings in `[scheme]`.
fn read(answers: &str) -> Result<Scenario, String> {
    add();
    let text = include_str!("../scenario.toml");
    let (before, rest) = text.split_once("control = ").unwrap();
    let (_, after) = rest.split_once("[[traffic]]").unwrap();
    let text = format!("{before}admission = \"shared-pool\"\n{answers}\n[[traffic]]{after}");
    Scenario::parse(&text, "test.toml", Path::new("."), &Changes::default())
        .map_err(|error| error.to_string())
}

/// Runs a scenario in which each flow must complete without a loss. Returns the outcome and the
/// longest queue in bytes.
fn run(scenario: &Scenario) -> (Outcome, u64) {
    let plan = scenario.build().unwrap().plan;
    let outcome = Simulation::new(plan).run(&mut Discard, &mut |_| true);
    assert_eq!(outcome.violations, []);
    assert_eq!((outcome.started, outcome.finished), (15, 15));
    assert_eq!(outcome.counters.drops.iter().sum::<u64>(), 0);
    let queues = outcome.ports.iter().map(|port| port.max_queue_bytes);
    let longest = queues.max().unwrap();
    (outcome, longest)
}

#[test]
fn the_brake_bounds_the_queue() {
    let free = read("control = \"line-rate\"").unwrap();
    let (outcome, longest) = run(&free);
    assert_eq!(outcome.counters.hop["brake_stops"], 0);
    assert!(longest > 3_000_000, "{longest}");
    let braked = read("backpressure = \"brake\"\nbrake = { stop = \"40KB\" }").unwrap();
    let (outcome, longest) = run(&braked);
    assert!(outcome.counters.hop["brake_stops"] >= 15);
    // Each of 15 senders may have 40 KB in the switch, plus the bytes that it sends until the pause
    // takes effect: 2 us and two packets.
    assert!(longest < 15 * (40_000 + 25_000 + 2 * 1_048), "{longest}");
}

#[test]
fn the_window_bounds_what_is_in_flight() {
    let answers = "control = \"delay-aimd\"\ndelay-aimd = { target = \"4us\" }";
    let (_, longest) = run(&read(answers).unwrap());
    // At the start each of 15 senders sends one bandwidth-delay product.
    assert!(longest < 15 * 56_000, "{longest}");
}

#[test]
fn controls_of_two_classes_may_be_from_here_and_from_backwater() {
    let answers = "control = [\"delay-aimd\", \"line-rate\"]\ndelay-aimd = { target = \"1us\" }";
    let (_, mixed) = run(&read(answers).unwrap());
    let (_, alone) = run(&read(&answers.replace(", \"line-rate\"", "")).unwrap());
    assert_eq!(mixed, alone, "all flows are of the first class");
}

#[test]
fn the_scenario_of_the_program_runs() {
    add();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenario.toml");
    let (_, longest) = run(&Scenario::load(&path, &Changes::default()).unwrap());
    assert!(longest < 1_000_000, "{longest}");
}

#[test]
fn parameters_are_checked_at_their_place() {
    let refused = |answers: &str| read(answers).unwrap_err();
    let error = refused("backpressure = \"brake\"\nbrake = { stop = \"5B\" }");
    assert!(
        error.contains("test.toml:9") && error.contains("5B"),
        "{error}"
    );
    let error = refused("delay-aimd = { target = \"1us\" }");
    assert!(error.contains("`control` is not \"delay-aimd\""), "{error}");
    let tables = key_tables();
    assert!(tables.iter().any(|(name, _)| name == "scheme.delay-aimd"));
}
