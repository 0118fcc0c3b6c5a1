//! Lossless configurations lose no packet: every preset with small buffers, with single axes
//! changed.

use std::fmt::Write as _;
use std::path::Path;

use fabric::engine::Simulation;
use scenario::{Changes, PRESETS, Scenario};

/// Two leaves and two spines. Every host sends to all hosts, and all hosts of one leaf send to one
/// host of the other leaf.
fn network(link: &str, uplink: &str, buffer: &str) -> String {
    let mut text = format!(
        "name = \"lossless\"\nseed = 5\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 6\n\
         link = {{ {link} }}\nuplink = {{ {uplink} }}\n[switch]\nbuffer = \"{buffer}\"\n"
    );
    for (name, class, rest) in [
        (
            "incast",
            0,
            "pattern = \"incast\"\ndegree = 11\nsize = \"30KB\"\nreceiver = 3\nlimit = 2\nevery = \"40us\"",
        ),
        (
            "others",
            1,
            "pattern = \"uniform\"\nsizes = { fixed = \"9KB\" }\nload = { fraction = 0.7, of = \"hosts\" }",
        ),
    ] {
        let _ = write!(
            text,
            "[[traffic]]\nname = \"{name}\"\n{rest}\nwindow = [\"0us\", \"50us\"]\nCLASS{class}\n"
        );
    }
    text + "[run]\nuntil = \"20ms\"\n"
}

/// Recorder that discards all records.
struct Nobody;

impl fabric::record::Recorder for Nobody {
    fn rows(&mut self, _: &dyn fabric::record::Rows) {}
}

/// Counts of scenarios by outcome.
#[derive(Default)]
struct Tally {
    /// Scenarios that were refused, or have a warning about loss.
    refused: u32,
    lossless: u32,
    /// Lossless scenarios in which a port was paused.
    paused: u32,
}

impl Tally {
    /// Runs a scenario unless it is refused. Fails if a lossless scenario loses a packet.
    fn meets(&mut self, text: &str, preset: &str, set: &[&str]) {
        let changes = Changes {
            scheme: Some(preset.to_owned()),
            set: set.iter().map(|s| (*s).to_owned()).collect(),
            ..Changes::default()
        };
        let Ok(scenario) = Scenario::parse(text, "x.toml", Path::new("."), &changes) else {
            self.refused += 1;
            return;
        };
        let of_loss = ["dropped", "no headroom", "lose", "lost"];
        let mut warnings = scenario.warnings.iter().map(|w| w.message.as_str());
        if warnings.any(|said| of_loss.iter().any(|word| said.contains(word))) {
            self.refused += 1;
            return;
        }
        let plan = scenario.build().expect("a sound scenario").plan;
        let outcome = Simulation::new(plan).run(&mut Nobody, &mut |_| true);
        assert_eq!(outcome.violations, [], "{preset} {set:?}\n{text}");
        self.lossless += 1;
        let pauses = outcome.counters.hop["pfc_pauses"] + outcome.counters.hop["bfc_pauses"];
        self.paused += u32::from(pauses > 0);
    }
}

/// Changes of axes. Each is applied alone; the first is no change.
const AXES: [&[&str]; 14] = [
    &[],
    &["scheme.ack.class=control"],
    &["scheme.ack.pausable=false"],
    &["scheme.ack.class=data"],
    &["scheme.mtu=4000B"],
    &["scheme.pfc.xoff=8"],
    &["scheme.pfc.xoff=40KB"],
    &["scheme.pfc.response=1us"],
    &["scheme.pfc.frame=512B"],
    &["scheme.pfc.pause=quanta", "scheme.pfc.quanta=200"],
    &["scheme.admission=pfc"],
    &["scheme.backpressure=floodgate"],
    &["scheme.backpressure=cbfc", "scheme.admission=shared-pool"],
    &["scheme.classify=hash", "scheme.schedule=drr"],
];

// AUD-05, SW-11, SW-55, QNT-05: lossless configurations drop nothing
#[test]
fn presets_and_their_axes_lose_nothing_where_none_may_be_lost() {
    const FAST: &str = "rate = \"100Gbps\", delay = \"1us\"";
    const SLOW: &str = "rate = \"25Gbps\", delay = \"3us\"";
    let one = |text: String| text.replace("CLASS0", "").replace("CLASS1", "");
    let mut tally = Tally::default();
    for preset in PRESETS {
        // Variants of a preset have the same axes, so they are tested only without changes.
        let plain = !preset.name.contains(['+', '-']);
        for axes in if plain { &AXES[..] } else { &AXES[..1] } {
            tally.meets(&one(network(FAST, FAST, "450KB")), preset.name, axes);
        }
        tally.meets(&one(network(SLOW, FAST, "600KB")), preset.name, &[]);
    }
    // The slow uplinks pause hosts for a long time while many packets arrive. The short links have
    // little headroom.
    const SHORT: &str = "rate = \"100Gbps\", delay = \"100ns\"";
    for preset in ["line-rate", "dcqcn", "hpcc", "dcqcn+spfc"] {
        for axes in AXES {
            tally.meets(&one(network(SHORT, SLOW, "600KB")), preset, axes);
        }
    }
    assert!(tally.lossless > 150 && tally.paused > 100 && tally.refused > 20);
}

// SW-54: several classes
#[test]
fn neither_do_several_classes() {
    const FAST: &str = "rate = \"100Gbps\", delay = \"1us\"";
    let mut tally = Tally::default();
    for preset in [
        "dcqcn",
        "dctcp",
        "hpcc",
        "timely",
        "line-rate",
        "swift",
        "powertcp",
    ] {
        for buffer in ["900KB", "2MB"] {
            let text = network(FAST, FAST, buffer);
            let text = text
                .replace("CLASS0", "class = 0")
                .replace("CLASS1", "class = 1");
            for axes in [&[][..], &["scheme.pfc.frame=1500B"]] {
                tally.meets(&text, preset, axes);
            }
        }
    }
    assert!(tally.lossless > 20 && tally.paused > 20);
}
