//! Declarations of schemes between neighbours (`hop/`, `link/`). Other code uses only these
//! declarations.

use std::fmt::Debug;

use crate::packet::SchemeNumber;
use crate::param::{Conflict, Params};
use crate::units::{Rate, Time};

/// The schemes that send frames between neighbours. Each frame contains the number, so a new scheme
/// gets the next number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Scheme {
    /// Priority flow control: pauses of classes.
    Pfc = 0,
    /// Backpressure flow control: pauses of queues.
    Bfc = 1,
    /// Floodgate: credits and pauses by destination.
    Floodgate = 2,
    /// Credits of a link.
    Cbfc = 3,
    /// Replay on a link.
    Llr = 4,
}

impl Scheme {
    /// All schemes, by their numbers.
    pub const ALL: [Self; 5] = [Self::Pfc, Self::Bfc, Self::Floodgate, Self::Cbfc, Self::Llr];

    /// Returns the number of the scheme on frames.
    #[must_use]
    pub const fn number(self) -> SchemeNumber {
        self as SchemeNumber
    }

    /// Returns the scheme with this number; `None`: no scheme has it.
    #[must_use]
    pub fn from_number(number: SchemeNumber) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// Features of the switch that a hop scheme needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Packets that it parked join separate queues with a lower priority than those of data.
    pub queues_behind: bool,
    /// It pauses single queues.
    pub pauses_queues: bool,
    /// Its pauses name flows.
    pub pauses_flows: bool,
    /// A 1-hop round trip that replaces that of the longest link, ps.
    pub hop_rtt_ps: Option<Time>,
    /// Period of calls while packets arrive and depart, ps.
    pub period_ps: Option<Time>,
    /// INT of packets that were parked reports the bytes in VOQs.
    pub int_reports_voqs: bool,
    /// Share of packets that the flow table counts, in 1/65536; `None`: all.
    pub sampling: Option<u32>,
}

/// A table of parameters in a scenario, and the configuration that results from it.
pub trait Spec {
    /// Value in scenarios that selects the scheme, and name of the table.
    const NAME: &'static str;
    /// Parameters ([`params!`](crate::params)). They can also be the configuration.
    type Params: Params;
    /// The configuration of a node.
    type Config: Declaration + Clone + PartialEq + 'static;

    /// Returns the configuration for values of its parameters in a network.
    ///
    /// # Errors
    /// Values that contradict each other, in any network.
    fn configure(params: Self::Params, around: &Around) -> Result<Self::Config, Conflict>;
}

/// Properties of a configuration that code outside the scheme needs.
pub trait Declaration: Debug + Send + Sync {
    /// Returns the name of the scheme.
    fn name(&self) -> &'static str;
    /// Returns the features of the switch that it needs.
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// Returns the bytes of its smallest frame. Threads synchronise after its time on the shortest
    /// link.
    // PAR-02
    fn smallest_frame_bytes(&self) -> u16;
    /// Switches give data a number on each link, which the next switch reads from `queue` of the
    /// record.
    fn numbers_data(&self) -> bool {
        false
    }
    /// What a port sends can hold that port: it takes the last room, or uncovers a packet whose
    /// flow is held.
    fn holds_by_sending(&self) -> bool {
        self.needs().pauses_flows
    }
    /// Its frames repeat pauses that hold already.
    fn repeats_pauses(&self) -> bool {
        false
    }
    /// Advice how to repeat lost pauses; `None` if the scheme repeats them already.
    fn repair(&self) -> Option<&'static str> {
        None
    }
    /// Reports findings about a network.
    fn network(&self, _facts: &NetworkFacts, _say: &mut dyn FnMut(Finding)) {}
    /// Reports findings about links that fail during the run.
    fn failing_links(&self, _say: &mut dyn FnMut(Finding)) {}
    /// A switch whose links lose nothing drops no frame of a data class for want of buffer.
    // AUD-05
    fn is_lossless(&self) -> bool {
        false
    }
    /// Bytes of buffer that a switch with these links promises its neighbours; 0: it promises none.
    fn promised_bytes(&self, _ports: &[(Rate, Time)], _max_frame: u16, _classes: usize) -> u64 {
        0
    }
    /// True if a link with the scheme sends lost frames again.
    fn replays_lost_frames(&self) -> bool {
        false
    }
    /// True if its pauses last as long as packets wait at the neighbour, so that they can form a
    /// cycle.
    fn can_deadlock(&self) -> bool {
        false
    }
    /// Checks it together with the other schemes of a scenario. Reports impossible and doubtful
    /// combinations.
    fn beside(&self, _others: &Beside, _say: &mut dyn FnMut(Finding)) {}
    /// Returns why it cannot be used with a receiver-driven transport of this name.
    fn against_transport(&self, _name: &str) -> Option<String> {
        None
    }
    /// True if it exempts port pairs that could form a pause cycle.
    fn elides(&self) -> bool {
        false
    }
    /// True if a switch with the scheme works beside neighbours without it, which ignore its
    /// frames.
    // PRE-292
    fn works_beside_others(&self) -> bool {
        false
    }
    /// True if its pauses name queues of NICs.
    fn names_nic_queues(&self) -> bool {
        false
    }
    /// Reports mechanisms that did not act in a run, by the values of counters.
    fn idle(&self, _counted: &dyn Fn(&str) -> u64, _say: &mut dyn FnMut(&'static str)) {}
}

/// A counter of a scheme at each switch: a key of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The key.
    pub name: &'static str,
    /// The summary has the largest value of all switches, not the sum.
    pub largest: bool,
    /// The summary has the key only if the value is not 0.
    pub optional: bool,
}

impl Counter {
    /// Creates a counter whose values are added.
    #[must_use]
    pub const fn sum(name: &'static str) -> Self {
        Self {
            name,
            largest: false,
            optional: false,
        }
    }

    /// Creates a counter whose values are added. The summary has the key only if the sum is not 0.
    #[must_use]
    pub const fn optional(name: &'static str) -> Self {
        Self {
            optional: true,
            ..Self::sum(name)
        }
    }

    /// Creates a counter of which the summary has the largest value.
    #[must_use]
    pub const fn largest(name: &'static str) -> Self {
        Self {
            name,
            largest: true,
            optional: false,
        }
    }
}

/// How flows are spread over the queues of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queues {
    /// All flows share one queue.
    One,
    /// A hash selects the queue.
    Hashed,
    /// Each flow has its own queue, which exists while the flow has packets.
    PerFlow,
    /// Another method, with fixed numbers of queues.
    Numbered,
}

/// Other choices in `[scheme]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The queues of a class.
    pub queues: Queues,
    /// ACKs go with data.
    pub acks_with_data: bool,
    /// PFC is on.
    pub pfc: bool,
    /// NICs obey the scheme.
    pub is_obeyed: bool,
    /// Senders limit neither their rate nor what is in flight.
    pub unlimited_senders: bool,
    /// NICs scan their flows as in ns-3, and have no queues.
    pub scans: bool,
    /// Senders are informed of each lost packet.
    pub announced_drops: bool,
    /// Pause frames take effect later than frames that arrive after them.
    pub late_pauses: bool,
}

/// Facts about the network and other choices that a configuration depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Largest frame in bytes.
    pub max_frame: u16,
    /// Queue numbers that a neighbour may put on its packets.
    pub upstream_queues: u16,
}

/// A network in which a scheme is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkFacts {
    /// Links lose frames.
    pub lossy: bool,
    /// Groups of hosts that share a switch.
    pub racks: u32,
    /// Classes of frames.
    pub classes: usize,
    /// Largest frame in bytes.
    pub max_frame: u16,
}

/// A finding of a scheme. Its keys are relative to `[scheme]`; those of a finding about a network
/// are relative to the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// An impossible combination.
    Wrong(Conflict),
    /// A doubtful combination.
    Doubtful(Conflict),
}

impl Finding {
    /// Keys that cannot work together.
    #[must_use]
    pub fn wrong(keys: &'static [&'static str], message: &str, hint: &str) -> Self {
        Self::Wrong(Conflict::new(keys, message, hint))
    }

    /// Keys that hardly work together.
    #[must_use]
    pub fn doubtful(keys: &'static [&'static str], message: &str, hint: &str) -> Self {
        Self::Doubtful(Conflict::new(keys, message, hint))
    }
}

/// Pauses that get lost with the frames of links, and the setting with which they are repeated.
pub(crate) fn lost_pauses(what: &str, repair: &str) -> Finding {
    Finding::doubtful(
        &["topology"],
        &format!("links also lose the pauses and resumes of {what}, and nothing repeats them"),
        &format!(
            "a queue or flow whose resume is lost stays paused until the next resume; {repair}"
        ),
    )
}
