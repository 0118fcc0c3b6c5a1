//! Checks of links that fail: unreachable hosts, packets that are not retransmitted, and ports that
//! can wait for each other in a cycle.

use dataplane::config::{Admission, PathChoice};
use dataplane::nic::CUT_OFF;
use dataplane::properties::Property;
use dataplane::switch::SwitchConfig;
use dataplane::units::Time;
use fabric::LinkId;
use fabric::backpressure_graph::{cycles, shortest_cycle, used_pairs};
use fabric::link_failures::{LinkFailures, parts};
use fabric::routing::routes;
use fabric::topology::Graph;

use crate::findings::Findings;
use crate::scheme::SchemeConfig;
use crate::spec::{Scenario, Spec};
use crate::units::show_time;

/// Maximum of (groups of hosts) × (ports) for which the check searches cycles.
const MOST_WORK: u64 = 50_000_000;

/// Maximum number of link states (periods between changes of links) that are checked.
const MOST_EPOCHS: usize = 16;

/// Maximum number of hosts that a message lists.
const MOST_HOSTS: usize = 5;

/// Checks the link failures of a scenario, and cyclic buffer dependencies.
pub(crate) fn links(
    spec: &Spec,
    graph: &Graph,
    config: &SchemeConfig,
    findings: &mut Findings<'_>,
) {
    let link_failures = spec.link_failures(graph);
    let missing = spec.missing_links(graph);
    if missing > 0 {
        findings.error(
            &["topology.failures"],
            format!("{missing} links more are to fail than there are"),
            "lower `random`, or write among = \"all\"",
        );
    }
    if !link_failures.is_empty() {
        unsupported(spec, &link_failures, findings);
        hop(&link_failures, config, findings);
        repair(&link_failures, config, findings);
        late(spec, &link_failures, findings);
        instant(&link_failures, findings);
    }
    let epochs = link_failures.epochs();
    for (routes_ps, down) in epochs.iter().take(MOST_EPOCHS) {
        let known = graph.without(down);
        let at_ps = routes_ps.saturating_sub(link_failures.reconvergence_ps);
        out_of_reach(at_ps, &known, findings);
        cycle(spec, *routes_ps, &known, config, findings);
    }
}

/// Refuses options that do not support link failures.
// LNK-06: options without link failures
fn unsupported(spec: &Spec, link_failures: &LinkFailures, findings: &mut Findings<'_>) {
    if spec.record.pauses.is_some() && !link_failures.changes().is_empty() {
        findings.error(
            &["record.pauses", "topology.failures"],
            "links fail during the run, and pauses cannot be followed over a link that does".to_owned(),
            "take `pauses` out of [record], or let them fail from the start on (no `at`, no `until`)",
        );
    }
    let scheme = &spec.scheme;
    let what = if scheme.in_order {
        "ties = \"scheduling\""
    } else if scheme.switch.path == PathChoice::Tuple {
        "path = \"tuple\""
    } else {
        return;
    };
    findings.error(
        &["topology.failures"],
        format!("links fail, and {what} knows no failing links"),
        "take `failures` out, or the profile",
    );
}

/// Reports the findings of the hop-by-hop scheme about links that fail during the run.
// LNK-06: schemes without link failures
fn hop(link_failures: &LinkFailures, config: &SchemeConfig, findings: &mut Findings<'_>) {
    if !link_failures.changes().is_empty() {
        for scheme in config.distinct_schemes() {
            scheme.failing_links(&mut |finding| findings.of_scheme(finding));
        }
    }
}

/// Refuses link failures if the scheme does not retransmit lost packets.
fn repair(link_failures: &LinkFailures, config: &SchemeConfig, findings: &mut Findings<'_>) {
    if link_failures.changes().is_empty() {
        return;
    }
    let recovery = config.nic.recovery;
    if !recovery.properties().has(Property::Repairs) {
        findings.error(
            &["scheme.recovery", "scheme.preset", "topology.failures"],
            "links fail during the run, and what is lost with them is not sent again".to_owned(),
            "set scheme.recovery, or let them fail from the start on (no `at`, no `until`)",
        );
    } else if recovery.lacks_timeout() {
        findings.warn(
            &["scheme.go-back-n.timeout", "topology.failures"],
            "links fail during the run, and without a timeout a flow waits for ever if the last of its \
             packets are lost with them"
                .to_owned(),
            "set scheme.go-back-n.timeout",
        );
    }
}

/// Adds a note if routes change without delay after a failure.
fn instant(link_failures: &LinkFailures, findings: &mut Findings<'_>) {
    let fails_later = link_failures
        .changes()
        .iter()
        .any(|change| !change.up && change.at_ps > 0);
    if fails_later && link_failures.reconvergence_ps == 0 {
        let message = "all nodes have new routes at the instant at which links fail \
                       (topology.reconvergence is 0), but networks take up to milliseconds";
        let hint = "set topology.reconvergence, such as \"1ms\": until then packets are lost";
        findings.note(&["topology.failures"], message.to_owned(), hint);
    }
}

fn late(spec: &Spec, link_failures: &LinkFailures, findings: &mut Findings<'_>) {
    let until_ps = spec.run.until_ps;
    if let Some(change) = link_failures.changes().iter().find(|c| c.at_ps >= until_ps) {
        findings.warn(
            &["topology.failures"],
            format!(
                "a link changes at {}, when the run is over (run.until = {})",
                show_time(change.at_ps),
                show_time(until_ps)
            ),
            "lengthen run.until, or change the failure",
        );
    }
}

fn since(at_ps: Time) -> String {
    match at_ps {
        0 => String::new(),
        at_ps => format!("from {} on ", show_time(at_ps)),
    }
}

/// Warns about hosts that are unreachable from other hosts.
// LNK-13: unreachable hosts
fn out_of_reach(at_ps: Time, known: &Graph, findings: &mut Findings<'_>) {
    if !known.lacks_links() {
        return;
    }
    let outside = cut_off(known);
    if outside.is_empty() {
        return;
    }
    let mut shown = outside[..outside.len().min(MOST_HOSTS)].join(", ");
    if outside.len() > MOST_HOSTS {
        shown += &format!(" and {} more", outside.len() - MOST_HOSTS);
    }
    findings.warn(
        &["topology.failures"],
        format!(
            "{}most hosts cannot reach {shown}, because of links that are down",
            since(at_ps)
        ),
        "flows to and from there wait; those that never end are named at the end of the run",
    );
}

/// Returns the names of the hosts that are unreachable from the largest connected component.
fn cut_off(known: &Graph) -> Vec<String> {
    let part_of = parts(known);
    let mut sizes = std::collections::BTreeMap::new();
    for &part in part_of.iter().filter(|&&part| part != CUT_OFF) {
        *sizes.entry(part).or_insert(0u32) += 1;
    }
    let largest = sizes.iter().max_by_key(|(_, size)| **size);
    let largest = largest.map(|(part, _)| *part);
    let mut inside = |endpoint: LinkId| Some(part_of[endpoint.index()]) == largest;
    known
        .host_ids()
        .filter(|&host| !known.links_of(host).any(&mut inside))
        .map(|host| known.name(host))
        .collect()
}

/// Finds cycles of egress ports that can wait for each other if packets use shortest paths. Returns
/// the number of strongly connected sets, and the ports of one cycle in the direction of the
/// packets.
fn waiting_cycle(spec: &Spec, known: &Graph) -> (usize, Vec<String>) {
    let Ok(routes) = routes(known, spec.seed, spec.scheme.switch.path) else {
        return (0, Vec::new()); // reported when the run is built
    };
    let used = used_pairs(known, &routes);
    let cycle = shortest_cycle(known, &used);
    let names = cycle.iter().map(|&link| known.port_name(link));
    (cycles(known, &used).len(), names.collect())
}

/// A period of the run between two changes of links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkEpoch {
    /// Time at which links fail or recover, ps.
    pub at_ps: Time,
    /// Time at which routes change: `at_ps` plus the delay of reconvergence, ps.
    pub routes_ps: Time,
    /// Links that are down in this period, as `a--b`.
    pub down: Vec<String>,
    /// Hosts that are unreachable from the largest connected component.
    pub cut_off: Vec<String>,
    /// A shortest cycle of ports that can wait for each other, each as `from->to`. Empty if there
    /// is no cycle.
    pub cycle: Vec<String>,
}

impl Scenario {
    /// Returns the periods of the run between changes of links, in order of time.
    // LNK-12, LNK-40: routes and cycles after each change
    #[must_use]
    pub fn link_epochs(&self) -> Vec<LinkEpoch> {
        let link_failures = self.spec.link_failures(&self.graph);
        let reconvergence_ps = link_failures.reconvergence_ps;
        let epoch = |(routes_ps, down): (Time, Vec<LinkId>)| {
            let known = self.graph.without(&down);
            let name = |&link: &LinkId| self.graph.link_name(link);
            LinkEpoch {
                at_ps: routes_ps.saturating_sub(reconvergence_ps),
                routes_ps,
                down: down.iter().map(name).collect(),
                cut_off: cut_off(&known),
                cycle: waiting_cycle(&self.spec, &known).1,
            }
        };
        link_failures.epochs().into_iter().map(epoch).collect()
    }
}

/// Warns if egress ports can wait for each other in a cycle.
// LNK-40: cyclic buffer dependency
fn cycle(
    spec: &Spec,
    at_ps: Time,
    known: &Graph,
    config: &SchemeConfig,
    findings: &mut Findings<'_>,
) {
    let pauses = |switch: &SwitchConfig| {
        let mut classes = switch.classes.iter();
        matches!(switch.mmu.admission, Admission::Pfc(_))
            && classes.any(|class| class.pausable && class.buffered)
    };
    let pfc = config.switches().any(pauses);
    let elides = spec.scheme.elides();
    let mut switches = config.switches();
    let named = switches.find_map(|switch| {
        let hop = switch.hop.declaration().filter(|_| !elides);
        let mut schemes = hop.into_iter().chain(switch.link.declarations());
        schemes.find(|scheme| scheme.has(Property::CanDeadlock))
    });
    // In regular topologies routes go up, then down, so there are no cycles.
    let work = u64::from(known.groups()) * u64::from(known.port_count());
    if !(pfc || named.is_some()) || known.is_regular() || work > MOST_WORK {
        return;
    }
    let (sets, names) = waiting_cycle(spec, known);
    let Some(first) = names.first() else {
        return;
    };
    let more = match sets {
        0 | 1 => String::new(),
        n => format!(" (one of {n} sets of ports that can)"),
    };
    let names_of = [pfc.then_some("PFC"), named.map(|hop| hop.name())];
    let who = names_of
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" and ");
    findings.warn(
        &["topology.failures", "topology.links", "topology"],
        format!(
            "{}{who} can deadlock: ports can wait in a cycle, {} for {} again{more}",
            since(at_ps),
            names.join(" for "),
            first
        ),
        "`backwater inspect --graph` shows all cycles; run.on_deadlock sets what a run does then",
    );
}
