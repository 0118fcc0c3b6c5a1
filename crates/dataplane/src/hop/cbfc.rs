//! Credit-based flow control of a link (Ultra Ethernet, rules in `specs/cbfc.md`): a frame is sent only if
//! the next node has room for it. The sender counts the credits that its frames take, and the receiver
//! gives them back as frames leave its buffer. A virtual channel is a class of a port.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::spec::{Around, Beside, Finding, NetworkFacts, Spec};
use super::{AtHost, Counter, Declaration, HopConfig, HopScheme, HostSite, Ports, Scheme, Site};
use crate::classes::{DATA_CLASS, class_label, traffic_class};
use crate::packet::{Arena, Frame, Packet, SchemeNumber, Words};
use crate::param::{Conflict, Kind, Param, Values};
use crate::sink::Sink;
use crate::switch::context::Cx;
use crate::switch::needs::Needs;
use crate::switch::pipeline::Pipeline;
use crate::switch::steps::{Outcome, Step, Steps};
use crate::units::{NEVER, Rate, Time, US};

/// Counters are cyclic numbers of 20 bits.
// CBFC-01
const CYCLE: u32 = 1 << 20;

/// Parameters of CBFC (`specs/cbfc.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CbfcConfig {
    /// Bytes of a credit.
    pub credit_bytes: u32,
    /// Bytes that a frame takes beside its own.
    pub overhead_bytes: i32,
    /// Credits of each class of a port.
    pub limit: Limit,
    /// The link could send this many bytes between two CF_Updates of a class.
    pub cf_min_bytes: u32,
    /// After this many bytes that the link could have sent a CF_Update is repeated.
    pub cf_max_bytes: u32,
    /// Bytes of a CF_Update.
    pub cf_bytes: u16,
    /// Time between two CC_Updates, in ps.
    pub cc_every_ps: Time,
    /// Bytes of a CC_Update.
    pub cc_bytes: u16,
}

/// How many credits each class of a port has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// What one class of full frames needs to fill a link, and a frame more.
    Link,
    /// This many.
    Credits(u32),
}

impl CbfcConfig {
    /// The standard's numbers; credits of 256 bytes without overhead.
    pub const STANDARD: Self = Self {
        credit_bytes: 256,
        overhead_bytes: 0,
        limit: Limit::Link,
        cf_min_bytes: 6_400,
        cf_max_bytes: 262_144,
        cf_bytes: 8,
        cc_every_ps: 256 * US,
        cc_bytes: 64,
    };

    /// Credits that a frame takes.
    // CBFC-02
    #[inline]
    #[must_use]
    pub fn credits(&self, frame_bytes: u16) -> u32 {
        let bytes = (i32::from(frame_bytes) + self.overhead_bytes).max(1) as u32;
        bytes.div_ceil(self.credit_bytes)
    }

    /// Credits with which one class of full frames can fill a link, while full frames come the other way.
    // CBFC-22
    #[must_use]
    pub fn full_rate(&self, rate: Rate, delay_ps: Time, max_frame: u16) -> u32 {
        let frame = u64::from(max_frame);
        let updates = u64::from(self.cf_min_bytes) + u64::from(self.cf_bytes);
        let bytes = rate.bytes_in(2 * delay_ps) + 2 * frame + updates;
        bytes.div_ceil(frame) as u32 * self.credits(max_frame)
    }

    /// The limit of each class of a link.
    // CBFC-20
    #[must_use]
    pub fn limit_of(&self, rate: Rate, delay_ps: Time, max_frame: u16) -> u32 {
        let credits = match self.limit {
            Limit::Link => self.full_rate(rate, delay_ps, max_frame) + self.credits(max_frame),
            Limit::Credits(credits) => credits,
        };
        credits.min(CYCLE - 1)
    }
}

const PARAMS: &[Param] = &[
    Param::size("credit", 1, 65_535)
        .default("\"256B\"", "PRE-208", "the example of the SAI proposal")
        .about("Bytes of a credit."),
    Param::new("overhead", Kind::Number { min: -16.0, max: 127.0 })
        .default("0", "PRE-208", "frames take their own bytes, our choice")
        .about("Bytes that a frame takes of a buffer beside its own."),
    Param::count("limit", 1, (CYCLE - 1) as u64)
        .or(&["link"])
        .default("\"link\"", "PRE-209", "what fills the link, and a frame, our choice")
        .about(
            "Credits of each class of a port; `\"link\"`: what one class needs to fill its link, and a \
             frame more.",
        ),
    Param::size("cf_min", 800, 1_048_576)
        .default("\"6400B\"", "PRE-208", "(Ultra Ethernet 1.0, SAI proposal)")
        .about("A CF_Update follows the last one of its class after a time in which the link sends this."),
    Param::size("cf_max", 16_384, 1_048_576)
        .default("\"262144B\"", "PRE-208", "(Ultra Ethernet 1.0, SAI proposal)")
        .about("The last CF_Update is repeated after a time in which the link sends this."),
    Param::time("cc_every", US)
        .default("\"256us\"", "PRE-208", "(Ultra Ethernet 1.0, SAI proposal)")
        .about("Time between two CC_Updates of a class whose credits are in use."),
];

impl Spec for CbfcConfig {
    const PARAMS: &'static [Param] = PARAMS;
    type Config = Self;

    fn from_values(values: &Values) -> Result<Self, Conflict> {
        let config = CbfcConfig {
            credit_bytes: values.size("credit") as u32,
            overhead_bytes: values.number("overhead") as i32,
            limit: match values.some_count("limit") {
                Some(credits) => Limit::Credits(credits as u32),
                None => Limit::Link,
            },
            cf_min_bytes: values.size("cf_min") as u32,
            cf_max_bytes: values.size("cf_max") as u32,
            cc_every_ps: values.time("cc_every"),
            ..CbfcConfig::STANDARD
        };
        if config.cf_min_bytes > config.cf_max_bytes {
            return Err(Conflict::new(
                &["cf_min", "cf_max"],
                "cf_min is above cf_max",
                "a CF_Update comes between the two after the last one",
            ));
        }
        Ok(config)
    }

    fn configure(&self, _around: &Around) -> Self {
        *self
    }

    fn beside(&self, others: &Beside, say: &mut dyn FnMut(Finding)) {
        if others.scans {
            say(Finding::wrong(
                &["nic", "backpressure"],
                "nic.arbiter = \"scan\" has no credits",
                "set nic.arbiter = \"ring\", or backpressure = \"none\"",
            ));
        }
        if others.pfc {
            say(Finding::doubtful(
                &["admission", "backpressure"],
                "credits and PFC are both on: whichever acts first hides the other",
                "credits need no PFC: admission = \"shared-pool\"",
            ));
        }
    }

    fn idle(&self, counted: &dyn Fn(&str) -> u64, say: &mut dyn FnMut(&'static str)) {
        if counted("cbfc_waits") == 0 {
            say("no class of a switch ever waited for credits");
        }
    }
}

impl Declaration for CbfcConfig {
    fn name(&self) -> &'static str {
        "CBFC"
    }

    fn holds_by_sending(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn smallest_frame_bytes(&self) -> u16 {
        self.cf_bytes.min(self.cc_bytes)
    }

    // CBFC-23: refuse limits below a largest frame
    fn network(&self, facts: &NetworkFacts, say: &mut dyn FnMut(Finding)) {
        let largest = self.credits(facts.max_frame);
        if let Limit::Credits(limit) = self.limit
            && limit < largest
        {
            say(Finding::wrong(
                &["scheme.cbfc.limit"],
                &format!(
                    "`limit` is {limit} credits, and a largest frame of {} B takes {largest}",
                    facts.max_frame
                ),
                &format!(
                    "a class sends only with credits for a largest frame: set cbfc.limit to {largest} or more"
                ),
            ));
        }
    }

    // CBFC-30
    fn is_lossless(&self) -> bool {
        true
    }

    // CBFC-34
    fn can_deadlock(&self) -> bool {
        true
    }

    // CBFC-21
    fn promised_bytes(&self, ports: &[(Rate, Time)], max_frame: u16, classes: usize) -> u64 {
        let of_port = |&(rate, delay_ps): &(Rate, Time)| {
            u64::from(self.limit_of(rate, delay_ps, max_frame)) * u64::from(self.credit_bytes)
        };
        let of_class: u64 = ports.iter().map(of_port).sum();
        of_class * classes.saturating_sub(DATA_CLASS.into()) as u64
    }
}

/// CF_Update: R_CF of a class.
// CBFC-10, CBFC-15
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditsFreed {
    /// The class.
    pub class: u8,
    /// R_CF.
    pub credits: u32,
}

/// CC_Update: S_CC of a class.
// CBFC-13, CBFC-15
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditsConsumed {
    /// The class.
    pub class: u8,
    /// S_CC.
    pub credits: u32,
}

macro_rules! updates {
    ($($name:ident: $number:literal;)*) => {$(
        impl Frame for $name {
            const SCHEME: SchemeNumber = Scheme::Cbfc.number();
            const NUMBER: u8 = $number;
            const CREDIT: bool = true;
            const IDLE: bool = true;

            fn words(&self) -> Words {
                Words {
                    flow: self.class.into(),
                    number: self.credits,
                    ..Words::NONE
                }
            }

            fn from_words(words: Words) -> Self {
                Self {
                    class: words.flow as u8,
                    credits: words.number,
                }
            }
        }
    )*};
}
updates! {
    CreditsFreed: 0;
    CreditsConsumed: 1;
}

/// Both ends of one class of a port: what this node sends, and what it receives.
#[derive(Clone, Copy, Debug)]
struct Channel {
    /// S_CC.
    consumed: u32,
    /// S_CF.
    freed: u32,
    /// S_CL.
    limit: u32,
    /// R_CC.
    received: u32,
    /// R_CF.
    returned: u32,
    /// R_CF as the last CF_Update told it.
    told: u32,
    /// When that was; [`NEVER`]: not yet.
    told_ps: Time,
    /// A CF_Update is owed though there may be no news.
    owed: bool,
    /// When the next CF_Update leaves; [`NEVER`]: none is due.
    cf_due: Time,
    /// When the next CC_Update leaves; [`NEVER`]: none is due.
    cc_due: Time,
    /// Credits of frames of an earlier life of the link that are still in the buffer.
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
            told: 0,
            told_ps: NEVER,
            owed: false,
            cf_due: NEVER,
            cc_due: NEVER,
            stale: 0,
        }
    }

    /// S_CU.
    const fn in_use(&self) -> u32 {
        distance(self.freed, self.consumed)
    }

    /// Credits of frames in the buffer.
    const fn held(&self) -> u32 {
        distance(self.returned, self.received)
    }
}

/// How far a counter is ahead of another.
// CBFC-01
const fn distance(from: u32, to: u32) -> u32 {
    to.wrapping_sub(from) % CYCLE
}

const fn advance(counter: u32, by: u32) -> u32 {
    counter.wrapping_add(by) % CYCLE
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Which {
    Freed,
    Consumed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Time,
    channel: u32,
    which: Which,
}

/// What was told.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    freed: u64,
    consumed: u64,
    /// Times that a class had no credits for a full frame.
    waits: u64,
}

/// The credits of all ports and classes of a node, be it a switch or a NIC.
#[derive(Clone, Debug)]
pub(crate) struct Cbfc {
    config: CbfcConfig,
    /// Rate of each port.
    rates: Vec<Rate>,
    /// Classes that take credits.
    classes: u8,
    /// Credits of a full frame.
    full_frame: u32,
    channels: Vec<Channel>,
    due: BinaryHeap<Reverse<Due>>,
    counted: Counted,
}

impl Cbfc {
    /// The credits of a switch.
    pub fn new(config: CbfcConfig, site: &Site<'_>) -> Self {
        let classes = site.core.queueing.classes();
        Self::with_ports(config, site.ports, classes, site.max_frame)
    }

    /// The credits of a node whose links have these rates and delays, for frames of `classes` classes.
    // CBFC-06
    fn with_ports(config: CbfcConfig, ports: &[(Rate, Time)], classes: u8, max_frame: u16) -> Self {
        let classes = classes.saturating_sub(DATA_CLASS);
        let of_port = |&(rate, delay_ps): &(Rate, Time)| {
            let channel = Channel::new(config.limit_of(rate, delay_ps, max_frame));
            std::iter::repeat_n(channel, classes.into())
        };
        Self {
            channels: ports.iter().flat_map(of_port).collect(),
            rates: ports.iter().map(|(rate, _)| *rate).collect(),
            classes,
            full_frame: config.credits(max_frame),
            due: BinaryHeap::new(),
            counted: Counted::default(),
            config,
        }
    }

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

    /// Time in which the link of a channel sends this many bytes.
    fn time_of(&self, at: usize, bytes: u32) -> Time {
        let port = at / usize::from(self.classes);
        self.rates[port].serialisation_ps(bytes.into())
    }

    fn plan<P: Ports>(&mut self, ports: &mut P, at: Time, channel: usize, which: Which) {
        let channel = channel as u32;
        self.due.push(Reverse(Due { at, channel, which }));
        ports.wake(at);
    }

    /// A frame starts at a port. The class waits if a full frame has no credits left.
    // CBFC-03
    fn sent<P: Ports>(&mut self, ports: &mut P, port: u16, packet: &Packet) {
        let now = ports.now();
        let Some(at) = self.at(port, packet.class()) else {
            return;
        };
        let credits = self.config.credits(packet.size);
        let full = self.full_frame;
        let channel = &mut self.channels[at];
        channel.consumed = advance(channel.consumed, credits);
        // CBFC-03: a frame starts only with credits.
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
            // CBFC-13
            let due = now + self.config.cc_every_ps;
            channel.cc_due = due;
            self.plan(ports, due, at, Which::Consumed);
        }
    }

    /// A frame came by a port, whole.
    // CBFC-04
    fn came(&mut self, port: u16, packet: &Packet) {
        if let Some(at) = self.at(port, packet.class()) {
            let credits = self.config.credits(packet.size);
            let channel = &mut self.channels[at];
            channel.received = advance(channel.received, credits);
        }
    }

    /// A frame that came by a port leaves the buffer.
    // CBFC-05
    fn left<P: Ports>(&mut self, ports: &mut P, port: u16, packet: &Packet) {
        let Some(at) = self.at(port, packet.class()) else {
            return;
        };
        let credits = self.config.credits(packet.size);
        let channel = &mut self.channels[at];
        // CBFC-16
        let stale = channel.stale.min(credits);
        channel.stale -= stale;
        // CBFC-05: only credits that a frame has taken are returned.
        debug_assert!(
            channel.held() >= credits - stale,
            "port {port} returns unused credits"
        );
        channel.returned = advance(channel.returned, credits - stale);
        if credits > stale {
            self.tell(ports, at);
        }
    }

    /// Sends a CF_Update, or plans it for when the last one is old enough.
    // CBFC-11
    fn tell<P: Ports>(&mut self, ports: &mut P, at: usize) {
        let now = ports.now();
        let spacing_ps = self.time_of(at, self.config.cf_min_bytes);
        let channel = &mut self.channels[at];
        let due = match channel.told_ps {
            NEVER => now,
            told_ps => now.max(told_ps + spacing_ps),
        };
        if due <= now {
            self.send_freed(ports, at);
        } else if channel.cf_due > due {
            channel.cf_due = due;
            self.plan(ports, due, at, Which::Freed);
        }
    }

    // CBFC-10, CBFC-12
    fn send_freed<P: Ports>(&mut self, ports: &mut P, at: usize) {
        let now = ports.now();
        let (port, class) = self.place(at as u32);
        let again_ps = now + self.time_of(at, self.config.cf_max_bytes);
        let channel = &mut self.channels[at];
        let news = channel.told != channel.returned || channel.owed;
        let credits = channel.returned;
        channel.told = credits;
        channel.told_ps = now;
        channel.owed = false;
        channel.cf_due = NEVER;
        let frame = CreditsFreed { class, credits };
        ports.emit(port, frame.packet(self.config.cf_bytes));
        self.counted.freed += 1;
        if news {
            self.channels[at].cf_due = again_ps;
            self.plan(ports, again_ps, at, Which::Freed);
        }
    }

    // CBFC-13
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
        self.plan(ports, due, at, Which::Consumed);
    }

    /// A frame came from the neighbour at a port. False: it is not one of these.
    fn heard<P: Ports>(&mut self, ports: &mut P, port: u16, frame: &Packet) -> bool {
        if let Some(CreditsFreed { class, credits }) = CreditsFreed::read(frame) {
            self.credits_came(ports, port, class, credits);
        } else if let Some(CreditsConsumed { class, credits }) = CreditsConsumed::read(frame) {
            self.consumption_came(ports, port, class, credits);
        } else {
            return false;
        }
        true
    }

    // CBFC-10
    fn credits_came<P: Ports>(&mut self, ports: &mut P, port: u16, class: u8, credits: u32) {
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

    // CBFC-14, CBFC-15
    fn consumption_came<P: Ports>(&mut self, ports: &mut P, port: u16, class: u8, credits: u32) {
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
        channel.owed = true;
        self.tell(ports, at);
    }

    /// Sends the updates whose time has come, and asks to be called for the next.
    fn serve<P: Ports>(&mut self, ports: &mut P) {
        let now = ports.now();
        while let Some(&Reverse(due)) = self.due.peek() {
            if due.at > now {
                ports.wake(due.at);
                return;
            }
            self.due.pop();
            let at = due.channel as usize;
            let channel = &self.channels[at];
            match due.which {
                Which::Freed if channel.cf_due == due.at => self.send_freed(ports, at),
                Which::Consumed if channel.cc_due == due.at => self.send_consumed(ports, at),
                // It was put off, or sent already.
                _ => {}
            }
        }
    }

    /// The link of a port begins a new life.
    // CBFC-16
    fn forget<P: Ports>(&mut self, ports: &mut P, port: u16) {
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

    /// Nothing is in use at a neighbour, and nothing of a neighbour is held.
    fn is_idle(&self) -> bool {
        self.channels
            .iter()
            .all(|c| c.in_use() == 0 && c.held() == 0)
    }

    fn counts(of: Option<&Self>) -> [u64; 3] {
        let Counted {
            freed,
            consumed,
            waits,
        } = of.map_or_else(Counted::default, |cbfc| cbfc.counted);
        [freed, consumed, waits]
    }
}

/// A frame of CBFC does not act on a port directly: the scheme's own counters block classes.
pub(crate) fn obey<P: Ports>(_ports: &mut P, _port: u16, _frame: &Packet, _list: &[u32]) {}

impl HopScheme for Cbfc {
    const COUNTERS: &'static [Counter] = &[
        Counter::sum("cbfc_cf_updates"),
        Counter::sum("cbfc_cc_updates"),
        Counter::sum("cbfc_waits"),
    ];

    fn count(of: Option<&Self>, _core: &Pipeline, values: &mut [u64]) {
        values.copy_from_slice(&Self::counts(of));
    }

    fn link<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16) {
        self.forget(cx, port);
    }

    fn is_at_rest(&self) -> bool {
        self.is_idle()
    }

    // CBFC-34
    fn blocks_class(&self, packet: &Packet) -> bool {
        self.at(packet.ingress, packet.class()).is_some()
    }

    /// What waits upstream for credits waits for packets that are here.
    fn pauses_upstream(&self) -> bool {
        false
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

    // CBFC-33
    fn audit(&self, core: &Pipeline, arena: &Arena) -> Vec<String> {
        let mut here = vec![0; self.channels.len()];
        for port in 0..core.ports() {
            core.queueing.for_each_packet(port, arena, |id| {
                let packet = arena.hot(id);
                if let Some(at) = self.at(packet.ingress, packet.class())
                    && !packet.is_frame()
                {
                    here[at] += self.config.credits(packet.size);
                }
            });
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

    const WATCHES: Steps = Steps::ARRIVE.or(Steps::DEPART);

    #[inline(always)]
    fn step<S: Sink>(&mut self, cx: &mut Cx<'_, S>, step: Step<'_>) -> Outcome {
        match step {
            Step::Arrive(packet) => self.came(packet.ingress, packet),
            Step::Refuse(packet) | Step::GiveUp { packet, .. } => {
                self.left(cx, packet.ingress, packet);
            }
            Step::Depart { port, packet, .. } => {
                self.left(cx, packet.ingress, packet);
                self.sent(cx, port, packet);
            }
            _ => {}
        }
        Outcome::Continue
    }

    fn receive<S: Sink>(
        &mut self,
        cx: &mut Cx<'_, S>,
        port: u16,
        frame: &Packet,
        _list: &[u32],
    ) -> bool {
        self.heard(cx, port, frame)
    }

    fn timer<S: Sink>(&mut self, cx: &mut Cx<'_, S>) {
        self.serve(cx);
    }
}

/// The credits of a NIC's ports.
#[derive(Debug)]
pub(crate) struct CbfcAtHost(Cbfc);

impl AtHost for CbfcAtHost {
    fn new(config: &HopConfig, host: &HostSite<'_>) -> Option<Self> {
        let config = config.cbfc()?;
        let cbfc = Cbfc::with_ports(*config, host.ports, host.classes, host.max_frame);
        Some(Self(cbfc))
    }

    /// A host frees a packet as it has processed it.
    fn arrived<P: Ports>(&mut self, ports: &mut P, port: u16, packet: &Packet) {
        self.0.came(port, packet);
        self.0.left(ports, port, packet);
    }

    fn sent<P: Ports>(&mut self, ports: &mut P, port: u16, packet: &Packet) {
        self.0.sent(ports, port, packet);
    }

    fn receive<P: Ports>(&mut self, ports: &mut P, port: u16, frame: &Packet) -> bool {
        self.0.heard(ports, port, frame)
    }

    fn timer<P: Ports>(&mut self, ports: &mut P) {
        self.0.serve(ports);
    }

    fn link<P: Ports>(&mut self, ports: &mut P, port: u16) {
        self.0.forget(ports, port);
    }

    fn is_at_rest(&self) -> bool {
        self.0.is_idle()
    }
}
