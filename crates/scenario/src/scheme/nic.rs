//! Reads the settings of acknowledgements and of the NIC.

use super::signal::Int;
use crate::params;
use crate::reader::Section;
use dataplane::cc::Notification;
use dataplane::classes::{CONTROL_CLASS, ClassSet, TRAFFIC_CLASSES};
use dataplane::config::{
    Arbiter, ControlConfig, FlowOrder, HostConfig, NicConfig, Processing, Recovery, Sending,
};
use dataplane::hop::{HopSpec, IGNORABLE, NIC_QUEUES, NO_NIC_QUEUES, OBEYS};
use dataplane::packet::SchemeSet;
use dataplane::param::{Conflict, Param, Params, Value, Values};
use dataplane::properties::{Choice, Property};
use dataplane::switch::DATA_CLASS;
use dataplane::units::{Rate, Time};

dataplane::words! {
    /// Dataplane class of ACKs.
    pub(super) enum FrameClass {
        /// The data class of traffic class 0.
        Data = "data",
        /// The control class: strict priority, never paused, and uses no buffer.
        Control = "control",
    }
}

impl FrameClass {
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Data => DATA_CLASS,
            Self::Control => CONTROL_CLASS,
        }
    }
}

dataplane::words! {
    /// Path of ACKs.
    pub(super) enum AckPath {
        /// The path is selected by the flow hash of the ACK.
        Own = "own",
        /// The reverse of the path of the acknowledged packet.
        Reverse = "reverse",
    }
}

dataplane::params! {
    /// Parameters of acknowledgements.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Ack {
        /// Bytes of an ACK.
        pub bytes: u16 = Param::size("bytes", 1, 1_518)
            .default("\"60B\"", "PRE-03", "smallest frame of the authors' code of HPCC"),
        /// Class of ACKs; `"data"`: as data, `"control"`: strictly first and never paused.
        pub class: FrameClass = Param::word("class", FrameClass::WORDS)
            .default("\"data\"", "PRE-09", "as data, in its queue (authors' code of HPCC)"),
        /// Packets that one ACK answers.
        pub every: u32 = Param::count("every", 1, 100_000)
            .default("1", "PRE-09", "an ACK per packet (HPCC paper 3)"),
        /// Path of ACKs; `"own"`: by their own hash, `"reverse"`: through the ports through which
        /// their packets arrived.
        pub path: AckPath = Param::word("path", AckPath::WORDS)
            .default("\"own\"", "PRE-160", "by its own hash, our choice"),
        /// A PFC pause at the host also stops ACKs of class `"data"`.
        pub pausable: bool = Param::flag("pausable")
            .default("true", "PRE-81", "PFC holds ACKs of the data class at the host as well"),
    }
}

dataplane::params! {
    /// Parameters of the NIC.
    #[derive(Clone, Debug)]
    pub(super) struct Nic {
        /// Flow that sends next; `"srf"`: the one with the fewest remaining bytes, `"cyclic"`: a
        /// packet of each, in the order of random numbers of the flows.
        pub order: FlowOrder = Param::word("schedule", FlowOrder::WORDS)
            .default("\"round-robin\"", "PRE-39", "a packet of each flow in turn (authors' code of BFC)"),
        /// Which pauses the NIC obeys.
        obeys: Vec<&'static str> = OBEYS,
        /// Queues that BFC can pause one by one.
        pub queues: Option<u16> = NIC_QUEUES,
        /// How the next flow is found; `"scan"`: ns-3's round over its list of queue pairs, which
        /// needs a control with `arithmetic = "integer"`.
        pub arbiter: Arbiter = Param::word("arbiter", Arbiter::WORDS)
            .default("\"ring\"", "PRE-81", "flows that may send stand in a ring, our choice"),
        /// Time that a host takes for each frame of a flow before it acts on it.
        host_delay_ps: Time = Param::time("host_delay", 0)
            .default("\"0us\"", "PRE-201", "hosts take no time, our choice"),
        /// Rate at which a host processes frames of flows, one after another.
        host_rate_bps: Option<u64> = Param::rate("host_rate").or(&["off"])
            .default("\"off\"", "PRE-201", "hosts take no time, our choice"),
    }
}

/// Reads `[scheme.nic]`. The key `queues` has no effect unless BFC pauses single queues.
pub(super) fn read_nic(s: &Section<'_>, hop: Option<&HopSpec>) -> Option<Nic> {
    let inner = params::inner(s, "nic")?;
    let obeys = |values: &Values, word| {
        let words = values.some_list("obeys").unwrap_or_default();
        words.contains(&Value::Word(word))
    };
    let ignorable = |word: &&str| IGNORABLE.iter().any(|(other, _)| other == word);
    let own = hop.map(HopSpec::word).filter(ignorable);
    let deaf = hop.is_some_and(|hop| {
        !hop.declaration()
            .is_some_and(|hop| hop.has(Property::NamesNicQueues))
    });
    let values = params::read_where(&inner, Nic::PARAMS, |key, values| {
        let idle = key == "queues" && (deaf || own.is_some_and(|word| !obeys(values, word)));
        idle.then_some(NO_NIC_QUEUES)
    });
    inner.finish();
    params::settle(&inner, Nic::read(&values?).checked())
}

impl Nic {
    fn checked(self) -> Result<Self, Conflict> {
        if self.arbiter == Arbiter::Scan && self.order != FlowOrder::Ring {
            return Err(Conflict::new(
                &["schedule"],
                "a NIC that scans its list of flows takes them in turn",
                "set nic.arbiter = \"ring\", or nic.schedule = \"round-robin\"",
            ));
        }
        if self.arbiter == Arbiter::Scan && self.processing().is_some() {
            return Err(Conflict::new(
                &["host_delay", "host_rate"],
                "hosts of a NIC that scans its list of flows take no time",
                "set nic.arbiter = \"ring\"",
            ));
        }
        Ok(self)
    }

    /// Returns the hop-by-hop schemes whose control frames the NIC obeys.
    pub(super) fn obeyed(&self) -> SchemeSet {
        let ignored = IGNORABLE
            .iter()
            .filter(|(word, _)| !self.obeys.contains(word));
        ignored.fold(SchemeSet::ALL, |set, (_, scheme)| {
            set.without(scheme.number())
        })
    }

    /// Returns the processing time of a host for frames, if it is configured.
    // NIC-40: host delay and rate
    pub(super) fn processing(&self) -> Option<Processing> {
        let rate = self.host_rate_bps.map(Rate::from_bps);
        (self.host_delay_ps > 0 || rate.is_some()).then_some(Processing {
            delay_ps: self.host_delay_ps,
            rate,
        })
    }

    /// Returns the configuration of NICs. Loss recovery and paths have the values of a plain
    /// network.
    pub(super) fn configure(
        &self,
        (mtu, header): (u16, u16),
        ack: &Ack,
        control: Sending,
        int: Option<&Int>,
    ) -> NicConfig {
        let controls = control.controls();
        let notification = controls.iter().find_map(ControlConfig::notification);
        let (cnp_interval_ps, cnp, cnp_class, cnp_cycle) = match notification {
            Some(Notification::Frames {
                interval_ps,
                bytes,
                cycle,
                control,
            }) => {
                let class = match control {
                    true => FrameClass::Control,
                    false => FrameClass::Data,
                };
                (Some(interval_ps), bytes, class, cycle)
            }
            _ => (None, ack.bytes, ack.class, false),
        };
        NicConfig {
            mtu,
            header,
            int: int.map_or(0, |int| int.bytes),
            ack: ack.bytes,
            cnp,
            ack_class: ack.class.number(),
            cnp_class: cnp_class.number(),
            data_class: DATA_CLASS,
            ack_every: ack.every,
            cnp_interval_ps,
            cnp_classes: cnp_classes(controls),
            recovery: Recovery::NONE,
            spray: None,
            reorders: false,
            host: HostConfig {
                arbiter: self.arbiter,
                ack_pausable: ack.pausable,
                cnp_on_ack: notification == Some(Notification::OnAck),
                cnp_cycle,
                ports_in_hash: false,
                processing: self.processing(),
            },
            queues: self.queues.unwrap_or(1),
            order: self.order,
            obeys: self.obeyed(),
            control,
        }
    }
}

/// Returns the data classes whose ECN marks receivers answer with CNPs, as a bit set.
fn cnp_classes(controls: &[ControlConfig]) -> ClassSet {
    let of = |class: usize| controls.get(class).or(controls.last());
    let notified = |&class: &usize| {
        of(class).is_some_and(|control| control.provides().has(Property::ReadsCnps))
    };
    let classes = (0..TRAFFIC_CLASSES).filter(notified);
    classes.fold(0, |mask, class| {
        mask | 1 << (class + usize::from(DATA_CLASS))
    })
}
