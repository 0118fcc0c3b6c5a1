//! The keys of `[[traffic]]`.

use ::traffic::sizes::MAX_FLOW_BYTES;
use dataplane::param::{Kind, Param};

use super::{HOST, INSTANT, MAX_HOSTS, MAX_TRAFFIC_CLASS, MAX_WINDOW_PS, Variant, Variants};

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

/// Keys of an entry of `[[traffic]]`, by pattern.
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
                    .about("At each arrival every sender starts a flow, all to one receiver."),
                Param::flag("one_size")
                    .default("true", "TRA-22", "bursts of equal flows")
                    .about("The flows of senders that start together have one size. If false, each draws its own."),
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
