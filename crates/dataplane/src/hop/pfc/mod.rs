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
use crate::classes::{ClassSet, class_label, classes_of};
use crate::config::{Accounting, Admission, PauseTime, SwitchConfig};
use crate::packet::{Frame, Packet, PacketId, flag};
use crate::pause_time::Refresh;
use crate::sink::{Level, Sink};
use crate::switch::mmu::Mmu;
use crate::switch::pipeline::Pipeline;
use crate::switch::space::Tell;
use crate::units::{Rate, Time};
pub use frames::{PauseClasses, PauseFor, said};
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
    /// Where pauses run out, and are repeated before.
    refresh: Option<Box<Refresh>>,
    /// A pause takes a resume back that still waits at its port.
    takes_back: bool,
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
// SW-40, NIC-07, QNT-02
pub(crate) fn obey<E: Egress>(egress: &mut E, frame: &Packet, _list: &[u32]) {
    if let Some(PauseClasses { on, classes }) = PauseClasses::read(frame) {
        egress.pause_classes(classes, on);
    } else if let Some(PauseFor { quanta, classes }) = PauseFor::read(frame) {
        egress.pause_classes_for(classes, quanta);
    }
}

/// Whether a pause takes a resume back that has not left yet. HPCC's simulator sends each frame.
// SW-44, NS3-12
fn takes_back<H>(config: &SwitchConfig<H>) -> bool {
    matches!(&config.mmu.admission, Admission::Pfc(pfc) if pfc.accounting == Accounting::Pool)
}

/// When the pauses that this configuration sends are repeated.
fn refresh<H>(config: &SwitchConfig<H>, ports: &[(Rate, Time)]) -> Option<Box<Refresh>> {
    let Admission::Pfc(pfc) = &config.mmu.admission else {
        return None;
    };
    let PauseTime::Quanta { quanta, refresh } = pfc.pause else {
        return None;
    };
    let rates = ports.iter().map(|link| link.0);
    Some(Box::new(Refresh::new(quanta, refresh, rates)))
}

impl Pfc {
    pub const COUNTERS: &'static [Counter] = &[
        Counter::sum("pfc_pauses"),
        Counter::sum("pfc_resumes"),
        Counter::sum("pfc_refreshes"),
        Counter::sum("pfc_expiries"),
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
            refresh: refresh(config, ports),
            takes_back: takes_back(config),
        }
    }

    // QNT-09
    pub fn count(&self, core: &Pipeline, values: &mut [u64]) {
        let Thresholds {
            spared,
            victim_pauses,
            beside_bytes,
            ..
        } = self.thresholds;
        values.copy_from_slice(&[
            self.pauses,
            self.resumes,
            self.refresh.as_ref().map_or(0, |refresh| refresh.frames),
            core.timed.count(),
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
            Self::tell(&mut cx.again(), port, class, true);
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

    /// Pauses or resumes a class of the upstream at a port. Kept out of the steps of a packet, few of which do that.
    // SW-41
    #[inline(never)]
    pub fn tell<S: Sink>(cx: &mut Cx<'_, S>, port: u16, class: u8, xoff: bool) {
        if cx.core.is_dead(port) {
            return; // LNK-21
        }
        if xoff && let Some(paused) = Self::take_resume_back(cx, port, class) {
            return Self::go_on(cx, port, class, paused);
        }
        if xoff {
            cx.pfc.pauses += 1;
        } else {
            cx.pfc.resumes += 1;
        }
        if cx.core.marker.as_ref().is_some_and(|marker| marker.replay) {
            cx.sink.unit(); // NS3-17
        }
        let frame = cx.pfc.frame(class, xoff);
        if let Some(refresh) = &mut cx.pfc.refresh {
            if xoff {
                cx.sink.wake(refresh.sent(cx.now, port, class));
            } else {
                refresh.stop(port, 1 << class); // QNT-06
            }
        }
        let frame = cx.emit(port, frame);
        // SPFC-40
        if xoff {
            let (thresholds, mmu) = (&cx.pfc.thresholds, &cx.core.mmu);
            let level = || thresholds.level(mmu, port, class);
            cx.sink.pfc_sent(port, class, frame, level);
        } else {
            cx.sink.pfc_resume_sent(port, class, frame);
        }
    }

    /// Takes the resume of a class that still waits at a port out of its queue, so that the pause goes on of
    /// which it would have been the end. Returns whether the pause itself still waits; `None`: no resume does.
    // SW-44
    fn take_resume_back<S: Sink>(cx: &mut Cx<'_, S>, port: u16, class: u8) -> Option<bool> {
        if !cx.pfc.takes_back {
            return None;
        }
        let of_class = |frame: &Packet| said(frame).filter(|said| said.1 == 1 << class);
        let mut paused = false;
        let is_resume = |frame: &Packet| {
            let on = of_class(frame).map(|said| said.0);
            paused |= on == Some(true);
            on == Some(false)
        };
        let queueing = &mut cx.core.queueing;
        let frame = queueing.take_frame(port, cx.arena, is_resume)?;
        cx.core.frame_withdrawn(port, cx.arena.hot(frame));
        cx.arena.free(frame);
        debug_assert!(
            cx.pfc.resumes > 0,
            "the resume was counted when it was sent"
        );
        cx.pfc.resumes -= 1;
        Some(paused)
    }

    /// A pause goes on whose resume was taken back. One with a time is told again, unless it still waits.
    // SW-44
    fn go_on<S: Sink>(cx: &mut Cx<'_, S>, port: u16, class: u8, paused: bool) {
        let Some(refresh) = &mut cx.pfc.refresh else {
            return;
        };
        cx.sink.wake(refresh.sent(cx.now, port, class));
        if !paused {
            refresh.frames += 1;
            Self::repeat(cx, port, class);
        }
    }

    /// Sends the pause of a class again.
    fn repeat<S: Sink>(cx: &mut Cx<'_, S>, port: u16, class: u8) {
        let frame = cx.pfc.frame(class, true);
        let frame = cx.emit(port, frame);
        cx.sink.pfc_refresh_sent(port, class, frame);
    }

    /// The frame that pauses or resumes a class of the upstream at a port.
    fn frame(&self, class: u8, xoff: bool) -> Packet {
        let classes = 1 << class;
        match &self.refresh {
            Some(refresh) if xoff => {
                let quanta = refresh.quanta;
                PauseFor { quanta, classes }.packet(self.frame_bytes)
            }
            _ => PauseClasses { on: xoff, classes }.packet(self.frame_bytes),
        }
    }

    /// Repeats the pauses whose time has come, and asks to be called for the next.
    // QNT-05
    pub fn timer<S: Sink>(cx: &mut Cx<'_, S>) {
        while let Some((port, class)) = cx.pfc.repeats(cx.now) {
            Self::repeat(cx, port, class);
        }
        if let Some(next) = cx.pfc.refresh.as_mut().and_then(|refresh| refresh.next()) {
            cx.sink.wake(next);
        }
    }

    /// A port and class whose pause is to be repeated now.
    fn repeats(&mut self, now: Time) -> Option<(u16, u8)> {
        let refresh = self.refresh.as_mut()?;
        let (port, class) = refresh.due(now)?;
        refresh.sent(now, port, class);
        refresh.frames += 1;
        Some((port, class))
    }

    /// The link at a port has failed or is back: nothing of the upstream there is held.
    // LNK-21
    pub fn link<S: Sink>(cx: &mut Cx<'_, S>, port: u16) {
        if let Some(refresh) = &mut cx.pfc.refresh {
            refresh.stop(port, ClassSet::MAX);
        }
        cx.pfc.thresholds.forget(cx.now, &mut cx.core.mmu, port);
    }

    /// The link is back: an ingress that still has too much of before in the buffer is held at once.
    // LNK-22
    pub fn hold_again<S: Sink>(cx: &mut Cx<'_, S>, port: u16) {
        let classes = cx.pfc.thresholds.hold_again(cx.now, &mut cx.core.mmu, port);
        for class in classes_of(classes) {
            Self::tell(&mut cx.again(), port, class, true);
        }
    }

    /// What an ingress and class holds, and the threshold that it has now.
    pub fn level(&self, now: Time, core: &Pipeline, port: u16, class: u8) -> Level {
        self.thresholds.level_now(now, &core.mmu, port, class)
    }

    /// Says which classes it holds of which upstream.
    pub fn explain_stall(core: &Pipeline, say: &mut dyn FnMut(String)) {
        for (port, class) in core.mmu.pausing() {
            say(format!(
                "port {port} pauses {} of its upstream by PFC",
                class_label(class)
            ));
        }
    }

    pub fn audit(&self, core: &Pipeline) -> Option<String> {
        self.thresholds.audit(&core.mmu, core.ports())
    }
}
