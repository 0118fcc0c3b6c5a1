//! `[scheme.pfc]`.

use crate::config::{Accounting, Alpha, PauseTime, Pfc, PfcThreshold};
use crate::param::{Conflict, Kind, MAX_SIZE_BYTES, Param, Value, Values};

/// Parameters of PFC.
pub const PARAMS: &[Param] = &[
    Param::either(
        "xoff",
        &[
            Kind::Size { min: 1, max: MAX_SIZE_BYTES },
            Kind::Fraction { min: 0.001, max: 1000.0 },
        ],
    )
    .or(&["equal"])
    .default("\"11%\"", "PRE-11", "of the free shared buffer (BFC paper 6.2.1, HPCC paper 5.1)")
    .about(
        "An ingress is paused above a share of the free buffer (dynamic), a size (static), or the buffer over the number \
         of ports (`\"equal\"`).",
    ),
    Param::size("xon_offset", 0, MAX_SIZE_BYTES)
        .default("\"3072B\"", "PRE-12", "below XOFF (authors' code of HPCC)")
        .about("It is resumed this far below."),
    Param::size("headroom", 0, MAX_SIZE_BYTES)
        .or(&["formula"])
        .default("\"formula\"", "PRE-13", "from each link's rate and delay, our choice")
        .about("Headroom of each port and class; `\"formula\"`: from the rate and delay of its link."),
    Param::word("headroom_from", &["buffer", "beside"])
        .default("\"buffer\"", "PRE-121", "headroom is a part of the switch's memory, our choice")
        .about("Whether headroom is a part of `switch.buffer`, or beside it."),
    Param::time("response", 0)
        .default("\"0us\"", "PRE-13", "the upstream obeys at once, our choice")
        .about(
            "Time from the arrival of a PAUSE or RESUME until the upstream obeys it; a term of the headroom formula.",
        ),
    Param::size("frame", 1, 1_518)
        .default("\"64B\"", "PRE-13", "smallest Ethernet frame (IEEE 802.1Qbb)")
        .about("Bytes of a pause frame."),
    Param::word("pause", &["until-resumed", "quanta"])
        .default("\"until-resumed\"", "PRE-240", "what papers simulate: XOFF holds until XON")
        .about(
            "How long a pause lasts; `\"quanta\"`: for a time, as IEEE 802.1Qbb has it, and the switch \
             repeats it.",
        ),
    Param::count("quanta", 1, u16::MAX as u64)
        .default("65535", "PRE-241", "the longest (Linux driver of Intel 82599)")
        .about("Time of a pause, in times in which the port sends 512 bits.")
        .with("pause", &["quanta"], "`pause` is not \"quanta\""),
    Param::number("refresh", 0.001, 0.999)
        .default("0.5", "PRE-241", "half of the pause time (Linux driver of Intel 82599)")
        .about("A pause that still holds is repeated after this part of its time.")
        .with("pause", &["quanta"], "`pause` is not \"quanta\""),
    Param::word("accounting", &["pool", "ns3"])
        .default("\"pool\"", "PRE-82", "the pool until XOFF, then headroom (specs/switch.md)")
        .about("Which bytes count where; `\"ns3\"`: as in ns-3, with `xoff` a power of 1/2."),
    Param::size("headroom_pool", 1, MAX_SIZE_BYTES)
        .or(&["separate"])
        .default("\"separate\"", "PRE-275", "each port and class has its own, our choice")
        .about(
            "Most bytes of headroom that all ports and classes of a switch hold together; `\"separate\"`: each has its \
             own in full.",
        )
        .with("accounting", &["pool"], "`accounting` is not \"pool\""),
    Param::count("headroom_delays", 0, 1_000)
        .default(
            "3",
            "PRE-82",
            "of \"ns3\" books, times what a link holds one way (authors' code of HPCC)",
        )
        .about("Headroom in times of what a link holds one way.")
        .with("accounting", &["ns3"], "`accounting` is not \"ns3\""),
];

/// PFC with these values; what the network says is filled in later.
///
/// # Errors
/// Values that cannot go together.
pub fn from_values(values: &Values) -> Result<Pfc, Conflict> {
    let threshold = match values.get("xoff") {
        Some(&Value::Size(bytes)) => PfcThreshold::Static(bytes),
        Some(&Value::Number(share)) => PfcThreshold::Dynamic(Alpha::new(share)),
        // SPFC-06
        _ => PfcThreshold::Equal,
    };
    let accounting = match values.word("accounting") {
        "pool" => Accounting::Pool,
        _ => Accounting::Ns3 {
            shift: halvings(threshold).ok_or_else(|| {
                Conflict::new(
                    &["accounting", "xoff"],
                    "the books of \"ns3\" find thresholds by halving the free buffer",
                    "set pfc.xoff to 1, 0.5, 0.25, 0.125 or a smaller half",
                )
            })?,
            nic_bps: 0, // filled in when the network is known
            headroom_delays: values.count("headroom_delays") as u32, // FGC-07
        },
    };
    Ok(Pfc {
        accounting,
        threshold,
        victims: None, // filled in when the network is known
        xon_offset: values.size("xon_offset"),
        frame_bytes: values.size("frame") as u16,
        headroom: values.some_size("headroom"),
        headroom_pool: values.some_size("headroom_pool"),
        headroom_beside: values.is("headroom_from", "beside"),
        response_ps: values.time("response"),
        pause: match values.word("pause") {
            "quanta" => {
                let quanta = values.count("quanta") as u16;
                let refresh = (f64::from(quanta) * values.number("refresh")) as u16;
                PauseTime::Quanta {
                    quanta,
                    refresh: refresh.max(1), // QNT-05
                }
            }
            _ => PauseTime::UntilResumed,
        },
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
