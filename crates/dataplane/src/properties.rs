//! Properties of the words that a scenario chooses, and rules about their combinations.
//!
//! Each scheme and each option reports the properties that other code depends on, and the
//! combinations of properties that do not work with it. So no scheme has to know the others: a rule
//! names a property, such as [`Property::ScanArbiter`], and not the word that has it.

use crate::param::Conflict;

/// Declares the properties. [`Properties`] has a bit for each.
macro_rules! properties {
    ($(#[$meta:meta])* pub enum Property {$($(#[$doc:meta])* $Name:ident,)*}) => {
        $(#[$meta])*
        pub enum Property {$($(#[$doc])* $Name,)*}

        const _: () = assert!([$(Property::$Name),*].len() <= u64::BITS as usize);
    };
}

properties! {
    /// A property of a chosen word.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u8)]
    pub enum Property {
        /// Times are whole nanoseconds.
        WholeNanoseconds,
        /// Each class of a port has a single queue.
        OneQueue,
        /// A hash of the flow selects the queue.
        HashedQueues,
        /// Each flow has its own queue, which exists while the flow has packets.
        FlowQueues,
        /// The hash of a packet determines or influences its queue.
        QueuesByHash,
        /// The priority of a packet selects its queue.
        PriorityQueues,
        /// The queue with the lowest number is served first.
        StrictOrder,
        /// PFC prevents overflows of buffers.
        Pfc,
        /// PFC has thresholds in a shared pool of memory.
        PoolThresholds,
        /// Pauses of PFC take effect later than frames that arrive after them.
        DelayedPauses,
        /// Switches drop packets if a buffer is full.
        MayDrop,
        /// A guard ends pauses and can drop packets.
        Guard,
        /// A scheme between neighbours prevents overflows of buffers: a switch whose links lose nothing
        /// drops no frame of a data class.
        // AUD-05
        NoOverflow,
        /// Switches give data a number on each link, which the next switch reads from `queue` of the
        /// record.
        NumbersData,
        /// A port can become blocked by sending a packet: the packet uses the last credit, or the next
        /// packet belongs to a paused flow.
        BlocksBySending,
        /// The scheme repeats its pauses at intervals, which repairs lost ones.
        RepeatsPauses,
        /// A pause lasts while packets wait at the neighbour that sent it, so pauses can form a
        /// cycle.
        CanDeadlock,
        /// Packets whose ingress and egress ports could be part of a pause cycle cause no pause.
        Elides,
        /// A switch with the scheme works beside neighbours without it, which ignore its frames.
        // PRE-292
        WorksBesideOthers,
        /// Pauses name queues of NICs.
        NamesNicQueues,
        /// Packets of a flow can take several paths.
        Reorders,
        /// A policy of senders selects the path of each packet.
        SenderPaths,
        /// Senders write the path of a packet into its hash.
        Labels,
        /// Replies take the links of the packets that they answer.
        SymmetricPaths,
        /// The hash of a packet contains its ports, which differ between a packet and its reply.
        HashedPorts,
        /// Lost packets are sent again.
        Repairs,
        /// Receivers accept packets in any order.
        AnyOrder,
        /// The same packet can arrive twice.
        RepeatsPackets,
        /// Senders repeat single packets, so packets are not sent in the order of their numbers.
        Selective,
        /// A receiver-driven transport repeats lost packets itself.
        OwnRecovery,
        /// Senders are informed of each lost packet.
        AnnouncesDrops,
        /// ACKs use the class of their data.
        AcksWithData,
        /// CNPs use the class of data.
        CnpsWithData,
        /// One ACK answers several packets.
        SparseAcks,
        /// Hosts send replies although PFC pauses their class.
        UnpausableReplies,
        /// NICs scan their flows as in ns-3, and have no queues.
        ScanArbiter,
        /// NICs do not send their flows in turn.
        FlowOrder,
        /// NICs ignore the pauses of PFC.
        IgnoresPfc,
        /// NICs ignore the frames of the hop scheme.
        IgnoresHop,
        /// Switches set ECN marks.
        MarksEcn,
        /// Switches write telemetry (INT).
        WritesInt,
        /// Telemetry has exact numbers.
        ExactInt,
        /// Switches send notices to senders.
        SendsNotices,
        /// The control reacts to ECN marks.
        ReadsEcn,
        /// The control reads telemetry.
        ReadsInt,
        /// The control reads the bytes that left a port in telemetry.
        ReadsSentBytes,
        /// The control reacts to congestion notification packets.
        ReadsCnps,
        /// Receivers send CNPs as separate frames.
        CnpFrames,
        /// The control reacts to notices of switches.
        ReadsNotices,
        /// The control reads how many switches are on the path (`PathInfo::hops`).
        ReadsHops,
        /// The control uses neither the base round trip nor the BDP.
        IgnoresPath,
        /// The control limits neither the rate nor the bytes in flight.
        Unlimited,
        /// The scan of ns-3 can run the control, with whole rates if it computes rates.
        Scannable,
        /// Receivers decide when packets are sent.
        ReceiverDriven,
        /// Senders set the priority of each packet.
        SetsPriority,
        /// A transport can use labels of paths.
        ChoosesPaths,
        /// Parameters of a transport depend on the sizes of flows.
        ReadsFlowSizes,
        /// Receivers mark packets as granted or not granted.
        Grants,
    }
}

/// A set of properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Properties(u64);

impl Properties {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Creates a set.
    #[must_use]
    pub const fn of(properties: &[Property]) -> Self {
        let mut set = Self::NONE;
        let mut nth = 0;
        while nth < properties.len() {
            set.0 |= 1 << properties[nth] as u8;
            nth += 1;
        }
        set
    }

    /// Adds a property if the condition is true.
    #[must_use]
    pub const fn with(self, property: Property, condition: bool) -> Self {
        Self(self.0 | (condition as u64) << property as u8)
    }

    /// Removes a property.
    #[must_use]
    pub const fn minus(self, property: Property) -> Self {
        Self(self.0 & !(1 << property as u8))
    }

    /// Returns the union of two sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if the set contains the property.
    #[inline]
    #[must_use]
    pub const fn has(self, property: Property) -> bool {
        self.0 >> property as u8 & 1 != 0
    }
}

/// A finding of a scheme. Its keys are relative to `[scheme]`; those of a finding about a network
/// are relative to the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// An impossible combination.
    Wrong(Conflict),
    /// A doubtful combination.
    Doubtful(Conflict),
}

impl Finding {
    /// Creates an error about these keys.
    #[must_use]
    pub fn wrong(
        keys: &'static [&'static str],
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::Wrong(Conflict::new(keys, message, hint))
    }

    /// Creates a warning about these keys.
    #[must_use]
    pub fn doubtful(
        keys: &'static [&'static str],
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::Doubtful(Conflict::new(keys, message, hint))
    }
}

/// Creates a list of rules. A rule has a severity (`wrong` or `doubtful`), keys, properties that
/// must all be present (`with`) or all be absent (`without`), a message and a hint.
///
/// ```
/// use dataplane::properties::{Properties, Property};
///
/// let rules = dataplane::rules! {
///     wrong ["nic", "link"] with [ScanArbiter] without [OneQueue]:
///         "the scan has no credits", "set nic.arbiter = \"ring\"";
/// };
/// assert!(rules[0].applies(Properties::of(&[Property::ScanArbiter])));
/// assert!(!rules[0].applies(Properties::of(&[Property::ScanArbiter, Property::OneQueue])));
/// ```
#[macro_export]
macro_rules! rules {
    ($(
        $severity:ident [$($key:literal),*]
            $(with [$($with:ident),*])? $(without [$($without:ident),*])?:
            $message:expr, $hint:expr;
    )*) => {
        vec![$(
            $crate::properties::Rule::new(
                $crate::properties::Finding::$severity(&[$($key),*], $message, $hint),
                &[$($($crate::properties::Property::$with),*)?],
                &[$($($crate::properties::Property::$without),*)?],
            )
        ),*]
    };
}

/// A finding that applies if the words of a scenario together have certain properties, and lack
/// others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The finding. Its keys are relative to `[scheme]`.
    pub finding: Finding,
    with: Properties,
    without: Properties,
}

impl Rule {
    /// Creates a rule for scenarios with all properties of `with` and none of `without`.
    #[must_use]
    pub const fn new(finding: Finding, with: &[Property], without: &[Property]) -> Self {
        Self {
            finding,
            with: Properties::of(with),
            without: Properties::of(without),
        }
    }

    /// Returns true if the finding applies to a scenario with these properties.
    #[must_use]
    pub const fn applies(&self, all: Properties) -> bool {
        all.0 & (self.with.0 | self.without.0) == self.with.0
    }
}

/// A configuration that a scenario chooses.
pub trait Choice {
    /// Returns the properties that other choices depend on.
    fn provides(&self) -> Properties {
        Properties::NONE
    }

    /// Returns true if the choice has a property.
    fn has(&self, property: Property) -> bool {
        self.provides().has(property)
    }

    /// Returns the rules about combinations with other choices.
    fn rules(&self) -> Vec<Rule> {
        Vec::new()
    }
}

/// An axis for which `None` is a choice without properties.
impl<T: Choice> Choice for Option<T> {
    fn provides(&self) -> Properties {
        self.as_ref().map_or(Properties::NONE, T::provides)
    }

    fn rules(&self) -> Vec<Rule> {
        self.as_ref().map_or_else(Vec::new, T::rules)
    }
}
