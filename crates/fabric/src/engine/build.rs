//! Builds the partitions of a run from its plan.

use dataplane::classes::ClassSet;
use dataplane::ids::IndexVec;
use std::sync::Arc;

use dataplane::config::{Accounting, Admission, NicConfig, PathChoice, PauseTime};
use dataplane::hop::pfc;
use dataplane::nic::Nic;
use dataplane::packet::Arena;
use dataplane::properties::Property;
use dataplane::route::Routes;
use dataplane::sink::DROP_CAUSES;
use dataplane::switch::{CONTROL_CLASS, MixedMap, Pairs, Switch, SwitchConfig};
use dataplane::units::{NEVER, Rate, Time};
use kernel::calendar::{Calendar, Wheel};
use kernel::random::{Purpose, Stream};

use super::collectives::Collectives;
use super::credits::upward;
use super::cut::Cut;
use super::deadlock::DeadlockSearch;
use super::division::{divide, lanes, undivided};
use super::flow_parameters::FlowParameters;
use super::flow_state::FlowState;
use super::lanes::Lanes;
use super::link_ends::Links;
use super::link_state::LinkStates;
use super::loss::Losses;
use super::measure::{self, Measures, Reply, Setup};
use super::merge::Merged;
use super::network::Network;
use super::node::{Core, Node};
use super::notices::Notices;
use super::outbox::Outbox;
use super::partition::{LinkFaults, NextAccess, Partition, Prefetching, Settings};
use super::places::Places;
use super::probe::Probes;
use super::ranks::Ranks;
use super::upcoming_flows::Traffic;
use super::{Plan, Simulation};
use crate::ids::NodeId;
use crate::ns3;
use crate::record::ThreadUse;
use crate::routing::PathCounts;
use crate::topology::{Graph, Loss};

/// Returns true if the hop scheme prevents drops of data packets.
fn is_lossless_by_hop(config: &SwitchConfig, links_lose: bool) -> bool {
    let links_lose = links_lose && !config.link.replays();
    !links_lose
        && config
            .declarations()
            .any(|scheme| scheme.has(Property::NoOverflow))
}

/// Returns true if a switch drops no packet of the classes that it can pause. If a link can lose
/// pause frames, PFC does not prevent drops.
fn is_lossless(config: &SwitchConfig, links_lose: bool) -> bool {
    match config.mmu.admission {
        // NDP-03: trimmed headers may be dropped.
        // PFCWD-07: a watchdog drops packets, or ignores pauses, so that buffers overflow.
        _ if config.trim.is_some() || config.guard.is_some() => false,
        Admission::Unlimited => true,
        // NS3-10: the headroom of ns-3 is a rule of thumb.
        Admission::Pfc(pfc) => !links_lose && pfc.accounting == Accounting::Pool,
        _ => is_lossless_by_hop(config, links_lose),
    }
}

/// Returns the classes without packet loss, as a bit set.
// AUD-05
fn lossless_classes(config: &SwitchConfig, links_lose: bool) -> ClassSet {
    let is_lossless = is_lossless(config, links_lose);
    let needs_pauses = matches!(config.mmu.admission, Admission::Pfc(_));
    let promised = |pausable: bool| is_lossless && (pausable || !needs_pauses);
    // XP-03: the transport drops credits on purpose.
    let credits = ClassSet::from(config.shaped.is_some()) << CONTROL_CLASS;
    let classes = config.classes.iter().enumerate();
    let all = classes.fold(0, |bits, (nth, class)| {
        bits | ClassSet::from(promised(class.pausable || !class.buffered)) << nth
    });
    all & !credits
}

/// Number of ports from which memory locality matters. The state of smaller networks fits the CPU
/// caches.
const MANY_PORTS: u32 = 2048;

/// Returns the least and greatest width of the calendar's buckets, as powers of two of ps. The
/// first wheel must be long enough for nearly all arrivals, because later ones are sorted twice.
/// Buckets must be short enough that arrivals are not in the current bucket, because those are
/// moved one by one.
// KER-11
fn bucket_shifts(graph: &Graph, max_frame: u16) -> (u32, u32) {
    let mut reach: Vec<Time> = graph
        .link_ids()
        .map(|link| graph.port(link))
        .map(|port| port.delay_ps + port.rate.serialisation_ps(u64::from(max_frame)))
        .collect();
    let most = reach.len() * 9 / 10;
    let reach_ps = match reach.len() {
        0 => 0,
        _ => *reach.select_nth_unstable(most).1,
    };
    let reaching = (reach_ps / 4 * 5 / Wheel::SLOTS + 1)
        .next_power_of_two()
        .ilog2();
    let apart = (reach_ps / 16).max(1).ilog2();
    let least = reaching.clamp(Wheel::DEFAULT_SHIFT, 24);
    (least, least.max(apart.min(24)))
}

/// Tables that are computed once for all switches: routes, and the port pairs that may pause their
/// upstream port. Each partition takes the entries of its switches.
struct Tables {
    routes: Vec<Option<Routes>>,
    pairs: Vec<Option<Pairs>>,
    /// Number of equal-cost paths between switches; `None`: senders do not choose paths.
    path_counts: Option<Arc<PathCounts>>,
}

impl Tables {
    fn of(plan: &mut Plan) -> Self {
        let path_counts = path_counts(plan);
        let routes: Vec<_> = std::mem::take(&mut plan.routes)
            .into_iter()
            .map(Some)
            .collect();
        let mut pairs: Vec<_> = plan
            .backpressure
            .take()
            .into_iter()
            .flatten()
            .map(Some)
            .collect();
        pairs.resize_with(routes.len(), || None);
        Self {
            routes,
            pairs,
            path_counts,
        }
    }
}

/// Returns the number of equal-cost paths between switches; `None`: senders do not choose paths.
pub(super) fn path_counts(plan: &Plan) -> Option<Arc<PathCounts>> {
    let chosen = plan.switch.path == PathChoice::Label;
    chosen.then(|| Arc::new(PathCounts::new(&plan.graph, &plan.routes)))
}

/// Returns the rate and the link delay of each port of a node.
fn rates(plan: &Plan, node: NodeId) -> Vec<(Rate, Time)> {
    let links = plan.graph.rates_and_delays(node).into_iter();
    links
        .map(|(rate, delay_ps)| (plan.clock.of(rate), delay_ps))
        .collect()
}

/// Returns the configuration of every NIC. Messages of a workload share queue pairs if the workload
/// requires it.
// RNK-15
pub(super) fn nic_config(plan: &Plan) -> NicConfig {
    let mut config = plan.nic.clone();
    let mut jobs = plan.jobs.jobs.iter();
    if jobs.any(|job| job.shares_queue_pairs(&config))
        && let Some(paired) = config.control.paired()
    {
        config.control = paired;
    }
    config
}

pub(super) fn nic(plan: &Plan, config: &Arc<NicConfig>, host: NodeId) -> Nic {
    let links = rates(plan, host);
    let rates: Vec<Rate> = links.iter().map(|link| link.0).collect();
    let mut nic = Nic::new(config, plan.switch.classes.len(), &rates);
    let edge = plan.graph.port(plan.graph.first_link(host)).peer;
    nic.set_neighbour(plan.switch_of(edge), &links);
    nic
}

fn switch(plan: &Plan, tables: &mut Tables, node: NodeId) -> Option<Switch> {
    let index = plan.graph.switch_number(node)? as usize;
    let routes = tables.routes.get_mut(index)?.take()?;
    let mut switch = Switch::new(
        node.bits(),
        plan.switch_of(node),
        &rates(plan, node),
        routes,
    );
    switch.set_upward(&upward(&plan.graph, node));
    // BFC-35: port pairs of pause cycles neither count nor pause
    if let Some(pairs) = tables.pairs[index].take() {
        switch.allow(Some(pairs));
    }
    Some(switch)
}

/// Returns the time after which a PFC frame takes effect at a node.
// SW-45: delay between arrival and effect
const fn pause_response_ps(switch: &SwitchConfig) -> Time {
    match &switch.mmu.admission {
        Admission::Pfc(pfc) => pfc.response_ps,
        _ => 0,
    }
}

/// Returns true if PFC pauses expire (quanta).
const fn pauses_run_out(switch: &SwitchConfig) -> bool {
    match &switch.mmu.admission {
        Admission::Pfc(pfc) => matches!(pfc.pause, PauseTime::Quanta { .. }),
        _ => false,
    }
}

/// Returns true if a port can be paused or resumed without receiving a frame (pause timers, spent
/// credits). Link failures do not count.
fn holds_itself(plan: &Plan) -> bool {
    let by_sending = |switch: &SwitchConfig| {
        let mut schemes = switch.declarations();
        schemes.any(|scheme| scheme.has(Property::BlocksBySending)) || pauses_run_out(switch)
    };
    plan.switch_configs().any(by_sending) || plan.nic.host.processing.is_some()
}

/// Returns the sizes of packets on links in bytes, by kind of packet.
// LIV-06
fn sizes(plan: &Plan) -> wire::Sizes {
    let nic = &plan.nic;
    let SwitchConfig { shaped, trim, .. } = &plan.switch;
    wire::Sizes {
        data_header: nic.data_bytes(0),
        reply: nic.ack_bytes(),
        notification: nic.cnp,
        trimmed: trim.map_or(0, |trim| trim.header_bytes),
        grant: shaped.map_or(nic.ack, |queue| queue.credit_bytes),
        request: nic.ack,
        notice: (plan.switch_configs())
            .find_map(|switch| switch.notifier)
            .map_or(0, |notifier| notifier.notice_bytes()),
        pause: plan
            .switch_configs()
            .find_map(pfc::frame_bytes)
            .unwrap_or(0),
    }
}

/// Returns the frame format that all links of the network use.
pub(super) fn wire_network(plan: &Plan) -> wire::Network {
    wire::Network {
        v6: plan.graph.endpoints() > wire::frame::V4_ENDPOINTS,
        telemetry: plan.switch.int.unwrap_or_default().format,
        link_numbers: plan
            .switch
            .declarations()
            .any(|scheme| scheme.has(Property::NumbersData)),
        trails: plan.switch.acks_return,
        timed_pauses: plan.switch_configs().any(pauses_run_out),
        sizes: sizes(plan),
    }
}

fn node(plan: &Plan, number: NodeId) -> Node {
    let purpose = match plan.graph.is_host(number) {
        true => Purpose::Nic,
        false => Purpose::Switch,
    };
    Node {
        stream: Stream::new(plan.seed, u64::from(number.bits()), purpose),
        armed_ps: NEVER,
        then_ps: NEVER,
        number,
        base: plan.graph.first_link(number),
        digest: 0,
    }
}

/// Creates the state that all nodes of a partition share (calendar, links, random streams), at time
/// 0.
fn core<C: Calendar>(plan: &Plan, places: &Places, part: u32, calendar: Lanes<C>) -> Core<C> {
    let graph = &plan.graph;
    let links_lose = graph.link_ids().any(|link| graph.loss(link) != Loss::NONE);
    let links_fail = LinkStates::fail(plan);
    let wants = plan.record.wants();
    Core {
        now: 0,
        calendar,
        links: Links::new(graph, plan.clock, places, part),
        nodes: places.nodes(part).iter().map(|&n| node(plan, n)).collect(),
        drops: [0; DROP_CAUSES],
        lossless: plan
            .switch_configs()
            .map(|switch| lossless_classes(switch, links_lose))
            .fold(ClassSet::MAX, |all, of_switch| all & of_switch),
        links_fail,
        broken_promises: 0,
        late_frames: 0,
        flows_changed: false,
        ends: Vec::new(),
        lists_deliveries: !plan.jobs.jobs.is_empty()
            || wants.intersects(measure::Event::FLOW_DELIVERED),
        delivered: Vec::new(),
        notices: Notices::new(&plan.nic),
        paused: MixedMap::default(),
        pauses: Vec::new(),
        wants,
        reported: Vec::new(),
        reading: None,
        events: 0,
        replayed: ns3::draws(&plan.switch, graph),
    }
}

/// Creates a partition with all its nodes, at time 0.
fn partition<C: Calendar>(
    plan: &Plan,
    places: &Arc<Places>,
    part: u32,
    tables: &mut Tables,
    calendar: Lanes<C>,
) -> Partition<C> {
    let graph = &plan.graph;
    let losses = Losses::new(graph, plan.seed);
    let link_states = LinkStates::new(plan);
    let setup = Setup {
        graph,
        switches: places.switches(part),
        nic: &plan.nic,
        one_path: plan.switch.path.is_predictable(),
        links_fail: link_states.is_some(),
        pauses_without_frames: LinkStates::fail(plan) || holds_itself(plan),
        network: wire_network(plan),
    };
    let measures = Measures::new(&plan.record, &setup);
    let core = core(plan, places, part, calendar);
    let switches: Vec<_> = (places.switches(part).iter())
        .filter_map(|&n| switch(plan, tables, n))
        .collect();
    let config = Arc::new(nic_config(plan));
    let mut partition = Partition {
        core,
        graph: Arc::clone(graph),
        places: Arc::clone(places),
        arena: Arena::new(),
        nics: (places.hosts(part).iter())
            .map(|&n| nic(plan, &config, n))
            .collect(),
        prefetching: Prefetching {
            on: graph.port_count() >= MANY_PORTS,
            queues: places.lanes(part) == 1 && switches.iter().any(Switch::has_several_queues),
            next: NextAccess::Nothing,
        },
        switches,
        faults: LinkFaults {
            losses,
            states: link_states,
        },
        outbox: Outbox::new(places.parts()),
        measures,
        reply: Reply::default(),
        round: Vec::new(),
        progress_ps: 0,
        flows: FlowState::new(places.lanes(part)),
        ranks: Ranks::new(plan, places, part),
        parameters: FlowParameters::new(plan, config, tables.path_counts.clone()),
        settings: Settings {
            elide: plan.elide,
            starts_first: plan.starts_first,
            spraying: plan.switch.path.sprays(),
            replays: plan.switch.link.replays(),
            watchdog_patience_ps: plan
                .switch_configs()
                .filter_map(|switch| switch.guard)
                .map(|watchdog| watchdog.patience_ps())
                .max()
                .unwrap_or(0),
            pause_response_ps: plan
                .switch_configs()
                .map(pause_response_ps)
                .max()
                .unwrap_or(0),
        },
    };
    partition.schedule_link_failures(part);
    partition.schedule_ranks();
    partition
}

impl Simulation<Wheel> {
    /// Builds the network of a plan with one partition per node, for runs in lockstep.
    pub(super) fn of_single_nodes(plan: Plan, cut: &Cut) -> Self {
        let (least, most) = bucket_shifts(&plan.graph, plan.switch.max_frame);
        let lane_of = vec![0; cut.part_of.len()].into();
        let places = Places::new(&plan.graph, &cut.part_of, &lane_of);
        let calendar = |_| Lanes::new(Wheel::between(least, most), Vec::new(), Time::MAX);
        let calendars = cut.part_of.iter().map(calendar).collect();
        let mut simulation = Self::build(plan, places, calendars);
        simulation.threads = ThreadUse {
            asked: cut.parts(),
            used: cut.parts(),
            lookahead_ps: Some(cut.lookahead_ps),
            ..ThreadUse::default()
        };
        for part in &mut simulation.net.parts {
            part.outbox.keep_all();
        }
        simulation
    }

    /// Builds the network of a plan, with the threads that the plan requests.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let whole = || IndexVec::from(vec![0; plan.graph.nodes() as usize]);
        let (divided, threads) = divide(&plan);
        let (part_of, division) = match divided {
            Some((cut, division)) => (cut.part_of, Some(division)),
            None => (whole(), None),
        };
        let (lane_of, lookahead_ps) = match lanes(&plan) {
            Some(cut) => (cut.part_of, cut.lookahead_ps),
            None => (whole(), Time::MAX),
        };
        let (least, most) = bucket_shifts(&plan.graph, plan.switch.max_frame);
        let places = Places::new(&plan.graph, &part_of, &lane_of);
        let calendar = || Wheel::between(least, most);
        let calendars = (0..places.parts() as u32)
            .map(|part| {
                let others = (1..places.lanes(part)).map(|_| calendar()).collect();
                Lanes::new(calendar(), others, lookahead_ps)
            })
            .collect();
        let simulation = Self::build(plan, places, calendars);
        Self {
            division,
            threads,
            ..simulation
        }
    }
}

impl<C: Calendar> Simulation<C> {
    /// Builds the network like `new`, but on one thread and with the given calendar.
    #[must_use]
    pub fn with_calendar(plan: Plan, calendar: C) -> Self {
        let places = Places::one(&plan.graph);
        let threads = undivided(&plan);
        let calendar = Lanes::new(calendar, Vec::new(), Time::MAX);
        let simulation = Self::build(plan, places, vec![calendar]);
        Self {
            threads,
            ..simulation
        }
    }

    /// Builds all partitions, with one set of calendars (`Lanes`) for each.
    fn build(mut plan: Plan, places: Places, calendars: Vec<Lanes<C>>) -> Self {
        let mut tables = Tables::of(&mut plan);
        let places = Arc::new(places);
        let parts: Vec<_> = (0..)
            .zip(calendars)
            .map(|(part, calendar)| partition(&plan, &places, part, &mut tables, calendar))
            .collect();
        let losing = !parts[0].faults.losses.none();
        let deadlock_search = DeadlockSearch::new(&plan);
        let lossless = plan
            .switch_configs()
            .all(|switch| is_lossless(switch, losing));
        let pauses_run_out = plan.switch_configs().any(pauses_run_out);
        let repeats_pauses = plan
            .switch_configs()
            .flat_map(SwitchConfig::declarations)
            .any(|scheme| scheme.has(Property::RepeatsPauses));
        let collectives = Collectives::new(&plan);
        Self {
            probes: Probes::new(&plan.graph),
            net: Network {
                graph: plan.graph,
                places,
                parts,
            },
            traffic: Traffic::new(plan.feed, plan.clock),
            flows: plan.flows,
            collectives,
            division: None,
            threads: ThreadUse::default(),
            merged: Merged::default(),
            until_ps: plan.until_ps,
            probe_ps: plan.probe_ps.max(1),
            lossless,
            losing,
            pauses_run_out,
            links_change: (plan.link_failures.as_ref()).is_some_and(|o| !o.changes().is_empty()),
            deadlock_search,
            repeats_pauses,
            spraying: plan.switch.path.sprays(),
            owns_repair: plan.nic.recovery.is_own(),
            violations: Vec::new(),
        }
    }
}
