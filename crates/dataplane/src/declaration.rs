//! Declarations of schemes between neighbours (`hop/`, `link/`). Other code uses only these
//! declarations.

use std::fmt::Debug;

use crate::int::IntFormat;
use crate::packet::SchemeNumber;
use crate::param::{Conflict, Params};
use crate::properties::{Choice, Finding};
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

/// Configuration of a scheme as code outside the scheme uses it.
pub trait Declaration: Choice + Debug + Send + Sync {
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
    /// Returns advice on how to repeat lost pauses. `None`: the scheme repeats them, or has no
    /// setting that would.
    fn repair(&self) -> Option<&'static str> {
        None
    }
    /// Reports findings about a network.
    fn network(&self, _facts: &NetworkFacts, _say: &mut dyn FnMut(Finding)) {}
    /// Reports findings about links that fail during the run.
    fn failing_links(&self, _say: &mut dyn FnMut(Finding)) {}
    /// Bytes of buffer that a switch with these links promises its neighbours; 0: it promises none.
    fn promised_bytes(&self, _ports: &[(Rate, Time)], _max_frame: u16, _classes: usize) -> u64 {
        0
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

/// Facts about the network and the traffic that a configuration depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Around {
    /// Size of the largest frame in bytes.
    pub max_frame: u16,
    /// Queue numbers that a neighbour may put on its packets, in any scheme of the network.
    pub upstream_queues: u16,
    /// Largest propagation delay of a link, ps.
    pub max_delay_ps: Time,
    /// Highest traffic class in use.
    pub max_class: u8,
    /// Rate of the first host's link, in bits per second.
    pub nic_bps: u64,
    /// Largest base round trip, ps, if the scheme needs it.
    pub base_rtt_ps: Time,
    /// Flow sizes in bytes, ascending, with the expected number of each. Only for transports that
    /// need them.
    pub flow_sizes: Vec<(f64, f64)>,
    /// Payload bytes in one BDP of packets. Only for transports that need flow sizes.
    pub bdp_bytes: f64,
    /// Bytes of a switch's buffer.
    pub buffer_bytes: u64,
    /// Reserved bytes per port and class.
    pub reserved_bytes: u64,
    /// Format of the telemetry that switches write on packets.
    pub telemetry: IntFormat,
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
