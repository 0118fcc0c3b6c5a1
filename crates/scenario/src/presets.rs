//! Presets: named sets of values in TOML files, which state the rule of each value
//! (specs/presets.md). A preset is applied on top of the declared defaults of schemes and a
//! parameter set of `common.toml`.

/// A preset: a named set of values of `[scheme]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Name of the preset.
    pub name: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        &[$(Preset { name: $name, text: include_str!(concat!("../presets/", $name, ".toml")) }),*]
    };
}

/// All presets.
pub const PRESETS: &[Preset] = presets![
    "bfc",
    "bfc-single",
    "bfc-stochastic",
    "bfc-nic-deaf",
    "bfc-flow",
    "bfc-srf",
    "bfc-incast-label",
    "bfc-sampling",
    "bfc+window",
    "hpcc",
    "hpcc+sfq",
    "hpcc+dqa",
    "hpcc-no-pfc",
    "hpcc-no-pfc+sfq",
    "hpcc-no-pfc+dqa",
    "dcqcn",
    "dcqcn+win",
    "dcqcn+st",
    "dcqcn+dt",
    "dcqcn+spfc",
    "dctcp",
    "timely",
    "timely+win",
    "timely+st",
    "timely+dt",
    "timely+spfc",
    "ideal-fq",
    "ideal-srf",
    "line-rate",
    "fixed-window",
    "swift",
    "powertcp",
    "theta-powertcp",
    "bolt",
    "reps",
    "expresspass",
    "ndp",
    "homa",
    "homa-ecmp",
    "dcqcn+floodgate",
    "dcqcn+floodgate-ideal",
    "timely+floodgate",
    "timely+floodgate-ideal",
    "hpcc+floodgate",
    "hpcc+floodgate-ideal",
    "dcqcn+pfc-tag",
    "dcqcn+cbfc",
];

/// Names of all presets.
pub(crate) const PRESET_NAMES: [&str; PRESETS.len()] = {
    let mut names = [""; PRESETS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = PRESETS[i].name;
        i += 1;
    }
    names
};

/// Names of the parameter sets: the paper or simulator from which the values are taken. `"none"` is
/// the empty set, with which the declared defaults apply.
pub const PARAMETER_SETS: &[&str] = &[
    "none",
    "bfc-paper",
    "hpcc-paper",
    "dcqcn-paper@hpcc",
    "ns3-rdma@bfc",
    "ns3-hpcc@bfc",
    "floodgate-paper",
    "spfc-paper",
];

impl Preset {
    /// Returns the preset with this name, if it exists.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|p| p.name == name)
    }
}

/// A profile: values that reproduce another simulator, applied on top of a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Name of the profile.
    pub name: &'static str,
    pub(crate) text: &'static str,
}

/// `"none"`, followed by the names of all profiles.
pub(crate) const PROFILE_NAMES: [&str; PROFILES.len() + 1] = {
    let mut names = ["none"; PROFILES.len() + 1];
    let mut i = 0;
    while i < PROFILES.len() {
        names[i + 1] = PROFILES[i].name;
        i += 1;
    }
    names
};

/// All profiles. `"none"`, which follows the papers, has no values and is not included.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "ns3",
        text: include_str!("../presets/profile-ns3.toml"),
    },
    Profile {
        name: "nsdi22-code",
        text: include_str!("../presets/profile-nsdi22-code.toml"),
    },
    Profile {
        name: "conext21-code",
        text: include_str!("../presets/profile-conext21-code.toml"),
    },
];

impl Profile {
    /// Returns the profile with this name, if it exists.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|p| p.name == name)
    }
}
