//! A flow at its sender with its queue pair: when it may send, and how replies change its state.

use super::flow::Flow;
use super::pairs::Beside;
use crate::cc::{Control, Feedback, Listed, Loss, Mixed, PerClass, Sent};
use crate::config::{NicConfig, Sending};
use crate::ids::FlowSlot;
use crate::packet::{Cold, Kind, Packet, Stamp, flag};
use crate::properties::Property;
use crate::reliability::{Lost, News, Reply};
use crate::units::{NEVER, Time};

/// A congestion control for which the code of a NIC can be compiled.
pub(crate) trait Chosen: Control {
    /// Returns the parameters of this control from the configuration of a NIC that uses it.
    fn parameters(config: &NicConfig) -> &Self::Config;
}

impl<C: Listed> Chosen for C {
    #[inline]
    fn parameters(config: &NicConfig) -> &Self::Config {
        match &config.control {
            Sending::Control(control) => C::config(control),
            _ => unreachable!("the NIC was made for one control"),
        }
    }
}

impl Chosen for Mixed {
    #[inline]
    fn parameters(config: &NicConfig) -> &PerClass {
        match &config.control {
            Sending::PerClass(controls) | Sending::Paired(controls) => controls,
            _ => unreachable!("the NIC was made for several controls"),
        }
    }
}

/// A flow with all state that decides if it may send.
pub(super) struct Active<'a, C: Chosen> {
    pub flow: &'a mut Flow,
    pub control: &'a mut C,
    pub parameters: &'a C::Config,
    pub config: &'a NicConfig,
    pub beside: Beside,
}

impl<C: Chosen> Active<'_, C> {
    /// Returns true if the window permits a packet. Also returns true if no packet in flight
    /// requests an acknowledgement, because then the window could never open again.
    // NIC-04, NIC-09
    #[inline]
    pub fn may_send(&mut self, now: Time) -> bool {
        self.fits(now) || self.config.ack_every > 1 && self.flow.must_ask()
    }

    /// Returns true if the flow has a packet to send, and fewer bytes in flight than its window.
    // NIC-04
    #[inline]
    pub fn fits(&mut self, now: Time) -> bool {
        let (flow, mtu) = (&*self.flow, self.config.mtu);
        // REC-14, REC-31: the bytes of a lost packet already count as in flight.
        if flow.repair.next_lost(flow.acked).is_some() {
            return true;
        }
        if flow.next >= flow.packets {
            return false;
        }
        let own = flow.start.bytes_below(flow.next, mtu) - flow.start.bytes_below(flow.acked, mtu);
        let window = (self.control).window(self.parameters, &flow.start.path, now);
        let in_flight = own + self.beside.in_flight; // NIC-51: shared window
        let (in_flight, window) = flow.repair.flight(in_flight, window);
        in_flight < window
    }

    /// Returns the number of the first byte of the queue pair that has not been sent.
    // NIC-52
    #[inline]
    pub fn first_unsent(&self) -> u64 {
        let own = self.flow.start.bytes_below(self.flow.next, self.config.mtu);
        self.beside.before + own + self.beside.after
    }

    /// Passes feedback to the congestion control.
    #[inline]
    pub fn inform(&mut self, now: Time, feedback: &Feedback<'_>) {
        let path = &self.flow.start.path;
        self.control
            .on_feedback(self.parameters, path, now, feedback);
    }

    /// Creates the next packet of the flow and updates the flow: the packet is sent now.
    #[inline(always)]
    pub fn next_packet(
        &mut self,
        now: Time,
        slot: FlowSlot,
        draw: &mut impl FnMut() -> u64,
    ) -> (Packet, Cold) {
        let (flow, config) = (&mut *self.flow, self.config);
        if flow.next == flow.acked {
            flow.progress_ps = now;
        }
        let psn = flow.take_number(now);
        let hash = match &mut flow.spray {
            Some(spray) => {
                let recovery = config.recovery.properties();
                // ACKs contain only a count of arrived packets.
                let is_counted =
                    recovery.has(Property::Selective) && !recovery.has(Property::RepeatsPackets);
                let arrived_below = if is_counted { 0 } else { flow.acked };
                spray.next(now, psn, arrived_below, draw)
            }
            None => flow.start.hash,
        };
        let before = flow.start.bytes_below(psn, config.mtu);
        let payload = (flow.start.bytes - before).min(u64::from(config.mtu)) as u16;
        let mut flags = if flow.start.incast { flag::INCAST } else { 0 };
        if psn < flow.reached {
            flags |= flag::RETRANSMITTED;
            flow.retransmitted += 1;
        } else {
            flow.reached = flow.next;
        }
        let hot = Packet {
            flow: flow.start.flow,
            psn,
            hash,
            dst: flow.start.dst,
            upstream_queue: flow.queue,
            flags,
            ..Packet::new(Kind::Data, flow.class, config.data_bytes(payload))
        };
        let cold = Cold {
            sent_ps: now,
            stamp: Stamp::default(),
            src: flow.start.src,
            slot,
            cookie: flow.start.cookie,
            remaining: flow.start.bytes - before,
            payload,
            ..Cold::default()
        };
        (hot, cold)
    }

    /// Returns the bits that the congestion control sets in the header of the packet sent now.
    // NIC-55
    #[inline]
    pub fn mark(&mut self, now: Time, cold: &Cold) -> u8 {
        let start = &self.flow.start;
        let sent = Sent {
            seq: self.beside.before + (start.bytes - cold.remaining), // NIC-52
            bytes: cold.payload.into(),
            left: cold.remaining,
        };
        self.control.mark(self.parameters, &start.path, now, &sent)
    }

    /// Returns the minimum time between the start of this packet and the next, at the rate of the
    /// congestion control, in ps.
    #[inline]
    pub fn gap_ps(&mut self, now: Time, hot: &Packet, cold: &Cold) -> f64 {
        let (path, parameters) = (&self.flow.start.path, self.parameters);
        self.control
            .on_send(parameters, path, now, u64::from(cold.payload));
        f64::from(hot.size) * 8e12 / self.control.rate_bps(parameters, path, now)
    }

    /// Makes a packet request an acknowledgement, because the flow must wait after this packet.
    /// Does nothing if the receiver acknowledges every packet.
    // NIC-09
    #[inline]
    pub fn ask(&mut self, now: Time, hot: &mut Packet) {
        if self.config.ack_every > 1 {
            hot.flags |= flag::ASKS;
            self.flow.asked_ps = now;
        }
    }

    /// Returns the payload bytes of the flow that are acknowledged.
    #[inline]
    pub fn acked_bytes(&self) -> u64 {
        self.flow
            .start
            .bytes_below(self.flow.acked, self.config.mtu)
    }

    /// Returns the number of acknowledged bytes of the queue pair, counted from its first byte.
    // NIC-52
    #[inline]
    pub fn acked_bytes_of_pair(&self) -> u64 {
        let own = self.beside.before + self.acked_bytes();
        own.max(self.beside.acknowledged)
    }

    /// Updates the flow with the packet numbers of an ACK or NAK.
    #[inline(always)]
    pub fn read(&mut self, now: Time, packet: &Packet, cold: &Cold) -> News {
        let before = self.acked_bytes();
        let flow = &mut *self.flow;
        if cold.sent_ps >= flow.asked_ps {
            flow.asked_ps = NEVER; // NIC-09: the requested ACK, or the ACK of a later packet
        }
        debug_assert!(
            packet.psn <= flow.packets,
            "flow {} has {} packets, and {} are acknowledged",
            packet.flow,
            flow.packets,
            packet.psn
        );
        if packet.psn > flow.acked {
            flow.acked = packet.psn;
            flow.next = flow.next.max(flow.acked);
            flow.progress_ps = now;
        }
        if let Some(spray) = &mut flow.spray {
            spray.returned(now, packet.hash, packet.has(flag::CE));
        }
        let reply = Reply {
            nak: packet.kind() == Kind::Nak,
            expected: packet.psn,
            remaining: cold.remaining,
            sent_ps: cold.sent_ps,
            newly: self.acked_bytes() - before,
        };
        let at = self.flow.progress(self.config.mtu);
        self.flow.repair.on_reply(&at, &reply)
    }

    /// Reports a loss to the congestion control. Resets the next packet number to the first
    /// unacknowledged packet if all packets in flight must be sent again.
    pub fn lose(&mut self, now: Time, lost: Lost, timeout: bool) {
        if lost == Lost::Nothing {
            return;
        }
        self.flow.asked_ps = NEVER; // NIC-09: the packet that requested an ACK may be lost
        let snd_nxt = self.first_unsent();
        self.inform(now, &Feedback::Loss(Loss { snd_nxt, timeout }));
        if lost == Lost::All {
            self.flow.next = self.flow.acked;
        }
    }
}
