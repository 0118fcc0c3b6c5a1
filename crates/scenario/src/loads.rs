//! Converts sources of traffic for the flow generator, and computes their loads.

use fabric::NodeId;
use fabric::topology::{CapacityOf, Graph};
use traffic::{Arrivals, Hosts, Pattern, SourceSpec, mean_gap_ps};

use dataplane::units::Time;

use crate::spec::Spec;
use crate::traffic_spec::{Frequency, LoadOf, TrafficSpec};

/// Returns the rack of every host.
pub(crate) fn racks(graph: &Graph) -> Vec<u32> {
    graph.host_ids().map(|host| graph.rack_of(host)).collect()
}

/// Converts a source for the flow generator. A load becomes a mean gap between arrivals.
pub(crate) fn source(t: &TrafficSpec, graph: &Graph, hosts: &Hosts) -> Result<SourceSpec, String> {
    let mut source = SourceSpec {
        name: t.name.clone(),
        pattern: t.pattern.clone(),
        sizes: t.sizes.clone(),
        arrivals: None,
        window_from_ps: t.window_ps.0,
        window_to_ps: t.window_ps.1,
        class: t.class,
        limit: t.limit,
    };
    let Some((kind, frequency)) = t.arrivals else {
        return Ok(source);
    };
    // The arrivals are set first, because the number of flows per arrival depends on them.
    source.arrivals = Some(Arrivals {
        kind,
        mean_gap_ps: 1.0,
    });
    let gap_ps = match frequency {
        Frequency::Every(ps) => ps as f64,
        Frequency::Load { fraction, of } => {
            let capacity = capacity_bps(t, graph, of)? as f64;
            let crossing = match of {
                LoadOf::Links(CapacityOf::Core) => t.pattern.crossing_fraction(hosts),
                _ => 1.0,
            };
            let bytes = source.mean_arrival_bytes(graph.hosts());
            mean_gap_ps(fraction, capacity, bytes, crossing).map_err(|e| e.message)?
        }
    };
    source.arrivals = Some(Arrivals {
        kind,
        mean_gap_ps: gap_ps,
    });
    Ok(source)
}

/// Returns the capacity of the links to which a load refers, in bits per second.
// TRA-22, TRA-23
fn capacity_bps(t: &TrafficSpec, graph: &Graph, of: LoadOf) -> Result<u128, String> {
    let links = |hosts: &[u32]| graph.hosts_bps(hosts.iter().copied().map(NodeId::from_bits));
    let all = |of| graph.capacity_bps(of).map_err(|e| e.to_string());
    match (of, &t.pattern) {
        // Links of excluded hosts do not count in the capacity.
        (LoadOf::Links(CapacityOf::Hosts), Pattern::Among { excluded, .. }) => {
            Ok(all(CapacityOf::Hosts)? - links(excluded))
        }
        (LoadOf::Links(of), _) => all(of),
        (LoadOf::Senders, Pattern::Between(between)) => Ok(links(&between.senders)),
        (LoadOf::Receivers, Pattern::Between(between)) => Ok(links(&between.receivers)),
        _ => Err("only traffic between chosen hosts has a load of their links".to_owned()),
    }
}

/// The load of a source: payload rate divided by link capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedLoad {
    /// Name of the source.
    pub source: String,
    /// Load of the host links, in the direction from the hosts.
    pub of_hosts: f64,
    /// Load of the core, from the bytes that cross it. `None`: there is no core, or the bytes that
    /// cross it are unknown.
    pub of_core: Option<f64>,
}

/// Returns, for each source with arrivals, its load on the host links and on the core during its
/// time window.
///
/// If the scenario sets the load of other links, the load of the core is only known if the racks of
/// two hosts determine whether their flow crosses the core. // TOP-27
#[must_use]
pub fn asked_loads(spec: &Spec, graph: &Graph) -> Vec<AskedLoad> {
    let exact = racks_determine_crossing(graph);
    let of_core = |name: &str| {
        spec.traffic.iter().any(|t| {
            let of = t.arrivals.map(|(_, frequency)| frequency);
            t.name == name
                && matches!(
                    of,
                    Some(Frequency::Load {
                        of: LoadOf::Links(CapacityOf::Core),
                        ..
                    })
                )
        })
    };
    let asked = loads(spec, graph).into_iter().map(|(load, _)| AskedLoad {
        of_core: load.of_core.filter(|_| exact || of_core(&load.source)),
        ..load
    });
    asked.collect()
}

/// True if hosts of different racks never share a switch. // TOP-13
fn racks_determine_crossing(graph: &Graph) -> bool {
    (0..graph.groups()).all(|group| {
        let mut ends = graph.endpoints_on(graph.group_switch(group));
        let rack = |endpoint| graph.rack_of(graph.host_of(endpoint));
        let first = ends.next().map(rack);
        ends.all(|endpoint| Some(rack(endpoint)) == first)
    })
}

/// Like [`asked_loads`], with the time window of each load in ps.
pub(crate) fn loads(spec: &Spec, graph: &Graph) -> Vec<(AskedLoad, (Time, Time))> {
    let Ok(hosts) = Hosts::new(&racks(graph)) else {
        return Vec::new();
    };
    let of = |t: &TrafficSpec| {
        let source = source(t, graph, &hosts).ok()?;
        source.arrivals.as_ref()?;
        let bps = source.mean_bps(graph.hosts());
        let over = |of| graph.capacity_bps(of).ok().map(|c| bps / c as f64);
        let core = over(CapacityOf::Core).map(|l| l * t.pattern.crossing_fraction(&hosts));
        let load = AskedLoad {
            source: t.name.clone(),
            of_hosts: over(CapacityOf::Hosts)?,
            of_core: core,
        };
        Some((load, t.window_ps))
    };
    spec.traffic.iter().filter_map(of).collect()
}
