//! The algorithms of collectives: their names, parameters, and supported kinds.

use crate::error::nearest;
use crate::operations::{Collective, CollectiveKind};
use std::fmt;

/// Maximum number of pieces into which channels and chunks together divide a vector.
const MOST_PARTS: u64 = 1 << 20;

/// Algorithms of collective operations. // OPS-32
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// Each member sends to the next one (`ring.rs`).
    Ring,
    /// Two binary trees, each with half of the vector (`double_binary_tree.rs`).
    DoubleBinaryTree,
    /// Recursive halving, then recursive doubling of the vector (`halving_doubling.rs`).
    HalvingDoubling,
    /// Each member sends to each other member (`direct.rs`).
    Direct,
    /// Steps inside each server first, then across servers (`hierarchical.rs`).
    Hierarchical,
    /// Binomial tree, for a broadcast.
    BinomialTree,
    /// Dissemination, for a barrier.
    Dissemination,
}

impl Name {
    /// All algorithms.
    pub const ALL: [Self; 7] = [
        Self::Ring,
        Self::DoubleBinaryTree,
        Self::HalvingDoubling,
        Self::Direct,
        Self::Hierarchical,
        Self::BinomialTree,
        Self::Dissemination,
    ];

    /// Name of the algorithm in files and options.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::DoubleBinaryTree => "double-binary-tree",
            Self::HalvingDoubling => "halving-doubling",
            Self::Direct => "direct",
            Self::Hierarchical => "hierarchical",
            Self::BinomialTree => "binomial-tree",
            Self::Dissemination => "dissemination",
        }
    }

    /// Names of the algorithm's parameters. // OPS-32
    #[must_use]
    pub const fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Ring => &["channels", "chunks", "active", "server"],
            Self::DoubleBinaryTree => &["channels", "chunks"],
            Self::HalvingDoubling => &["channels"],
            Self::Direct => &["channels", "window"],
            Self::Hierarchical => &["channels", "chunks", "server", "inside", "across"],
            Self::BinomialTree => &["channels", "chunks"],
            Self::Dissemination => &[],
        }
    }
}

/// Returns the algorithms that support a kind of collective. The first one is the default.
// OPS-32
#[must_use]
pub const fn algorithms_of(kind: CollectiveKind) -> &'static [Name] {
    use Name::{
        BinomialTree, Direct, Dissemination, DoubleBinaryTree, HalvingDoubling, Hierarchical, Ring,
    };
    match kind {
        CollectiveKind::AllReduce => &[
            Ring,
            DoubleBinaryTree,
            HalvingDoubling,
            Direct,
            Hierarchical,
        ],
        CollectiveKind::AllGather | CollectiveKind::ReduceScatter => {
            &[Ring, HalvingDoubling, Direct]
        }
        CollectiveKind::AllToAll => &[Direct, Ring],
        CollectiveKind::AllToAllV => &[Direct],
        CollectiveKind::Broadcast => &[BinomialTree, Ring, Direct],
        CollectiveKind::Barrier => &[Dissemination],
    }
}

/// Returns the parameters that an algorithm supports for this kind of collective. // OPS-32
const fn parameters_for(kind: CollectiveKind, name: Name) -> &'static [&'static str] {
    match (kind, name) {
        (CollectiveKind::AllToAll, Name::Ring) => &[],
        // With halving and doubling, a member keeps a block of the whole vector. Channels would
        // divide this block differently.
        (CollectiveKind::AllGather | CollectiveKind::ReduceScatter, Name::HalvingDoubling) => &[],
        (CollectiveKind::Broadcast, Name::Ring) => &["channels", "chunks"],
        (CollectiveKind::Broadcast, Name::Direct) => &["channels"],
        _ => name.parameters(),
    }
}

/// An algorithm with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// The algorithm.
    pub name: Name,
    /// Number of parallel copies of the algorithm. Each copy transfers an equal piece of the
    /// vector, on its own queue pairs and NIC.
    pub channels: u32,
    /// Number of chunks into which the piece of a channel is divided. They are sent one after the
    /// other.
    pub chunks: u32,
    /// Number of chunks of a ring that are in flight at the same time.
    pub active: u32,
    /// Number of messages that a direct exchange sends before it waits for the first received
    /// message.
    pub window: u32,
    /// Members per server, for rings and the hierarchical algorithm.
    pub server: u32,
    /// Hierarchical: algorithm inside a server.
    pub inside: Name,
    /// Hierarchical: algorithm across servers.
    pub across: Name,
}

impl Algorithm {
    /// Creates an algorithm with default parameters.
    #[must_use]
    pub const fn new(name: Name) -> Self {
        Self {
            name,
            channels: 1,
            chunks: 1,
            active: 1,
            window: u32::MAX,
            server: 1,
            inside: Name::Direct,
            across: Name::Ring,
        }
    }

    /// Parses the text of an algorithm. `None` selects the default of the kind. // OPS-32
    ///
    /// # Errors
    /// The text is invalid. The error contains the wrong word and the expected words.
    pub fn of(kind: CollectiveKind, text: Option<&str>) -> Result<Self, String> {
        text.map_or_else(|| Ok(Self::new(algorithms_of(kind)[0])), Self::parse)
    }

    /// Parses a text such as `ring:channels=4,chunks=2`. // OPS-32
    ///
    /// # Errors
    /// The text is invalid. The error contains the wrong word and the expected words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut algorithm = Self::new(name_of(name.trim())?);
        let known = algorithm.name.parameters();
        for part in rest.split(',').filter(|part| !part.trim().is_empty()) {
            let (key, value) = part
                .split_once('=')
                .map(|(key, value)| (key.trim(), value.trim()))
                .ok_or_else(|| format!("\"{part}\" in \"{text}\" is not of the form key=value"))?;
            if !known.contains(&key) {
                let expected = if known.is_empty() {
                    "it has none".to_owned()
                } else {
                    format!("expected {}", known.join(", "))
                };
                let name = algorithm.name.word();
                return Err(format!("{name} has no parameter \"{key}\"; {expected}"));
            }
            let number = || match value.parse::<u32>() {
                Ok(number) if (1..=65_536).contains(&number) => Ok(number),
                _ => Err(format!("{key} is \"{value}\"; expected 1 to 65536")),
            };
            match key {
                "channels" => algorithm.channels = number()?,
                "chunks" => algorithm.chunks = number()?,
                "active" => algorithm.active = number()?,
                "window" => algorithm.window = number()?,
                "server" => algorithm.server = number()?,
                "inside" => algorithm.inside = name_of(value)?,
                _ => algorithm.across = name_of(value)?,
            }
        }
        algorithm.active = algorithm.active.min(algorithm.chunks);
        Ok(algorithm)
    }

    /// Parses an algorithm for a vector of `bytes` bytes and a group of `members` members. If the
    /// text does not set the number of chunks, tree algorithms use [`Self::chunks_of_trees`].
    ///
    /// # Errors
    /// The errors of [`Self::parse`].
    pub fn pipelined(text: &str, bytes: u64, members: u32) -> Result<Self, String> {
        let mut algorithm = Self::parse(text)?;
        if !text.contains("chunks")
            && let Some(chunks) = algorithm.chunks_of_trees(bytes, members)
        {
            algorithm.chunks = chunks;
        }
        Ok(algorithm)
    }

    /// Returns the number of chunks that NCCL uses for a vector of `bytes` bytes, if this algorithm
    /// is a double binary tree, or uses one across servers.
    // OPS-63: chunks of 512 KiB; smaller ones if the number of chunks would be small
    #[must_use]
    pub fn chunks_of_trees(&self, bytes: u64, members: u32) -> Option<u32> {
        let servers = match self.name {
            Name::DoubleBinaryTree => 1,
            Name::Hierarchical if self.across == Name::DoubleBinaryTree => self.server,
            _ => return None,
        };
        let bytes = bytes / u64::from(servers) / (2 * u64::from(self.channels));
        let depth = u64::from((members / servers).max(2).ilog2());
        let mut chunk_bytes = 512 << 10;
        for (each, least_bytes) in [(8, 128 << 10), (4, 64 << 10), (1, 32 << 10)] {
            while bytes / chunk_bytes < each * depth && chunk_bytes > least_bytes {
                chunk_bytes /= 2;
            }
        }
        let most = (MOST_PARTS / u64::from(self.channels)).clamp(1, 65_536);
        Some(bytes.div_ceil(chunk_bytes).clamp(1, most) as u32)
    }

    /// Returns the algorithm `name` for one level (inside or across servers) of this hierarchical
    /// algorithm, with the parameters of this algorithm that `name` supports.
    pub(super) fn within(&self, name: Name) -> Self {
        Self {
            channels: self.channels,
            chunks: if name.parameters().contains(&"chunks") {
                self.chunks
            } else {
                1
            },
            ..Self::new(name)
        }
    }

    /// Returns the names of the parameters that differ from their defaults.
    fn changed(&self) -> impl Iterator<Item = &'static str> {
        let plain = Self::new(self.name);
        let all = [
            ("channels", self.channels != plain.channels),
            ("chunks", self.chunks != plain.chunks),
            ("active", self.active != plain.active),
            ("window", self.window != plain.window),
            ("server", self.server != plain.server),
            ("inside", self.inside != plain.inside),
            ("across", self.across != plain.across),
        ];
        all.into_iter()
            .filter_map(|(key, differs)| differs.then_some(key))
    }

    /// Checks that a group of `members` members can run this kind of collective with this
    /// algorithm.
    ///
    /// # Errors
    /// The combination is not supported. The error contains the supported alternatives.
    // OPS-32: supported combinations of algorithm, parameters and collective
    pub fn check(&self, kind: CollectiveKind, members: u32) -> Result<(), String> {
        let (name, able) = (self.name.word(), algorithms_of(kind));
        if !able.contains(&self.name) {
            let able: Vec<_> = able.iter().map(|name| name.word()).collect();
            let able = able.join(", ");
            return Err(format!("{name} cannot do {kind}; expected {able}"));
        }
        for key in self.changed() {
            if !parameters_for(kind, self.name).contains(&key) {
                return Err(format!("{name} has no parameter \"{key}\" in {kind}"));
            }
        }
        let parts = u64::from(self.channels) * u64::from(self.chunks);
        if parts > MOST_PARTS {
            return Err(format!(
                "{name} with {} channels of {} chunks has {parts} parts; at most {MOST_PARTS} are possible",
                self.channels, self.chunks
            ));
        }
        let power = members.is_power_of_two();
        if self.name == Name::HalvingDoubling && kind != CollectiveKind::AllReduce && !power {
            return Err(format!(
                "{name} does {kind} only in groups of a power of two, and this one has {members} members; use ring"
            ));
        }
        let size = self.server;
        if !members.is_multiple_of(size) {
            return Err(format!(
                "{name} with server={size} needs groups of whole servers, and this one has {members} members"
            ));
        }
        if self.name == Name::Hierarchical {
            if self.across == Name::Hierarchical {
                return Err("across=hierarchical is not possible".to_owned());
            }
            let takes = |name: Name| name.parameters().contains(&"chunks");
            if self.chunks > 1 && !takes(self.inside) && !takes(self.across) {
                return Err("neither inside nor across takes chunks".to_owned());
            }
            self.within(self.inside)
                .check(CollectiveKind::ReduceScatter, size)
                .map_err(|why| format!("inside: {why}"))?;
            self.within(self.across)
                .check(CollectiveKind::AllReduce, members / size)
                .map_err(|why| format!("across: {why}"))?;
        }
        Ok(())
    }
}

fn name_of(word: &str) -> Result<Name, String> {
    let found = Name::ALL.into_iter().find(|name| name.word() == word);
    found.ok_or_else(|| {
        let words = Name::ALL.map(Name::word);
        match nearest(word, words) {
            Some(near) => format!("there is no algorithm \"{word}\"; did you mean {near}?"),
            None => format!(
                "there is no algorithm \"{word}\"; expected {}",
                words.join(", ")
            ),
        }
    })
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = Self::new(self.name);
        let mut between = ':';
        f.write_str(self.name.word())?;
        let mut put = |f: &mut fmt::Formatter<'_>, key: &str, value: &dyn fmt::Display| {
            let result = write!(f, "{between}{key}={value}");
            between = ',';
            result
        };
        for key in self.name.parameters() {
            let (value, default) = match *key {
                "channels" => (self.channels, plain.channels),
                "chunks" => (self.chunks, plain.chunks),
                "active" => (self.active, plain.active),
                "window" => (self.window, plain.window),
                "server" => (self.server, plain.server),
                key => {
                    let (name, default) = if key == "inside" {
                        (self.inside, plain.inside)
                    } else {
                        (self.across, plain.across)
                    };
                    if name != default {
                        put(f, key, &name.word())?;
                    }
                    continue;
                }
            };
            if value != default {
                put(f, key, &value)?;
            }
        }
        Ok(())
    }
}

/// The contribution of one member to a collective.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Kind of the collective.
    pub kind: CollectiveKind,
    /// Position of the member in its group.
    pub position: u32,
    /// Number of members.
    pub members: u32,
    /// Bytes S of the whole vector.
    pub bytes: u64,
    /// Position in the group of the member that broadcasts.
    pub root: u32,
    /// All-to-allv: bytes to each member.
    pub to_each: &'a [u64],
    /// All-to-allv: bytes from each member.
    pub from_each: &'a [u64],
}

impl<'a> Part<'a> {
    /// Creates the contribution of the member at `position` to a collective of `members` members.
    #[must_use]
    pub fn of(collective: &'a Collective, position: u32, members: u32) -> Self {
        Self {
            kind: collective.kind,
            position,
            members,
            bytes: collective.bytes,
            root: collective.root,
            to_each: &collective.to_each,
            from_each: &collective.from_each,
        }
    }
}
