//! Credit-based flow control of a link (Ultra Ethernet, rules in `specs/cbfc.md`). A frame is sent
//! only if the next node has buffer space for it. The sender counts the credits that its frames
//! consume. The receiver returns these credits when the frames leave its buffer. A virtual channel
//! of the standard is a class of a port here.

mod config;
mod frames;

use super::cyclic::{CYCLE, advance, distance};
use super::{Link, LinkSite};
use crate::classes::{DATA_CLASS, class_label, traffic_class};
use crate::declaration::Counter;
use crate::packet::{Frame, Packet, PacketId};
use crate::ports::Ports;
use crate::timers::Timers;
use crate::units::{NEVER, Rate, Time};
pub use config::{CbfcConfig, Limit};
pub use frames::{CreditsConsumed, CreditsFreed};

/// Credit counters of one class of a port, for both directions.
#[derive(Clone, Copy, Debug)]
struct Channel {
    /// S_CC: credits consumed by the sender.
    consumed: u32,
    /// S_CF: freed credits that CF_Updates have reported to the sender.
    freed: u32,
    /// S_CL: credit limit of the sender.
    limit: u32,
    /// R_CC: credits consumed by received frames.
    received: u32,
    /// R_CF: credits freed by the receiver.
    returned: u32,
    /// Value of R_CF in the last CF_Update.
    reported: u32,
    /// Time of the last CF_Update; [`NEVER`] before the first.
    reported_ps: Time,
    /// True if the next CF_Update is sent even if R_CF has not changed.
    must_report: bool,
    /// Time of the next CF_Update; [`NEVER`] if none is scheduled.
    cf_due: Time,
    /// Time of the next CC_Update; [`NEVER`] if none is scheduled.
    cc_due: Time,
    /// Credits of frames that are in the buffer since before the link failed.
    stale: u32,
}

impl Channel {
    const fn new(limit: u32) -> Self {
        Self {
            consumed: 0,
            freed: 0,
            limit,
            received: 0,
            returned: 0,
            reported: 0,
            reported_ps: NEVER,
            must_report: false,
            cf_due: NEVER,
            cc_due: NEVER,
            stale: 0,
        }
    }

    /// Returns S_CU: the credits in use at the sender.
    const fn in_use(&self) -> u32 {
        distance(self.freed, self.consumed)
    }

    /// Returns the credits of received frames that are still in the buffer.
    const fn held(&self) -> u32 {
        distance(self.returned, self.received)
    }
}

/// A credit update that is sent to the neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Update {
    Freed,
    Consumed,
}

/// Counters of control frames sent, and of waits for credits.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    freed: u64,
    consumed: u64,
    /// Number of times that a class had too few credits for a full frame.
    waits: u64,
}

/// Credit counters of all ports and classes of a node (a switch or a NIC).
#[derive(Clone, Debug)]
pub(crate) struct Cbfc {
    config: CbfcConfig,
    /// Rate of each port.
    rates: Vec<Rate>,
    /// Number of classes that use credits.
    classes: u8,
    /// Credits of a largest frame.
    full_frame: u32,
    channels: Vec<Channel>,
    /// Times of scheduled updates, with the index of the channel.
    timers: Timers<(u32, Update)>,
    counted: Counted,
}

impl Cbfc {
    #[inline]
    fn at(&self, port: u16, class: u8) -> Option<usize> {
        let nth = traffic_class(class).filter(|&nth| nth < self.classes)?;
        Some(usize::from(port) * usize::from(self.classes) + usize::from(nth))
    }

    fn place(&self, channel: u32) -> (u16, u8) {
        let classes = u32::from(self.classes);
        let class = (channel % classes) as u8 + DATA_CLASS;
        ((channel / classes) as u16, class)
    }

    /// Returns the time in which the link of channel `at` sends `bytes`.
    fn time_of(&self, at: usize, bytes: u32) -> Time {
        let port = at / usize::from(self.classes);
        self.rates[port].serialisation_ps(bytes.into())
    }

    fn plan<P: Ports>(&mut self, ports: &mut P, at: Time, channel: usize, update: Update) {
        self.timers.add(at, (channel as u32, update));
        ports.wake(at);
    }

    /// Sends a CF_Update now, or schedules it at the minimum distance from the last CF_Update.
    // CBFC-11
    fn report_freed<P: Ports>(&mut self, ports: &mut P, at: usize) {
        let now = ports.now();
        let spacing_ps = self.time_of(at, self.config.cf_min_bytes);
        let channel = &mut self.channels[at];
        let due = match channel.reported_ps {
            NEVER => now,
            reported_ps => now.max(reported_ps + spacing_ps),
        };
        if due <= now {
            self.send_freed(ports, at);
        } else if channel.cf_due > due {
            channel.cf_due = due;
            self.plan(ports, due, at, Update::Freed);
        }
    }

    // CBFC-10, CBFC-12: send a CF_Update and schedule its repetition
    fn send_freed<P: Ports>(&mut self, ports: &mut P, at: usize) {
        let now = ports.now();
        let (port, class) = self.place(at as u32);
        let again_ps = now + self.time_of(at, self.config.cf_max_bytes);
        let channel = &mut self.channels[at];
        let has_changed = channel.reported != channel.returned || channel.must_report;
        let credits = channel.returned;
        channel.reported = credits;
        channel.reported_ps = now;
        channel.must_report = false;
        channel.cf_due = NEVER;
        let frame = CreditsFreed { class, credits };
        ports.emit(port, frame.packet(self.config.cf_bytes));
        self.counted.freed += 1;
        if has_changed {
            self.channels[at].cf_due = again_ps;
            self.plan(ports, again_ps, at, Update::Freed);
        }
    }

    // CBFC-13: send a CC_Update and schedule the next one
    fn send_consumed<P: Ports>(&mut self, ports: &mut P, at: usize) {
        let now = ports.now();
        let (port, class) = self.place(at as u32);
        let channel = &mut self.channels[at];
        channel.cc_due = NEVER;
        if channel.in_use() == 0 {
            return;
        }
        let credits = channel.consumed;
        let frame = CreditsConsumed { class, credits };
        ports.emit(port, frame.packet(self.config.cc_bytes));
        self.counted.consumed += 1;
        let due = now + self.config.cc_every_ps;
        self.channels[at].cc_due = due;
        self.plan(ports, due, at, Update::Consumed);
    }

    // CBFC-10: process a CF_Update
    fn credits_freed<P: Ports>(&mut self, ports: &mut P, port: u16, class: u8, credits: u32) {
        let full = self.full_frame;
        let Some(at) = self.at(port, class) else {
            return;
        };
        let channel = &mut self.channels[at];
        let more = distance(channel.freed, credits);
        if more == 0 || more > channel.in_use() {
            return;
        }
        let closed = channel.in_use() + full > channel.limit;
        channel.freed = credits;
        if closed && channel.in_use() + full <= channel.limit {
            ports.block_class(port, class, false);
        }
    }

    // CBFC-14, CBFC-15: process a CC_Update and return lost credits
    fn credits_consumed<P: Ports>(&mut self, ports: &mut P, port: u16, class: u8, credits: u32) {
        let Some(at) = self.at(port, class) else {
            return;
        };
        let channel = &mut self.channels[at];
        let lost = distance(channel.received, credits);
        if lost > CYCLE / 2 {
            return;
        }
        channel.returned = advance(channel.returned, lost);
        channel.received = credits;
        channel.must_report = true;
        self.report_freed(ports, at);
    }

    /// Handles a packet that arrived at `port` and leaves the buffer of the node.
    // CBFC-05
    pub fn left<P: Ports>(&mut self, ports: &mut P, port: u16, packet: &Packet) {
        let Some(at) = self.at(port, packet.class()) else {
            return;
        };
        let credits = self.config.credits(packet.size);
        let channel = &mut self.channels[at];
        // CBFC-16: frames that arrived before the link failed return no credits.
        let stale = channel.stale.min(credits);
        channel.stale -= stale;
        // CBFC-05: only credits that a frame has consumed are returned.
        debug_assert!(
            channel.held() >= credits - stale,
            "port {port} returns unused credits"
        );
        channel.returned = advance(channel.returned, credits - stale);
        if credits > stale {
            self.report_freed(ports, at);
        }
    }
}

impl Link for Cbfc {
    type Config = CbfcConfig;

    const COUNTERS: &'static [Counter] = &[
        Counter::sum("cbfc_cf_updates"),
        Counter::sum("cbfc_cc_updates"),
        Counter::sum("cbfc_waits"),
    ];

    const COUNTS_AT_HOSTS: bool = false;

    // CBFC-06: data classes have credits
    fn new(config: &CbfcConfig, site: &LinkSite<'_>) -> Self {
        let classes = site.classes.saturating_sub(DATA_CLASS);
        let of_port = |&(rate, delay_ps): &(Rate, Time)| {
            let channel = Channel::new(config.limit_of(rate, delay_ps, site.max_frame));
            std::iter::repeat_n(channel, classes.into())
        };
        Self {
            channels: site.ports.iter().flat_map(of_port).collect(),
            rates: site.ports.iter().map(|(rate, _)| *rate).collect(),
            classes,
            full_frame: config.credits(site.max_frame),
            timers: Timers::default(),
            counted: Counted::default(),
            config: *config,
        }
    }

    // CBFC-04: count the credits of a received frame
    fn arrived<P: Ports>(
        &mut self,
        ports: &mut P,
        port: u16,
        id: PacketId,
        is_damaged: bool,
    ) -> bool {
        debug_assert!(
            !is_damaged,
            "port {port}: a damaged frame is a matter of replay"
        );
        let packet = *ports.arena().hot(id);
        if let Some(CreditsFreed { class, credits }) = CreditsFreed::read(&packet) {
            self.credits_freed(ports, port, class, credits);
        } else if let Some(CreditsConsumed { class, credits }) = CreditsConsumed::read(&packet) {
            self.credits_consumed(ports, port, class, credits);
        } else {
            if let Some(at) = self.at(port, packet.class()) {
                let credits = self.config.credits(packet.size);
                let channel = &mut self.channels[at];
                channel.received = advance(channel.received, credits);
            }
            return true;
        }
        ports.arena().free(id);
        false
    }

    // CBFC-03: count the credits of a sent frame
    fn sent<P: Ports>(&mut self, ports: &mut P, port: u16, id: PacketId) {
        let now = ports.now();
        let packet = *ports.arena().hot(id);
        let Some(at) = self.at(port, packet.class()) else {
            return;
        };
        let credits = self.config.credits(packet.size);
        let full = self.full_frame;
        let channel = &mut self.channels[at];
        channel.consumed = advance(channel.consumed, credits);
        // CBFC-03: a frame starts only if its class has enough credits.
        debug_assert!(
            channel.in_use() <= channel.limit,
            "port {port} sends without credits"
        );
        if channel.in_use() + full > channel.limit {
            self.counted.waits += 1;
            ports.block_class(port, packet.class(), true);
        }
        let channel = &mut self.channels[at];
        if channel.cc_due == NEVER {
            // CBFC-13: start the periodic CC_Updates.
            let due = now + self.config.cc_every_ps;
            channel.cc_due = due;
            self.plan(ports, due, at, Update::Consumed);
        }
    }

    fn timer<P: Ports>(&mut self, ports: &mut P) {
        let now = ports.now();
        while let Some((due, (at, update))) = self.timers.expired(now) {
            let at = at as usize;
            let channel = &self.channels[at];
            match update {
                Update::Freed if channel.cf_due == due => self.send_freed(ports, at),
                Update::Consumed if channel.cc_due == due => self.send_consumed(ports, at),
                // The update was rescheduled to another time, or it was sent earlier.
                _ => {}
            }
        }
        if let Some((next, _)) = self.timers.first() {
            ports.wake(next);
        }
    }

    // CBFC-16: reset of the counters when the link changes
    fn reset<P: Ports>(&mut self, ports: &mut P, port: u16) {
        let classes = usize::from(self.classes);
        let first = usize::from(port) * classes;
        for (class, channel) in (DATA_CLASS..).zip(&mut self.channels[first..first + classes]) {
            let stale = channel.stale + channel.held();
            *channel = Channel {
                stale,
                ..Channel::new(channel.limit)
            };
            ports.block_class(port, class, false);
        }
    }

    fn counts(&self) -> Vec<u64> {
        let Counted {
            freed,
            consumed,
            waits,
        } = self.counted;
        vec![freed, consumed, waits]
    }

    fn is_at_rest(&self) -> bool {
        let idle = |channel: &Channel| channel.in_use() == 0 && channel.held() == 0;
        self.channels.iter().all(idle)
    }

    fn explain_stall(&self, say: &mut dyn FnMut(String)) {
        for (nth, channel) in (0..).zip(&self.channels) {
            let (port, class) = self.place(nth);
            let (used, limit) = (channel.in_use(), channel.limit);
            if used > 0 {
                say(format!(
                    "port {port} uses {used} of {limit} credits of {}",
                    class_label(class)
                ));
            }
        }
    }

    // CBFC-33: counters of both ends agree
    fn audit(&self, buffered: &[Packet]) -> Vec<String> {
        let mut here = vec![0; self.channels.len()];
        for packet in buffered {
            if let Some(at) = self.at(packet.ingress, packet.class()) {
                here[at] += self.config.credits(packet.size);
            }
        }
        let mut broken = Vec::new();
        for (nth, (channel, here)) in (0..).zip(self.channels.iter().zip(here)) {
            let (port, class) = self.place(nth);
            let counted = channel.held() + channel.stale;
            if counted != here {
                broken.push(format!(
                    "port {port} counts {counted} credits of {} in the buffer, {here} are",
                    class_label(class)
                ));
            }
            if channel.in_use() > channel.limit {
                broken.push(format!("port {port} uses more credits than it has"));
            }
        }
        broken
    }

    // CBFC-34: classes without credits can be part of a deadlock
    fn blocks_class(&self, packet: &Packet) -> bool {
        self.at(packet.ingress, packet.class()).is_some()
    }
}
