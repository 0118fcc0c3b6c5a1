//! Flow sizes of a scenario's traffic, for transports whose configuration depends on them.

use dataplane::config::BaseRtt;
use fabric::NodeId;
use fabric::paths::Paths;
use fabric::topology::Graph;
use std::sync::Arc;
use traffic::{Hosts, Pattern, Sizes};

use crate::loads::{racks, source};
use crate::scheme::SchemeSpec;
use crate::spec::Spec;

/// Number of quantiles at which a size distribution is sampled.
const POINTS: u32 = 4096;

/// Calls `visit` with sizes in bytes and the expected number of flows of each size. Returns false
/// if the traffic is invalid.
pub(crate) fn for_each_size(spec: &Spec, graph: &Graph, mut visit: impl FnMut(f64, f64)) -> bool {
    let Ok(hosts) = Hosts::new(&racks(graph)) else {
        return false;
    };
    for t in &spec.traffic {
        let Ok(source) = source(t, graph, &hosts) else {
            continue;
        };
        let flows = source.expected_flows(graph.hosts());
        match (&t.sizes, &t.pattern) {
            (_, Pattern::List(list)) => {
                list.iter().for_each(|flow| visit(flow.bytes as f64, 1.0));
            }
            (Some(Sizes::Dist(sizes)), _) => {
                for point in 0..POINTS {
                    let u = (f64::from(point) + 0.5) / f64::from(POINTS);
                    visit(sizes.sample(u) as f64, flows / f64::from(POINTS));
                }
            }
            _ => visit(source.expected_bytes(graph.hosts()) / flows.max(1.0), flows),
        }
    }
    true
}

/// Returns the flow sizes in bytes, in ascending order, with the expected number of flows of each
/// size.
pub(crate) fn flow_sizes(spec: &Spec, graph: &Graph) -> Vec<(f64, f64)> {
    let mut sizes = Vec::new();
    for_each_size(spec, graph, |bytes, flows| sizes.push((bytes, flows)));
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    sizes
}

/// Returns the payload bytes of one BDP of the scheme, rounded up to full packets.
pub(crate) fn bdp_bytes(scheme: &SchemeSpec, graph: &Arc<Graph>) -> f64 {
    let mut paths = Paths::new(Arc::clone(graph));
    let frame = scheme.nic.mtu + scheme.nic.header;
    let rtt_ps = match scheme.base_rtt {
        BaseRtt::Fixed(rtt_ps) => rtt_ps,
        _ => paths.max_base_rtt_ps(frame, scheme.nic.ack),
    };
    let rate = graph.port(graph.first_link(NodeId::new(0))).rate;
    let packets = rate.bytes_in(rtt_ps).div_ceil(u64::from(frame)).max(1);
    (packets * u64::from(scheme.nic.mtu)) as f64
}
