//! Properties of a run that the results writer needs before the run starts.

use fabric::NodeId;
use fabric::measure::RecordSpec;

use crate::capture::CapturedLink;

/// A node of the network, with its name and tier in the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// Name, such as `leaf3`.
    pub name: String,
    /// Tier, such as `host`, `leaf` or `spine`.
    pub tier: String,
    /// Level in the network: 0 for hosts, 1 for switches with hosts, 2 for the next tier, and so
    /// on.
    pub level: u8,
    /// For hosts: the nodes at the other end of their links, ascending. Empty for switches.
    pub switches: Vec<u32>,
    /// True if the switch is the scale-up domain of a server. Its links are neither host links nor
    /// core links.
    pub scale_up: bool,
}

/// One end of a link that has parallel links (several links between the same two nodes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParallelEnd {
    /// ID of the node.
    pub node: NodeId,
    /// Index of the port at this node.
    pub port: u16,
    /// Name of the other node, followed by the index of the link, such as `spine1#2`.
    pub peer_name: String,
}

/// A load that the scenario requests.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct AskedLoad {
    /// Name of the `[[traffic]]` entry.
    pub source: String,
    /// Requested load as a fraction of the capacity of the links in `of`.
    pub fraction: f64,
    /// The links to which the load refers: `core` or `host`.
    pub of: String,
}

/// Properties of a run that the results writer needs before the run starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunInfo {
    /// Name of the scenario.
    pub name: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Seed of the run.
    pub seed: u64,
    /// Hash of all inputs that the result depends on. `None`: the caller did not compute one.
    pub key: Option<String>,
    /// Version of Backwater.
    pub version: String,
    /// All nodes, in the order of node IDs.
    pub nodes: Vec<NodeInfo>,
    /// Ends of parallel links (several links between the same two nodes).
    pub parallel: Vec<ParallelEnd>,
    /// Names of the traffic sources, in the order of their IDs.
    pub sources: Vec<String>,
    /// Names of the workloads, which are the last entries of `sources`.
    pub workloads: Vec<String>,
    /// Start of the measured time, in ps. Flows that start earlier (warm-up) are in the tables but
    /// not in the statistics.
    pub measure_from_ps: u64,
    /// True: the completion time of a flow ends with its last ACK at the sender. False: it ends
    /// with its last byte at the receiver.
    pub fct_acked: bool,
    /// End of the measured time for loads and buffer statistics, in ps: the end of the last
    /// arrivals window. `None`: the end of the run.
    pub measure_to_ps: Option<u64>,
    /// Optional tables and captures that the scenario requests.
    pub record: RecordSpec,
    /// Links whose frames are captured.
    pub captured: Vec<CapturedLink>,
    /// True if links fail or recover during the run, so that a flow can take a shorter path than
    /// the path of its ideal FCT.
    pub paths_change: bool,
    /// True if hosts have processing delays, which ideal FCTs do not include.
    pub hosts_take_time: bool,
    /// Loads that the scenario requests.
    pub asked: Vec<AskedLoad>,
    /// The scenario with all values filled in, as TOML: the content of `resolved.toml`.
    pub resolved: String,
    /// Warnings that were found before the run.
    pub warnings: Vec<String>,
    /// Properties of real networks that the model of this scenario omits, one sentence each.
    pub not_modelled: Vec<String>,
    /// True if packets of a flow take several paths at the same time. A flow can then be faster
    /// than its ideal FCT, which assumes one path, by about one frame.
    pub sprays: bool,
}
