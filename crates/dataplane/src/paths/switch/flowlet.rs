//! Flowlets: the packets of a flow use the same port until the flow has a gap. After the gap, the
//! flow uses the least loaded port.

use super::{Context, EqualPorts, Policy};
use crate::hash::{below, mix32};
use crate::packet::Packet;
use crate::param::Param;
use crate::units::{NS, Time};

crate::params! {
    /// Parameters of flowlets.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FlowletConfig {
        /// Time without packets after which a flow may change its port.
        pub gap_ps: Time = Param::time("gap", NS)
            .default("\"100us\"", "PRE-161", "100 µs (ConWeave's authors' code, for CONGA and LetFlow)"),
        /// Number of entries of a switch's flowlet table. Flows whose hashes select the same entry
        /// share its port.
        pub entries: u32 = Param::count("entries", 1, 1_000_000)
            .default("4096", "PRE-161", "our choice: more than the flows that cross a switch at a time"),
    }
}

/// State of the flowlets that share an entry of the table.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Arrival time of the last packet, in ps, plus 1; 0 before the first packet.
    last_ps: Time,
    /// Egress port of the current flowlet.
    port: u16,
}

/// Flowlet table of a switch.
#[derive(Debug)]
pub(crate) struct Flowlets {
    gap_ps: Time,
    table: Vec<Entry>,
}

impl Policy for Flowlets {
    type Config = FlowletConfig;

    const REORDERS: bool = false;

    const ABOUT: &'static str =
        "the first packet after a gap of a flow takes that port, and the packets after it follow";

    fn new(config: &FlowletConfig) -> Self {
        Self {
            gap_ps: config.gap_ps,
            table: vec![Entry::default(); config.entries as usize],
        }
    }

    // PTH-05: keep the port within the gap; PTH-06: the table is indexed by a hash
    fn choose<L: Fn(u16) -> Option<u64>>(
        &mut self,
        cx: &Context<L>,
        packet: &Packet,
        ports: EqualPorts<'_>,
    ) -> usize {
        let at = below(mix32(cx.hash ^ packet.dst), self.table.len());
        let entry = &mut self.table[at];
        let is_new = entry.last_ps == 0 || cx.now + 1 - entry.last_ps > self.gap_ps;
        entry.last_ps = cx.now + 1;
        if !is_new {
            // New routes may have removed ports. Flows that share the entry may have other ports.
            let kept = (0..ports.len()).find(|&nth| ports.get(nth) == entry.port);
            let kept = kept.unwrap_or(usize::from(entry.port) % ports.len());
            if (cx.load)(ports.get(kept)).is_some() {
                return kept;
            }
        }
        let nth = cx.least_loaded(ports);
        entry.port = ports.get(nth);
        nth
    }
}
