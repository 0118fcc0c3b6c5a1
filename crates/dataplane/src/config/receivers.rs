//! Receiver-driven transports: ExpressPass, NDP and Homa, and what they ask of switches.

use super::within;
use crate::units::{Rate, Time, US};

/// What a receiver-driven transport asks of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assist {
    /// Credits have a queue of their own, short and shaped.
    Credits(CreditQueue),
    /// Data packets that find their queue full lose their payload instead of their life.
    Trim(TrimConfig),
}

/// The queue of credits at every port, of switches and NICs alike (`specs/expresspass.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditQueue {
    /// Bytes of a credit.
    pub credit_bytes: u16,
    /// Bytes of the largest frame that a credit lets go. Credits get
    /// credit / (credit + frame) of the link.
    pub frame_bytes: u16,
    /// Credits that may wait; one more is dropped.
    pub limit: u16,
    /// Credits that may leave at once after a silence, at least 1.
    pub burst: u16,
}

impl CreditQueue {
    /// Mean time between two credits of a link, in ps.
    // XP-02
    #[must_use]
    pub fn gap_ps(&self, rate: Rate) -> Time {
        rate.serialisation_ps(u64::from(self.credit_bytes) + u64::from(self.frame_bytes))
    }
}

/// ExpressPass (`specs/expresspass.md`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpressPassConfig {
    /// First rate of a flow's credits, as a share of the link's.
    pub alpha: f64,
    /// First weight of the highest rate in an increase.
    pub w_init: f64,
    /// Largest weight.
    pub w_max: f64,
    /// Smallest weight.
    pub w_min: f64,
    /// Share of credits that may be lost.
    pub target_loss: f64,
    /// Each gap between two credits is this much longer or shorter at most, as a share of it.
    pub jitter: f64,
    /// The NIC's own queue of credits.
    pub queue: CreditQueue,
    /// A sender that hears nothing for this long asks again, ps.
    pub timeout_ps: Time,
}

impl ExpressPassConfig {
    /// Feedback as in the BFC paper's comparison; 84-byte credits for frames of `frame_bytes`.
    #[must_use]
    pub const fn bfc_comparison(frame_bytes: u16) -> Self {
        // XP-10, XP-03
        Self {
            alpha: 0.5,
            w_init: 0.0625,
            w_max: 0.5,
            w_min: 0.01,
            target_loss: 0.1,
            jitter: 0.1,
            queue: CreditQueue {
                credit_bytes: 84,
                frame_bytes,
                limit: 16,
                burst: 2,
            },
            timeout_ps: 10_000 * US,
        }
    }

    /// Says what is wrong with the values, if anything is.
    ///
    /// # Errors
    /// A sentence with the field, its value and what was expected.
    pub fn check(&self) -> Result<(), String> {
        within("expresspass alpha", self.alpha, 0.001, 1.0)?;
        within("expresspass w_max", self.w_max, 0.001, 1.0)?;
        within("expresspass w_min", self.w_min, 0.0001, self.w_max)?;
        within("expresspass w_init", self.w_init, self.w_min, self.w_max)?;
        within("expresspass target_loss", self.target_loss, 0.0, 0.9)?;
        within("expresspass jitter", self.jitter, 0.0, 0.9)
    }
}

/// Trimming at a switch (`specs/ndp.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimConfig {
    /// Data packets that may wait at a port and class.
    pub packets: u16,
    /// Bytes of a header.
    pub header_bytes: u16,
    /// Bytes of headers and other control that may wait at a port.
    pub control_bytes: u64,
    /// Control packets that go for each data packet while both wait.
    pub weight: u16,
    /// Of an arriving packet and the last in the queue one is trimmed by chance; else always the
    /// arriving one.
    pub either: bool,
    /// A header that finds no room goes back to its sender instead of being dropped.
    pub returns: bool,
}

/// NDP's ends (`specs/ndp.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdpConfig {
    /// Payload bytes that a flow sends unasked; `None`: one BDP.
    pub window: Option<u64>,
    /// A packet of which nothing is heard for this long is sent again, ps.
    pub timeout_ps: Time,
    /// What its switches do.
    pub trim: TrimConfig,
}

impl NdpConfig {
    /// As published, for frames of `frame_bytes`.
    #[must_use]
    pub const fn paper(frame_bytes: u16) -> Self {
        // NDP-01, NDP-02, NDP-03, NDP-12
        Self {
            window: None,
            timeout_ps: 1_000 * US,
            trim: TrimConfig {
                packets: 8,
                header_bytes: 64,
                control_bytes: 8 * frame_bytes as u64,
                weight: 10,
                either: true,
                returns: true,
            },
        }
    }
}

/// Most priority levels of Homa.
pub const MAX_LEVELS: usize = 32;

/// Homa (`specs/homa.md`). Level 0 is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomaConfig {
    /// Priority levels in all, 2 to [`MAX_LEVELS`].
    pub levels: u8,
    /// The first of them, which are for unscheduled packets; the others for scheduled ones.
    pub unscheduled: u8,
    /// Largest message, in bytes, of each unscheduled level; the last one takes all others.
    pub cutoffs: [u32; MAX_LEVELS],
    /// Messages that a receiver grants at a time.
    pub overcommitment: u8,
    /// Payload bytes that a message sends unasked, and that are granted ahead; `None`: one BDP.
    pub window: Option<u64>,
    /// After this silence a receiver asks for what is missing, and a sender for news, ps.
    pub timeout_ps: Time,
}

impl HomaConfig {
    /// Level of the unscheduled packets of a message.
    // HOM-04
    #[must_use]
    pub fn level_of(&self, message_bytes: u64) -> u16 {
        let last = usize::from(self.unscheduled.max(1)) - 1;
        let above = |&&cut: &&u32| u64::from(cut) < message_bytes;
        self.cutoffs[..last].iter().take_while(above).count() as u16
    }
}
