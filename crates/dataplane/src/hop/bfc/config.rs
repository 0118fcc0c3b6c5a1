//! What BFC at a switch is: plain data, one choice per question (`specs/bfc.md`).

use crate::declaration::{Beside, Declaration, Finding, Needs, NetworkFacts, Queues, lost_pauses};
use crate::units::Time;

crate::words! {
    /// What a BFC pause names.
    pub enum PauseBy {
        /// The queue upstream that the packet came from.
        Queue = "queue",
        /// The flow itself (ideal).
        Flow = "flow",
    }
}

/// Bitmaps of all queues that should be paused, sent by every port of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitmapConfig {
    /// Time between two of them, in ps; all switches send at its multiples.
    pub period_ps: Time,
    /// Bytes of the frame.
    pub frame_bytes: u16,
    /// Besides them, a queue's pause and resume are told at once by frames of their own. If not, a
    /// pause waits for the next bitmap, and a resume is a bitmap at once.
    pub edges: bool,
}

/// All packets, as a share in 1/65536.
pub const ALL_PACKETS: u32 = 1 << 16;

/// BFC at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BfcConfig {
    /// Pause threshold = `threshold_factor`/65536 · (HRTT + τ) · rate / N_active.
    pub threshold_factor: u32,
    /// The threshold is never below this many bytes.
    pub floor_bytes: u64,
    /// τ: added to HRTT in the threshold, in ps.
    pub tau_ps: Time,
    /// The arriving packet counts in the queue length that is compared with the threshold.
    pub count_arriving: bool,
    /// A packet whose flow has no other packet in the switch never pauses its upstream queue.
    pub first_exempt: bool,
    /// 1-hop round trip in ps; `None`: from the port's links (propagation both ways).
    pub hrtt_ps: Option<Time>,
    /// Bytes of a pause or resume frame.
    pub frame_bytes: u16,
    /// Upstream queues that a neighbour may have (size of the pause counters per ingress).
    pub upstream_queues: u16,
    /// What a pause names.
    pub by: PauseBy,
    /// Periodic bitmaps, if used.
    pub bitmap: Option<BitmapConfig>,
    /// Share of the packets that flow table and pause counters see, in 1/65536.
    pub sampling: u32,
    /// Port pairs that could form a pause cycle are exempt.
    pub elide: bool,
}

impl BfcConfig {
    /// §3.3.2 of the BFC paper, with the first packet of a flow exempt (BFC-09).
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

/// Advice how to repeat lost pauses and resumes of queues.
const REPAIR_QUEUES: &str = "set scheme.bfc.tell = \"edges+bitmap\" to repeat them";
/// A bitmap has a bit for each queue, so it cannot repeat pauses of flows.
const REPAIR_FLOWS: &str = "set scheme.bfc.pause = \"queue\", scheme.classify = \"dynamic\" and \
                            scheme.bfc.tell = \"edges+bitmap\" to repeat them";

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

    fn repeats_pauses(&self) -> bool {
        self.bitmap.is_some()
    }

    fn repair(&self) -> Option<&'static str> {
        self.bitmap.is_none().then_some(match self.by {
            PauseBy::Queue => REPAIR_QUEUES,
            PauseBy::Flow => REPAIR_FLOWS,
        })
    }

    fn can_deadlock(&self) -> bool {
        true
    }

    fn network(&self, facts: &NetworkFacts, say: &mut dyn FnMut(Finding)) {
        if let (true, Some(repair)) = (facts.lossy, self.repair()) {
            say(lost_pauses("BFC", repair)); // BFC-31: a lost resume stays lost
        }
    }

    fn beside(&self, others: &Beside, say: &mut dyn FnMut(Finding)) {
        if others.scans && others.is_obeyed {
            say(Finding::wrong(
                &["nic", "backpressure"],
                "nic.arbiter = \"scan\" has no queues that BFC could pause",
                "set nic.arbiter = \"ring\", or nic.obeys = [\"pfc\"]",
            ));
        }
        if others.queues == Queues::One {
            say(Finding::wrong(
                &["backpressure", "classify"],
                "BFC pauses single queues, and `classify` = \"fifo\" has but one for all flows of a class",
                "set classify to \"dynamic\" or \"hash\"",
            ));
        }
        if self.by == PauseBy::Queue && others.queues == Queues::PerFlow {
            say(Finding::wrong(
                &["backpressure", "classify"],
                "BFC pauses queues by their number, and the queues of `classify` = \"per-flow\" come and go",
                "set bfc.pause = \"flow\", or classify to \"dynamic\" or \"hash\"",
            ));
        }
        if self.by == PauseBy::Flow && self.bitmap.is_some() {
            say(Finding::wrong(
                &["bfc", "backpressure"],
                "a bitmap names queues, and `bfc.pause` = \"flow\" pauses flows",
                "set bfc.tell = \"edges\", or bfc.pause = \"queue\"",
            ));
        }
        if others.acks_with_data {
            say(Finding::wrong(
                &["ack", "backpressure"],
                "BFC cannot pause ACKs: a NIC sends them from no queue that a pause could name",
                "set ack.class = \"control\"",
            ));
        }
        if others.pfc {
            say(Finding::doubtful(
                &["admission", "backpressure"],
                "BFC and PFC are both on: whichever acts first hides the other",
                "BFC's paper has PFC off: admission = \"shared-pool\"",
            ));
        }
        if !others.is_obeyed && others.unlimited_senders {
            say(Finding::doubtful(
                &["nic", "control"],
                "NICs neither obey BFC nor limit what is in flight: the first switch fills and drops",
                "set control = \"fixed-window\", as the BFC paper does",
            ));
        }
    }

    fn against_transport(&self, name: &str) -> Option<String> {
        Some(format!("BFC pauses queues of the NIC, and {name} has none"))
    }

    fn elides(&self) -> bool {
        self.elide
    }

    // BFC paper, section 5: partial deployment.
    fn works_beside_others(&self) -> bool {
        true
    }

    fn names_nic_queues(&self) -> bool {
        true
    }

    fn idle(&self, counted: &dyn Fn(&str) -> u64, say: &mut dyn FnMut(&'static str)) {
        if counted("bfc_pauses") == 0 {
            say("BFC paused no queue");
        }
    }
}
