//! The sizes of the flows that a scenario's traffic makes, and how Homa cuts them into priorities.

use dataplane::config::{BaseRtt, HomaConfig, MAX_LEVELS};
use fabric::paths::Paths;
use fabric::topology::Graph;
use std::sync::Arc;
use traffic::{Hosts, Pattern, Sizes};

use crate::check::{racks, source};
use crate::load::Spec;
use crate::scheme::SchemeSpec;

/// Points at which a distribution of sizes is looked at.
const POINTS: u32 = 4096;

/// Calls `visit` with sizes in bytes and how many flows of each are expected. False: the traffic
/// cannot be made.
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

/// What Homa has to know of the traffic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages {
    /// Sizes in bytes, ascending, and how many messages of each are expected.
    pub sizes: Vec<(f64, f64)>,
    /// Payload bytes that a message sends unasked.
    pub window_bytes: f64,
}

impl Messages {
    /// Of the traffic of a scenario under this scheme.
    pub(crate) fn of(spec: &Spec, graph: &Graph, homa: &HomaConfig) -> Self {
        let mut sizes = Vec::new();
        for_each_size(spec, graph, |bytes, flows| sizes.push((bytes, flows)));
        sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let window_bytes = match homa.window {
            Some(bytes) => bytes as f64,
            None => bdp_bytes(&spec.scheme, graph),
        };
        Self {
            sizes,
            window_bytes,
        }
    }

    /// Unscheduled bytes of a message.
    fn unscheduled(&self, bytes: f64) -> f64 {
        bytes.min(self.window_bytes)
    }

    fn sum(&self, bytes: impl Fn(f64) -> f64) -> f64 {
        self.sizes.iter().map(|&(size, n)| bytes(size) * n).sum()
    }

    /// Fills in what of the levels was left to the traffic: 0 stands for that.
    // HOM-04, HOM-06
    pub(crate) fn complete(&self, homa: &HomaConfig) -> HomaConfig {
        let mut homa = *homa;
        if homa.unscheduled == 0 {
            let all = self.sum(|size| size);
            let share = if all > 0.0 {
                self.sum(|size| self.unscheduled(size)) / all
            } else {
                0.5
            };
            let levels = (f64::from(homa.levels) * share + 0.5) as u8;
            homa.unscheduled = levels.clamp(1, homa.levels - 1);
        }
        if homa.cutoffs[0] == 0 {
            homa.cutoffs = self.cutoffs(homa.unscheduled);
        }
        if homa.overcommitment == 0 {
            homa.overcommitment = homa.levels - homa.unscheduled;
        }
        homa
    }

    /// Sizes that part messages so that each level has equally many unscheduled bytes.
    // HOM-04
    fn cutoffs(&self, levels: u8) -> [u32; MAX_LEVELS] {
        let mut cutoffs = [u32::MAX; MAX_LEVELS];
        let all = self.sum(|size| self.unscheduled(size));
        let (mut level, mut below) = (1u8, 0.0);
        for &(size, n) in &self.sizes {
            below += self.unscheduled(size) * n;
            while level < levels && below >= all * f64::from(level) / f64::from(levels) {
                cutoffs[usize::from(level) - 1] = size.min(f64::from(u32::MAX)) as u32;
                level += 1;
            }
        }
        cutoffs
    }
}

/// Payload of the packets that one BDP of the scheme takes.
fn bdp_bytes(scheme: &SchemeSpec, graph: &Graph) -> f64 {
    let mut paths = Paths::new(Arc::new(graph.clone()));
    let frame = scheme.mtu + scheme.header;
    let rtt_ps = match scheme.base_rtt {
        BaseRtt::Fixed(rtt_ps) => rtt_ps,
        _ => paths.max_base_rtt_ps(frame, scheme.ack_bytes),
    };
    let rate = graph.port(0).rate;
    let packets = rate.bytes_in(rtt_ps).div_ceil(u64::from(frame)).max(1);
    (packets * u64::from(scheme.mtu)) as f64
}
