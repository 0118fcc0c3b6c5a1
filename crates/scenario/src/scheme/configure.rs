//! Converts a scheme to the configuration of switches and NICs in one network.

use super::{
    ClassifySpec, EcnProfile, EcnSpec, QueuesPer, ScheduleSpec, SchemeConfig, SchemeSpec, Sticky,
    Surroundings,
};
use dataplane::classes::{ClassSet, TRAFFIC_CLASSES};
use dataplane::config::{
    Accounting, Admission, Alpha, AssignConfig, ClassConfig, Classify, ControlConfig, EcnConfig,
    IntConfig, MAX_CLASSES, MmuConfig, NicConfig, PerClass, Red, Schedule, Sending,
    TransportConfig,
};
use dataplane::declaration::Around;
use dataplane::int::Counter;
use dataplane::switch::{DATA_CLASS, SwitchConfig};
use dataplane::units::{Rate, Time};
use fabric::engine::SwitchesAt;

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
            switch_at: SwitchesAt::default(),
            nic: self.nic(around),
            base_rtt: self.base_rtt,
        }
    }

    pub(crate) fn switch(&self, around: &Surroundings) -> SwitchConfig {
        let data_queues = self.data_queues(around.max_class);
        let max_frame = self.max_frame();
        let hop = self.hop.configure(&Around {
            max_frame,
            upstream_queues: around.upstream_queues,
        });
        let sending = self.sending(around);
        let required = sending.transport().map(TransportConfig::requires);
        let required = required.unwrap_or_default();
        let needs = hop.declaration().map(|hop| hop.needs());
        let hrtt_ps = needs
            .and_then(|needs| needs.hop_rtt_ps)
            .unwrap_or(2 * around.max_delay_ps);
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
                ClassifySpec::Priority => Classify::Priority {
                    levels: self.levels(),
                },
            },
            schedule: match self.schedule {
                ScheduleSpec::Fifo => Schedule::Fifo,
                ScheduleSpec::Drr(quantum) => Schedule::Drr {
                    quantum: quantum.unwrap_or(u32::from(max_frame)),
                },
                ScheduleSpec::RoundRobin => Schedule::RoundRobin,
                ScheduleSpec::ShortestRemaining => Schedule::ShortestRemaining,
                ScheduleSpec::Cyclic => Schedule::Cyclic,
                ScheduleSpec::Strict => Schedule::Strict,
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
                        pfc.victims = self
                            .victims
                            .map(|of| of.configure(around.base_rtt_ps, around.max_delay_ps));
                        Admission::Pfc(pfc)
                    }
                    other => other,
                },
            },
            ecn: self.ecn.as_ref().map(|ecn| profile(ecn, &around.rates)),
            int: self.int.map(|int| IntConfig {
                format: int.format,
                counter: self.counter(),
            }),
            hop,
            link: self.link,
            path: self.path,
            shaped: required.shaped,
            trim: required.trim,
            guard: self.guard,
            notifier: self.notifier,
            acks_return: self.acks_return,
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

    /// Queue numbers that a neighbour may put on its packets: a NIC's, or a switch's of all
    /// classes.
    pub(crate) fn upstream_queues(&self, max_class: u8) -> u16 {
        let data_queues = self.data_queues(max_class);
        let data = data_queues.saturating_mul(u16::from(max_class) + 1);
        let of_switch = data.saturating_add(u16::from(DATA_CLASS));
        of_switch.max(self.nic_queues)
    }

    /// Which bytes count in telemetry.
    fn counter(&self) -> Counter {
        let mut readers = self.control.controls().iter().filter(|c| c.needs().int);
        readers.next().map_or(Counter::Sent, ControlConfig::counter)
    }

    /// Priority levels of a class.
    fn levels(&self) -> u16 {
        self.control.transport().map_or(1, TransportConfig::levels)
    }

    /// With what depends on the switches and on the network.
    fn sending(&self, around: &Surroundings) -> Sending {
        let complete = |control: &ControlConfig| match self.int {
            Some(int) => control.clone().with_telemetry(int.format),
            None => control.clone(),
        };
        match &self.control {
            Sending::Control(control) => complete(control).into(),
            Sending::PerClass(controls) | Sending::Paired(controls) => {
                let controls: Vec<_> = controls.all().iter().map(complete).collect();
                Sending::PerClass(PerClass::new(&controls))
            }
            Sending::Transport(transport) => transport.complete(&around.transport).into(),
        }
    }

    /// Classes of data whose marks receivers notify, as bits.
    fn cnp_classes(&self) -> ClassSet {
        let controls = self.control.controls();
        let of = |class: usize| controls.get(class).or(controls.last());
        let notified = |&class: &usize| of(class).is_some_and(|c| c.needs().cnp);
        let classes = (0..TRAFFIC_CLASSES).filter(notified);
        classes.fold(0, |mask, class| {
            mask | 1 << (class + usize::from(DATA_CLASS))
        })
    }

    fn nic(&self, around: &Surroundings) -> NicConfig {
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
            cnp_classes: self.cnp_classes(),
            control: self.sending(around),
            recovery: self.recovery,
            spray: self.spray,
            reorders: self.path.sprays(),
            host: self.host,
            queues: self.nic_queues,
            order: self.nic_order,
            obeys: self.obeys,
        }
    }
}

/// The RED profile of every link rate (PRE-15, SW-31): that of the next lower rate that has one,
/// else of the lowest, scaled in proportion.
pub(super) fn profile(ecn: &EcnSpec, rates: &[Rate]) -> EcnConfig {
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
