//! Completes the configuration of a scheme with the values that depend on the network.

use super::{QueuesPer, SchemeConfig, SchemeSpec};
use dataplane::config::{Accounting, Admission, MAX_CLASSES, NicConfig, SwitchRequirements};
use dataplane::declaration::Around;
use dataplane::switch::{DATA_CLASS, SwitchConfig};
use fabric::engine::SwitchesAt;

impl SchemeSpec {
    /// Bytes of the largest frame on the wire.
    #[must_use]
    pub const fn max_frame(&self) -> u16 {
        self.switch.max_frame
    }

    /// Returns the configuration, including the values that depend on the network `around`.
    #[must_use]
    pub fn configure(&self, around: &Around) -> SchemeConfig {
        SchemeConfig {
            switch: self.switch(around),
            switch_at: SwitchesAt::default(),
            nic: NicConfig {
                control: self.nic.control.clone().complete(around),
                recovery: self.nic.recovery.complete(around),
                spray: self.nic.spray.map(|spray| spray.complete(around)),
                ..self.nic.clone()
            },
            base_rtt: self.base_rtt,
        }
    }

    pub(crate) fn switch(&self, around: &Around) -> SwitchConfig {
        let mut config = self.switch.clone();
        config.hop = self.hop.configure(around);
        config.notifier = config.notifier.map(|notifier| notifier.complete(around));
        // PRE-09, PRE-26: classes of pause frames and of ACKs with priority, and one class per
        // traffic class
        let classes = config.classes.len() + usize::from(around.max_class);
        let data = config.classes[usize::from(DATA_CLASS)];
        config.classes.resize(classes.min(MAX_CLASSES), data);
        let transport = self.nic.control.transport();
        let transport = transport.map(|transport| transport.complete(around));
        let levels = transport.map_or(1, |transport| transport.levels());
        let queues = self.data_queues(around.max_class);
        config.classify = config.classify.complete(queues, self.queues, levels);
        let required = transport.map_or_else(SwitchRequirements::default, |of| of.requires());
        (config.shaped, config.trim) = (required.shaped, required.trim);
        config.mmu.buffer_bytes = around.buffer_bytes;
        config.mmu.reserved_bytes = around.reserved_bytes;
        if let Admission::Pfc(pfc) = &mut config.mmu.admission {
            if let Accounting::Ns3 { nic_bps, .. } = &mut pfc.accounting {
                *nic_bps = around.nic_bps;
            }
            pfc.victims = self
                .victims
                .map(|victims| victims.configure(around.base_rtt_ps, around.max_delay_ps));
        }
        config
    }

    /// Returns the number of queues of each data class at a port.
    fn data_queues(&self, max_class: u8) -> u16 {
        let classes = u16::from(max_class) + 1;
        if self.queues_per == QueuesPer::Port && classes > 1 {
            return (self.queues / classes).max(1); // PRE-50: queues are shared
        }
        // PRE-06: one queue of a port is for control
        self.queues.saturating_sub(1).max(1)
    }

    /// Number of queue indices that a neighbour may put on its packets: the queues of a NIC, or of
    /// all data classes of a switch.
    pub(crate) fn upstream_queues(&self, max_class: u8) -> u16 {
        let data_queues = self.data_queues(max_class);
        let data = data_queues.saturating_mul(u16::from(max_class) + 1);
        let of_switch = data.saturating_add(u16::from(DATA_CLASS));
        of_switch.max(self.nic.queues)
    }
}
