//! Configuration of a switch buffer: admission of packets, PFC thresholds, and the detection of
//! victim ports (ports with flows that a PFC pause would stop without need).

use crate::param::{Conflict, Field, Kind, MAX_SIZE_BYTES, Param, Params, Value, Word};
use crate::properties::{Choice, Finding, Properties, Property, Rule};
use crate::units::{Rate, Time};

/// Factor of a dynamic buffer threshold: threshold = factor · free bytes. Stored in units of
/// 1/65536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alpha(pub u32);

impl Alpha {
    /// Creates the factor from a number such as 0.11 or 2.
    #[must_use]
    pub fn new(factor: f64) -> Self {
        Self((factor * 65536.0 + 0.5) as u32)
    }

    /// Returns factor · `free`, in bytes.
    #[inline]
    #[must_use]
    pub const fn of(self, free: u64) -> u64 {
        (free * self.0 as u64) >> 16
    }
}

/// PFC threshold: bytes of an ingress above which the switch pauses the upstream neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PfcThreshold {
    /// A fixed number of bytes in the shared pool.
    Static(u64),
    /// α times the free bytes of the shared pool.
    Dynamic(Alpha),
    /// The whole buffer divided by the number of ports of the switch.
    Equal,
}

impl Field for PfcThreshold {
    fn of(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Size(bytes)) => Self::Static(*bytes),
            Some(Value::Number(share)) => Self::Dynamic(Alpha::new(*share)),
            _ => Self::Equal, // SPFC-06
        }
    }
}

crate::words! {
    /// Unit in which departures are counted.
    pub enum Departures {
        /// Packets. Their number is compared with the number of maximum-size frames at line rate.
        Packets = "packets",
        /// Bytes.
        Bytes = "bytes",
    }
}

/// Additional memory for packets of victim ports, which all victim ports of a switch share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// A fixed number of bytes.
    Bytes(u64),
    /// The size of the whole buffer.
    Buffer,
    /// The size of the whole buffer for each ingress.
    Unbounded,
}

impl Field for Beside {
    fn of(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Word("buffer")) => Self::Buffer,
            Some(Value::Word(_)) => Self::Unbounded,
            bytes => Self::Bytes(u64::of(bytes)),
        }
    }
}

impl Beside {
    /// Returns the size of the additional memory in bytes. `ingresses` is the number of ingress
    /// ports of the switch that can become victim ports.
    // SPFC-08
    #[must_use]
    pub const fn bytes(self, buffer_bytes: u64, ingresses: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Buffer => buffer_bytes,
            Self::Unbounded => buffer_bytes.saturating_mul(ingresses),
        }
    }
}

/// Detection of victim ports among the ingress ports (`specs/spfc.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VictimConfig {
    /// TC: length of the intervals over which the departures of a port are counted, in ps; above 0.
    pub interval_ps: Time,
    /// K: fraction of its line rate at which an ingress port becomes a victim port, in units of
    /// 1/65536.
    pub k: u32,
    /// Link rate C from which the required number of departures is computed. `None`: rate of the
    /// port's own link.
    pub rate: Option<Rate>,
    /// Unit in which departures of an ingress port are counted.
    pub count: Departures,
    /// True if a port becomes a victim port as soon as it has enough departures in the interval,
    /// false if the state changes only at the end of the interval.
    pub detects_at_once: bool,
    /// True if a port that has never been paused cannot become a victim port before its first
    /// RESUME.
    pub unpaused_waits: bool,
    /// True if a RESUME sets the state from the departures of this or the last interval, false if
    /// the state changes only at the end of the interval.
    pub resumes_at_once: bool,
    /// Additional memory for packets of victim ports.
    pub beside: Beside,
}

/// Accounting rules that decide when an ingress is paused and which space a packet uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// Pool until XOFF, headroom after it (`specs/switch.md`).
    Pool,
    /// Rules of the ns-3 simulator of HPCC (`specs/ns3.md`).
    Ns3 {
        /// The threshold factor α of a port that is not faster than the NICs is 2^-`shift`.
        shift: u32,
        /// Rate of the NICs in bits per second. A port with twice this rate has twice the α.
        nic_bps: u64,
        /// Headroom of a port as a multiple of the bytes in flight on its link in one direction, if
        /// no headroom is given.
        headroom_delays: u32,
    },
}

/// PFC configuration of a switch: ingress thresholds, headroom, pause frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// Rules that decide when an ingress is paused and which space a packet uses.
    pub accounting: Accounting,
    /// Threshold at which an ingress sends XOFF.
    pub threshold: PfcThreshold,
    /// Detection of victim ports, which have the whole buffer as threshold; `None`: no detection.
    pub victims: Option<VictimConfig>,
    /// XON is sent when the ingress is this many bytes below the XOFF threshold.
    pub xon_offset: u64,
    /// Size of a pause frame in bytes.
    pub frame_bytes: u16,
    /// Headroom per port and pausable class in bytes. `None`: computed by the headroom formula.
    pub headroom: Option<u64>,
    /// Size in bytes of a headroom pool that all ingress ports share. `None`: each port has its own
    /// headroom.
    pub headroom_pool: Option<u64>,
    /// True if headroom is memory in addition to the buffer, false if it is a part of the buffer.
    pub headroom_beside: bool,
    /// Time from the arrival of a pause frame until the upstream stops sending, in ps. It is a term
    /// of the headroom formula.
    pub response_ps: Time,
    /// Duration of a pause.
    pub pause: PauseTime,
}

/// Duration of a PFC pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PauseTime {
    /// Until a resume frame.
    #[default]
    UntilResumed,
    /// For a limited time, unless the pause is repeated or resumed earlier. The unit is the time in
    /// which the port sends 512 bits.
    Quanta {
        /// Duration of a pause in quanta.
        quanta: u16,
        /// Time after which the pause is repeated, in quanta.
        refresh: u16,
    },
}

/// Reaction to a full buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Lossless by PFC.
    Pfc(Pfc),
    /// Drops a packet if the egress (port or queue) exceeds α · free.
    EgressDynamic {
        /// Factor of the free buffer.
        alpha: Alpha,
        /// True to compare the bytes of the queue, false to compare those of the port.
        per_queue: bool,
    },
    /// Drops a packet only if the shared pool is exhausted.
    SharedPool,
    /// Drops a packet if the egress port has more bytes than this. Each port has its own memory.
    PerPort {
        /// Memory of each port in bytes.
        bytes: u64,
    },
    /// Never drops, only counts bytes (ideal).
    Unlimited,
}

crate::words! {
    /// Memory that contains the headroom.
    enum HeadroomFrom {
        /// Headroom is a part of the buffer.
        Buffer = "buffer",
        /// Headroom is memory in addition to the buffer.
        Beside = "beside",
    }
}

crate::words! {
    /// Duration of a pause.
    enum Pause {
        /// See [`PauseTime::UntilResumed`].
        UntilResumed = "until-resumed",
        /// See [`PauseTime::Quanta`].
        Quanta = "quanta",
    }
}

crate::words! {
    /// Accounting rules.
    enum Rules {
        /// See [`Accounting::Pool`].
        Pool = "pool",
        /// See [`Accounting::Ns3`].
        Ns3 = "ns3",
    }
}

crate::params! {
    /// Parameters of PFC.
    #[derive(Clone, Copy, Debug)]
    struct PfcParams {
        /// An ingress is paused above a fraction of the free buffer (dynamic), a size (static), or
        /// the buffer divided by the number of ports (`"equal"`).
        threshold: PfcThreshold = Param::either("xoff", &[
            Kind::Size { min: 1, max: MAX_SIZE_BYTES },
            Kind::Fraction { min: 0.001, max: 1000.0 },
        ])
            .or(&["equal"])
            .default("\"11%\"", "PRE-11", "of the free shared buffer (BFC paper 6.2.1, HPCC paper 5.1)"),
        /// An ingress is resumed this many bytes below the threshold `xoff`.
        xon_offset: u64 = Param::size("xon_offset", 0, MAX_SIZE_BYTES)
            .default("\"3072B\"", "PRE-12", "below XOFF (authors' code of HPCC)"),
        /// Headroom of each port and class; `"formula"`: from the rate and delay of its link.
        headroom: Option<u64> = Param::size("headroom", 0, MAX_SIZE_BYTES).or(&["formula"])
            .default("\"formula\"", "PRE-13", "from each link's rate and delay, our choice"),
        /// Headroom is a part of `switch.buffer`, or additional memory.
        headroom_from: HeadroomFrom = Param::word("headroom_from", HeadroomFrom::WORDS)
            .default("\"buffer\"", "PRE-121", "headroom is a part of the switch's memory, our choice"),
        /// Time from the arrival of a pause or resume frame until it takes effect; a term of the
        /// headroom formula.
        response_ps: Time = Param::time("response", 0)
            .default("\"0us\"", "PRE-13", "the upstream obeys at once, our choice"),
        /// Bytes of a pause frame.
        frame_bytes: u16 = Param::size("frame", 1, 1_518)
            .default("\"64B\"", "PRE-13", "smallest Ethernet frame (IEEE 802.1Qbb)"),
        /// Duration of a pause; `"quanta"`: a limited time as in IEEE 802.1Qbb, and the switch
        /// repeats the pause.
        pause: Pause = Param::word("pause", Pause::WORDS)
            .default("\"until-resumed\"", "PRE-240", "what papers simulate: XOFF holds until XON"),
        /// Duration of a pause, in quanta of 512 bit times of the port.
        quanta: u16 = Param::count("quanta", 1, u16::MAX as u64)
            .default("65535", "PRE-241", "the longest (Linux driver of Intel 82599)")
            .with("pause", &["quanta"], "`pause` is not \"quanta\""),
        /// A pause that must last is repeated after this fraction of its duration.
        refresh: f64 = Param::number("refresh", 0.001, 0.999)
            .default("0.5", "PRE-241", "half of the pause time (Linux driver of Intel 82599)")
            .with("pause", &["quanta"], "`pause` is not \"quanta\""),
        /// Rules for pool and headroom; `"ns3"`: as in ns-3, with `xoff` a power of 1/2.
        accounting: Rules = Param::word("accounting", Rules::WORDS)
            .default("\"pool\"", "PRE-82", "the pool until XOFF, then headroom (specs/switch.md)"),
        /// Size of a headroom pool that all ports and classes of a switch share; `"separate"`: each
        /// has its own headroom.
        headroom_pool: Option<u64> = Param::size("headroom_pool", 1, MAX_SIZE_BYTES).or(&["separate"])
            .default("\"separate\"", "PRE-275", "each port and class has its own, our choice")
            .with("accounting", &["pool"], "`accounting` is not \"pool\""),
        /// Headroom as a multiple of the bytes in flight on a link in one direction.
        headroom_delays: u32 = Param::count("headroom_delays", 0, 1_000)
            .default("3", "PRE-82", "of \"ns3\" books, times what a link holds one way (authors' code of HPCC)")
            .with("accounting", &["ns3"], "`accounting` is not \"ns3\""),
    }
}

impl PfcParams {
    /// Converts the parameters to a configuration. The caller adds the rate of the NICs and the
    /// detection of victim ports, which depend on the network.
    fn configure(self) -> Result<Pfc, Conflict> {
        let accounting = match self.accounting {
            Rules::Pool => Accounting::Pool,
            Rules::Ns3 => Accounting::Ns3 {
                shift: halvings(self.threshold).ok_or_else(|| {
                    Conflict::new(
                        &["accounting", "xoff"],
                        "accounting = \"ns3\" computes thresholds by halving the free buffer",
                        "set pfc.xoff to 1, 0.5, 0.25, 0.125 or a smaller half",
                    )
                })?,
                nic_bps: 0,
                headroom_delays: self.headroom_delays, // FGC-07
            },
        };
        Ok(Pfc {
            accounting,
            threshold: self.threshold,
            victims: None,
            xon_offset: self.xon_offset,
            frame_bytes: self.frame_bytes,
            headroom: self.headroom,
            headroom_pool: self.headroom_pool,
            headroom_beside: self.headroom_from == HeadroomFrom::Beside,
            response_ps: self.response_ps,
            pause: match self.pause {
                Pause::UntilResumed => PauseTime::UntilResumed,
                Pause::Quanta => PauseTime::Quanta {
                    quanta: self.quanta,
                    refresh: ((f64::from(self.quanta) * self.refresh) as u16).max(1), // QNT-05
                },
            },
        })
    }
}

/// Returns n if the threshold is 2^-n · free bytes, and `None` for other thresholds.
// NS3-11
fn halvings(threshold: PfcThreshold) -> Option<u32> {
    let PfcThreshold::Dynamic(alpha) = threshold else {
        return None;
    };
    (0..=10).find(|shift| Alpha::new(1.0 / f64::from(1u32 << shift)) == alpha)
}

crate::words! {
    /// Scope of the dynamic threshold of an egress.
    enum Per {
        /// The port.
        Port = "port",
        /// The queue.
        Queue = "queue",
    }
}

crate::params! {
    /// Parameters of the dynamic threshold of an egress.
    #[derive(Clone, Copy, Debug)]
    struct EgressDynamic {
        /// Fraction of the free shared buffer that an egress may use.
        alpha: f64 = Param::fraction("alpha", 0.001, 1000.0)
            .default("1.0", "PRE-14", "of the free shared buffer (HPCC paper 5.3)"),
        /// The threshold applies to the bytes of each port or of each queue.
        per: Per = Param::word("per", Per::WORDS)
            .default("\"port\"", "PRE-14", "the port's queues together (HPCC paper 5.3)"),
    }
}

crate::params! {
    /// Parameters of a switch whose ports have separate memory.
    #[derive(Clone, Copy, Debug)]
    struct PerPort {
        /// Memory of each port. It replaces `switch.buffer`.
        limit: u64 = Param::size("limit", 64, MAX_SIZE_BYTES)
            .default("\"75MB\"", "PRE-142", "of memory for each port, more than it needs (BFC paper 6.2.1)"),
    }
}

impl Admission {
    /// Values of the scenario key `admission`.
    pub const WORDS: &[Word<Self>] = &[
        Word::new("pfc", PfcParams::PARAMS, |values| {
            PfcParams::read(values).configure().map(Self::Pfc)
        }),
        Word::new("egress-dynamic", EgressDynamic::PARAMS, |values| {
            let of = EgressDynamic::read(values);
            Ok(Self::EgressDynamic {
                alpha: Alpha::new(of.alpha),
                per_queue: of.per == Per::Queue,
            })
        }),
        Word::plain("shared-pool", |_| Ok(Self::SharedPool)),
        Word::new("per-port", PerPort::PARAMS, |values| {
            let bytes = PerPort::read(values).limit;
            Ok(Self::PerPort { bytes })
        }),
        Word::plain("unlimited", |_| Ok(Self::Unlimited)),
    ];

    /// Returns the configuration of PFC, if selected.
    #[must_use]
    pub const fn pfc(&self) -> Option<&Pfc> {
        match self {
            Self::Pfc(pfc) => Some(pfc),
            _ => None,
        }
    }
}

impl Choice for Admission {
    fn provides(&self) -> Properties {
        use Property::{DelayedPauses, MayDrop, PoolThresholds};
        match self {
            Self::Pfc(pfc) => Properties::of(&[Property::Pfc])
                .with(PoolThresholds, pfc.accounting == Accounting::Pool)
                .with(DelayedPauses, pfc.response_ps > 0),
            Self::EgressDynamic { .. } | Self::SharedPool | Self::PerPort { .. } => {
                Properties::of(&[MayDrop])
            }
            Self::Unlimited => Properties::NONE,
        }
    }

    fn rules(&self) -> Vec<Rule> {
        self.pfc().map_or_else(Vec::new, Pfc::rules)
    }
}

impl Pfc {
    fn rules(&self) -> Vec<Rule> {
        let mut rules = crate::rules! {
            wrong ["nic", "admission"] with [IgnoresPfc]:
                "`admission` = \"pfc\" promises no loss, but NICs that do not obey PFC overrun their switch",
                "put \"pfc\" into nic.obeys, or choose a lossy admission";
        };
        // SW-55: no headroom is large enough for replies that arrive during the whole pause
        if self.accounting == Accounting::Pool {
            let replies = [
                (Property::AcksWithData, "ack.class = \"control\""),
                (
                    Property::CnpsWithData,
                    "cnp_class = \"control\" in the table of the control",
                ),
            ];
            rules.extend(replies.map(|(class, setting)| {
                let with = [Property::UnpausableReplies, class];
                Rule::new(self.unpaused_replies(setting), &with, &[])
            }));
        }
        rules
    }

    /// Returns the error about hosts that send ACKs and other replies while their class is paused.
    /// `setting` is the scenario key that assigns a separate class to the replies.
    fn unpaused_replies(&self, setting: &str) -> Finding {
        let hint = format!(
            "set ack.pausable = true, or send replies in a class of their own ({setting}); \
             profile = \"ns3\" does as the simulator of HPCC, which promises nothing"
        );
        let hosts = "with ack.pausable = false hosts send replies in a class that is paused, for as \
                     long as the pause lasts:";
        match self.headroom {
            None => Finding::wrong(
                &["ack", "admission"],
                format!(
                    "`admission` = \"pfc\" promises no loss, but {hosts} they can overrun the headroom"
                ),
                hint,
            ),
            Some(_) => {
                let message = format!("{hosts} no headroom is large enough for certain");
                Finding::doubtful(&["ack", "pfc"], message, hint)
            }
        }
    }
}

/// Shared-buffer memory of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MmuConfig {
    /// Total buffer of the switch in bytes.
    pub buffer_bytes: u64,
    /// Bytes reserved for each port and buffered class, used before the shared pool.
    pub reserved_bytes: u64,
    /// Reaction to a full buffer.
    pub admission: Admission,
}
