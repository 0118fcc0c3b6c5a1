//! Flowlets: the packets of a flow keep their port until a pause, and then take the least loaded
//! port.

use super::{Context, EqualPorts, Policy};
use crate::hash::{below, mix32};
use crate::packet::Packet;
use crate::param::Param;
use crate::units::{NS, Time};

crate::params! {
    /// Parameters of flowlets.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FlowletConfig {
        /// A flow keeps its port until no packet of it arrives for longer than this.
        pub gap_ps: Time = Param::time("gap", NS)
            .default("\"100us\"", "PRE-161", "100 µs (ConWeave's authors' code, for CONGA and LetFlow)"),
        /// Entries of the flowlet table of a switch; flows with equal hashes share one.
        pub entries: u32 = Param::count("entries", 1, 1_000_000)
            .default("4096", "PRE-161", "our choice: more than the flows that cross a switch at a time"),
    }
}

/// State of the flowlets that share an entry of the table.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Arrival of the last packet plus 1; 0 before the first packet.
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
