//! What is called lossless loses nothing: every preset, with axes changed one at a time, over small buffers.

use std::fmt::Write as _;
use std::path::Path;

use fabric::engine::Simulation;
use scenario::{Changes, PRESETS, Scenario};

/// Two leaves and two spines; all hosts of one leaf send to one of the other, while all send to all.
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

/// Takes no notes.
struct Nobody;

impl fabric::record::Recorder for Nobody {
    fn rows(&mut self, _: &dyn fabric::record::Rows) {}
}

/// What happened to a scenario.
#[derive(Default)]
struct Tally {
    /// It was refused, or its warnings speak of loss.
    refused: u32,
    lossless: u32,
    /// Of these, those in which a neighbour was told to stop.
    paused: u32,
}

impl Tally {
    /// Runs a scenario that is not refused; nothing may be lost.
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

/// Each of these alone, and none of them.
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

// AUD-05, SW-11, SW-55, QNT-05
#[test]
fn presets_and_their_axes_lose_nothing_where_none_may_be_lost() {
    const FAST: &str = "rate = \"100Gbps\", delay = \"1us\"";
    const SLOW: &str = "rate = \"25Gbps\", delay = \"3us\"";
    let one = |text: String| text.replace("CLASS0", "").replace("CLASS1", "");
    let mut tally = Tally::default();
    for preset in PRESETS {
        // Variants of a preset have its axes.
        let plain = !preset.name.contains(['+', '-']);
        for axes in if plain { &AXES[..] } else { &AXES[..1] } {
            tally.meets(&one(network(FAST, FAST, "450KB")), preset.name, axes);
        }
        tally.meets(&one(network(SLOW, FAST, "600KB")), preset.name, &[]);
    }
    // Hosts are paused for long, and receive much meanwhile; short links have little headroom.
    const SHORT: &str = "rate = \"100Gbps\", delay = \"100ns\"";
    for preset in ["line-rate", "dcqcn", "hpcc", "dcqcn+spfc"] {
        for axes in AXES {
            tally.meets(&one(network(SHORT, SLOW, "600KB")), preset, axes);
        }
    }
    assert!(tally.lossless > 150 && tally.paused > 100 && tally.refused > 20);
}

// SW-54
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
