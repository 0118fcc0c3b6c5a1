//! What a scenario says of a hop scheme, and what the scheme says to what stands beside it.

use crate::param::{Conflict, Param, Values};

/// How flows are spread over the queues of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queues {
    /// There is one.
    One,
    /// By a hash.
    Hashed,
    /// Each flow has one to itself, which comes and goes.
    PerFlow,
    /// In another way; they have numbers that stay.
    Numbered,
}

/// Other answers of the scheme of a scenario.
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
}

/// What a configuration needs of the network and of other answers.
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

/// What a scheme says to what stands beside it. Keys are those of `[scheme]`; where it speaks of a network
/// they are those of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It cannot work.
    Wrong(Conflict),
    /// It is doubtful.
    Doubtful(Conflict),
}

impl Finding {
    pub(crate) fn wrong(keys: &'static [&'static str], message: &str, hint: &str) -> Self {
        Self::Wrong(Conflict::new(keys, message, hint))
    }

    pub(crate) fn doubtful(keys: &'static [&'static str], message: &str, hint: &str) -> Self {
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

/// Scenario-level configuration of a hop scheme.
pub trait Spec: Sized {
    /// Its parameters.
    const PARAMS: &'static [Param];
    /// What it is in a network.
    type Config;

    /// From the values of its parameters.
    ///
    /// # Errors
    /// Values that cannot go together.
    fn from_values(values: &Values) -> Result<Self, Conflict>;

    /// What it is in a network.
    fn configure(&self, around: &Around) -> Self::Config;

    /// What it says to the other answers.
    fn beside(&self, _others: &Beside, _say: &mut dyn FnMut(Finding)) {}

    /// Why it cannot be used with a receiver-driven transport of this name.
    fn against_transport(&self, _name: &str) -> Option<String> {
        None
    }

    /// Pairs of ports whose pauses could close a circle hold nobody.
    fn elides(&self) -> bool {
        false
    }

    /// A switch with the scheme works beside neighbours without it, which ignore its frames.
    // PRE-292
    fn works_beside_others(&self) -> bool {
        false
    }

    /// Its pauses name queues of NICs.
    fn names_nic_queues(&self) -> bool {
        false
    }

    /// What it did not do in a run, by the value of a counter: sentences.
    fn idle(&self, _counted: &dyn Fn(&str) -> u64, _say: &mut dyn FnMut(&'static str)) {}
}
