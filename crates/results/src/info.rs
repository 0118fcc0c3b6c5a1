//! What the writer has to know before a run starts.

use fabric::NodeId;
use fabric::measure::RecordSpec;

use crate::capture::CapturedLink;

/// A node of the network, as readers shall see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// Name, such as `leaf3`.
    pub name: String,
    /// Tier, such as `host`, `leaf` or `spine`.
    pub tier: String,
    /// Height in the network: 0 for hosts, 1 for the switches that hosts hang on, and so on up.
    pub level: u8,
    /// For hosts: the nodes at the other end of their links, ascending. Empty for switches.
    pub switches: Vec<u32>,
    /// True if the switch is the scale-up domain of a server. Its links are neither host links nor core links.
    pub scale_up: bool,
}

/// An end of one of several links between the same two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParallelEnd {
    /// Number of the node.
    pub node: NodeId,
    /// Number of the port at this node.
    pub port: u16,
    /// Name of the other node with the number of the link, such as `spine1#2`.
    pub peer_name: String,
}

/// A load that the scenario requests.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct AskedLoad {
    /// Name of the `[[traffic]]` entry.
    pub source: String,
    /// Fraction of the capacity of the links that `of` names.
    pub fraction: f64,
    /// Which links: `core` or `host`.
    pub of: String,
}

/// What the writer has to know before a run starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunInfo {
    /// Name of the scenario.
    pub name: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Seed of the run.
    pub seed: u64,
    /// Hash of everything that the result depends on, if the caller computed one.
    pub key: Option<String>,
    /// Version of the program.
    pub version: String,
    /// All nodes, in the numbering of the run.
    pub nodes: Vec<NodeInfo>,
    /// Ends of links between nodes that several links join.
    pub parallel: Vec<ParallelEnd>,
    /// Names of the traffic sources, in the numbering of the run.
    pub sources: Vec<String>,
    /// Names of the workloads, which are the last of these sources.
    pub workloads: Vec<String>,
    /// Flows that start earlier are warm-up: in the tables, not in the statistics.
    pub measure_from_ps: u64,
    /// Statistics count the time of a flow until its last ACK is back, not until its last byte is there.
    pub fct_acked: bool,
    /// When the last arrivals window closes; loads and buffer statistics are taken up to here.
    /// `None`: the end of the run.
    pub measure_to_ps: Option<u64>,
    /// What is recorded besides: each has a file of its own.
    pub record: RecordSpec,
    /// Links whose frames are recorded.
    pub captured: Vec<CapturedLink>,
    /// Links fail or come back during the run, so a flow may be faster than on the path of its ideal.
    pub paths_change: bool,
    /// Hosts take time for frames, which ideal completion times leave out.
    pub hosts_take_time: bool,
    /// Loads that were requested.
    pub asked: Vec<AskedLoad>,
    /// The scenario with every value filled in, as TOML; becomes `resolved.toml`.
    pub resolved: String,
    /// What was found doubtful before the run.
    pub warnings: Vec<String>,
    /// What this model leaves out, a sentence each.
    pub not_modelled: Vec<String>,
    /// Packets of a flow take several paths at once, so a flow that is alone on one path can be
    /// beaten, by a frame or so.
    pub sprays: bool,
}
