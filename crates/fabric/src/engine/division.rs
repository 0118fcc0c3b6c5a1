//! Determines the number of threads of a run, and divides the network among them.

use std::num::NonZero;
use std::thread::available_parallelism;

use dataplane::hop::pfc;
use dataplane::switch::SwitchConfig;
use dataplane::units::Time;

use super::Plan;
use super::cut::{Cut, cut};
use super::measure::RecordSpec;
use crate::record::ThreadUse;
use crate::workload::Job;

/// Number of threads that the user requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// Maximum number of threads; 0: the number of processors.
    pub asked: u32,
    /// Use this number even if there are fewer processors, or if one thread is faster for a small
    /// network.
    pub forced: bool,
}

impl Threads {
    /// Requests a single thread.
    pub const ONE: Self = Self {
        asked: 1,
        forced: false,
    };
}

impl Default for Threads {
    fn default() -> Self {
        Self::ONE
    }
}

/// Minimum number of data packets that all hosts together can send in a synchronisation window, so
/// that several threads are faster than one.
const FEWEST_PACKETS: u64 = 100;

/// Division of a run among several threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Division {
    /// Number of partitions, which is also the number of threads.
    pub parts: u32,
    /// Lookahead: minimum time after which an event in one partition can affect another partition.
    pub lookahead_ps: Time,
    /// True if the division is used even if it is slower; see [`Threads::forced`].
    pub forced: bool,
    /// True if there are more threads than processors. Threads then sleep instead of spinning.
    pub crowded: bool,
}

/// Minimum frame size in bytes, for schemes that do not declare smaller frames.
const SMALLEST_BYTES: u16 = 16;

/// Returns a lower bound of the frame size of a plan, in bytes. The bound is checked for each frame
/// that crosses partitions.
// PAR-02
pub(super) fn smallest_frame(plan: &Plan) -> u64 {
    let nic = &plan.nic;
    fn of_switch(switch: &SwitchConfig) -> impl Iterator<Item = u16> {
        let schemes = switch
            .declarations()
            .map(|scheme| scheme.smallest_frame_bytes());
        pfc::frame_bytes(switch).into_iter().chain(schemes)
    }
    let frames = [SMALLEST_BYTES, nic.header + 1, nic.ack, nic.cnp].into_iter();
    let smallest = frames
        .chain(plan.switch_configs().flat_map(of_switch))
        .min();
    smallest.unwrap_or(1).max(1).into()
}

/// Divides the network of a plan into partitions, and returns the division and the number of
/// threads in use.
// PAR-07
pub(super) fn divide(plan: &Plan) -> (Option<(Cut, Division)>, ThreadUse) {
    let processors = available_parallelism().map_or(1, NonZero::get) as u32;
    let asked = match plan.threads.asked {
        0 => processors,
        asked => asked,
    };
    let one = |why: String| {
        let result = ThreadUse {
            asked,
            why: Some(why),
            ..ThreadUse::default()
        };
        (None, result)
    };
    if asked <= 1 {
        return (None, ThreadUse::default());
    }
    if let Some(why) = needs_one(plan) {
        return one(why.to_owned());
    }
    let most = if plan.threads.forced {
        asked
    } else {
        asked.min(processors)
    };
    if most == 1 {
        return one("this machine has one processor".to_owned());
    }
    let smallest = smallest_frame(plan);
    let Some(cut) = cut(&plan.graph, plan.clock, smallest, most) else {
        return one("the network cannot be cut into parts with about the same work".to_owned());
    };
    let packets = most_packets(plan, cut.lookahead_ps);
    if packets < FEWEST_PACKETS && !plan.threads.forced {
        return one(format!(
            "threads would have to meet every {} ns, in which all hosts together send at most {packets} packets",
            cut.lookahead_ps.div_ceil(1000)
        ));
    }
    let parts = cut.parts();
    let why = match () {
        () if parts == asked => None,
        () if parts == most => Some(format!("this machine has {processors} processors")),
        () => Some(format!(
            "the network cannot be cut into more than {parts} parts with about the same work"
        )),
    };
    let result = ThreadUse {
        asked,
        used: parts,
        why,
        lookahead_ps: Some(cut.lookahead_ps),
        ..ThreadUse::default()
    };
    let division = Division {
        parts,
        lookahead_ps: cut.lookahead_ps,
        forced: plan.threads.forced,
        crowded: parts > processors,
    };
    (Some((cut, division)), result)
}

/// Target number of ports per lane (a group of nodes that one thread simulates in turn), so that
/// the state of a lane fits the CPU caches.
const PORTS_PER_LANE: u32 = 1024;

/// Smallest useful number of lanes. For a smaller network prefetching is sufficient.
const FEWEST_LANES: u32 = 8;

/// Largest useful number of lanes, because each lane has the cost of its own calendar.
const MOST_LANES: u32 = 64;

/// Divides the partitions into lanes; `None`: each partition is one lane.
// PAR-10
pub(super) fn lanes(plan: &Plan) -> Option<Cut> {
    let by_size = match plan.graph.port_count() / PORTS_PER_LANE {
        ..FEWEST_LANES => 1,
        lanes => lanes.min(MOST_LANES),
    };
    let most = plan.lanes.unwrap_or(by_size).min(u8::MAX.into());
    let needs_order = plan.record != RecordSpec::default() || plan.link_failures.is_some();
    if most < 2 || needs_order || needs_one(plan).is_some() {
        return None;
    }
    let smallest = smallest_frame(plan);
    cut(&plan.graph, plan.clock, smallest, most)
}

/// Returns the report on threads for a run with a single calendar, which cannot be divided.
pub(super) fn undivided(plan: &Plan) -> ThreadUse {
    let why = needs_one(plan).unwrap_or("its calendar serves one thread");
    match plan.threads.asked {
        1 => ThreadUse::default(),
        asked => ThreadUse {
            asked,
            why: Some(why.to_owned()),
            ..ThreadUse::default()
        },
    }
}

/// Returns the reason why a run needs a single thread; `None` if it can be divided.
fn needs_one(plan: &Plan) -> Option<&'static str> {
    if let Some(why) = needs_order(plan) {
        return Some(why);
    }
    if plan.switch.acks_return {
        return Some("the way back of an ACK is written down where its packet is");
    }
    plan.jobs.jobs.iter().find_map(Job::acts_at_once)
}

/// Returns the reason why nodes of a run need data of each other that frames do not carry; `None`
/// if frames carry all data.
pub(super) fn needs_order(plan: &Plan) -> Option<&'static str> {
    if plan.in_order {
        return Some(
            "events of one instant come in the order of scheduling, of which there is one",
        );
    }
    if plan.switch.ecn.as_ref().is_some_and(|ecn| ecn.replay) {
        return Some("all switches draw from one sequence of random numbers");
    }
    if let Some(why) = plan.record.one_thread() {
        return Some(why);
    }
    if plan.nic.recovery.notices().is_some() {
        return Some("ideal retransmission tells senders of a loss past all links between");
    }
    None
}

/// Returns the maximum number of data packets that all hosts together can send in `time_ps`.
fn most_packets(plan: &Plan, time_ps: Time) -> u64 {
    let graph = &plan.graph;
    let rates = graph.endpoint_ids().map(|end| graph.port(end).rate);
    let bytes: u64 = rates.map(|rate| rate.bytes_in(time_ps)).sum();
    bytes / u64::from(plan.nic.mtu + plan.nic.header)
}
