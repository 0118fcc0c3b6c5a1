//! `[scheme.floodgate]`.

use super::config::{
    Aggregation, CreditAt, CreditConfig, FloodgateConfig, HoldBy, HostPauseBy, WindowConfig,
    WindowUnit,
};
use super::params::{
    AMOUNT, GROUPS, RELEASE, SEEN_BY_ECN, SEEN_BY_INT, VOQS, VUP, amount, checked, holds, period,
    thresholds,
};
use crate::declaration::{Around, Spec};
use crate::param::{Conflict, InNetwork, MAX_SIZE_BYTES, Param, Params, Values};
use crate::units::{NS, US};

const TIMER: &[&str] = &["timer"];
const PER_PACKET: &str = "`credit` = \"per-packet\" sends each credit at once";
const NO_HOSTS: &str = "`dst_pause` is off";

const PARAMS: &[Param] = &[
    Param::word("unit", &["packets", "bytes"])
        .default("\"packets\"", "PRE-104", "of windows and credits (Floodgate paper 4.2)")
        .about("Unit of windows."),
    Param::either("window", AMOUNT)
        .default("1.0", "PRE-104", "hop BDPs, and C x T on top (Floodgate paper 4.2)")
        .about(
            "Initial window: a number of hop BDPs of the next hop (with a timer C·T comes on top), or a size that is taken \
             as it is.",
        ),
    Param::word("credit", &["timer", "per-packet"])
        .default("\"timer\"", "PRE-105", "aggregated (Floodgate paper 4.1)")
        .about("Whether credits are aggregated."),
    Param::time("interval", 10 * NS)
        .default("\"10us\"", "PRE-105", "T (Floodgate paper 6)")
        .about("T, of each ingress port.")
        .with("credit", TIMER, PER_PACKET),
    Param::size("byte_counter", 1, MAX_SIZE_BYTES)
        .or(&["off"])
        .default("\"off\"", "PRE-105", "only the timer sends credits (Floodgate paper 4.1)")
        .about("Credits for this many bytes are sent at once.")
        .with("credit", TIMER, PER_PACKET),
    period("generator")
        .default("\"off\"", "PRE-105", "at the very end of T, our choice")
        .about("Credit frames are made at multiples of this time only.")
        .with("credit", TIMER, PER_PACKET),
    Param::word("credit_at", &["departure", "forwarding", "voq"])
        .default(
            "\"departure\"",
            "PRE-106",
            "when a packet leaves its port (Floodgate paper 7.2, authors' code)",
        )
        .about(
            "When a credit is earned: at departure from the port, on the way to the egress queue, or on leaving a VOQ, if \
             held.",
        ),
    Param::either("delay_credit", AMOUNT)
        .or(&["off"])
        .default("10.0", "PRE-107", "withheld while more hop BDPs are held (Floodgate paper 6)")
        .about("Credits wait while more of the destination is held: hop BDPs of the fastest port, or a size."),
    Param::size("credit_frame", 1, 100)
        .default("\"34B\"", "PRE-108", "Ethernet-like 14, IP 20 (authors' code of Floodgate)")
        .about("Bytes of a credit frame."),
    Param::size("credit_entry", 0, 100)
        .default("\"22B\"", "PRE-108", "for each destination (authors' code of Floodgate)")
        .about("Bytes of each destination in it."),
    Param::word("loss", &["numbers", "off"])
        .default("\"numbers\"", "PRE-109", "data and credits are numbered (Floodgate paper 4.3)")
        .about("Data and credits are numbered, so that windows outlive losses."),
    Param::time("timeout", US)
        .default("\"1ms\"", "PRE-109", "of silence before a switchSYN (authors' code of Floodgate)")
        .about("Silence before a switch asks (switchSYN).")
        .in_network(InNetwork::Timeout)
        .with("loss", &["numbers"], "`loss` = \"off\" requests no credits"),
    Param::count("table", 1, 1 << 24)
        .or(&["exact"])
        .default("\"exact\"", "PRE-110", "a window for each destination (Floodgate paper 4.2)")
        .about("A window for each destination, or a number of entries that destinations are hashed to."),
    period("clear")
        .default("\"off\"", "PRE-110", "full windows stay in the table, our choice")
        .about("Full windows are cleared from the table at this interval."),
    VOQS,
    GROUPS,
    RELEASE,
    VUP,
    SEEN_BY_ECN,
    SEEN_BY_INT,
    Param::either("dst_pause", AMOUNT)
        .or(&["off"])
        .default("\"off\"", "PRE-114", "the practical design needs no hosts (Floodgate paper 4.3)")
        .about("Hosts are paused by destination above this much held: hop BDPs of their link, or a size."),
    Param::size("dst_resume_below", 0, MAX_SIZE_BYTES)
        .default("\"0B\"", "PRE-114", "resumed below the same threshold (Floodgate paper 4.3)")
        .about("They are resumed this many bytes below.")
        .without("dst_pause", &["off"], NO_HOSTS),
    Param::word("dst_pause_by", &["held", "ingress"])
        .default("\"held\"", "PRE-114", "by what VOQs hold (Floodgate paper 4.3)")
        .about(
            "Which bytes count for that: all that are held of the destination, or what this very host sent to it and is \
             still here, queued or held, above its first 4096 bytes.",
        )
        .without("dst_pause", &["off"], NO_HOSTS),
    Param::size("frame", 1, 1_518)
        .default("\"64B\"", "PRE-108", "of a pause or question, smallest Ethernet frame, our choice")
        .about("Bytes of a pause, a resume and a question."),
];

fn windows_of(values: &Values) -> WindowConfig {
    let aggregation = values.some_time("interval").map(|interval_ps| Aggregation {
        interval_ps,
        byte_counter: values.some_size("byte_counter"),
        generator_ps: values.some_time("generator"),
    });
    WindowConfig {
        unit: match values.word("unit") {
            "packets" => WindowUnit::Packets,
            _ => WindowUnit::Bytes,
        },
        initial: amount(values, "window").expect("it has no other words"),
        entries: values.some_count("table").map(|n| n as u32),
        clear_ps: values.some_time("clear"),
        credit: CreditConfig {
            aggregation,
            at: match values.word("credit_at") {
                "departure" => CreditAt::Departure,
                "forwarding" => CreditAt::Forwarding,
                _ => CreditAt::Voq,
            },
            delay: amount(values, "delay_credit"),
            frame_bytes: values.size("credit_frame") as u16,
            entry_bytes: values.size("credit_entry") as u16,
        },
        numbers_timeout_ps: values.some_time("timeout"),
    }
}

impl Params for FloodgateConfig {
    const PARAMS: &'static [Param] = PARAMS;

    fn read(values: &Values) -> Self {
        Self {
            host_pause: thresholds(values, "dst_pause", "dst_resume_below"),
            host_pause_by: match values.some_word("dst_pause_by") {
                Some("ingress") => HostPauseBy::Ingress,
                _ => HostPauseBy::Held,
            },
            ..holds(values, HoldBy::Windows(windows_of(values)))
        }
    }
}

impl Spec for FloodgateConfig {
    const NAME: &'static str = "floodgate";
    type Params = Self;
    type Config = Self;

    fn configure(config: Self, _around: &Around) -> Result<Self, Conflict> {
        checked(config)
    }
}
