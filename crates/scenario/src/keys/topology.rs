//! The keys of `[topology]`.

use dataplane::param::{Kind, MAX_RATE_BPS, Param};

use super::{MAX_HOSTS, MAX_PORTS, Variant, Variants, long};
use crate::units::MAX_TIME_PS;

/// Minimum link rate, in bits per second. At lower rates, transmission times in ps would overflow.
const MIN_RATE_BPS: u64 = 1_000_000;
/// Maximum propagation delay of a link: one second.
const MAX_DELAY_PS: u64 = 1_000_000_000_000;

/// Keys of a link: rate, delay, loss.
const LINK: &[Param] = &[
    Param::new(
        "rate",
        Kind::Rate {
            min: MIN_RATE_BPS,
            max: MAX_RATE_BPS,
        },
    )
    .needed("\"100Gbps\"")
    .about("Rate of the link, in either direction."),
    Param::new(
        "delay",
        Kind::Time {
            min: 0,
            max: MAX_DELAY_PS,
        },
    )
    .needed("\"1us\"")
    .about("Propagation delay, one way."),
    Param::fraction("loss", 0.0, 1.0)
        .absent("no frame is lost")
        .about(
            "Each frame is lost with this probability, in either direction: data, ACKs and pauses alike.",
        ),
];

const HOST_LINK: Param = Param::table("link", LINK)
    .needed("{ rate = \"100Gbps\", delay = \"1us\" }")
    .about("Links of the hosts.");

/// Declares the link of an upper tier. If it is not set, it is like the host link.
const fn upper(key: &'static str) -> Param {
    Param::table(key, LINK).absent("as `link`")
}

const fn ports(key: &'static str) -> Param {
    Param::count(key, 1, MAX_PORTS)
}

const UPLINK: Param = upper("uplink").about("Links above the leaves or ToRs.");
const LEAVES: Param = ports("leaves")
    .needed("8")
    .about("Leaves, of each site where there are several.");
const SPINES: Param = ports("spines")
    .needed("8")
    .about("Spines, of each site where there are several.");
const HOSTS_PER_LEAF: Param = ports("hosts_per_leaf")
    .needed("16")
    .about("Hosts of a leaf.");
/// Hosts of a listed topology: their names, or their number (at least two).
const HOST_NAMES: Kind = Kind::Either(&[
    Kind::Count {
        min: 2,
        max: MAX_HOSTS,
    },
    Kind::List(&Kind::Text),
]);

/// Switches of a listed topology: their names, or their number.
const SWITCH_NAMES: Kind = Kind::Either(&[
    Kind::Count {
        min: 0,
        max: MAX_HOSTS,
    },
    Kind::List(&Kind::Text),
]);

const TIMES: Kind = Kind::Time {
    min: 0,
    max: MAX_TIME_PS,
};

/// Keys of an entry of `[[topology.failures]]`.
pub(crate) const FAILURE: &[Param] = &[
    Param::list("links", &Kind::Text)
        .absent("`random` gives a number of links")
        .about("Links, named by their two ends, such as `\"leaf0--spine1\"`."),
    Param::count("random", 1, u32::MAX as u64)
        .absent("`links` names the links")
        .about(
            "Instead of `links`: number of links that the seed draws, without those that are named.",
        )
        .unless("links", "`links` names the links; make two entries for both"),
    Param::word("among", &["fabric", "all"])
        .default("\"fabric\"", "LNK-05", "our choice")
        .about("Which links may be drawn; `\"fabric\"`: those between switches.")
        .unless("links", "`links` names the links"),
    Param::new("at", TIMES)
        .default("\"0us\"", "LNK-04", "our choice")
        .about("Time at which they fail."),
    long("until", 1).absent("never").about("Time at which they are up again."),
];

/// Keys of `[topology]` that configure link failures.
pub(crate) const FAILURES: &[Param] = &[
    Param::tables("failures", "failure", FAILURE)
        .absent("no link fails")
        .about("Links that fail."),
    Param::new("reconvergence", TIMES)
        .default("\"0us\"", "LNK-04", "our choice")
        .about("Time from a change of links until all nodes get new routes; failures at time 0 have routes from the start."),
    Param::word("dead_queues", &["drop", "reroute"])
        .default("\"drop\"", "LNK-04", "our choice")
        .about(
            "Packets at a port whose link is down are dropped, or wait and take the new routes.",
        ),
];

/// Keys of `[topology]`, by kind of topology.
pub(crate) const TOPOLOGY: Variants = Variants {
    key: "kind",
    about: "Kind of network.",
    common: FAILURES,
    each: &[
        Variant {
            word: "star",
            about: "Hosts on one switch.",
            params: &[
                Param::count("hosts", 2, MAX_PORTS)
                    .needed("16")
                    .about("Hosts."),
                HOST_LINK,
            ],
        },
        Variant {
            word: "dumbbell",
            about: "Two switches with hosts, joined by one link.",
            params: &[
                ports("left").needed("2").about("Hosts on one side."),
                ports("right").needed("2").about("Hosts on the other side."),
                HOST_LINK,
                upper("core").about("The link between the switches."),
            ],
        },
        Variant {
            word: "leaf-spine",
            about: "Every leaf linked to every spine.",
            params: &[LEAVES, SPINES, HOSTS_PER_LEAF, HOST_LINK, UPLINK],
        },
        Variant {
            word: "clos",
            about: "Pods of ToRs and aggregation switches below cores.",
            params: &[
                ports("pods").needed("5").about("Pods."),
                ports("tors_per_pod").needed("4").about("ToRs of a pod."),
                ports("aggs_per_pod")
                    .needed("4")
                    .about("Aggregation switches of a pod, each linked to every ToR of it."),
                ports("cores").needed("16").about(
                    "Core switches, divided evenly among the aggregation switches of a pod.",
                ),
                ports("hosts_per_tor").needed("16").about("Hosts of a ToR."),
                HOST_LINK,
                upper("agg_link").about("Links between ToRs and aggregation switches."),
                upper("core_link").about("Links of the cores."),
            ],
        },
        Variant {
            word: "fat-tree",
            about: "A k-ary fat-tree.",
            params: &[
                Param::count("k", 2, 100)
                    .needed("4")
                    .about("Ports of a switch, an even number."),
                HOST_LINK,
                upper("fabric_link").about("All other links."),
            ],
        },
        Variant {
            word: "dual-homed",
            about: "Pairs of ToRs with hosts on both, below aggregation switches.",
            params: &[
                ports("pairs").needed("2").about("Pairs of ToRs."),
                Param::count("hosts", 2, MAX_HOSTS)
                    .needed("32")
                    .about("Number of all hosts, divided evenly among the pairs."),
                ports("aggs").needed("1").about("Aggregation switches."),
                HOST_LINK,
                UPLINK,
            ],
        },
        Variant {
            word: "multi-dc",
            about: "Leaf-spine sites, each with a gateway above its spines; every two gateways are linked.",
            params: &[
                Param::count("sites", 1, 256).needed("2").about("Sites."),
                LEAVES,
                SPINES,
                HOSTS_PER_LEAF,
                HOST_LINK,
                UPLINK,
                upper("gateway_link").about("Links between spines and gateways."),
                upper("interconnect").about("Links between gateways."),
            ],
        },
        Variant {
            word: "rail-optimised",
            about: "Servers with GPUs; GPU i of each server is linked to the leaves of rail i.",
            params: SERVERS,
        },
        Variant {
            word: "gpu-racks",
            about: "Servers with GPUs; all GPUs of a server are linked to the same leaves.",
            params: SERVERS,
        },
        Variant {
            word: "links",
            about: "Nodes and links one by one.",
            params: &[
                Param::new("hosts", HOST_NAMES)
                    .needed("[\"h0\", \"h1\"]")
                    .about("Names of the hosts, or their number: `h0`, `h1`, ..."),
                Param::new("switches", SWITCH_NAMES)
                    .needed("[\"s0\"]")
                    .about("Names of the switches, or their number: `s0`, `s1`, ..."),
                Param::tables("links", "link", NAMED_LINK)
                    .needed("[{ a = \"h0\", b = \"s0\", rate = \"100Gbps\", delay = \"1us\" }]")
                    .about("All links."),
            ],
        },
    ],
};

/// Keys of topologies of servers with GPUs.
pub(crate) const SERVERS: &[Param] = &[
    Param::count("servers", 1, MAX_PORTS)
        .needed("4")
        .about("Servers."),
    Param::count("gpus_per_server", 2, 1024)
        .needed("8")
        .about("GPUs of a server. Each is a host: `gpu0`, `gpu1`, ..., server by server."),
    ports("servers_per_segment")
        .absent("all servers are one segment")
        .about("Servers of a segment; each segment has leaves of its own."),
    Param::count("nic_ports", 1, 16)
        .default("1", "TOP-23", "our choice")
        .about("Ports of the NIC of a GPU, each linked to a leaf of its own: 2 for dual ToR."),
    Param::count("planes", 1, 16)
        .default("1", "TOP-23", "our choice")
        .about(
            "With as many planes as `nic_ports`, the ports of a NIC lead to separate sets of spines; with 1 they share all spines.",
        ),
    ports("spines").needed("4").about("Spines of each plane."),
    Param::table("scale_up", LINK)
        .needed("{ rate = \"2400Gbps\", delay = \"500ns\" }")
        .about("Links between a GPU and the switch of its server (NVSwitch or the like)."),
    Param::table("link", LINK)
        .needed("{ rate = \"400Gbps\", delay = \"1us\" }")
        .about("Links between a port of a NIC and its leaf."),
    UPLINK,
];

const NAMED_LINK: &[Param] = &[
    Param::new("a", Kind::Text)
        .needed("\"h0\"")
        .about("One end."),
    Param::new("b", Kind::Text)
        .needed("\"s0\"")
        .about("The other end."),
    LINK[0],
    LINK[1],
    LINK[2],
];
