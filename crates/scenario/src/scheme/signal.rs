//! Reads the settings of ECN and INT, which switches write on packets.

use crate::params;
use crate::reader::Section;
use crate::units::{RATE, SIZE};
use dataplane::config::{EcnConfig, Red, Scope};
use dataplane::int::{IntFormat, Layout};
use dataplane::param::{Conflict, Kind, MAX_RATE_BPS, MAX_SIZE_BYTES, Param, Params};
use dataplane::units::Rate;

type Signals = (Option<Option<EcnConfig>>, Option<Option<Int>>);

/// Reads the tables `ecn` and `int` if `signal` selects them.
pub(super) fn read_signal(s: &Section<'_>, signal: &str) -> Signals {
    let has_ecn = signal.contains("ecn");
    let has_int = signal.contains("int");
    let useless = (!has_ecn).then_some("`signal` has no ECN");
    let ecn = params::table(s, "ecn", Ecn::PARAMS, useless, |values| {
        Ecn::read(values).configure()
    });
    let useless = (!has_int).then_some("`signal` has no INT");
    let int = params::table(s, "int", Int::PARAMS, useless, |values| {
        Ok(Int::read(values))
    });
    (
        if has_ecn { ecn.map(Some) } else { Some(None) },
        if has_int { int.map(Some) } else { Some(None) },
    )
}

dataplane::words! {
    /// Format of the INT records on packets.
    enum Format {
        /// Exact values, without rounding.
        Exact = "exact",
        /// Records of 8 bytes with rounded values, as on the wire.
        Wire = "wire",
    }
}

dataplane::params! {
    /// Parameters of INT.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Int {
        /// Bytes of INT on each packet.
        pub bytes: u16 = Param::size("bytes", 1, 1_000)
            .default("\"42B\"", "PRE-18", "records of five hops (HPCC paper 4.1, 5.1)"),
        /// Exact numbers, or records of 8 bytes to the bit.
        format: Format = Param::word("format", Format::WORDS)
            .default("\"exact\"", "PRE-70", "exact numbers, our choice"),
        /// Multiplies the units of a record, 128 and 80 bytes.
        multiplier: u32 = Param::count("multiplier", 1, Layout::MAX_MULTIPLIER as u64)
            .default("1", "PRE-70", "of the units of \"wire\", 128 and 80 bytes (HPCC paper 4.1)")
            .with("format", &["wire"], "`format` is not \"wire\""),
        /// Bits of the queue length in a record: 16 as in the paper, 17 as in the authors'
        /// simulator.
        qlen_bits: u8 = Param::count("qlen_bits", 16, 17)
            .default("16", "PRE-70", "of \"wire\"; the rate's enumeration has 4 (HPCC paper 4.1)")
            .with("format", &["wire"], "`format` is not \"wire\""),
        /// Pause frames of the switch count in the bytes that it has sent.
        pub pauses: bool = Param::flag("pauses")
            .default("false", "PRE-70", "the switch's pause frames do not count, our choice"),
    }
}

impl Int {
    /// Returns the format of the INT records.
    pub(super) fn format(&self) -> IntFormat {
        match self.format {
            Format::Exact => IntFormat::Exact,
            Format::Wire => IntFormat::Wire(Layout::new(self.multiplier, self.qlen_bits)),
        }
    }
}

const KMIN: Param = Param::size("kmin", 0, MAX_SIZE_BYTES);
const KMAX: Param = Param::size("kmax", 0, MAX_SIZE_BYTES);
const PMAX: Param = Param::fraction("pmax", 0.0, 1.0);
const RATE_OF: Param = Param::new(
    "rate",
    Kind::Rate {
        min: 1_000_000,
        max: MAX_RATE_BPS,
    },
);

dataplane::params! {
    /// ECN thresholds for links of one rate.
    #[derive(Clone, Copy, Debug)]
    struct Profile {
        /// Rate of the links that the thresholds are for; those of other links scale.
        rate_bps: u64 = RATE_OF.needed("\"25Gbps\""),
        /// Up to this queue length no packet is marked.
        kmin_bytes: u64 = KMIN.needed("\"100KB\""),
        /// Above this queue length every packet is marked.
        kmax_bytes: u64 = KMAX.needed("\"400KB\""),
        /// Probability of a mark at `kmax`.
        pmax: f64 = PMAX.needed("0.2"),
    }
}

dataplane::words! {
    /// Time at which a packet is marked with ECN.
    enum At {
        /// A packet is marked when it is dequeued.
        Dequeue = "dequeue",
        /// A packet is marked when it is enqueued.
        Enqueue = "enqueue",
    }
}

dataplane::words! {
    /// Source of the random numbers for ECN marks.
    enum Draws {
        /// Each switch has its own random stream.
        Own = "own",
        /// The random stream of ns-3.
        Ns3 = "ns3",
    }
}

const EACH_RATE: &str = "`profiles` has the thresholds of each rate";

dataplane::params! {
    /// Parameters of ECN.
    #[derive(Clone, Debug)]
    pub(super) struct Ecn {
        /// Thresholds for each of several rates, instead of the four keys below.
        profiles: Vec<Profile> = Param::tables("profiles", "profile", Profile::PARAMS)
            .absent("the four keys below hold for all rates"),
        /// Up to this queue length no packet is marked.
        kmin_bytes: u64 = KMIN.default("\"100KB\"", "PRE-15", "at the rate below (BFC paper 6.2.1)")
            .unless("profiles", EACH_RATE),
        /// Above this queue length every packet is marked.
        kmax_bytes: u64 = KMAX.default("\"400KB\"", "PRE-15", "at the rate below (BFC paper 6.2.1)")
            .unless("profiles", EACH_RATE),
        /// Probability of a mark at `kmax`.
        pmax: f64 = PMAX.default("0.2", "PRE-16", "not in the BFC paper; authors' code of HPCC")
            .unless("profiles", EACH_RATE),
        /// Rate of the links that the thresholds are for; those of other links scale.
        rate_bps: u64 = RATE_OF
            .default("\"100Gbps\"", "PRE-15", "thresholds scale with the link's rate (HPCC paper 5.1)")
            .unless("profiles", EACH_RATE),
        /// Bytes that are compared with the thresholds.
        scope: Scope = Param::word("scope", Scope::WORDS)
            .default("\"queue\"", "PRE-17", "the packet's own queue (authors' code of HPCC)"),
        /// When a packet is marked.
        at: At = Param::word("at", At::WORDS)
            .default("\"dequeue\"", "PRE-17", "when the packet leaves (authors' code of HPCC)"),
        /// Random numbers for marks; `"own"`: a stream of each switch, `"ns3"`: as in ns-3.
        draws: Draws = Param::word("draws", Draws::WORDS)
            .default("\"own\"", "PRE-82", "each switch has its own stream, our choice"),
    }
}

impl Ecn {
    fn configure(self) -> Result<EcnConfig, Conflict> {
        let mut profiles: Vec<(Rate, Red)> = Vec::new();
        for (index, profile) in self.profiles.iter().enumerate() {
            let one = profile
                .red()
                .map_err(|conflict| conflict.in_item("profiles", index))?;
            if profiles.iter().any(|(rate, _)| *rate == one.0) {
                let message = format!("{} has a profile already", RATE.show(profile.rate_bps));
                let conflict = Conflict::new(&["rate"], message, "one profile for each rate");
                return Err(conflict.in_item("profiles", index));
            }
            profiles.push(one);
        }
        if profiles.is_empty() {
            let one = Profile {
                rate_bps: self.rate_bps,
                kmin_bytes: self.kmin_bytes,
                kmax_bytes: self.kmax_bytes,
                pmax: self.pmax,
            };
            profiles.push(one.red()?);
        }
        profiles.sort_by_key(|(rate, _)| rate.bps());
        Ok(EcnConfig {
            profiles,
            scope: self.scope,
            at_dequeue: self.at == At::Dequeue,
            replay: self.draws == Draws::Ns3,
        })
    }
}

impl Profile {
    /// Returns the ECN thresholds, and the link rate to which they refer.
    fn red(&self) -> Result<(Rate, Red), Conflict> {
        let (kmin, kmax) = (self.kmin_bytes, self.kmax_bytes);
        if kmin > kmax {
            return Err(Conflict::new(
                &["kmin"],
                format!("kmin {} is above kmax {}", SIZE.show(kmin), SIZE.show(kmax)),
                "marking starts at kmin and is certain above kmax; if one of them is a default, set both",
            ));
        }
        let red = Red {
            kmin_bytes: kmin,
            kmax_bytes: kmax,
            pmax: self.pmax,
        };
        Ok((Rate::from_bps(self.rate_bps), red))
    }
}
