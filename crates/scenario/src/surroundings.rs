//! The properties of the network on which the configuration of a scheme depends.

use std::sync::Arc;

use dataplane::config::BaseRtt;
use dataplane::declaration::Around;
use dataplane::int::IntFormat;
use dataplane::properties::{Choice, Property};
use dataplane::units::Time;
use fabric::paths::Paths;
use fabric::topology::Graph;
use traffic::Pattern;

use crate::messages::{bdp_bytes, flow_sizes};
use crate::scheme::{SchemeAt, SchemeConfig, SchemeSpec};
use crate::spec::Spec;
use crate::traffic_spec::TrafficSpec;
use crate::workload_spec::WorkloadSpec;

/// Returns the properties of the network on which the configuration of the scheme depends.
#[must_use]
pub fn surroundings(spec: &Spec, graph: &Arc<Graph>) -> Around {
    let delays_ps = graph.link_ids().map(|index| graph.port(index).delay_ps);
    let highest = |t: &TrafficSpec| match &t.pattern {
        Pattern::List(flows) => flows
            .iter()
            .map(|f| f.class.unwrap_or(t.class))
            .max()
            .unwrap_or(0),
        _ => t.class,
    };
    let max_class = spec
        .traffic
        .iter()
        .map(highest)
        .chain(spec.workloads.iter().map(WorkloadSpec::max_class))
        .max()
        .unwrap_or(0);
    let control = spec.scheme.nic.control.provides();
    let reads_sizes = control.has(Property::ReadsFlowSizes);
    Around {
        max_frame: spec.scheme.max_frame(),
        max_delay_ps: delays_ps.max().unwrap_or(0),
        max_class,
        buffer_bytes: spec.buffer_bytes,
        reserved_bytes: spec.reserved_bytes,
        nic_bps: fabric::ns3::nic_bps(graph),
        flow_sizes: if reads_sizes {
            flow_sizes(spec, graph)
        } else {
            Vec::new()
        },
        bdp_bytes: if reads_sizes {
            bdp_bytes(&spec.scheme, graph)
        } else {
            0.0
        },
        base_rtt_ps: base_rtt_ps(spec, graph),
        telemetry: spec
            .scheme
            .switch
            .int
            .map_or(IntFormat::default(), |int| int.format),
        upstream_queues: spec
            .schemes()
            .map(|scheme| scheme.upstream_queues(max_class))
            .max()
            .unwrap_or(0),
    }
}

impl Spec {
    /// Returns the schemes of the switches: the main scheme, and the exceptions in `[[scheme.at]]`.
    pub(crate) fn schemes(&self) -> impl Iterator<Item = &SchemeSpec> {
        let others = self.scheme_at.iter().map(|at| &at.scheme);
        std::iter::once(&self.scheme).chain(others)
    }

    /// Returns the configuration of the switches and NICs of this network.
    #[must_use]
    pub fn configure(&self, graph: &Arc<Graph>) -> SchemeConfig {
        let around = surroundings(self, graph);
        let mut config = self.scheme.configure(&around);
        for SchemeAt { switches, scheme } in &self.scheme_at {
            let switch = scheme.switch(&around);
            config.switch_at.add(switches.iter().copied(), switch);
        }
        config
    }
}

/// Returns the base round trip in ps if a timer of the switches depends on it, else 0.
// SPFC-18: timer interval
fn base_rtt_ps(spec: &Spec, graph: &Arc<Graph>) -> Time {
    let scheme = &spec.scheme;
    let victims = spec.schemes().find_map(|scheme| scheme.victims);
    let needed = victims.filter(|victims| victims.needs_base_rtt());
    match (needed, scheme.base_rtt) {
        (None, _) => 0,
        (Some(_), BaseRtt::Fixed(given)) => given,
        (Some(_), _) => {
            let frame = scheme.nic.mtu + scheme.nic.header;
            Paths::new(Arc::clone(graph)).max_base_rtt_ps(frame, scheme.nic.ack)
        }
    }
}
