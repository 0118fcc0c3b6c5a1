//! The keys of `[[workload]]`.

use ::traffic::operations::CollectiveKind;
use dataplane::param::{Kind, Param};

use super::{HOST, INSTANT, MAX_HOSTS, MAX_TRAFFIC_CLASS};

/// A rank, identified by its number.
const RANK: Kind = Kind::Count {
    min: 0,
    max: MAX_HOSTS,
};

/// Bytes that one member of an all-to-allv sends to another member.
const BYTES: Kind = Kind::Size {
    min: 0,
    max: 1 << 40,
};

/// Keys of one step of a workload.
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

/// Keys of an entry of `[[workload]]`.
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
