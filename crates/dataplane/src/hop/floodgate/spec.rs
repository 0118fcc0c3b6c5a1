//! Parameters of Floodgate in scenarios (`[scheme.floodgate]`).

use super::config::{
    Aggregation, Amount, CreditAt, CreditConfig, FloodgateConfig, HoldBy, HostPauseBy,
    PauseThresholds, Release, WindowConfig, WindowUnit,
};
use super::params::{
    GROUPS, RELEASE, SEEN_BY_ECN, SEEN_BY_INT, SeenByEcn, SeenByInt, VOQS, VUP, checked, period,
    voqs,
};
use crate::declaration::{Around, Spec};
use crate::param::{Conflict, InNetwork, MAX_SIZE_BYTES, Param};
use crate::units::{NS, Time, US};

const TIMER: &[&str] = &["timer"];
const PER_PACKET: &str = "`credit` = \"per-packet\" sends each credit at once";
const NO_HOSTS: &str = "`dst_pause` is off";

crate::words! {
    /// When credits are sent.
    enum Credit {
        /// When a timer expires, several in one frame.
        Timer = "timer",
        /// Immediately, in one frame per packet.
        PerPacket = "per-packet",
    }
}

crate::words! {
    /// Repair of windows after lost packets or credits.
    enum Loss {
        /// By sequence numbers of data and credits.
        Numbers = "numbers",
        /// No repair.
        Off = "off",
    }
}

crate::params! {
    /// Parameters of Floodgate.
    #[derive(Clone, Copy, Debug)]
    pub struct FloodgateParams {
        /// Unit of windows and credits.
        unit: WindowUnit = Param::word("unit", WindowUnit::WORDS)
            .default("\"packets\"", "PRE-104", "of windows and credits (Floodgate paper 4.2)"),
        /// Initial window: a multiple of the next hop's hop BDP (plus C·T if a timer sends the
        /// credits), or a size, which is used unchanged.
        window: Amount = Param::either("window", Amount::KINDS)
            .default("1.0", "PRE-104", "hop BDPs, and C x T on top (Floodgate paper 4.2)"),
        /// Whether credits are aggregated.
        credit: Credit = Param::word("credit", Credit::WORDS)
            .default("\"timer\"", "PRE-105", "aggregated (Floodgate paper 4.1)"),
        /// T, the period of the credit timer of each ingress port.
        interval_ps: Time = Param::time("interval", 10 * NS)
            .default("\"10us\"", "PRE-105", "T (Floodgate paper 6)")
            .with("credit", TIMER, PER_PACKET),
        /// Credits for this many bytes are sent without waiting for the timer.
        byte_counter: Option<u64> = Param::size("byte_counter", 1, MAX_SIZE_BYTES).or(&["off"])
            .default("\"off\"", "PRE-105", "only the timer sends credits (Floodgate paper 4.1)")
            .with("credit", TIMER, PER_PACKET),
        /// Credit frames are created only at multiples of this time.
        generator_ps: Option<Time> = period("generator")
            .default("\"off\"", "PRE-105", "at the very end of T, our choice")
            .with("credit", TIMER, PER_PACKET),
        /// Event that earns a credit: the packet leaves the port, joins the egress queue, or leaves
        /// its VOQ (the port, if it was not parked).
        at: CreditAt = Param::word("credit_at", CreditAt::WORDS)
            .default("\"departure\"", "PRE-106",
                "when a packet leaves its port (Floodgate paper 7.2, authors' code)"),
        /// Credits of a destination are withheld while more bytes than this are parked for it: a
        /// multiple of the fastest port's hop BDP, or a size.
        delay: Option<Amount> = Param::either("delay_credit", Amount::KINDS).or(&["off"])
            .default("10.0", "PRE-107", "withheld while more hop BDPs are held (Floodgate paper 6)"),
        /// Size of a credit frame without entries.
        credit_bytes: u16 = Param::size("credit_frame", 1, 100)
            .default("\"34B\"", "PRE-108", "Ethernet-like 14, IP 20 (authors' code of Floodgate)"),
        /// Size of the entry of each destination in a credit frame.
        entry_bytes: u16 = Param::size("credit_entry", 0, 100)
            .default("\"22B\"", "PRE-108", "for each destination (authors' code of Floodgate)"),
        /// Data and credits have sequence numbers, so that losses do not shrink windows.
        loss: Loss = Param::word("loss", Loss::WORDS)
            .default("\"numbers\"", "PRE-109", "data and credits are numbered (Floodgate paper 4.3)"),
        /// Time without a credit after which a switch sends a request for credits (switchSYN).
        timeout_ps: Time = Param::time("timeout", US)
            .default("\"1ms\"", "PRE-109", "of silence before a switchSYN (authors' code of Floodgate)")
            .in_network(InNetwork::Timeout)
            .with("loss", &["numbers"], "`loss` = \"off\" requests no credits"),
        /// One window for each destination, or a number of table entries to which destinations are
        /// hashed.
        entries: Option<u32> = Param::count("table", 1, 1 << 24).or(&["exact"])
            .default("\"exact\"", "PRE-110", "a window for each destination (Floodgate paper 4.2)"),
        /// Entries of full windows are removed from the table at this interval.
        clear_ps: Option<Time> = period("clear")
            .default("\"off\"", "PRE-110", "full windows stay in the table, our choice"),
        /// Number of VOQs of a switch.
        voqs: Option<u16> = VOQS,
        /// A switch that forwards up and down uses half of the VOQs for destinations below it.
        groups: bool = GROUPS,
        /// Egress queue of released packets: the ordinary one, or a separate low-priority queue.
        /// The separate queue requires at most four traffic classes.
        release: Release = RELEASE,
        /// The ingress pipeline receives the list of empty VOQs only at multiples of this time.
        vup_ps: Option<Time> = VUP,
        /// Queue length for ECN: bytes in the egress queue, or also the bytes parked for its port.
        ecn: SeenByEcn = SEEN_BY_ECN,
        /// Queue length in the INT of a packet that was parked: the bytes of all VOQs, or of the
        /// egress queue.
        int: SeenByInt = SEEN_BY_INT,
        /// Parked bytes of a destination above which a host is paused for it: a multiple of the hop
        /// BDP of the host's link, or a size.
        dst_pause: Option<Amount> = Param::either("dst_pause", Amount::KINDS).or(&["off"])
            .default("\"off\"", "PRE-114", "the practical design needs no hosts (Floodgate paper 4.3)"),
        /// The host is resumed when the destination has this many bytes less than `dst_pause`.
        dst_resume_below: u64 = Param::size("dst_resume_below", 0, MAX_SIZE_BYTES)
            .default("\"0B\"", "PRE-114", "resumed below the same threshold (Floodgate paper 4.3)")
            .without("dst_pause", &["off"], NO_HOSTS),
        /// Bytes that are compared with `dst_pause`: all parked bytes of the destination, or the
        /// bytes (queued or parked) from this host to the destination, less 4096.
        dst_pause_by: HostPauseBy = Param::word("dst_pause_by", HostPauseBy::WORDS)
            .default("\"held\"", "PRE-114", "by what VOQs hold (Floodgate paper 4.3)")
            .without("dst_pause", &["off"], NO_HOSTS),
        /// Size of a pause, resume or switchSYN frame.
        frame_bytes: u16 = Param::size("frame", 1, 1_518)
            .default("\"64B\"", "PRE-108", "of a pause or question, smallest Ethernet frame, our choice"),
    }
}

impl Spec for FloodgateConfig {
    const NAME: &'static str = "floodgate";
    type Params = FloodgateParams;
    type Config = Self;

    fn configure(of: FloodgateParams, _around: &Around) -> Result<Self, Conflict> {
        let windows = WindowConfig {
            unit: of.unit,
            initial: of.window,
            entries: of.entries,
            clear_ps: of.clear_ps,
            credit: CreditConfig {
                aggregation: (of.credit == Credit::Timer).then_some(Aggregation {
                    interval_ps: of.interval_ps,
                    byte_counter: of.byte_counter,
                    generator_ps: of.generator_ps,
                }),
                at: of.at,
                delay: of.delay,
                frame_bytes: of.credit_bytes,
                entry_bytes: of.entry_bytes,
            },
            numbers_timeout_ps: (of.loss == Loss::Numbers).then_some(of.timeout_ps),
        };
        checked(Self {
            by: HoldBy::Windows(windows),
            voqs: voqs(of.voqs, of.groups),
            release: of.release,
            ecn_sees_held: of.ecn == SeenByEcn::EgressAndVoqs,
            int_sees_held: of.int == SeenByInt::Voqs,
            host_pause: of.dst_pause.map(|off| PauseThresholds {
                off,
                on_below_bytes: of.dst_resume_below,
            }),
            host_pause_by: of.dst_pause_by,
            vup_ps: of.vup_ps,
            frame_bytes: of.frame_bytes,
        })
    }
}
