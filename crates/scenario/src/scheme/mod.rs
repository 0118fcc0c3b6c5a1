//! Reads `[scheme]`: a preset, and single axes (independent choices) that override it.
//!
//! The value of an axis is a word (`control = "fixed-window"`). The parameters of a word are in a
//! table of the same name (`fixed-window = { window = "64KB" }`). The table of a word that is not
//! chosen has no effect, so it is an error.

mod at;
mod axes;
mod configure;
mod control;
mod nic;
mod rules;
mod signal;

use crate::params;
use crate::reader::Section;
pub use at::SchemeAt;
pub(crate) use at::{AT, keys_at, read as read_at};
use axes::{Axes, Clock, Ties};
pub use axes::{QueuesPer, axes, tables};
use control::read_control;
use dataplane::config::{
    Admission, BaseRtt, ClassConfig, Classify, ControlConfig, IntConfig, MmuConfig, NicConfig,
    PathChoice, Schedule, Sending, SprayConfig,
};
use dataplane::declaration::Declaration;
use dataplane::hop::pfc::{VICTIM_WORD, VictimParams};
use dataplane::hop::{self, HopConfig, HopSpec};
use dataplane::int::Counter;
use dataplane::link::LinkConfig;
use dataplane::param::Params;
use dataplane::paths::POLICIES;
use dataplane::properties::{Choice, Property};
use dataplane::reliability::RECOVERIES;
use dataplane::signal::NOTIFIERS;
use dataplane::switch::SwitchConfig;
use dataplane::watchdog::WatchdogConfig;
use fabric::NodeId;
use fabric::engine::SwitchesAt;
use nic::{Ack, AckPath, read_nic};
use signal::{Int, read_signal};

/// Maximum size of a buffer in bytes, because the counters of INT and of ports count up to 4 GB.
pub(crate) const MAX_BUFFER_BYTES: u64 = 4_000_000_000;

/// All values of `[scheme]`, including the values of the preset.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeSpec {
    /// Name of the preset.
    pub preset: String,
    /// Name of the parameter set: the paper or simulator from which the values are taken.
    pub parameters: String,
    /// Profile: another simulator that the run reproduces. `None`: the run follows the papers.
    pub profile: Option<&'static str>,
    /// True if times are rounded down to nanoseconds.
    pub cut_times: bool,
    /// True if events at the same time are executed in the order in which they were scheduled.
    pub in_order: bool,
    /// True if flow starts are executed before all other events at the same time.
    pub starts_first: bool,
    /// Base round trip from which the congestion control computes T and the BDP.
    pub base_rtt: BaseRtt,
    /// Number of queues of a port, including the control queue. 0 if the scheme fixes the number.
    pub queues: u16,
    /// Scope of `queues`: per port, or per class.
    pub queues_per: QueuesPer,
    /// Parameters of the detection of ports with victim flows, if selected.
    pub victims: Option<VictimParams>,
    /// Hop-by-hop scheme between neighbours, in addition to PFC.
    pub hop: HopSpec,
    /// Configuration of every switch, without the values that depend on the network;
    /// [`Self::configure`] adds them.
    pub switch: SwitchConfig,
    /// Configuration of every NIC, without the values that depend on the network.
    pub nic: NicConfig,
}

impl SchemeSpec {
    /// Returns the declarations of the schemes that neighbours run between them (hop-by-hop and
    /// link).
    pub fn declarations(&self) -> impl Iterator<Item = &dyn Declaration> {
        self.hop
            .declaration()
            .into_iter()
            .chain(self.switch.link.declarations())
    }

    /// True if port pairs that could form a pause cycle are exempt from pauses.
    #[must_use]
    pub fn elides(&self) -> bool {
        self.declarations()
            .any(|scheme| scheme.has(Property::Elides))
    }
}

/// Configuration of a scheme for the simulation engine.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeConfig {
    /// Configuration of every switch that is not in `switch_at`.
    pub switch: SwitchConfig,
    /// Configuration of the switches that have a scheme of their own.
    pub switch_at: SwitchesAt,
    /// Configuration of every NIC.
    pub nic: NicConfig,
    /// Base round trip from which the congestion control computes T and the BDP.
    pub base_rtt: BaseRtt,
}

impl SchemeConfig {
    /// Returns the configuration of a switch.
    #[must_use]
    pub fn switch_of(&self, node: NodeId) -> &SwitchConfig {
        self.switch_at.get(node).unwrap_or(&self.switch)
    }

    /// Returns each configuration that at least one switch may have.
    pub fn switches(&self) -> impl Iterator<Item = &SwitchConfig> {
        std::iter::once(&self.switch).chain(self.switch_at.configs())
    }

    /// Returns the declarations of the schemes between neighbours over all switches, each scheme
    /// once.
    pub(crate) fn distinct_schemes(&self) -> Vec<&dyn Declaration> {
        let mut found: Vec<&dyn Declaration> = Vec::new();
        for scheme in self.switches().flat_map(SwitchConfig::declarations) {
            if found.iter().all(|known| known.name() != scheme.name()) {
                found.push(scheme);
            }
        }
        found
    }
}

/// Reads a complete `[scheme]`, in which the preset and the overrides are already merged.
pub(crate) fn read(s: &Section<'_>) -> Option<SchemeSpec> {
    let single = axes().iter().filter(|axis| axis.key != "control");
    let (values, is_valid) = params::gather(s, single, |_, _| None);
    let axes = Axes::read(&values);
    let classify = params::chosen(s, "classify", axes.classify, Classify::WORDS);
    let schedule = params::chosen(s, "schedule", axes.schedule, Schedule::WORDS);
    let admission = params::chosen(s, "admission", axes.admission, Admission::WORDS);
    let victims = read_victims(s, &axes);
    let hop = read_backpressure(s, &axes);
    let link = read_link(s, &axes);
    let (ecn, int) = read_signal(s, axes.signal);
    let notifier = params::optional(s, "notices", axes.notices, NOTIFIERS);
    let guard = params::optional(s, "guard", axes.guard, WatchdogConfig::WORDS);
    let control = read_control(s);
    let recovery = params::chosen(s, "recovery", axes.recovery, RECOVERIES);
    let path = read_path(s, &axes);
    let ack = params::table(s, "ack", Ack::PARAMS, None, |values| Ok(Ack::read(values)));
    let nic = read_nic(s, hop.as_ref());
    s.has("at");
    s.finish();
    if !is_valid {
        return None;
    }
    let ((classify, assign), (path, spray)) = (classify?, path?);
    let (int, control, ack) = (int?, control?, ack?);
    let mut nic = nic?.configure((axes.mtu, axes.header), &ack, control, int.as_ref());
    (nic.recovery, nic.spray, nic.reorders) = (recovery?, spray, path.sprays());
    nic.host.ports_in_hash = path == PathChoice::Tuple;
    let max_frame = nic.data_bytes(nic.mtu);
    let (ecn, admission) = (ecn?, admission?);
    let switch = SwitchConfig {
        classes: classes(&admission, ecn.is_some(), int.as_ref()),
        classify,
        assign,
        schedule: schedule?.complete(max_frame),
        mmu: MmuConfig {
            buffer_bytes: 0,
            reserved_bytes: 0,
            admission,
        },
        ecn,
        int: int.map(|int| IntConfig {
            format: int.format(),
            counter: counter(&nic.control),
        }),
        notifier: notifier?,
        guard: guard?,
        hop: HopConfig::None,
        link: link?,
        path,
        shaped: None,
        trim: None,
        acks_return: ack.path == AckPath::Reverse, // FGC-32: ACKs take the reverse path
        max_frame,
    };
    let spec = spec(&axes, victims?, hop?, switch, nic);
    rules::check(s, &spec);
    Some(spec)
}

fn spec(
    axes: &Axes,
    victims: Option<VictimParams>,
    hop: HopSpec,
    switch: SwitchConfig,
    nic: NicConfig,
) -> SchemeSpec {
    SchemeSpec {
        preset: axes.preset.to_owned(),
        parameters: axes.parameters.to_owned(),
        profile: Some(axes.profile).filter(|name| *name != "none"),
        cut_times: axes.clock == Clock::Ns,
        in_order: axes.ties != Ties::Phases, // NS3-04: order of scheduling
        starts_first: axes.ties == Ties::StartsFirst, // FGC-31: flow starts first
        base_rtt: axes.base_rtt,
        queues: axes.queues,
        queues_per: axes.queues_per,
        victims,
        hop,
        switch,
        nic,
    }
}

/// Returns the classes of pause frames, of ACKs with priority, and of data. // PRE-09
fn classes(admission: &Admission, has_ecn: bool, int: Option<&Int>) -> Vec<ClassConfig> {
    let control = ClassConfig {
        pausable: false,
        buffered: false,
        ecn: false,
        int: true,
    };
    let data = ClassConfig {
        pausable: admission.pfc().is_some(),
        buffered: true,
        ecn: has_ecn,
        int: true,
    };
    let pauses = ClassConfig {
        int: int.is_some_and(|int| int.pauses),
        ..control
    };
    vec![pauses, control, data]
}

/// Returns the kind of byte counter that the congestion control reads in telemetry.
fn counter(control: &Sending) -> Counter {
    let mut controls = control.controls().iter();
    let reader = controls.find(|control| control.provides().has(Property::ReadsInt));
    reader.map_or(Counter::Sent, ControlConfig::counter)
}

/// Reads `path`: the path selection of switches, or a path policy of senders with its parameters.
fn read_path(s: &Section<'_>, axes: &Axes) -> Option<(PathChoice, Option<SprayConfig>)> {
    let by_switches = params::chosen(s, "path", axes.path, PathChoice::WORDS);
    let by_senders = params::chosen(s, "path", axes.path, POLICIES);
    match by_senders {
        Some(policy) if policy.has_labels() => Some((PathChoice::Label, by_senders)),
        Some(_) => Some((PathChoice::Entropy, by_senders)),
        None => Some((by_switches?, None)),
    }
}

/// Reads `backpressure`, the hop-by-hop scheme in addition to PFC.
fn read_backpressure(s: &Section<'_>, axes: &Axes) -> Option<HopSpec> {
    let mut read = Some(HopSpec::default());
    for word in hop::words() {
        let is_chosen = axes.backpressure == word.name;
        let why = format!("`backpressure` is not \"{}\"", word.name);
        let useless = (!is_chosen).then_some(why.as_str());
        let of = params::table(s, word.name, word.params, useless, |values| {
            word.with(values)
        });
        if is_chosen {
            read = of;
        }
    }
    read
}

/// Reads the link schemes that `link` and `backpressure` select.
fn read_link(s: &Section<'_>, axes: &Axes) -> Option<LinkConfig> {
    let mut all = Some(LinkConfig::default());
    for word in LinkConfig::WORDS {
        let is_chosen = axes.link.0.contains(&word.name) || axes.backpressure == word.name;
        let read = params::word(s, "link", word, is_chosen);
        if is_chosen {
            all = all.zip(read).map(|(all, one)| all.and(one));
        }
    }
    all
}

/// Reads the key `victims` and its table.
fn read_victims(s: &Section<'_>, axes: &Axes) -> Option<Option<VictimParams>> {
    let is_chosen = axes.victims == VICTIM_WORD;
    let why = format!("`victims` is not \"{VICTIM_WORD}\"");
    let useless = (!is_chosen).then_some(why.as_str());
    let victims = params::table(s, VICTIM_WORD, VictimParams::PARAMS, useless, |values| {
        Ok(VictimParams::read(values))
    });
    match is_chosen {
        true => victims.map(Some),
        false => Some(None),
    }
}
