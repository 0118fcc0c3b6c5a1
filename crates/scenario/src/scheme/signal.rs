//! Signals of switches in packets: ECN and INT.

use super::{EcnProfile, EcnSpec, IntSpec};
use crate::params;
use crate::reader::Section;
use crate::units::{RATE, SIZE};
use dataplane::config::{Red, Scope};
use dataplane::int::{IntFormat, Layout};
use dataplane::param::{
    Conflict, Kind, MAX_RATE_BPS, MAX_SIZE_BYTES, Param, Params, Value, Values,
};
use dataplane::signal::NotifierConfig;
use dataplane::watchdog::WatchdogConfig;

type Signals = (Option<Option<EcnSpec>>, Option<Option<IntSpec>>);

pub(super) fn read_signal(s: &Section<'_>, axes: &Values) -> Signals {
    let word = axes.some_word("signal");
    let ecn_on = matches!(word, Some("ecn" | "ecn+int"));
    let int_on = matches!(word, Some("int" | "ecn+int"));
    let useless = (!ecn_on).then_some("`signal` has no ECN");
    let ecn = params::table(s, "ecn", ECN, useless, ecn);
    let useless = (!int_on).then_some("`signal` has no INT");
    let int = params::table(s, "int", INT, useless, int);
    if word.is_none() {
        return (None, None);
    }
    (
        if ecn_on { ecn.map(Some) } else { Some(None) },
        if int_on { int.map(Some) } else { Some(None) },
    )
}

/// `notices` and the table of its word.
pub(super) fn read_notices(s: &Section<'_>, axes: &Values) -> Option<Option<NotifierConfig>> {
    let chosen = axes.some_word("notices");
    let mut read = Some(None);
    for &(word, (table, params)) in NotifierConfig::WORDS {
        let why = format!("`notices` is not \"{word}\"");
        let useless = (chosen != Some(word)).then_some(why.as_str());
        let of = params::table(s, table, params, useless, |values| {
            Ok(NotifierConfig::from_values(word, values))
        });
        if chosen == Some(word) {
            read = of;
        }
    }
    chosen.and(read)
}

/// Reads `guard` and the table of the watchdog.
pub(super) fn read_guard(s: &Section<'_>, axes: &Values) -> Option<Option<WatchdogConfig>> {
    let (name, params) = (WatchdogConfig::NAME, WatchdogConfig::PARAMS);
    let read = |values: &Values| Ok(WatchdogConfig::read(values));
    let watchdog = params::of_word(s, axes, "guard", name, params, read);
    match axes.some_word("guard")? == name {
        true => watchdog.map(Some),
        false => Some(None),
    }
}

/// Parameters of INT.
pub(super) const INT: &[Param] = &[
    Param::size("bytes", 1, 1_000)
        .default("\"42B\"", "PRE-18", "records of five hops (HPCC paper 4.1, 5.1)")
        .about("Bytes of INT on each packet."),
    Param::word("format", &["exact", "wire"])
        .default("\"exact\"", "PRE-70", "exact numbers, our choice")
        .about("Exact numbers, or records of 8 bytes to the bit."),
    Param::count("multiplier", 1, Layout::MAX_MULTIPLIER as u64)
        .default("1", "PRE-70", "of the units of \"wire\", 128 and 80 bytes (HPCC paper 4.1)")
        .about("Multiplies the units of a record, 128 and 80 bytes.")
        .with("format", &["wire"], "`format` is not \"wire\""),
    Param::count("qlen_bits", 16, 17)
        .default("16", "PRE-70", "of \"wire\"; the rate's enumeration has 4 (HPCC paper 4.1)")
        .about("Bits of the queue length in a record: 16 as in the paper, 17 as in the authors' simulator.")
        .with("format", &["wire"], "`format` is not \"wire\""),
    Param::flag("pauses")
        .default("false", "PRE-70", "the switch's pause frames do not count, our choice")
        .about("Pause frames of the switch count in the bytes that it has sent."),
];

fn int(values: &Values) -> Result<IntSpec, Conflict> {
    let format = match (
        values.some_count("multiplier"),
        values.some_count("qlen_bits"),
    ) {
        (Some(multiplier), Some(bits)) => {
            IntFormat::Wire(Layout::new(multiplier as u32, bits as u8))
        }
        _ => IntFormat::Exact,
    };
    Ok(IntSpec {
        bytes: values.size("bytes") as u16,
        format,
        pauses: values.flag("pauses"),
    })
}

const KMIN: Param =
    Param::size("kmin", 0, MAX_SIZE_BYTES).about("Up to this queue length no packet is marked.");
const KMAX: Param =
    Param::size("kmax", 0, MAX_SIZE_BYTES).about("Above this queue length every packet is marked.");
const PMAX: Param = Param::fraction("pmax", 0.0, 1.0).about("Probability of a mark at `kmax`.");
const RATE_OF: Param = Param::new(
    "rate",
    Kind::Rate {
        min: 1_000_000,
        max: MAX_RATE_BPS,
    },
)
.about("Rate of the links that the thresholds are for; those of other links scale.");

/// Thresholds of links of one rate.
const PROFILE: &[Param] = &[
    RATE_OF.needed("\"25Gbps\""),
    KMIN.needed("\"100KB\""),
    KMAX.needed("\"400KB\""),
    PMAX.needed("0.2"),
];

const EACH_RATE: &str = "`profiles` has the thresholds of each rate";

/// Parameters of ECN.
pub(super) const ECN: &[Param] = &[
    Param::tables("profiles", "profile", PROFILE)
        .absent("the four keys below hold for all rates")
        .about("Thresholds for each of several rates, in the place of the four keys below."),
    KMIN.default("\"100KB\"", "PRE-15", "at the rate below (BFC paper 6.2.1)").unless("profiles", EACH_RATE),
    KMAX.default("\"400KB\"", "PRE-15", "at the rate below (BFC paper 6.2.1)").unless("profiles", EACH_RATE),
    PMAX.default("0.2", "PRE-16", "not in the BFC paper; authors' code of HPCC").unless("profiles", EACH_RATE),
    RATE_OF.default("\"100Gbps\"", "PRE-15", "thresholds scale with the link's rate (HPCC paper 5.1)")
        .unless("profiles", EACH_RATE),
    Param::word("scope", &["queue", "port"])
        .default("\"queue\"", "PRE-17", "the packet's own queue (authors' code of HPCC)")
        .about("Whose bytes are compared with the thresholds."),
    Param::word("at", &["dequeue", "enqueue"])
        .default("\"dequeue\"", "PRE-17", "when the packet leaves (authors' code of HPCC)")
        .about("When a packet is marked."),
    Param::word("draws", &["own", "ns3"])
        .default("\"own\"", "PRE-82", "each switch has its own stream, our choice")
        .about("Where the chance of marks comes from; `\"own\"`: a stream of each switch, `\"ns3\"`: as in ns-3."),
];

fn ecn(values: &Values) -> Result<EcnSpec, Conflict> {
    let mut profiles: Vec<EcnProfile> = Vec::new();
    match values.some_list("profiles") {
        None => profiles.push(profile(values)?),
        Some(tables) => {
            for (index, table) in tables.iter().enumerate() {
                let Value::Table(table) = table else {
                    continue;
                };
                let one = profile(table).map_err(|c| c.in_item("profiles", index))?;
                if profiles.iter().any(|p| p.rate_bps == one.rate_bps) {
                    let message = format!("{} has a profile already", RATE.show(one.rate_bps));
                    let conflict = Conflict::new(&["rate"], message, "one profile for each rate");
                    return Err(conflict.in_item("profiles", index));
                }
                profiles.push(one);
            }
        }
    }
    profiles.sort_by_key(|p| p.rate_bps);
    let scope = if values.is("scope", "queue") {
        Scope::Queue
    } else {
        Scope::Port
    };
    Ok(EcnSpec {
        profiles,
        scope,
        at_dequeue: values.is("at", "dequeue"),
        replay: values.is("draws", "ns3"),
    })
}

/// Thresholds and the rate that they are for.
fn profile(values: &Values) -> Result<EcnProfile, Conflict> {
    let (kmin, kmax) = (values.size("kmin"), values.size("kmax"));
    if kmin > kmax {
        return Err(Conflict::new(
            &["kmin"],
            format!("kmin {} is above kmax {}", SIZE.show(kmin), SIZE.show(kmax)),
            "marking starts at kmin and is certain above kmax; if one of them is a default, set both",
        ));
    }
    Ok(EcnProfile {
        rate_bps: values.rate("rate"),
        red: Red {
            kmin_bytes: kmin,
            kmax_bytes: kmax,
            pmax: values.number("pmax"),
        },
    })
}
