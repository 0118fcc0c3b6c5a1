//! Priority flow control (IEEE 802.1Qbb): an ingress that has too much of a class in the buffer pauses that
//! class of its upstream.
//!
//! When that is so is in `thresholds.rs`, and which ports have a larger threshold in `spfc.rs`; the books
//! of the buffer are in `switch/mmu.rs`. The rules are in `specs/switch.md` and `specs/spfc.md`.

mod frames;
mod spec;
mod spfc;
mod thresholds;

use super::{Counter, Cx, Egress};
use crate::config::{Admission, SwitchConfig};
use crate::packet::{Frame, Packet, PacketId, flag};
use crate::sink::Sink;
use crate::switch::mmu::Mmu;
use crate::switch::pipeline::Pipeline;
use crate::switch::space::Tell;
use crate::units::{Rate, Time};
pub use frames::PauseClasses;
pub use spec::{PARAMS, from_values};
use spfc::Victims;
pub use spfc::{ABOUT as VICTIM_ABOUT, Interval, VictimSpec, WORD as VICTIM_WORD, counting_number};
use thresholds::Thresholds;

/// PFC at a switch. It is at every switch, and does nothing where the buffer is not lossless.
#[derive(Debug)]
pub(crate) struct Pfc {
    thresholds: Thresholds,
    frame_bytes: u16,
    pauses: u64,
    resumes: u64,
}

/// Bytes of a pause frame, where there are any.
#[must_use]
pub const fn frame_bytes<H>(config: &SwitchConfig<H>) -> Option<u16> {
    match &config.mmu.admission {
        Admission::Pfc(pfc) => Some(pfc.frame_bytes),
        _ => None,
    }
}

/// What a frame says to the egress.
// SW-40, NIC-07
pub(crate) fn obey<E: Egress>(egress: &mut E, frame: &Packet, _list: &[u32]) {
    if let Some(PauseClasses { on, classes }) = PauseClasses::read(frame) {
        egress.pause_classes(classes, on);
    }
}

impl Pfc {
    pub const COUNTERS: &'static [Counter] = &[
        Counter::sum("pfc_pauses"),
        Counter::sum("pfc_resumes"),
        spfc::SPARED,
        spfc::VICTIM_PAUSES,
        spfc::BESIDE,
    ];

    pub fn new<H>(config: &SwitchConfig<H>, ports: &[(Rate, Time)]) -> Self {
        Self {
            thresholds: Thresholds::new(config, ports),
            frame_bytes: frame_bytes(config).unwrap_or(0),
            pauses: 0,
            resumes: 0,
        }
    }

    pub fn count(&self, values: &mut [u64]) {
        let Thresholds {
            spared,
            victim_pauses,
            beside_bytes,
            ..
        } = self.thresholds;
        values.copy_from_slice(&[
            self.pauses,
            self.resumes,
            spared,
            victim_pauses,
            beside_bytes,
        ]);
    }

    /// A departure changes nothing here but the books.
    pub const fn is_plain(&self) -> bool {
        self.thresholds.is_plain()
    }

    /// A packet of an ingress and class has entered the buffer, which says `tell`.
    #[inline(always)]
    pub fn entered<S: Sink>(cx: &mut Cx<'_, S>, port: u16, class: u8, tell: Tell) {
        let mmu = &mut cx.core.mmu;
        if cx.pfc.thresholds.entered(cx.now, mmu, port, class, tell) == Tell::Xoff {
            Self::tell(cx, port, class, true);
        }
    }

    /// A packet that came in by `port` leaves the buffer. Returns whether its upstream may go on.
    #[inline(always)]
    pub fn leave<const PLAIN: bool>(
        &mut self,
        now: Time,
        mmu: &mut Mmu,
        port: u16,
        class: u8,
        size: u64,
    ) -> bool {
        if !PLAIN {
            self.thresholds.departing(now, mmu, port, class, size);
        }
        let tell = mmu.leave::<PLAIN>(port, class, size);
        self.thresholds.left(now, mmu, port, class, tell) == Tell::Xon
    }

    /// A packet gives its place in the buffer back, if it has one.
    pub fn release<S: Sink>(cx: &mut Cx<'_, S>, id: PacketId) {
        let packet = *cx.arena.hot(id);
        if !packet.has(flag::BUFFERED) {
            return;
        }
        cx.arena.hot_mut(id).flags &= !flag::BUFFERED;
        let (port, class, size) = (packet.ingress, packet.class(), u64::from(packet.size));
        let mmu = &mut cx.core.mmu;
        if cx.pfc.leave::<false>(cx.now, mmu, port, class, size) {
            Self::tell(cx, port, class, false);
        }
    }

    /// Pauses or resumes a class of the upstream at a port.
    // SW-41
    pub fn tell<S: Sink>(cx: &mut Cx<'_, S>, port: u16, class: u8, xoff: bool) {
        if cx.core.is_dead(port) {
            return; // LNK-21
        }
        if xoff {
            cx.pfc.pauses += 1;
        } else {
            cx.pfc.resumes += 1;
        }
        if cx.core.marker.as_ref().is_some_and(|marker| marker.replay) {
            cx.sink.unit(); // NS3-17
        }
        let frame = PauseClasses {
            on: xoff,
            classes: 1 << class,
        };
        let frame = cx.emit(port, frame.packet(cx.pfc.frame_bytes));
        // SPFC-40
        if xoff {
            let (thresholds, mmu) = (&cx.pfc.thresholds, &cx.core.mmu);
            let level = || thresholds.level(mmu, port, class);
            cx.sink.pfc_sent(port, class, frame, level);
        } else {
            cx.sink.pfc_resume_sent(port, class, frame);
        }
    }

    /// The link at a port has failed or is back: nothing of the upstream there is held.
    // LNK-21
    pub fn link<S: Sink>(cx: &mut Cx<'_, S>, port: u16) {
        cx.pfc.thresholds.forget(cx.now, &mut cx.core.mmu, port);
    }

    /// The link is back: an ingress that still has too much of before in the buffer is held at once.
    // LNK-22
    pub fn hold_again<S: Sink>(cx: &mut Cx<'_, S>, port: u16) {
        let classes = cx.pfc.thresholds.hold_again(cx.now, &mut cx.core.mmu, port);
        for class in (0..8).filter(|class| classes >> class & 1 != 0) {
            Self::tell(cx, port, class, true);
        }
    }

    /// Says which classes it holds of which upstream.
    pub fn explain_stall(core: &Pipeline, say: &mut dyn FnMut(String)) {
        for (port, class) in core.mmu.pausing() {
            say(format!(
                "port {port} holds class {class} of its upstream by PFC"
            ));
        }
    }

    pub fn audit(&self, core: &Pipeline) -> Option<String> {
        self.thresholds.audit(&core.mmu, core.ports())
    }
}
