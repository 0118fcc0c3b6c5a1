//! The keys of a scenario outside of `[scheme]`. The readers ([`crate::params`]), the JSON Schema and
//! the tables of docs/scenario.md use these declarations.

use dataplane::classes::TRAFFIC_CLASSES;
use dataplane::param::{Kind, MAX_RATE_BPS, Param};
use dataplane::units::NS;
use traffic::MAX_CLASS;
use traffic::operations::CollectiveKind;
use traffic::sizes::MAX_FLOW_BYTES;

use crate::scheme::MAX_BUFFER_BYTES;
use crate::units::MAX_TIME_PS;

/// Most hosts of a scenario.
pub const MAX_HOSTS: u64 = 262_144;
/// Most ports of a switch.
pub const MAX_PORTS: u64 = 65_535;
/// Highest traffic class.
pub const MAX_TRAFFIC_CLASS: u64 = MAX_CLASS as u64;
const _: () = assert!(MAX_TRAFFIC_CLASS as usize + 1 == TRAFFIC_CLASSES);
/// Latest time of a window: a thousand seconds of simulated time.
const MAX_WINDOW_PS: u64 = MAX_TIME_PS / 1_000;
/// Slowest link. Times of slower links would overflow.
pub(crate) const MIN_RATE_BPS: u64 = 1_000_000;
/// Longest delay of a link: a second.
pub(crate) const MAX_DELAY_PS: u64 = 1_000_000_000_000;

/// Tables of one kind; the value of a key selects one of them.
#[derive(Debug)]
pub(crate) struct Variants {
    /// The key of the word.
    pub key: &'static str,
    /// Description of that key.
    pub about: &'static str,
    /// Keys of all of them.
    pub common: &'static [Param],
    /// Each of them.
    pub each: &'static [Variant],
}

/// One of several tables.
#[derive(Debug)]
pub(crate) struct Variant {
    /// Value of the key that selects this table.
    pub word: &'static str,
    /// Description of the table.
    pub about: &'static str,
    /// Additional keys of this table.
    pub params: &'static [Param],
}

/// Keys outside of all tables.
pub(crate) const ROOT: &[Param] = &[
    Param::new("name", Kind::Text)
        .needed("\"my-first\"")
        .about("Name of the scenario."),
    Param::count("seed", 0, u64::MAX)
        .default("1", "PRE-41", "our choice")
        .about("Seed of all random numbers; with the same seed every scheme gets the same flows."),
];

/// `[switch]`.
pub(crate) const SWITCH: &[Param] = &[
    Param::size("buffer", 1, MAX_BUFFER_BYTES)
        .default("\"12MB\"", "PRE-42", "of every switch (BFC paper 6.2.1)")
        .about("Memory of each switch, shared by its ports."),
    Param::size("reserved", 0, MAX_BUFFER_BYTES)
        .default(
            "\"4096B\"",
            "PRE-42",
            "per port and buffered class (authors' code of HPCC)",
        )
        .about("Bytes reserved for each port and buffered class."),
];

/// `[run]`.
pub(crate) const RUN: &[Param] = &[
    long("until", 1)
        .absent("100 ms after the last flow may start")
        .about("The run ends at this time, or earlier when all flows have finished."),
    long("probe", 10 * NS)
        .default("\"10us\"", "PRE-43", "interval of the BFC paper")
        .about("Time between two samples of buffers and active flows."),
    long("warmup", 0)
        .default("\"0us\"", "PRE-43", "no flow is left out of the statistics")
        .about("Flows that start earlier are left out of the statistics."),
    Param::word("fct", &["received", "acked"])
        .default("\"received\"", "PRE-242", "to the receiver's last byte")
        .about(
            "End of a flow in statistics and plots: its last byte at the receiver, or its last ACK at the sender. \
             `flows.parquet` has both.",
        ),
    long("epoch", 0)
        .default("\"0us\"", "PRE-90", "times begin at 0")
        .about("Time of another simulator's clock at time 0 of this run; exports add it."),
    Param::word("on_deadlock", &["go-on", "end"])
        .default("\"go-on\"", "PRE-86", "other traffic continues")
        .about(
            "If ports form a cycle that can never move again, the run continues for all other traffic, or ends. \
             `deadlocks` in `summary.json` has the times, ports and flows.",
        ),
    Param::word("on_loss", &["error", "warn"])
        .default("\"error\"", "PRE-280", "a lossless scheme must not lose packets")
        .about(
            "Severity of dropped packets if the scheme promises no loss. `\"warn\"` is for experiments with \
             intended losses, such as too little headroom.",
        ),
];

/// A time of a run.
const fn long(key: &'static str, min: u64) -> Param {
    let max = MAX_TIME_PS;
    Param::new(key, Kind::Time { min, max })
}

/// A link.
pub(crate) const LINK: &[Param] = &[
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

/// A link of an upper tier.
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
/// Names of at least two hosts, or their number.
const HOST_NAMES: Kind = Kind::Either(&[
    Kind::Count {
        min: 2,
        max: MAX_HOSTS,
    },
    Kind::List(&Kind::Text),
]);

/// Names of switches, or their number.
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

/// An entry of `[[topology.failures]]`.
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

/// Keys of `[topology]` for failures.
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

/// `[topology]`.
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

/// Servers with GPUs.
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

/// A host by number or name.
pub(crate) const HOST: Kind = Kind::Either(&[
    Kind::Count {
        min: 0,
        max: MAX_HOSTS,
    },
    Kind::Text,
]);

const INSTANT: Kind = Kind::Time {
    min: 0,
    max: MAX_WINDOW_PS,
};

const FLOW_BYTES: Kind = Kind::Size {
    min: 1,
    max: MAX_FLOW_BYTES,
};

const SIZES: Param = Param::either(
    "sizes",
    &[
        Kind::Text,
        Kind::Table(&[
            Param::new("fixed", FLOW_BYTES)
                .absent("given by `file`")
                .about("Every flow has this size."),
            Param::new("file", Kind::Text)
                .absent("`fixed` gives the size")
                .about("A file of sizes.")
                .unless("fixed", "`fixed` gives the size"),
            Param::word("interpolation", &["linear", "step"])
                .absent("the file contains it; needed for a CSV")
                .about("Between two points of a CSV: all sizes in between (`linear`) or none (`step`).")
                .unless("fixed", "only a CSV file needs it (`file`)"),
        ]),
    ],
)
.absent("`size` gives the size")
.about(
    "Sizes of the flows: a name (`backwater list workloads`), `{ fixed = \"1MB\" }`, or `{ file = \"my.dist\" }`; a CSV of `bytes,cdf` also needs `interpolation`.",
);
const SIZE: Param = Param::new("size", FLOW_BYTES)
    .absent("`sizes` gives the sizes")
    .about("The same size for every flow.")
    .unless("sizes", "`sizes` gives the sizes of the flows");
const TOTAL: Param = Param::size("total", 1, 1 << 48)
    .absent("`size` or `sizes` gives the sizes")
    .about("Size of one event, divided among the senders.");
const FRACTION: Param = Param::fraction("fraction", 0.0, 1.0)
    .needed("0.55")
    .about("Payload over capacity, above 0.");
const LOAD: Param = load(&[
    FRACTION,
    Param::word("of", &["core", "hosts"])
        .needed("\"core\"")
        .about("Links of the fraction."),
]);
const LOAD_BETWEEN: Param = load(&[
    FRACTION,
    Param::word("of", &["core", "hosts", "senders", "receivers"])
        .needed("\"core\"")
        .about(
            "Links of the fraction; those of the senders or the receivers only for `\"between\"`.",
        ),
]);
const fn load(params: &'static [Param]) -> Param {
    Param::table("load", params)
        .absent("`every` sets it, or the flows start once")
        .about("Average share of the capacity that the source uses; it determines the mean time between two arrivals.")
}
const EVERY: Param = Param::new(
    "every",
    Kind::Time {
        min: 1,
        max: MAX_WINDOW_PS,
    },
)
.absent("`load` sets it, or the flows start once")
.about("Mean time between two arrivals.")
.unless("load", "`load` sets the time between two arrivals");
const ARRIVALS: Param = Param::table(
    "arrivals",
    &[
        Param::word("kind", &["poisson", "lognormal", "fixed"])
            .needed("\"poisson\"")
            .about("Distribution of the gaps between arrivals."),
        Param::number("sigma", 0.0, 10.0)
            .needed("2.0")
            .about("Shape of log-normal gaps.")
            .with("kind", &["lognormal"], "only log-normal arrivals have it"),
        Param::new("first", INSTANT)
            .absent("the start of the window")
            .about("Time of the first of fixed arrivals.")
            .with("kind", &["fixed"], "only fixed arrivals have it"),
    ],
)
.absent("Poisson; with `every`, fixed gaps for all patterns but uniform")
.about("Distribution of arrivals.");
const WINDOW: Param = Param::new("window", Kind::Window { max: MAX_WINDOW_PS })
    .absent("needed, except for flows that start once")
    .about("Flows start from the first time (included) to the second (not included).");
const START: Param = Param::new("start", INSTANT)
    .default("\"0s\"", "TRA-07", "at the beginning")
    .about("Start of flows that start once.");
const LIMIT: Param = Param::count("limit", 1, u32::MAX as u64)
    .absent("no limit")
    .about("Largest number of arrivals.");
const SCOPE: Param = Param::word("scope", &["any", "inter-rack"])
    .default("\"any\"", "TRA-09", "any two hosts (BFC paper 6.2.1)")
    .about("Pairs of hosts; `\"inter-rack\"`: only hosts of different racks.");
const HOSTS: Kind = Kind::Either(&[
    Kind::List(&HOST),
    Kind::Table(&[
        Param::new("first", HOST)
            .needed("1")
            .about("The first host."),
        Param::count("count", 1, MAX_HOSTS)
            .needed("24")
            .about("Number of hosts."),
    ]),
]);

/// A rank by its number.
const RANK: Kind = Kind::Count {
    min: 0,
    max: MAX_HOSTS,
};

/// Bytes for a member of an all-to-allv.
const BYTES: Kind = Kind::Size {
    min: 0,
    max: 1 << 40,
};

/// A step of a workload.
const STEP: &[Param] = &[
    Param::new("compute", INSTANT)
        .absent("the step is not a computation")
        .about("Time for which each rank of the step computes."),
    Param::word("collective", &CollectiveKind::WORDS)
        .absent("the step is not a collective")
        .about("Collective of each group; the first rank is the root of a broadcast.")
        .unless("compute", "a step is one of compute, collective and send"),
    Param::list("send", &Kind::List(&RANK))
        .absent("the step sends no messages")
        .about("Messages between ranks, each `[from, to]`, all at the same time.")
        .unless("compute", "a step is one of compute, collective and send"),
    Param::list("groups", &Kind::Text)
        .absent("all ranks take part, as one group")
        .about("Names of the groups of the step; all work at the same time."),
    Param::new("algorithm", Kind::Text)
        .absent("the first of its kind in docs/workloads.md")
        .about("Algorithm of the collective, with its parameters."),
    Param::size("size", 1, 1 << 40)
        .absent("needed for messages and collectives, except for an all-to-allv and a barrier")
        .about("Bytes of each message, or of the whole vector."),
    Param::either(
        "sizes",
        &[Kind::List(&BYTES), Kind::List(&Kind::List(&BYTES))],
    )
    .absent("needed for an all-to-allv")
    .about("Bytes that each member sends to each member: a row for each, or one row for all.")
    .with("collective", &["all-to-allv"], "only an all-to-allv has it"),
];

/// An entry of `[[workload]]`.
pub(crate) const WORKLOAD: &[Param] = &[
    Param::new("name", Kind::Text)
        .needed("\"step\"")
        .about("Unique name of the workload; its messages are flows of this name."),
    Param::new("file", Kind::Text)
        .absent("given by `collective` or `steps`")
        .about("A file of operations, as docs/workloads.md describes it."),
    Param::tables("steps", "step", STEP)
        .absent("`compute` and `collective`")
        .about("Steps of the ranks, in order.")
        .unless("file", "the file has all operations"),
    Param::tables(
        "groups",
        "group",
        &[
            Param::new("name", Kind::Text)
                .needed("\"tensor-0\"")
                .about("Unique name of the group."),
            Param::list("ranks", &RANK)
                .needed("[0, 1]")
                .about("Its ranks, in the order of the algorithms."),
        ],
    )
    .absent("there is only the group of all ranks")
    .about("Groups of ranks that `steps` name.")
    .unless("file", "the file has all operations"),
    Param::word(
        "collective",
        &[
            "all-reduce",
            "all-gather",
            "reduce-scatter",
            "all-to-all",
            "broadcast",
            "barrier",
        ],
    )
    .needed("\"all-reduce\"")
    .about("Collective of all ranks.")
        .unless("file", "the file has all operations"),
    Param::new("algorithm", Kind::Text)
        .absent("`ring`; of an all-to-all `direct`, of a broadcast `binomial-tree`")
        .about(
            "Algorithm with its parameters, such as `\"ring:channels=2\"` (docs/workloads.md).",
        )
        .unless("file", "the file has all operations"),
    Param::size("size", 1, 1 << 40)
        .absent("needed, except for a barrier")
        .about("Bytes S of the whole vector (docs/workloads.md defines it for each kind).")
        .unless("file", "the file has all operations"),
    Param::count("repeats", 1, 1_000_000)
        .default("1", "RNK-13", "our choice")
        .about("Number of repetitions, one after the other.")
        .unless("file", "the file has all operations"),
    Param::new("compute", INSTANT)
        .default("\"0us\"", "RNK-13", "our choice")
        .about("Time for which each rank computes before each repetition.")
        .unless("file", "the file has all operations"),
    Param::new("latency", INSTANT)
        .default("\"0us\"", "OPS-17", "our choice")
        .about("Time for which each message waits at its host before it is sent.")
        .unless("file", "the file has all operations"),
    Param::count("ranks", 2, MAX_HOSTS)
        .absent("one for each host, as many as `placement` lists, or those of the file")
        .about("Number of ranks.")
        .unless("file", "the file has all operations"),
    Param::either(
        "placement",
        &[
            Kind::Word(&["packed", "round-robin", "random"]),
            Kind::List(&HOST),
        ],
    )
    .default("\"packed\"", "RNK-14", "our choice")
    .about(
        "Hosts of the ranks: the first hosts, racks in turn, drawn by the seed, or a list of hosts.",
    ),
    Param::new("start", INSTANT)
        .default("\"0us\"", "RNK-14", "our choice")
        .about("Start of all ranks."),
    Param::count("class", 0, MAX_TRAFFIC_CLASS)
        .default("0", "RNK-01", "our choice")
        .about("Traffic class of its messages; lower ones are served strictly first.")
        .unless("file", "the file has all operations"),
    Param::word("send_end", &["acknowledged", "eager", "received"])
        .default("\"acknowledged\"", "RNK-04", "our choice")
        .about(
            "A send ends with its last ACK, when the NIC has it, or when the receiver has the last byte (one thread \
             only).",
        )
        .unless("file", "the file has all operations"),
    Param::word("receive_end", &["received", "acknowledged"])
        .absent("that of the file, or `received`")
        .about(
            "A receive ends with the last byte, or when the sender has the last ACK, as in ASTRA-sim over ns-3 (one \
             thread only).",
        ),
    Param::word("queue_pairs", &["per-message", "per-channel"])
        .absent("that of the file, or `per-channel`")
        .about(
            "Each message opens a new queue pair, or those of a channel between two ranks share one.",
        ),
    Param::word("ports", &["hash", "rail"])
        .default("\"hash\"", "RNK-16", "our choice")
        .about(
            "Choice among equally near ports: by a hash of the message, or that of its NIC (channel c uses NIC c).",
        ),
    Param::flag("pxn")
        .default("false", "RNK-07", "our choice")
        .about(
            "A message to another rail of another server goes first to the GPU of its own server on that rail.",
        ),
    Param::tables(
        "slow",
        "slow rank",
        &[
            Param::fraction("probability", 0.0, 1.0)
                .absent("the entry applies to its `rank`")
                .about("Each rank is slow with this probability, drawn by the seed; instead of `rank`."),
            Param::count("rank", 0, MAX_HOSTS)
                .needed("3")
                .about("The rank.")
                .unless("probability", "ranks are drawn; leave `probability` or `rank` out"),
            Param::number("sigma", 0.0, 10.0)
                .absent("the factor is stated")
                .about(
                    "Each rank concerned draws its factor, log-normal of mean 1; this is the standard deviation of \
                     its logarithm. In the place of `factor`.",
                ),
            Param::number("factor", 0.0, 1e6)
                .needed("1.5")
                .about("Factor of its computation times; factors of several entries are multiplied.")
                .unless("sigma", "the factor is drawn; leave `sigma` or `factor` out"),
        ],
    )
    .absent("no rank is slow")
    .about("Stragglers: ranks by number or by chance, with the factor of their computations."),
    Param::table(
        "noise",
        &[
            Param::word("kind", &["uniform", "lognormal", "delay"])
                .needed("\"lognormal\"")
                .about("Each computation draws a factor of mean 1, or a delay."),
            Param::fraction("width", 0.0, 1.0)
                .needed("0.1")
                .about("Factors are evenly spread up to this far from 1.")
                .with("kind", &["uniform"], "only uniform noise has it"),
            Param::number("sigma", 0.0, 10.0)
                .needed("0.2")
                .about("Standard deviation of the logarithm of the factor.")
                .with("kind", &["lognormal"], "only log-normal noise has it"),
            Param::fraction("probability", 0.0, 1.0)
                .needed("0.01")
                .about("Probability that a computation is delayed.")
                .with("kind", &["delay"], "only delays have it"),
            Param::new("mean", INSTANT)
                .needed("\"100us\"")
                .about("Mean of the delay, which is exponential.")
                .with("kind", &["delay"], "only delays have it"),
        ],
    )
    .absent("no variation")
    .about("Random variation of computation times."),
];

/// An entry of `[[traffic]]`.
pub(crate) const TRAFFIC: Variants = Variants {
    key: "pattern",
    about: "Senders and receivers.",
    common: &[
        Param::new("name", Kind::Text)
            .needed("\"background\"")
            .about("Unique name of the source."),
        Param::count("class", 0, MAX_TRAFFIC_CLASS)
            .default("0", "TRA-28", "the first data class")
            .about("Traffic class; lower ones are served strictly first."),
    ],
    each: &[
        Variant {
            word: "uniform",
            about: "Each arrival is one flow between two hosts drawn evenly. Needs `load` or `every`.",
            params: &[
                SIZES,
                SIZE,
                LOAD,
                EVERY,
                ARRIVALS,
                WINDOW,
                START,
                LIMIT,
                SCOPE,
                Param::fraction("crossing", 0.0, 1.0)
                    .absent("all pairs of `scope`")
                    .about(
                        "Instead of `scope`: share of the flows between racks; the others stay in a rack.",
                    ),
                Param::count("sites", 1, u16::MAX as u64)
                    .absent("all pairs of `scope`")
                    .about(
                        "Instead of `scope`: number of sites among which the hosts are divided, in their order; \
                         flows stay in their site.",
                    ),
                Param::list("exclude", &HOST)
                    .absent("all hosts take part")
                    .about(
                        "Hosts without traffic of this source; a load of `hosts` then counts the links of the others.",
                    ),
            ],
        },
        Variant {
            word: "permutation",
            about: "Every host sends to one other host. Without `load` and `every` each sends one flow at `start`.",
            params: &[SIZES, SIZE, LOAD, EVERY, ARRIVALS, WINDOW, START, LIMIT],
        },
        Variant {
            word: "all-to-all",
            about: "Every host sends to every other, once at `start`, or at each arrival.",
            params: &[SIZES, SIZE, LOAD, EVERY, ARRIVALS, WINDOW, START, LIMIT],
        },
        Variant {
            word: "incast",
            about: "`degree` hosts send to one, once at `start`, or at each arrival.",
            params: &[
                TOTAL,
                SIZE,
                SIZES,
                LOAD,
                EVERY,
                ARRIVALS,
                WINDOW,
                START,
                LIMIT,
                SCOPE,
                Param::count("degree", 1, 1_000_000)
                    .needed("100")
                    .about("Senders of an event."),
                Param::either("receiver", &[HOST, Kind::List(&HOST)])
                .or(&["random"])
                .default("\"random\"", "TRA-12", "a host drawn for each event")
                .about(
                    "A host, or one drawn for each event, or a list of hosts that take turns, event by event.",
                ),
                Param::flag("with_replacement")
                    .default("false", "TRA-12", "distinct senders")
                    .about("A host may be drawn as sender more than once."),
            ],
        },
        Variant {
            word: "between",
            about: "From chosen hosts to others. Each arrival is one flow between two of them drawn evenly, or with \
                    `together` one flow from every sender. Without `load` and `every` once at `start`.",
            params: &[
                SIZES,
                SIZE,
                LOAD_BETWEEN,
                EVERY,
                ARRIVALS,
                WINDOW,
                START,
                LIMIT,
                Param::new("senders", HOSTS)
                    .needed("[0, \"h3\"]")
                    .about("Hosts that send: a list, or `{ first = 1, count = 24 }`."),
                Param::new("receivers", HOSTS)
                    .needed("[0, \"h3\"]")
                    .about("Hosts that receive: a list, or `{ first = 1, count = 24 }`."),
                Param::flag("together")
                    .default("false", "TRA-22", "each arrival is one flow")
                    .about("At each arrival every sender starts a flow, all of one size and to one receiver."),
            ],
        },
        Variant {
            word: "list",
            about: "The given flows.",
            params: &[
                Param::tables("flows", "flow", FLOW)
                    .absent("given by `file`")
                    .about("All flows."),
                Param::new("file", Kind::Text)
                    .absent("given by `flows`")
                    .about(
                        "A CSV file with the columns `src,dst,bytes,start` and, if wished, `class`, `port` and `sport`; \
                         `start` with its unit.",
                    ),
                LIMIT,
            ],
        },
    ],
};

const FLOW: &[Param] = &[
    Param::new("src", HOST).needed("0").about("The sender."),
    Param::new("dst", HOST).needed("1").about("The receiver."),
    Param::new("bytes", FLOW_BYTES)
        .needed("\"1MB\"")
        .about("Its size."),
    Param::new("start", INSTANT)
        .absent("0")
        .about("Start time."),
    Param::count("class", 0, MAX_TRAFFIC_CLASS)
        .absent("that of the source")
        .about("Its traffic class."),
    Param::count("port", 0, u16::MAX as u64)
        .absent("100")
        .about("Destination port; 200 marks a flow of an incast."),
    Param::count("sport", 0, u16::MAX as u64)
        .absent("counted up from 10000 for each pair")
        .about("Source port, for `path = \"tuple\"`."),
];
