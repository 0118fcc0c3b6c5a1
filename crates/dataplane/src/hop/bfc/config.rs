//! Configuration of BFC at a switch, with one field per design choice (`specs/bfc.md`).

use crate::declaration::{Declaration, Needs, NetworkFacts};
use crate::properties::{Choice, Finding, Properties, Property, Rule};
use crate::units::Time;

crate::words! {
    /// The object that a BFC pause stops.
    pub enum PauseBy {
        /// The upstream queue from which the packet came.
        Queue = "queue",
        /// The flow of the packet (ideal design).
        Flow = "flow",
    }
}

/// Configuration of periodic bitmaps: every port of a switch sends a list of all upstream queues
/// that must be paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitmapConfig {
    /// Time between two bitmaps, in ps. All switches send bitmaps at multiples of this period.
    pub period_ps: Time,
    /// Size of a bitmap frame, in bytes.
    pub frame_bytes: u16,
    /// True if each pause and resume also has its own frame, which is sent immediately. If false, a
    /// pause waits for the next bitmap, and a resume sends a bitmap immediately.
    pub edges: bool,
}

/// Value of [`BfcConfig::sampling`] for which all packets are counted.
pub const ALL_PACKETS: u32 = 1 << 16;

/// Configuration of BFC at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BfcConfig {
    /// Pause threshold = `threshold_factor`/65536 · (HRTT + τ) · rate / N_active. HRTT is the 1-hop
    /// round trip.
    pub threshold_factor: u32,
    /// Lower bound of the pause threshold, in bytes.
    pub floor_bytes: u64,
    /// τ: added to HRTT in the threshold, in ps.
    pub tau_ps: Time,
    /// True if the queue length that is compared with the threshold includes the arriving packet.
    pub count_arriving: bool,
    /// True if the only packet of a flow in the switch causes no pause.
    pub first_exempt: bool,
    /// 1-hop round trip in ps; `None`: computed from the port's links (propagation both ways).
    pub hrtt_ps: Option<Time>,
    /// Size of a pause or resume frame, in bytes.
    pub frame_bytes: u16,
    /// Maximum number of queues at a port of an upstream neighbour. It sets the number of pause
    /// counters per ingress.
    pub upstream_queues: u16,
    /// Object that a pause stops: a queue or a flow.
    pub by: PauseBy,
    /// Periodic bitmaps; `None`: none are sent.
    pub bitmap: Option<BitmapConfig>,
    /// Share of packets that the flow table and the pause counters count, in 1/65536.
    pub sampling: u32,
    /// True if packets cause no pause when their pair of ingress and egress ports could be part of
    /// a pause cycle.
    pub elide: bool,
}

impl BfcConfig {
    /// The design of §3.3.2 of the BFC paper, with the first packet of a flow exempt (BFC-09).
    pub const PAPER: Self = Self {
        threshold_factor: 1 << 16,
        floor_bytes: 0,
        tau_ps: 0,
        count_arriving: false,
        first_exempt: true,
        hrtt_ps: None,
        frame_bytes: 64,
        upstream_queues: 1024,
        by: PauseBy::Queue,
        bitmap: None,
        sampling: ALL_PACKETS,
        elide: true,
    };
}

/// Advice on how to repeat lost pauses and resumes of upstream queues.
const REPAIR_QUEUES: &str = "set scheme.bfc.tell = \"edges+bitmap\" to repeat them";
/// Advice for pauses of flows. A bitmap has a bit for each queue, so it cannot repeat them.
const REPAIR_FLOWS: &str = "set scheme.bfc.pause = \"queue\", scheme.classify = \"dynamic\" and \
                            scheme.bfc.tell = \"edges+bitmap\" to repeat them";

impl Choice for BfcConfig {
    fn provides(&self) -> Properties {
        use Property::{
            BlocksBySending, CanDeadlock, Elides, NamesNicQueues, RepeatsPauses, WorksBesideOthers,
        };
        // BFC paper, section 5: partial deployment
        Properties::of(&[CanDeadlock, NamesNicQueues, WorksBesideOthers])
            .with(BlocksBySending, self.by == PauseBy::Flow)
            .with(RepeatsPauses, self.bitmap.is_some())
            .with(Elides, self.elide)
    }

    fn rules(&self) -> Vec<Rule> {
        let mut rules = crate::rules! {
            wrong ["nic", "backpressure"] with [ScanArbiter] without [IgnoresHop]:
                "nic.arbiter = \"scan\" has no queues that BFC could pause",
                "set nic.arbiter = \"ring\", or nic.obeys = [\"pfc\"]";
            wrong ["backpressure", "classify"] with [OneQueue]:
                "BFC pauses single queues, and `classify` = \"fifo\" has but one for all flows of a class",
                "set classify to \"dynamic\" or \"hash\"";
            wrong ["ack", "backpressure"] with [AcksWithData]:
                "BFC cannot pause ACKs: a NIC sends them from no queue that a pause could name",
                "set ack.class = \"control\"";
            wrong ["backpressure", "control"] with [ReceiverDriven]:
                "BFC pauses queues of the NIC, and a receiver-driven transport has none",
                "set backpressure = \"none\"";
            doubtful ["admission", "backpressure"] with [Pfc]:
                "BFC and PFC are both on: whichever acts first hides the other",
                "BFC's paper has PFC off: admission = \"shared-pool\"";
            doubtful ["nic", "control"] with [IgnoresHop, Unlimited]:
                "NICs neither obey BFC nor limit what is in flight: the first switch fills and drops",
                "set control = \"fixed-window\", as the BFC paper does";
        };
        rules.extend(match (self.by, self.bitmap) {
            (PauseBy::Queue, _) => crate::rules! {
                wrong ["backpressure", "classify"] with [FlowQueues]:
                    "BFC pauses queues by their number, and the queues of `classify` = \"per-flow\" come and go",
                    "set bfc.pause = \"flow\", or classify to \"dynamic\" or \"hash\"";
            },
            (PauseBy::Flow, Some(_)) => crate::rules! {
                wrong ["bfc", "backpressure"]:
                    "a bitmap names queues, and `bfc.pause` = \"flow\" pauses flows",
                    "set bfc.tell = \"edges\", or bfc.pause = \"queue\"";
            },
            (PauseBy::Flow, None) => Vec::new(),
        });
        rules
    }
}

impl Declaration for BfcConfig {
    fn name(&self) -> &'static str {
        "BFC"
    }

    fn needs(&self) -> Needs {
        Needs {
            pauses_queues: true,
            pauses_flows: self.by == PauseBy::Flow,
            hop_rtt_ps: self.hrtt_ps,
            period_ps: self.bitmap.map(|bitmap| bitmap.period_ps),
            sampling: (self.sampling < ALL_PACKETS).then_some(self.sampling),
            ..Needs::default()
        }
    }

    fn smallest_frame_bytes(&self) -> u16 {
        let bitmap = self.bitmap.map_or(u16::MAX, |bitmap| bitmap.frame_bytes);
        self.frame_bytes.min(bitmap)
    }

    fn repair(&self) -> Option<&'static str> {
        let repeats = self.has(Property::RepeatsPauses);
        (!repeats).then_some(match self.by {
            PauseBy::Queue => REPAIR_QUEUES,
            PauseBy::Flow => REPAIR_FLOWS,
        })
    }

    fn network(&self, facts: &NetworkFacts, say: &mut dyn FnMut(Finding)) {
        if let (true, Some(repair)) = (facts.lossy, self.repair()) {
            // BFC-31: a lost resume stays lost
            say(Finding::doubtful(
                &["topology"],
                "links also lose the pauses and resumes of BFC, and nothing repeats them",
                format!(
                    "a queue or flow whose resume is lost stays paused until the next resume; {repair}"
                ),
            ));
        }
    }

    fn idle(&self, counted: &dyn Fn(&str) -> u64, say: &mut dyn FnMut(&'static str)) {
        if counted("bfc_pauses") == 0 {
            say("BFC paused no queue");
        }
    }
}
