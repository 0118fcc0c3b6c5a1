//! `[scheme]`: a preset and any axis set alone.
//!
//! An axis is a word (`control = "hpcc"`); its parameters are a table of that word
//! (`hpcc = { eta = 0.95 }`). A table whose word was not chosen would do nothing, so it is refused.

use dataplane::config::{
    Accounting, Admission, Alpha, Arbiter, Arithmetic, AssignConfig, BaseRtt, BfcConfig,
    BitmapConfig, ClassConfig, Classify, CnpReaction, ControlConfig, DcqcnConfig, DctcpConfig,
    DelayWindowConfig, Division, EcnConfig, HostConfig, HpccConfig, IntConfig, IrnConfig,
    IrnWindow, MAX_CLASSES, MmuConfig, NicConfig, PathChoice, PauseBy, Pfc, PfcThreshold, Reaction,
    Recovery, Red, Schedule, Scope, SearchStart, SwitchConfig, TimelyBand, TimelyConfig, WhenFull,
};
use dataplane::int::{Counter, IntFormat, Layout};
use dataplane::nic::hpcc::Reciprocals;
use dataplane::switch::DATA_CLASS;
use dataplane::units::{NEVER, Rate, Time};

use crate::document::{Node, Value};
use crate::presets::PROFILES;
use crate::reader::{
    Read, Section, array, boolean, choice, count, fraction, number, quantity, refuse, string,
};
use crate::units::{MAX_RATE_BPS, RATE, SIZE, TIME, parse_fraction};

/// A size that makes no sense beyond this: the counters of INT and of ports hold 4 GB.
pub(crate) const MAX_BUFFER_BYTES: u64 = 4_000_000_000;
const SECOND: u64 = 1_000_000_000_000;

/// Class of ACK, NAK and CNP where a preset gives them priority; class 0 is for pauses.
const CONTROL_CLASS: u8 = 1;

/// Which of the two standing classes a frame belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameClass {
    /// The class of data of traffic class 0.
    Data,
    /// The control class: strictly first, never paused, not in the buffer.
    Control,
}

impl FrameClass {
    const fn number(self) -> u8 {
        match self {
            Self::Data => DATA_CLASS,
            Self::Control => CONTROL_CLASS,
        }
    }
}

/// How long a flow keeps its queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sticky {
    /// This many 1-hop round trips.
    HopRtts(f64),
    /// This long, in ps.
    Fixed(Time),
}

/// The answer to the classification axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClassifySpec {
    /// One FIFO per class.
    Fifo,
    /// By a hash of the flow.
    Hash,
    /// BFC's assignment.
    Dynamic {
        /// Flow-table entries per queue.
        table: u32,
        /// How long a flow keeps its queue.
        sticky: Sticky,
        /// How it takes empty queues.
        assign: AssignConfig,
    },
    /// One queue per flow.
    PerFlow,
}

/// The answer to the scheduling axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleSpec {
    /// Order of arrival.
    Fifo,
    /// Deficit round robin; `None`: a quantum of the largest frame.
    Drr(Option<u32>),
    /// A packet per queue and round.
    RoundRobin,
    /// The flow with the least left first.
    ShortestRemaining,
    /// A packet per queue, by number.
    Cyclic,
}

/// A threshold's floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floor {
    /// One largest frame.
    Frame,
    /// Bytes.
    Bytes(u64),
}

/// How a switch tells what is to be paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tell {
    /// A frame for each change.
    Edges,
    /// That, and all of it at intervals.
    EdgesAndBitmap,
    /// All of it at intervals, and for each resume.
    Bitmap,
}

/// How the queues of a port are shared out among traffic classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuesPer {
    /// The port has so many, split evenly among the classes in use.
    Port,
    /// Each class has so many.
    Class,
}

/// ECN thresholds of links of one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EcnProfile {
    /// The rate that the thresholds are for.
    pub rate_bps: u64,
    /// Thresholds in bytes, and the probability at the upper one.
    pub red: Red,
}

/// ECN: what is marked where.
#[derive(Clone, Debug, PartialEq)]
pub struct EcnSpec {
    /// By ascending rate, at least one; other rates scale from the next lower one, else the lowest.
    pub profiles: Vec<EcnProfile>,
    /// Which bytes are compared.
    pub scope: Scope,
    /// Mark when the packet leaves.
    pub at_dequeue: bool,
    /// Draw as the ns-3 simulator does.
    pub replay: bool,
}

/// INT's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntSpec {
    /// Bytes on a packet.
    pub bytes: u16,
    /// Exact numbers, or records to the bit.
    pub format: IntFormat,
    /// The pause frames that a switch sends count too.
    pub pauses: bool,
}

/// BFC's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BfcSpec {
    /// Pause threshold in hop BDP / active queues.
    pub threshold: f64,
    /// 1-hop round trip; `None`: from the links.
    pub hrtt_ps: Option<Time>,
    /// Bytes of a pause frame.
    pub frame_bytes: u16,
    /// The arriving packet counts in the queue length.
    pub count_arriving: bool,
    /// A flow's only packet never pauses.
    pub first_exempt: bool,
    /// Least threshold.
    pub floor: Floor,
    /// Added to the 1-hop round trip in the threshold, ps.
    pub tau_ps: Time,
    /// What a pause names.
    pub by: PauseBy,
    /// How it is told.
    pub tell: Tell,
    /// Bitmaps: period in ps, and bytes of the frame (`None`: a bit per queue upstream).
    pub bitmap: Option<(Time, Option<u16>)>,
    /// Share of the packets that are counted.
    pub sampling: f64,
    /// Pairs of ports whose backpressure could close a circle hold nobody.
    pub elide: bool,
}

/// Everything that `[scheme]` says, with the preset filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeSpec {
    /// Name of the preset.
    pub preset: String,
    /// Whose parameters.
    pub parameters: String,
    /// ECMP or spraying.
    pub path: PathChoice,
    /// Whose habits, if those of another simulator.
    pub profile: Option<&'static str>,
    /// Times are cut to nanoseconds.
    pub cut_times: bool,
    /// Events of one instant come in the order of scheduling.
    pub in_order: bool,
    /// Habits of the hosts.
    pub host: HostConfig,
    /// Payload of a full packet.
    pub mtu: u16,
    /// Header of a data packet.
    pub header: u16,
    /// Round trip of T and BDP.
    pub base_rtt: BaseRtt,
    /// Which queue.
    pub classify: ClassifySpec,
    /// Queues of a port, the control queue included; used by hash and dynamic.
    pub queues: u16,
    /// Whose queues these are.
    pub queues_per: QueuesPer,
    /// Which queue next.
    pub schedule: ScheduleSpec,
    /// What happens when the buffer gets full.
    pub admission: Admission,
    /// BFC backpressure.
    pub bfc: Option<BfcSpec>,
    /// ECN.
    pub ecn: Option<EcnSpec>,
    /// INT.
    pub int: Option<IntSpec>,
    /// Congestion control.
    pub control: ControlConfig,
    /// CNPs: interval, bytes, class.
    pub cnp: Option<(Time, u16, FrameClass)>,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Bytes of an ACK.
    pub ack_bytes: u16,
    /// Class of an ACK.
    pub ack_class: FrameClass,
    /// Packets per ACK.
    pub ack_every: u32,
    /// NICs send the flow with the least left first.
    pub nic_shortest_first: bool,
    /// Queues of a NIC.
    pub nic_queues: u16,
    /// NICs obey BFC pauses.
    pub obeys_bfc: bool,
    /// NICs obey PFC.
    pub obeys_pfc: bool,
}

/// What the engine needs to know of a scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeConfig {
    /// Every switch.
    pub switch: SwitchConfig,
    /// Every NIC.
    pub nic: NicConfig,
    /// Round trip of T and BDP.
    pub base_rtt: BaseRtt,
}

/// What the scheme has to know of the network that it runs in.
#[derive(Clone, Debug, PartialEq)]
pub struct Surroundings {
    /// Distinct rates of links, ascending.
    pub rates: Vec<Rate>,
    /// Largest propagation delay of a link, ps.
    pub max_delay_ps: Time,
    /// Highest traffic class in use.
    pub max_class: u8,
    /// Bytes of a switch's buffer.
    pub buffer_bytes: u64,
    /// Reserved bytes per port and class.
    pub reserved_bytes: u64,
    /// Rate of the first host's link, in bits per second.
    pub nic_bps: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum ClassifyWord {
    Fifo,
    Hash,
    Dynamic,
    PerFlow,
}

#[derive(Clone, Copy, PartialEq)]
enum AdmissionWord {
    Pfc,
    EgressDynamic,
    SharedPool,
    Unlimited,
}

#[derive(Clone, Copy, PartialEq)]
enum ControlWord {
    LineRate,
    FixedWindow,
    Hpcc,
    Dcqcn,
    Timely,
    Dctcp,
    DelayWindow,
}

#[derive(Clone, Copy, PartialEq)]
enum RecoveryWord {
    GoBackN,
    Irn,
    Ideal,
    None,
}

/// Reads a complete `[scheme]` (preset and overrides already merged).
pub(crate) fn read(s: &Section<'_>) -> Option<SchemeSpec> {
    let preset = s.required("preset", "\"bfc\"", string);
    let parameters = s.required("parameters", "\"bfc-paper\"", string);
    let mut profiles = vec![("none", None)];
    profiles.extend(PROFILES.iter().map(|p| (p.name, Some(p.name))));
    let profile = s.required("profile", "\"none\"", |n| choice(n, &profiles));
    let clocks = [("exact", false), ("ns", true)];
    let cut_times = s.required("clock", "\"exact\"", |n| choice(n, &clocks));
    let ties = [("phases", false), ("scheduling", true)];
    let in_order = s.required("ties", "\"phases\"", |n| choice(n, &ties));
    let paths = [
        ("flow", PathChoice::Flow),
        ("packet", PathChoice::Packet),
        ("tuple", PathChoice::Tuple),
    ];
    let path = s.required("path", "\"flow\"", |n| choice(n, &paths));
    let mtu = s.required("mtu", "\"1000B\"", |n| bytes(n, 64, 16_000));
    let header = s.required("header", "\"48B\"", |n| bytes(n, 1, 1_000));
    let base_rtt = s.required("base_rtt", "\"network\"", base_rtt);
    let (classify, queues, queues_per) = read_classify(s);
    let schedule = read_schedule(s, classify);
    let admission = read_admission(s);
    let bfc = read_backpressure(s);
    let (ecn, int) = read_signal(s);
    let (control, cnp, cnp_on_ack) = read_control(s);
    let (recovery, naks) = read_recovery(s);
    let ack = read_ack(s);
    let nic = read_nic(s, &bfc);
    s.finish();
    let (ack_bytes, ack_class, ack_every, ack_pausable) = ack?;
    let (nic_queues, obeys_pfc, obeys_bfc, (arbiter, nic_shortest_first)) = nic?;
    let (nak_interval_ps, ack_repeats) = naks?;
    let path = path?;
    let host = HostConfig {
        arbiter,
        ack_pausable,
        cnp_on_ack,
        nak_interval_ps,
        ack_repeats,
        ports_in_hash: path == PathChoice::Tuple,
    };
    let spec = SchemeSpec {
        preset: preset?,
        parameters: parameters?,
        profile: profile?,
        cut_times: cut_times?,
        in_order: in_order?,
        host,
        path,
        mtu: mtu?,
        header: header?,
        base_rtt: base_rtt?,
        classify: classify?,
        queues: queues?,
        queues_per: queues_per?,
        schedule: schedule?,
        admission: admission?,
        bfc: bfc?,
        ecn: ecn?,
        int: int?,
        control: control?,
        cnp: cnp?,
        recovery: recovery?,
        ack_bytes,
        ack_class,
        ack_every,
        nic_shortest_first,
        nic_queues,
        obeys_bfc,
        obeys_pfc,
    };
    combinations(s, &spec);
    Some(spec)
}

fn bytes(node: &Node, min: u64, max: u64) -> Read<u16> {
    quantity(node, &SIZE, min, max).map(|v| v as u16)
}

/// A word, or something else that `read` takes.
fn word_or<T>(node: &Node, word: &str, default: T, read: impl FnOnce(&Node) -> Read<T>) -> Read<T> {
    match &node.value {
        Value::String(text) if text == word => Ok(default),
        _ => read(node).map_err(|mut refusal| {
            refusal.hint = refusal.hint.map(|h| format!("\"{word}\", or {h}"));
            refusal
        }),
    }
}

fn some_time(node: &Node) -> Read<Option<Time>> {
    quantity(node, &TIME, 1, SECOND).map(Some)
}

fn time(s: &Section<'_>, key: &'static str, min: u64) -> Option<Time> {
    s.required(key, "\"10us\"", |n| quantity(n, &TIME, min, SECOND))
}

fn rate(s: &Section<'_>, key: &'static str) -> Option<f64> {
    s.required(key, "\"100Mbps\"", |n| quantity(n, &RATE, 1, MAX_RATE_BPS))
        .map(|v| v as f64)
}

fn real(s: &Section<'_>, key: &'static str, min: f64, max: f64) -> Option<f64> {
    s.required(key, "0.5", |n| number(n, min, max))
}

fn base_rtt(node: &Node) -> Read<BaseRtt> {
    if let Value::String(text) = &node.value {
        match text.as_str() {
            "pair" => return Ok(BaseRtt::Pair),
            "network" => return Ok(BaseRtt::Network),
            "ns3-pair" => return Ok(BaseRtt::Ns3Pair),
            "ns3-network" => return Ok(BaseRtt::Ns3Network),
            _ => {}
        }
    }
    match quantity(node, &TIME, 1_000, SECOND) {
        Ok(ps) => Ok(BaseRtt::Fixed(ps)),
        Err(r) => refuse(
            r.message,
            "\"pair\", \"network\", \"ns3-pair\", \"ns3-network\", or a time such as \"13us\"",
        ),
    }
}

/// Reads the table of a word where the word was chosen, and refuses it elsewhere.
fn parameters<'a, T>(
    s: &Section<'a>,
    table: &'static str,
    chosen: bool,
    why: &str,
    read: impl FnOnce(&Section<'a>) -> Option<T>,
) -> Option<T> {
    if !chosen {
        s.refuse_useless(table, why);
        return None;
    }
    let Some(inner) = s.section(table) else {
        if s.table.get(table).is_none() {
            s.missing(table, "{ ... }");
        }
        return None;
    };
    let value = read(&inner);
    inner.finish();
    value
}

type Queues = (Option<ClassifySpec>, Option<u16>, Option<QueuesPer>);

fn read_classify(s: &Section<'_>) -> Queues {
    let words = [
        ("fifo", ClassifyWord::Fifo),
        ("hash", ClassifyWord::Hash),
        ("dynamic", ClassifyWord::Dynamic),
        ("per-flow", ClassifyWord::PerFlow),
    ];
    let word = s.required("classify", "\"dynamic\"", |n| choice(n, &words));
    let dynamic = parameters(
        s,
        "dynamic",
        word == Some(ClassifyWord::Dynamic),
        "`classify` is not \"dynamic\"",
        |t| {
            let table = t.required("table", "100", |n| count(n, 1, 1_000_000));
            let sticky = t.required("sticky", "2.0", sticky);
            let assign = read_assign(t);
            Some(ClassifySpec::Dynamic {
                table: table? as u32,
                sticky: sticky?,
                assign: assign?,
            })
        },
    );
    if matches!(word, Some(ClassifyWord::Fifo | ClassifyWord::PerFlow)) {
        let why = "`classify` is neither \"hash\" nor \"dynamic\"";
        s.refuse_useless("queues", why);
        s.refuse_useless("queues_per", why);
        let spec = if word == Some(ClassifyWord::Fifo) {
            ClassifySpec::Fifo
        } else {
            ClassifySpec::PerFlow
        };
        return (Some(spec), Some(0), Some(QueuesPer::Class));
    }
    let queues = s
        .required("queues", "32", |n| count(n, 2, 4_096))
        .map(|q| q as u16);
    let per = [("port", QueuesPer::Port), ("class", QueuesPer::Class)];
    let per = s.required("queues_per", "\"port\"", |n| choice(n, &per));
    let spec = match word {
        Some(ClassifyWord::Hash) => Some(ClassifySpec::Hash),
        Some(ClassifyWord::Dynamic) => dynamic,
        _ => None,
    };
    (spec, queues, per)
}

fn read_assign(t: &Section<'_>) -> Option<AssignConfig> {
    let bitmap = t.required("bitmap", "\"immediate\"", |n| {
        word_or(n, "immediate", None, |n| {
            quantity(n, &TIME, 1_000, SECOND).map(Some)
        })
    });
    let paused = t.required("paused_eligible", "false", boolean);
    let starts = [
        ("rotating", SearchStart::Rotating),
        ("random", SearchStart::Random),
    ];
    let start = t.required("start", "\"rotating\"", |n| choice(n, &starts));
    let full = [
        ("random", WhenFull::Random),
        ("by-entry", WhenFull::ByEntry),
    ];
    let when_full = t.required("when_full", "\"random\"", |n| choice(n, &full));
    let incast_queue = t.required("incast_queue", "false", boolean);
    let pipelines = t.required("pipelines", "1", |n| count(n, 1, 64));
    Some(AssignConfig {
        sticky_hrtts: None,
        bitmap_ps: bitmap?,
        paused_eligible: paused?,
        start: start?,
        when_full: when_full?,
        incast_queue: incast_queue?,
        pipelines: pipelines? as u16,
    })
}

/// A number of hop round trips, or a time.
fn sticky(node: &Node) -> Read<Sticky> {
    let result = match &node.value {
        Value::String(_) => quantity(node, &TIME, 0, SECOND).map(Sticky::Fixed),
        _ => number(node, 0.0, 1e6).map(Sticky::HopRtts),
    };
    result.map_err(|mut r| {
        r.hint =
            Some("a number of 1-hop round trips such as 2.0, or a time such as \"4us\"".into());
        r
    })
}

fn read_schedule(s: &Section<'_>, classify: Option<ClassifySpec>) -> Option<ScheduleSpec> {
    let words = [
        ("fifo", 0u8),
        ("drr", 1),
        ("round-robin", 2),
        ("srf", 3),
        ("cyclic", 4),
    ];
    let word = s.required("schedule", "\"round-robin\"", |n| choice(n, &words));
    let drr = parameters(
        s,
        "drr",
        word == Some(1),
        "`schedule` is not \"drr\"",
        |t| {
            t.required("quantum", "\"frame\"", |n| {
                word_or(n, "frame", None, |n| {
                    quantity(n, &SIZE, 64, 1_000_000).map(|v| Some(v as u32))
                })
            })
        },
    );
    let spec = match word? {
        0 => ScheduleSpec::Fifo,
        1 => ScheduleSpec::Drr(drr?),
        3 => ScheduleSpec::ShortestRemaining,
        4 => ScheduleSpec::Cyclic,
        _ => ScheduleSpec::RoundRobin,
    };
    let one_queue = matches!(classify?, ClassifySpec::Fifo);
    if one_queue && spec != ScheduleSpec::Fifo {
        s.complain(
            "schedule",
            "with `classify` = \"fifo\" a class has a single queue, so there is nothing to schedule",
            "set schedule = \"fifo\", or classify to \"hash\", \"dynamic\" or \"per-flow\"",
        );
    }
    if !one_queue && spec == ScheduleSpec::Fifo {
        s.complain(
            "schedule",
            "\"fifo\" is the order of a single queue, and `classify` makes several",
            "set schedule = \"round-robin\", \"drr\" or \"srf\", or classify = \"fifo\"",
        );
    }
    Some(spec)
}

fn read_admission(s: &Section<'_>) -> Option<Admission> {
    let words = [
        ("pfc", AdmissionWord::Pfc),
        ("egress-dynamic", AdmissionWord::EgressDynamic),
        ("shared-pool", AdmissionWord::SharedPool),
        ("unlimited", AdmissionWord::Unlimited),
    ];
    let word = s.required("admission", "\"pfc\"", |n| choice(n, &words));
    let pfc = parameters(
        s,
        "pfc",
        word == Some(AdmissionWord::Pfc),
        "`admission` is not \"pfc\"",
        read_pfc,
    );
    let why = "`admission` is not \"egress-dynamic\"";
    let chosen = word == Some(AdmissionWord::EgressDynamic);
    let egress = parameters(s, "egress-dynamic", chosen, why, |t| {
        let alpha = t.required("alpha", "1.0", |n| fraction(n, 0.001, 1000.0));
        let per = t.required("per", "\"port\"", |n| {
            choice(n, &[("port", false), ("queue", true)])
        });
        Some(Admission::EgressDynamic {
            alpha: Alpha::new(alpha?),
            per_queue: per?,
        })
    });
    match word? {
        AdmissionWord::Pfc => pfc.map(Admission::Pfc),
        AdmissionWord::EgressDynamic => egress,
        AdmissionWord::SharedPool => Some(Admission::SharedPool),
        AdmissionWord::Unlimited => Some(Admission::Unlimited),
    }
}

fn read_pfc(t: &Section<'_>) -> Option<Pfc> {
    let threshold = t.required("xoff", "\"11%\"", xoff);
    let xon_offset = t.required("xon_offset", "\"3KB\"", |n| {
        quantity(n, &SIZE, 0, MAX_BUFFER_BYTES)
    });
    let headroom = t.required("headroom", "\"formula\"", |n| {
        word_or(n, "formula", None, |n| {
            quantity(n, &SIZE, 0, MAX_BUFFER_BYTES).map(Some)
        })
    });
    let response = time(t, "response", 0);
    let frame = t.required("frame", "\"64B\"", |n| bytes(n, 1, 1_518));
    let accounts = [("pool", false), ("ns3", true)];
    let ns3 = t.required("accounting", "\"pool\"", |n| choice(n, &accounts));
    let accounting = match (ns3?, threshold) {
        (false, _) => Accounting::Pool,
        (true, threshold) => Accounting::Ns3 {
            shift: threshold.and_then(halvings).unwrap_or_else(|| {
                t.complain_of(
                    &["accounting", "xoff"],
                    "the books of \"ns3\" find thresholds by halving the free buffer",
                    "set pfc.xoff to 1, 0.5, 0.25, 0.125 or a smaller half",
                );
                0
            }),
            nic_bps: 0, // filled in when the network is known
        },
    };
    Some(Pfc {
        accounting,
        threshold: threshold?,
        xon_offset: xon_offset?,
        frame_bytes: frame?,
        headroom: headroom?,
        response_ps: response?,
    })
}

/// How many times the free buffer is halved, where a threshold is that.
// NS3-11
fn halvings(threshold: PfcThreshold) -> Option<u32> {
    let PfcThreshold::Dynamic(alpha) = threshold else {
        return None;
    };
    (0..=10).find(|shift| Alpha::new(1.0 / f64::from(1u32 << shift)) == alpha)
}

/// A share of the free buffer, or a size.
fn xoff(node: &Node) -> Read<PfcThreshold> {
    let hint = "a share of the free buffer such as \"11%\" or 2.0 (dynamic), or a size such as \
                \"500KB\" (static)";
    let result = match &node.value {
        Value::String(text) if parse_fraction(text).is_err() => {
            quantity(node, &SIZE, 1, MAX_BUFFER_BYTES).map(PfcThreshold::Static)
        }
        _ => fraction(node, 0.001, 1000.0).map(|f| PfcThreshold::Dynamic(Alpha::new(f))),
    };
    result.map_err(|mut r| {
        r.hint = Some(hint.to_owned());
        r
    })
}

fn read_backpressure(s: &Section<'_>) -> Option<Option<BfcSpec>> {
    let word = s.required("backpressure", "\"bfc\"", |n| {
        choice(n, &[("none", false), ("bfc", true)])
    });
    let why = "`backpressure` is not \"bfc\"";
    let bfc = parameters(s, "bfc", word == Some(true), why, |t| {
        let threshold = t.required("threshold", "1.0", |n| number(n, 0.001, 1000.0));
        let hrtt = t.required("hrtt", "\"links\"", |n| {
            word_or(n, "links", None, some_time)
        });
        let frame = t.required("frame", "\"64B\"", |n| bytes(n, 1, 1_518));
        let count_arriving = t.required("count_arriving", "false", boolean);
        let first_exempt = t.required("first_exempt", "true", boolean);
        let floor = t.required("floor", "\"0B\"", |n| {
            word_or(n, "frame", Floor::Frame, |n| {
                quantity(n, &SIZE, 0, MAX_BUFFER_BYTES).map(Floor::Bytes)
            })
        });
        let tau = time(t, "tau", 0);
        let by = [("queue", PauseBy::Queue), ("flow", PauseBy::Flow)];
        let by = t.required("pause", "\"queue\"", |n| choice(n, &by));
        let (tell, bitmap) = read_tell(t);
        let sampling = t.required("sampling", "1.0", |n| fraction(n, 0.001, 1.0));
        let elide = [("auto", true), ("off", false)];
        let elide = t.required("elide", "\"auto\"", |n| choice(n, &elide));
        Some(BfcSpec {
            threshold: threshold?,
            hrtt_ps: hrtt?,
            frame_bytes: frame?,
            count_arriving: count_arriving?,
            first_exempt: first_exempt?,
            floor: floor?,
            tau_ps: tau?,
            by: by?,
            tell: tell?,
            bitmap: bitmap?,
            sampling: sampling?,
            elide: elide?,
        })
    });
    if word? { bfc.map(Some) } else { Some(None) }
}

type Bitmap = Option<(Time, Option<u16>)>;

/// How pauses are told, and the bitmaps where they are used.
fn read_tell(t: &Section<'_>) -> (Option<Tell>, Option<Bitmap>) {
    let words = [
        ("edges", Tell::Edges),
        ("edges+bitmap", Tell::EdgesAndBitmap),
        ("bitmap", Tell::Bitmap),
    ];
    let tell = t.required("tell", "\"edges\"", |n| choice(n, &words));
    if tell == Some(Tell::Edges) {
        let why = "`tell` = \"edges\" sends no bitmaps";
        t.refuse_useless("bitmap", why);
        t.refuse_useless("bitmap_frame", why);
        return (tell, Some(None));
    }
    let period = time(t, "bitmap", 10_000);
    let frame = t.required("bitmap_frame", "\"fit\"", |n| {
        word_or(n, "fit", None, |n| bytes(n, 1, 9_000).map(Some))
    });
    (tell, period.zip(frame).map(Some))
}

type Signals = (Option<Option<EcnSpec>>, Option<Option<IntSpec>>);

fn read_signal(s: &Section<'_>) -> Signals {
    let words = [
        ("none", (false, false)),
        ("ecn", (true, false)),
        ("int", (false, true)),
        ("ecn+int", (true, true)),
    ];
    let word = s.required("signal", "\"ecn\"", |n| choice(n, &words));
    let (ecn_on, int_on) = word.unwrap_or((false, false));
    let ecn = parameters(s, "ecn", ecn_on, "`signal` has no ECN", read_ecn);
    let int = parameters(s, "int", int_on, "`signal` has no INT", read_int);
    if word.is_none() {
        return (None, None);
    }
    (
        if ecn_on { ecn.map(Some) } else { Some(None) },
        if int_on { int.map(Some) } else { Some(None) },
    )
}

fn read_int(t: &Section<'_>) -> Option<IntSpec> {
    let size = t.required("bytes", "\"42B\"", |n| bytes(n, 1, 1_000));
    let words = [("exact", false), ("wire", true)];
    let wire = t.required("format", "\"exact\"", |n| choice(n, &words));
    let pauses = t.required("pauses", "false", boolean);
    let format = if wire == Some(false) {
        let why = "`format` is not \"wire\"";
        t.refuse_useless("multiplier", why);
        t.refuse_useless("qlen_bits", why);
        Some(IntFormat::Exact)
    } else {
        let most = u64::from(Layout::MAX_MULTIPLIER);
        let multiplier = t.required("multiplier", "1", |n| count(n, 1, most));
        let qlen_bits = t.required("qlen_bits", "16", |n| count(n, 16, 17));
        multiplier
            .zip(qlen_bits)
            .map(|(multiplier, bits)| IntFormat::Wire(Layout::new(multiplier as u32, bits as u8)))
    };
    wire?;
    Some(IntSpec {
        bytes: size?,
        format: format?,
        pauses: pauses?,
    })
}

fn read_ecn(t: &Section<'_>) -> Option<EcnSpec> {
    let profiles = if t.has("profiles") {
        for key in ["kmin", "kmax", "pmax", "rate"] {
            t.refuse_useless(key, "`profiles` has the thresholds of each rate");
        }
        read_profiles(t)
    } else {
        read_profile(t).map(|profile| vec![profile])
    };
    let scopes = [("queue", Scope::Queue), ("port", Scope::Port)];
    let scope = t.required("scope", "\"queue\"", |n| choice(n, &scopes));
    let places = [("dequeue", true), ("enqueue", false)];
    let at = t.required("at", "\"dequeue\"", |n| choice(n, &places));
    let draws = [("own", false), ("ns3", true)];
    let replay = t.required("draws", "\"own\"", |n| choice(n, &draws));
    Some(EcnSpec {
        profiles: profiles?,
        scope: scope?,
        at_dequeue: at?,
        replay: replay?,
    })
}

/// Thresholds and the rate that they are for.
fn read_profile(t: &Section<'_>) -> Option<EcnProfile> {
    let kmin = t.required("kmin", "\"100KB\"", |n| {
        quantity(n, &SIZE, 0, MAX_BUFFER_BYTES)
    });
    let kmax = t.required("kmax", "\"400KB\"", |n| {
        quantity(n, &SIZE, 0, MAX_BUFFER_BYTES)
    });
    let pmax = t.required("pmax", "0.2", |n| fraction(n, 0.0, 1.0));
    let rate = t.required("rate", "\"100Gbps\"", |n| {
        quantity(n, &RATE, 1_000_000, MAX_RATE_BPS)
    });
    if let (Some(kmin), Some(kmax)) = (kmin, kmax)
        && kmin > kmax
    {
        let message = format!("kmin {} is above kmax {}", SIZE.show(kmin), SIZE.show(kmax));
        t.complain(
            "kmin",
            message,
            "marking starts at kmin and is certain above kmax",
        );
    }
    Some(EcnProfile {
        rate_bps: rate?,
        red: Red {
            kmin_bytes: kmin?,
            kmax_bytes: kmax?,
            pmax: pmax?,
        },
    })
}

/// A profile for each of several rates, in any order.
fn read_profiles(t: &Section<'_>) -> Option<Vec<EcnProfile>> {
    const EXAMPLE: &str = "[{ rate = \"25Gbps\", kmin = \"100KB\", kmax = \"400KB\", pmax = 0.2 }]";
    let items: Vec<Node> = t.optional("profiles", |n| {
        match array(n, "a list of profiles")?.to_vec() {
            items if items.is_empty() => refuse("there is no profile in it", EXAMPLE),
            items => Ok(items),
        }
    })?;
    let mut profiles: Vec<EcnProfile> = Vec::new();
    let mut good = true;
    for (i, item) in items.iter().enumerate() {
        let path = format!("{}.{i}", t.child("profiles"));
        let Value::Table(table) = &item.value else {
            let message = format!("a profile is a table, not {}", item.kind());
            t.context
                .error(&item.at, &path, message, Some(EXAMPLE.to_owned()));
            return None;
        };
        let inner = Section::new(t.context, table, path, item.at.clone());
        let profile = read_profile(&inner);
        inner.finish();
        let Some(profile) = profile else {
            good = false;
            continue;
        };
        if profiles.iter().any(|p| p.rate_bps == profile.rate_bps) {
            let message = format!("{} has a profile already", RATE.show(profile.rate_bps));
            inner.complain("rate", message, "one profile for each rate");
        }
        profiles.push(profile);
    }
    profiles.sort_by_key(|p| p.rate_bps);
    good.then_some(profiles)
}

type Cnp = Option<(Time, u16, FrameClass)>;

/// With what numbers a control computes.
fn arithmetic(t: &Section<'_>) -> Option<Arithmetic> {
    let words = [("real", Arithmetic::Real), ("integer", Arithmetic::Integer)];
    t.required("arithmetic", "\"real\"", |n| choice(n, &words))
}

/// Whether bytes in flight are limited, and whether by one BDP whatever the rate.
fn window(node: &Node) -> Read<(bool, bool)> {
    match &node.value {
        Value::String(word) if word == "bdp" => Ok((true, true)),
        Value::Bool(on) => Ok((*on, false)),
        _ => refuse(
            format!("expected true, false or \"bdp\", not {}", node.kind()),
            "true limits bytes in flight to BDP x rate / line rate, \"bdp\" to one BDP",
        ),
    }
}

/// A rate in bits per second.
fn bps(node: &Node) -> Read<f64> {
    quantity(node, &RATE, 1, MAX_RATE_BPS).map(|v| v as f64)
}

fn read_control(s: &Section<'_>) -> (Option<ControlConfig>, Option<Cnp>, bool) {
    let words = [
        ("line-rate", ControlWord::LineRate),
        ("fixed-window", ControlWord::FixedWindow),
        ("hpcc", ControlWord::Hpcc),
        ("dcqcn", ControlWord::Dcqcn),
        ("timely", ControlWord::Timely),
        ("dctcp", ControlWord::Dctcp),
        ("delay-window", ControlWord::DelayWindow),
    ];
    let word = s.required("control", "\"hpcc\"", |n| choice(n, &words));
    let chosen = |w: ControlWord| word == Some(w);
    let why = |w: &str| format!("`control` is not \"{w}\"");
    let window = parameters(
        s,
        "fixed-window",
        chosen(ControlWord::FixedWindow),
        &why("fixed-window"),
        |t| {
            t.required("window", "\"bdp\"", |n| {
                word_or(n, "bdp", None, |n| {
                    quantity(n, &SIZE, 1, MAX_BUFFER_BYTES).map(Some)
                })
            })
        },
    );
    let hpcc = parameters(
        s,
        "hpcc",
        chosen(ControlWord::Hpcc),
        &why("hpcc"),
        read_hpcc,
    );
    let dcqcn = parameters(
        s,
        "dcqcn",
        chosen(ControlWord::Dcqcn),
        &why("dcqcn"),
        read_dcqcn,
    );
    let timely = parameters(
        s,
        "timely",
        chosen(ControlWord::Timely),
        &why("timely"),
        read_timely,
    );
    let dctcp = parameters(
        s,
        "dctcp",
        chosen(ControlWord::Dctcp),
        &why("dctcp"),
        read_dctcp,
    );
    let delay_window = parameters(
        s,
        "delay-window",
        chosen(ControlWord::DelayWindow),
        &why("delay-window"),
        |t| {
            let target = t.required("target", "2.5", |n| number(n, 1.0, 1e6));
            let capped = t.required("capped", "true", boolean);
            Some(DelayWindowConfig {
                target: target?,
                capped: capped?,
            })
        },
    );
    let control = match word {
        None => None,
        Some(ControlWord::LineRate) => Some(ControlConfig::LineRate),
        Some(ControlWord::FixedWindow) => {
            window.map(|window| ControlConfig::FixedWindow { window })
        }
        Some(ControlWord::Hpcc) => hpcc.map(ControlConfig::Hpcc),
        Some(ControlWord::Dcqcn) => dcqcn.map(|(config, ..)| ControlConfig::Dcqcn(config)),
        Some(ControlWord::Timely) => timely.map(ControlConfig::Timely),
        Some(ControlWord::Dctcp) => dctcp.map(ControlConfig::Dctcp),
        Some(ControlWord::DelayWindow) => delay_window.map(ControlConfig::DelayWindow),
    };
    let cnp = dcqcn.and_then(|(_, cnp)| cnp);
    (
        control,
        Some(cnp),
        dcqcn.is_some_and(|(_, cnp)| cnp.is_none()),
    )
}

fn read_hpcc(t: &Section<'_>) -> Option<HpccConfig> {
    let eta = t.required("eta", "0.95", |n| fraction(n, 0.01, 1.0));
    let max_stage = t.required("max_stage", "5", |n| count(n, 0, 1_000));
    let wai = t.required("wai", "\"80B\"", wai);
    let arithmetic = arithmetic(t);
    let min_rate = rate(t, "min_rate");
    let reactions = [
        ("combined", Reaction::Combined),
        ("per-ack", Reaction::PerAck),
        ("per-rtt", Reaction::PerRtt),
    ];
    let reaction = t.required("reaction", "\"combined\"", |n| choice(n, &reactions));
    let counters = [("tx", Counter::Sent), ("rx", Counter::Arrived)];
    let counter = t.required("rate", "\"tx\"", |n| choice(n, &counters));
    let alpha = t.required("alpha_fair", "\"off\"", alpha_fair);
    let division = read_division(t);
    let sample_feedback = t.required("sample_feedback", "false", boolean);
    let (wai_bytes, wai_flows, ai_bps) = wai?;
    Some(HpccConfig {
        eta: eta?,
        max_stage: max_stage? as u32,
        wai_bytes,
        ai_bps,
        wai_flows,
        min_rate_bps: min_rate?,
        arithmetic: arithmetic?,
        // Its format is that of the switches, see `SchemeSpec::control`.
        telemetry: IntConfig {
            format: IntFormat::Exact,
            counter: counter?,
        },
        reaction: reaction?,
        alpha: alpha?,
        division: division?,
        sample_feedback: sample_feedback?,
    })
}

/// A size, the number of flows of the rule of thumb, or the rate that sends the bytes in T.
// NS3-34
fn wai(node: &Node) -> Read<(f64, Option<u32>, Option<f64>)> {
    let result = match &node.value {
        Value::String(text) if text.ends_with(" flows") => {
            let number = text.trim_end_matches(" flows").parse::<u32>();
            match number {
                Ok(flows @ 1..=1_000_000) => Ok((0.0, Some(flows), None)),
                _ => refuse(
                    format!("`{text}` is not a number of flows from 1 to 1000000"),
                    "",
                ),
            }
        }
        _ => quantity(node, &SIZE, 1, 10_000_000)
            .map(|bytes| (bytes as f64, None, None))
            .or_else(|refusal| match bps(node) {
                Ok(bps) => Ok((0.0, None, Some(bps))),
                Err(_) => Err(refusal),
            }),
    };
    result.map_err(|mut r| {
        r.hint = Some(
            "a size such as \"80B\", a rate such as \"50Mbps\", or the flows of the rule of thumb \
             such as \"100 flows\""
                .into(),
        );
        r
    })
}

/// "off", "max-min", or the α of Eq. 7.
fn alpha_fair(node: &Node) -> Read<Option<f64>> {
    word_or(node, "off", None, |node| {
        word_or(node, "max-min", Some(f64::INFINITY), |node| {
            number(node, 0.05, 100.0).map(Some)
        })
    })
}

fn read_division(t: &Section<'_>) -> Option<Division> {
    let words = [("exact", false), ("table", true)];
    let table = t.required("division", "\"exact\"", |n| choice(n, &words));
    if table == Some(false) {
        t.refuse_useless("epsilon", "`division` is not \"table\"");
        return Some(Division::Exact);
    }
    let epsilon = t.required("epsilon", "0.01", |n| fraction(n, 0.0001, 0.5));
    table?;
    Some(Division::Table(Reciprocals::shared(epsilon?)))
}

fn read_dcqcn(t: &Section<'_>) -> Option<(DcqcnConfig, Cnp)> {
    let reactions = [
        ("sampled", CnpReaction::Sampled),
        ("immediate", CnpReaction::Immediate),
    ];
    let reaction = t.required("reaction", "\"sampled\"", |n| choice(n, &reactions));
    let g = real(t, "g", 1e-6, 1.0);
    let alpha_timer = time(t, "alpha_timer", 1_000);
    let increase_timer = time(t, "increase_timer", 1_000);
    let byte_counter = t.required("byte_counter", "\"off\"", |n| {
        word_or(n, "off", None, |n| {
            quantity(n, &SIZE, 1, MAX_BUFFER_BYTES).map(Some)
        })
    });
    let fast_recovery = t.required("fast_recovery", "1", |n| count(n, 0, 1_000));
    let (ai, hai, min_rate) = (rate(t, "ai"), rate(t, "hai"), rate(t, "min_rate"));
    let decrease_interval = time(t, "decrease_interval", 0);
    let clamp_target = t.required("clamp_target", "false", boolean);
    let window = t.required("window", "false", window);
    let arithmetic = arithmetic(t);
    let cnp = read_cnp(t);
    let config = DcqcnConfig {
        reaction: reaction?,
        g: g?,
        alpha_timer_ps: alpha_timer?,
        increase_timer_ps: increase_timer?,
        byte_counter: byte_counter?,
        fast_recovery: fast_recovery? as u32,
        ai_bps: ai?,
        hai_bps: hai?,
        min_rate_bps: min_rate?,
        decrease_interval_ps: decrease_interval?,
        clamp_target: clamp_target?,
        window: window?.0,
        fixed_window: window?.1,
        arithmetic: arithmetic?,
    };
    Some((config, cnp?))
}

/// CNPs of their own, or `None`: carried by ACKs.
// NS3-23
fn read_cnp(t: &Section<'_>) -> Option<Cnp> {
    let size = t.required("cnp", "\"60B\"", |n| {
        word_or(n, "on-ack", None, |n| bytes(n, 1, 1_518).map(Some))
    });
    if size == Some(None) {
        for key in ["cnp_interval", "cnp_class"] {
            t.refuse_useless(
                key,
                "`cnp` = \"on-ack\": every ACK of a marked packet is a CNP",
            );
        }
        return Some(None);
    }
    let interval = time(t, "cnp_interval", 0);
    let class = t.required("cnp_class", "\"data\"", frame_class);
    Some(Some((interval?, size??, class?)))
}

fn read_timely(t: &Section<'_>) -> Option<TimelyConfig> {
    let (alpha, beta) = (real(t, "alpha", 0.0, 1.0), real(t, "beta", 0.0, 1.0));
    let (t_low, t_high) = (time(t, "t_low", 1), time(t, "t_high", 1));
    let min_rtt = time(t, "min_rtt", 1);
    let (ai, hai, min_rate) = (rate(t, "ai"), rate(t, "hai"), rate(t, "min_rate"));
    let hai_after = t.required("hai_after", "5", |n| count(n, 0, 1_000));
    let hai_below_low = t.required("hai_below_low", "true", boolean);
    let window = t.required("window", "false", window);
    let arithmetic = arithmetic(t);
    let band = read_timely_band(t);
    if let (Some(low), Some(high)) = (t_low, t_high)
        && low > high
    {
        let message = format!(
            "t_low {} is above t_high {}",
            TIME.show(low),
            TIME.show(high)
        );
        t.complain(
            "t_low",
            message,
            "below t_low rates rise, above t_high they fall",
        );
    }
    Some(TimelyConfig {
        alpha: alpha?,
        beta: beta?,
        t_low_ps: t_low?,
        t_high_ps: t_high?,
        min_rtt_ps: min_rtt?,
        ai_bps: ai?,
        hai_bps: hai?,
        hai_after: hai_after? as u32,
        hai_below_low: hai_below_low?,
        min_rate_bps: min_rate?,
        window: window?.0,
        fixed_window: window?.1,
        arithmetic: arithmetic?,
        band: band?,
    })
}

fn read_timely_band(t: &Section<'_>) -> Option<TimelyBand> {
    let words = [("original", false), ("patched", true)];
    let word = t.required("gradient", "\"original\"", |n| choice(n, &words));
    let why = "`gradient` is not \"patched\"";
    let patched = parameters(t, "patched", word == Some(true), why, |p| {
        let beta = real(p, "beta", 0.0, 1.0);
        let reference = time(p, "reference", 1);
        let range = real(p, "range", 1e-6, 1e6);
        Some(TimelyBand::Patched {
            beta: beta?,
            reference_ps: reference?,
            range: range?,
        })
    });
    if word? {
        patched
    } else {
        Some(TimelyBand::Gradient)
    }
}

fn read_dctcp(t: &Section<'_>) -> Option<DctcpConfig> {
    let g = real(t, "g", 1e-6, 1.0);
    let slow_start = t.required("slow_start", "false", boolean);
    let initial_packets = t.required("initial_packets", "10", |n| count(n, 1, 100_000));
    let packet_or_rate = |n: &Node| word_or(n, "packet", None, |n| bps(n).map(Some));
    let ai = t.required("ai", "\"packet\"", packet_or_rate);
    let min_rate = t.required("min_rate", "\"packet\"", packet_or_rate);
    let arithmetic = arithmetic(t);
    let window = t.required("window", "true", boolean);
    Some(DctcpConfig {
        g: g?,
        slow_start: slow_start?,
        initial_packets: initial_packets? as u32,
        ai_bps: ai?,
        min_rate_bps: min_rate?,
        arithmetic: arithmetic?,
        window: window?,
    })
}

/// How often a missing packet is complained about, and whether repeated ones are acknowledged.
type Naks = (Option<Time>, bool);

fn read_recovery(s: &Section<'_>) -> (Option<Recovery>, Option<Naks>) {
    let words = [
        ("go-back-n", RecoveryWord::GoBackN),
        ("irn", RecoveryWord::Irn),
        ("ideal", RecoveryWord::Ideal),
        ("none", RecoveryWord::None),
    ];
    let word = s.required("recovery", "\"go-back-n\"", |n| choice(n, &words));
    let chosen = |w: RecoveryWord| word == Some(w);
    let why = |w: &str| format!("`recovery` is not \"{w}\"");
    let go_back = parameters(
        s,
        "go-back-n",
        chosen(RecoveryWord::GoBackN),
        &why("go-back-n"),
        |t| {
            let timeout = t.required("timeout", "\"10ms\"", |n| {
                word_or(n, "off", NEVER, |n| quantity(n, &TIME, 1_000_000, SECOND))
            });
            // NS3-22
            let interval = t.required("nak_interval", "\"off\"", |n| {
                word_or(n, "off", None, some_time)
            });
            let words = [("acknowledge", true), ("ignore", false)];
            let repeats = t.required("repeats", "\"acknowledge\"", |n| choice(n, &words));
            Some((timeout?, (interval?, repeats?)))
        },
    );
    let irn = parameters(s, "irn", chosen(RecoveryWord::Irn), &why("irn"), read_irn);
    let ideal = parameters(
        s,
        "ideal",
        chosen(RecoveryWord::Ideal),
        &why("ideal"),
        |t| {
            t.required("delay", "\"path\"", |n| {
                word_or(n, "path", None, |n| quantity(n, &TIME, 0, SECOND).map(Some))
            })
        },
    );
    let naks = match (word, go_back) {
        (Some(RecoveryWord::GoBackN), go_back) => go_back.map(|(_, naks)| naks),
        _ => Some((None, true)),
    };
    let recovery = match word {
        None => None,
        Some(RecoveryWord::GoBackN) => {
            go_back.map(|(timeout_ps, _)| Recovery::GoBackN { timeout_ps })
        }
        Some(RecoveryWord::Irn) => irn.map(Recovery::Irn),
        Some(RecoveryWord::Ideal) => ideal.map(|delay_ps| Recovery::Ideal { delay_ps }),
        Some(RecoveryWord::None) => Some(Recovery::None),
    };
    (recovery, naks)
}

fn read_irn(t: &Section<'_>) -> Option<IrnConfig> {
    let window = t.required("window", "\"bdp\"", |n| {
        word_or(n, "bdp", IrnWindow::Bdp, |n| {
            word_or(n, "off", IrnWindow::Off, |n| {
                quantity(n, &SIZE, 1, MAX_BUFFER_BYTES).map(IrnWindow::Bytes)
            })
        })
    });
    let (rto_low, rto_high) = (
        time(t, "rto_low", 1_000_000),
        time(t, "rto_high", 1_000_000),
    );
    let few = t.required("few", "3", |n| count(n, 0, 1_000_000));
    let lost_after = t.required("lost_after", "1", |n| count(n, 1, 1_000_000));
    if let (Some(low), Some(high)) = (rto_low, rto_high)
        && low > high
    {
        let message = format!(
            "rto_low {} is above rto_high {}",
            TIME.show(low),
            TIME.show(high)
        );
        t.complain(
            "rto_low",
            message,
            "rto_low is for flows with few packets in flight, whose queues are short",
        );
    }
    Some(IrnConfig {
        window: window?,
        rto_low_ps: rto_low?,
        rto_high_ps: rto_high?,
        few: few? as u32,
        lost_after: lost_after? as u32,
    })
}

fn frame_class(node: &Node) -> Read<FrameClass> {
    choice(
        node,
        &[("data", FrameClass::Data), ("control", FrameClass::Control)],
    )
}

fn read_ack(s: &Section<'_>) -> Option<(u16, FrameClass, u32, bool)> {
    parameters(s, "ack", true, "", |t| {
        let size = t.required("bytes", "\"60B\"", |n| bytes(n, 1, 1_518));
        let class = t.required("class", "\"data\"", frame_class);
        let every = t.required("every", "1", |n| count(n, 1, 100_000));
        let pausable = t.required("pausable", "true", boolean);
        Some((size?, class?, every? as u32, pausable?))
    })
}

type Nic = (u16, bool, bool, (Arbiter, bool));

fn read_nic(s: &Section<'_>, bfc: &Option<Option<BfcSpec>>) -> Option<Nic> {
    parameters(s, "nic", true, "", |t| {
        let schedules = [("round-robin", false), ("srf", true)];
        let srf = t.required("schedule", "\"round-robin\"", |n| choice(n, &schedules));
        let arbiters = [("ring", Arbiter::Ring), ("scan", Arbiter::Scan)];
        let arbiter = t.required("arbiter", "\"ring\"", |n| choice(n, &arbiters));
        let obeys = t.required("obeys", "[\"pfc\", \"bfc\"]", obeys);
        let listens = matches!(bfc, Some(Some(_))) && obeys.is_some_and(|(_, b)| b);
        let queues = if listens || bfc.is_none() {
            t.required("queues", "1024", |n| count(n, 1, 32_768))
                .map(|q| q as u16)
        } else {
            t.refuse_useless("queues", "no BFC pause tells the NIC's queues apart");
            Some(1)
        };
        let (obeys_pfc, obeys_bfc) = obeys?;
        if arbiter == Some(Arbiter::Scan) && srf == Some(true) {
            t.complain(
                "schedule",
                "a NIC that scans its list of flows takes them in turn",
                "set nic.arbiter = \"ring\", or nic.schedule = \"round-robin\"",
            );
        }
        Some((queues?, obeys_pfc, obeys_bfc, (arbiter?, srf?)))
    })
}

/// What a NIC obeys, as a list of words.
fn obeys(node: &Node) -> Read<(bool, bool)> {
    let (mut pfc, mut bfc) = (false, false);
    for item in array(node, "a list such as [\"pfc\", \"bfc\"]")? {
        match choice(item, &[("pfc", true), ("bfc", false)])? {
            true => pfc = true,
            false => bfc = true,
        }
    }
    Ok((pfc, bfc))
}

/// What of another simulator's habits cannot go without, or with, something else.
// NS3-60
fn habits(s: &Section<'_>, x: &SchemeSpec) {
    let integer = match x.control {
        ControlConfig::Hpcc(c) => c.arithmetic == Arithmetic::Integer,
        ControlConfig::Dcqcn(c) => c.arithmetic == Arithmetic::Integer,
        ControlConfig::Timely(c) => c.arithmetic == Arithmetic::Integer,
        ControlConfig::Dctcp(c) => c.arithmetic == Arithmetic::Integer,
        ControlConfig::DelayWindow(_) => false,
        ControlConfig::LineRate | ControlConfig::FixedWindow { .. } => {
            x.host.arbiter == Arbiter::Scan
        }
    };
    if integer != (x.host.arbiter == Arbiter::Scan) {
        s.complain_of(
            &["nic", "control"],
            "nic.arbiter = \"scan\" works with whole rates, and only it does",
            "set both: nic.arbiter = \"scan\" and arithmetic = \"integer\" of the control, or neither",
        );
    }
    if x.in_order && !x.cut_times {
        s.complain_of(
            &["ties", "clock"],
            "events stand in the order of scheduling only where times are whole nanoseconds",
            "set clock = \"ns\", or ties = \"phases\"",
        );
    }
    let scan = x.host.arbiter == Arbiter::Scan;
    if scan && x.bfc.is_some() && x.obeys_bfc {
        s.complain_of(
            &["nic", "backpressure"],
            "nic.arbiter = \"scan\" has no queues that BFC could pause",
            "set nic.arbiter = \"ring\", or nic.obeys = [\"pfc\"]",
        );
    }
    if let ControlConfig::Dcqcn(c) = x.control
        && scan
        && (c.byte_counter.is_some() || c.reaction == CnpReaction::Immediate)
    {
        s.complain_of(
            &["dcqcn"],
            "DCQCN with whole rates has the vendor's timers only",
            "set dcqcn.reaction = \"sampled\" and dcqcn.byte_counter = \"off\"",
        );
    }
    if scan && matches!(x.recovery, Recovery::Irn(_) | Recovery::Ideal { .. }) {
        s.complain_of(
            &["nic", "recovery"],
            "nic.arbiter = \"scan\" goes back to the first missing packet, or loses none",
            "set nic.arbiter = \"ring\", or recovery = \"go-back-n\"",
        );
    }
    if let ControlConfig::Timely(c) = x.control
        && scan
        && c.band != TimelyBand::Gradient
    {
        s.complain_of(
            &["timely"],
            "TIMELY with whole rates has the original band",
            "set timely.gradient = \"original\"",
        );
    }
    if let ControlConfig::Hpcc(c) = x.control
        && scan
        && (c.reaction == Reaction::PerAck || c.alpha.is_some() || c.division != Division::Exact)
    {
        s.complain_of(
            &["hpcc"],
            "HPCC with whole rates reacts per ACK and round trip or per round trip, to one link, and divides exactly",
            "set hpcc.reaction to \"combined\" or \"per-rtt\", alpha_fair = \"off\" and division = \"exact\"",
        );
    }
    if let ControlConfig::Dctcp(c) = x.control
        && scan
        && c.slow_start
    {
        s.complain_of(
            &["dctcp"],
            "DCTCP with whole rates starts at line rate",
            "set dctcp.slow_start = false",
        );
    }
    let by_hash = !matches!(x.classify, ClassifySpec::Fifo | ClassifySpec::PerFlow);
    if x.path == PathChoice::Tuple && by_hash {
        s.complain_of(
            &["path", "classify"],
            "path = \"tuple\" puts ports in the place of the hash that `classify` goes by",
            "set path = \"flow\", or classify = \"fifo\"",
        );
    }
}

/// Refuses what cannot work, and warns of what is doubtful. Each axis says what it requires.
fn combinations(s: &Section<'_>, x: &SchemeSpec) {
    if x.schedule == ScheduleSpec::Cyclic && x.classify == ClassifySpec::PerFlow {
        s.complain_of(
            &["schedule", "classify"],
            "\"cyclic\" serves queues by their numbers, and those of `classify` = \"per-flow\" have none",
            "set schedule = \"round-robin\", or classify to \"dynamic\" or \"hash\"",
        );
    }
    habits(s, x);
    if x.bfc.is_some() && x.classify == ClassifySpec::Fifo {
        s.complain_of(
            &["backpressure", "classify"],
            "BFC pauses single queues, and `classify` = \"fifo\" has but one for all flows of a class",
            "set classify to \"dynamic\" or \"hash\"",
        );
    }
    if x.bfc.is_some_and(|b| b.by == PauseBy::Queue) && x.classify == ClassifySpec::PerFlow {
        s.complain_of(
            &["backpressure", "classify"],
            "BFC pauses queues by their number, and the queues of `classify` = \"per-flow\" come and go",
            "set bfc.pause = \"flow\", or classify to \"dynamic\" or \"hash\"",
        );
    }
    if x.bfc
        .is_some_and(|b| b.by == PauseBy::Flow && b.tell != Tell::Edges)
    {
        s.complain_of(
            &["bfc", "backpressure"],
            "a bitmap names queues, and `bfc.pause` = \"flow\" pauses flows",
            "set bfc.tell = \"edges\", or bfc.pause = \"queue\"",
        );
    }
    if let ClassifySpec::Dynamic { assign, .. } = x.classify
        && assign.incast_queue
        && x.queues < 3
    {
        s.complain_of(
            &["dynamic", "queues", "classify"],
            "`dynamic.incast_queue` sets a queue apart, and there is one queue for data in all",
            "raise queues to 3 or more",
        );
    }
    if x.bfc.is_some() && x.ack_class.number() >= DATA_CLASS {
        s.complain_of(
            &["ack", "backpressure"],
            "BFC cannot pause ACKs: a NIC sends them from no queue that a pause could name",
            "set ack.class = \"control\"",
        );
    }
    if x.bfc.is_some() && matches!(x.admission, Admission::Pfc(_)) {
        s.warn_of(
            &["admission", "backpressure"],
            "BFC and PFC are both on: whichever acts first hides the other",
            "BFC's paper has PFC off: admission = \"shared-pool\"",
        );
    }
    let needs_ecn = matches!(x.control, ControlConfig::Dcqcn(_) | ControlConfig::Dctcp(_));
    if needs_ecn && x.ecn.is_none() {
        s.complain_of(
            &["control", "signal"],
            "this control reacts to ECN marks, and `signal` sets none",
            "set signal = \"ecn\"",
        );
    }
    if !needs_ecn && x.ecn.is_some() {
        s.warn_of(
            &["signal", "control"],
            "ECN marks are set, but `control` does not look at them",
            "leave ECN out of `signal`",
        );
    }
    let needs_int = matches!(x.control, ControlConfig::Hpcc(_));
    if needs_int && x.int.is_none() {
        s.complain_of(
            &["control", "signal"],
            "HPCC reads INT, and `signal` writes none",
            "set signal = \"int\"",
        );
    }
    if !needs_int && x.int.is_some() {
        s.warn_of(
            &["signal", "control"],
            "INT takes its bytes on every packet, but only HPCC reads it",
            "leave INT out of `signal`",
        );
    }
    let lossy = matches!(
        x.admission,
        Admission::SharedPool | Admission::EgressDynamic { .. }
    );
    if x.recovery == Recovery::None && lossy {
        s.complain_of(
            &["recovery", "admission"],
            "packets can be dropped under this `admission`, and nothing would send them again",
            "set recovery = \"go-back-n\", \"irn\" or \"ideal\", or admission to \"pfc\" or \"unlimited\"",
        );
    }
    recoveries(s, x, lossy);
    if matches!(x.admission, Admission::Pfc(_)) && !x.obeys_pfc {
        s.complain_of(
            &["nic", "admission"],
            "`admission` = \"pfc\" promises no loss, but NICs that do not obey PFC overrun their switch",
            "put \"pfc\" into nic.obeys, or choose a lossy admission",
        );
    }
    let unbounded = matches!(x.control, ControlConfig::LineRate);
    if x.bfc.is_some() && !x.obeys_bfc && unbounded {
        s.warn_of(
            &["nic", "control"],
            "NICs neither obey BFC nor limit what is in flight: the first switch fills and drops",
            "set control = \"fixed-window\", as the BFC paper does",
        );
    }
    let frame = u32::from(x.max_frame());
    if let ScheduleSpec::Drr(Some(quantum)) = x.schedule
        && quantum < frame
    {
        let message = format!("a DRR quantum of {quantum} B is below the largest frame, {frame} B");
        s.warn_of(
            &["drr"],
            message,
            "a queue then waits several rounds for one packet",
        );
    }
    if x.ack_every > 1 && needs_int {
        s.warn_of(
            &["ack"],
            "HPCC reacts per ACK, and only every n-th packet gets one",
            "set ack.every = 1",
        );
    }
}

/// Doubtful choices of the recovery.
fn recoveries(s: &Section<'_>, x: &SchemeSpec, lossy: bool) {
    let sprays = x.path == PathChoice::Packet;
    match x.recovery {
        Recovery::GoBackN { .. } if sprays => s.warn_of(
            &["path", "recovery"],
            "go-back-N takes every packet that overtakes another for a loss",
            "set recovery = \"none\" on a lossless network, or \"irn\" or \"ideal\", which take packets in any order",
        ),
        Recovery::GoBackN { timeout_ps: NEVER } if lossy => s.warn_of(
            &["go-back-n", "admission"],
            "without a timeout a flow whose last packet is dropped waits for ever",
            "give go-back-n.timeout a time",
        ),
        // REC-20
        Recovery::Irn(irn) if sprays && irn.lost_after == 1 => s.warn_of(
            &["path", "recovery"],
            "IRN sends every packet again that another overtakes",
            "raise irn.lost_after to how far packets of a flow get out of order",
        ),
        Recovery::Irn(_) if matches!(x.admission, Admission::Pfc(_)) => s.warn_of(
            &["recovery", "admission"],
            "with PFC nothing is lost, but IRN's timeouts send packets again that pauses hold up",
            "set admission = \"egress-dynamic\", or raise irn.rto_low and irn.rto_high",
        ),
        _ => {}
    }
}

impl SchemeSpec {
    fn int_bytes(&self) -> u16 {
        self.int.map_or(0, |int| int.bytes)
    }

    /// Bytes of the largest frame.
    #[must_use]
    pub fn max_frame(&self) -> u16 {
        self.mtu + self.header + self.int_bytes()
    }

    /// Fills in what depends on the network.
    #[must_use]
    pub fn configure(&self, around: &Surroundings) -> SchemeConfig {
        SchemeConfig {
            switch: self.switch(around),
            nic: self.nic(),
            base_rtt: self.base_rtt,
        }
    }

    fn switch(&self, around: &Surroundings) -> SwitchConfig {
        let data_queues = self.data_queues(around.max_class);
        let hrtt_ps = self
            .bfc
            .and_then(|b| b.hrtt_ps)
            .unwrap_or(2 * around.max_delay_ps);
        let max_frame = self.max_frame();
        SwitchConfig {
            classes: self.classes(around.max_class),
            classify: match self.classify {
                ClassifySpec::Fifo => Classify::Fifo,
                ClassifySpec::Hash => Classify::Hash {
                    queues: data_queues,
                },
                ClassifySpec::Dynamic { table, sticky, .. } => Classify::Dynamic {
                    queues: data_queues,
                    table: table.saturating_mul(u32::from(self.queues)).min(1 << 22),
                    sticky_ps: match sticky {
                        Sticky::HopRtts(n) => (n * hrtt_ps as f64 + 0.5) as Time,
                        Sticky::Fixed(ps) => ps,
                    },
                },
                ClassifySpec::PerFlow => Classify::PerFlow,
            },
            schedule: match self.schedule {
                ScheduleSpec::Fifo => Schedule::Fifo,
                ScheduleSpec::Drr(quantum) => Schedule::Drr {
                    quantum: quantum.unwrap_or(u32::from(max_frame)),
                },
                ScheduleSpec::RoundRobin => Schedule::RoundRobin,
                ScheduleSpec::ShortestRemaining => Schedule::ShortestRemaining,
                ScheduleSpec::Cyclic => Schedule::Cyclic,
            },
            assign: self.assign(),
            mmu: MmuConfig {
                buffer_bytes: around.buffer_bytes,
                reserved_bytes: around.reserved_bytes,
                admission: match self.admission {
                    Admission::Pfc(mut pfc) => {
                        if let Accounting::Ns3 { nic_bps, .. } = &mut pfc.accounting {
                            *nic_bps = around.nic_bps;
                        }
                        Admission::Pfc(pfc)
                    }
                    other => other,
                },
            },
            ecn: self.ecn.as_ref().map(|ecn| profile(ecn, &around.rates)),
            int: self.int.map(|int| IntConfig {
                format: int.format,
                counter: match &self.control {
                    ControlConfig::Hpcc(hpcc) => hpcc.telemetry.counter,
                    _ => Counter::Sent,
                },
            }),
            bfc: self
                .bfc
                .map(|b| self.backpressure(&b, data_queues, around.max_class)),
            path: self.path,
            max_frame,
        }
    }

    /// Queues of each data class at a port.
    fn data_queues(&self, max_class: u8) -> u16 {
        let classes = u16::from(max_class) + 1;
        if self.queues_per == QueuesPer::Port && classes > 1 {
            return (self.queues / classes).max(1); // PRE-50
        }
        // One of a port's queues is for control (PRE-06).
        self.queues.saturating_sub(1).max(1)
    }

    fn assign(&self) -> AssignConfig {
        let ClassifySpec::Dynamic { sticky, assign, .. } = self.classify else {
            return AssignConfig::PAPER;
        };
        AssignConfig {
            sticky_hrtts: match sticky {
                Sticky::HopRtts(n) => Some(Alpha::new(n).0),
                Sticky::Fixed(_) => None,
            },
            ..assign
        }
    }

    fn backpressure(&self, b: &BfcSpec, data_queues: u16, max_class: u8) -> BfcConfig {
        let upstream_queues = self.upstream_queues(data_queues, max_class);
        // BFC-30: a bit per queue, and 28 bytes of headers.
        let fit = (upstream_queues.div_ceil(8) + 28).max(64);
        let bitmap = b.bitmap.map(|(period_ps, frame)| BitmapConfig {
            period_ps,
            frame_bytes: frame.unwrap_or(fit),
            edges: b.tell == Tell::EdgesAndBitmap,
        });
        BfcConfig {
            threshold_factor: Alpha::new(b.threshold).0,
            floor_bytes: match b.floor {
                Floor::Frame => u64::from(self.max_frame()),
                Floor::Bytes(bytes) => bytes,
            },
            tau_ps: b.tau_ps,
            count_arriving: b.count_arriving,
            first_exempt: b.first_exempt,
            hrtt_ps: b.hrtt_ps,
            frame_bytes: b.frame_bytes,
            upstream_queues,
            by: b.by,
            bitmap,
            sampling: Alpha::new(b.sampling).0,
        }
    }

    /// The classes of pauses and of prior ACKs, and one per traffic class (PRE-09, PRE-26).
    fn classes(&self, max_class: u8) -> Vec<ClassConfig> {
        let control = ClassConfig {
            pausable: false,
            buffered: false,
            ecn: false,
            int: true,
        };
        let data = ClassConfig {
            pausable: matches!(self.admission, Admission::Pfc(_)),
            buffered: true,
            ecn: self.ecn.is_some(),
            int: true,
        };
        let mut classes = vec![control; usize::from(DATA_CLASS)];
        classes[0].int = self.int.is_some_and(|int| int.pauses);
        classes.resize(
            (classes.len() + 1 + usize::from(max_class)).min(MAX_CLASSES),
            data,
        );
        classes
    }

    /// Queue numbers that a neighbour may put on its packets: a NIC's, or a switch's of all classes.
    fn upstream_queues(&self, data_queues: u16, max_class: u8) -> u16 {
        let data = data_queues.saturating_mul(u16::from(max_class) + 1);
        let of_switch = data.saturating_add(u16::from(DATA_CLASS));
        of_switch.max(self.nic_queues)
    }

    /// HPCC reads telemetry as the switches write it.
    fn control(&self) -> ControlConfig {
        match (self.control, self.int) {
            (ControlConfig::Hpcc(hpcc), Some(int)) => ControlConfig::Hpcc(HpccConfig {
                telemetry: IntConfig {
                    format: int.format,
                    ..hpcc.telemetry
                },
                ..hpcc
            }),
            (control, _) => control,
        }
    }

    fn nic(&self) -> NicConfig {
        let (cnp_interval, cnp, cnp_class) = match self.cnp {
            Some((interval, size, class)) => (Some(interval), size, class),
            None => (None, self.ack_bytes, self.ack_class),
        };
        NicConfig {
            mtu: self.mtu,
            header: self.header,
            int: self.int_bytes(),
            ack: self.ack_bytes,
            cnp,
            ack_class: self.ack_class.number(),
            cnp_class: cnp_class.number(),
            data_class: DATA_CLASS,
            ack_every: self.ack_every,
            cnp_interval_ps: cnp_interval,
            control: self.control(),
            recovery: self.recovery,
            host: self.host,
            queues: self.nic_queues,
            shortest_first: self.nic_shortest_first,
            obeys_bfc: self.obeys_bfc,
            obeys_pfc: self.obeys_pfc,
        }
    }
}

/// The RED profile of every link rate (PRE-15, SW-31): that of the next lower rate that has one, else of the
/// lowest, scaled in proportion.
fn profile(ecn: &EcnSpec, rates: &[Rate]) -> EcnConfig {
    let of = |rate: &Rate| {
        let at_most = |p: &&EcnProfile| p.rate_bps <= rate.bps();
        let near = ecn.profiles.iter().rfind(at_most);
        let near = near.or(ecn.profiles.first())?;
        let scale = |bytes: u64| {
            (u128::from(bytes) * u128::from(rate.bps()) / u128::from(near.rate_bps)) as u64
        };
        let red = Red {
            kmin_bytes: scale(near.red.kmin_bytes),
            kmax_bytes: scale(near.red.kmax_bytes),
            pmax: near.red.pmax,
        };
        Some((*rate, red))
    };
    EcnConfig {
        profiles: rates.iter().filter_map(of).collect(),
        scope: ecn.scope,
        at_dequeue: ecn.at_dequeue,
        replay: ecn.replay,
    }
}
