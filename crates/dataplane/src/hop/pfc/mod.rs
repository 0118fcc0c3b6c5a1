//! Priority flow control (IEEE 802.1Qbb): an ingress that has too much of a class in the buffer pauses that
//! class of its upstream.
//!
//! When that is so is in `thresholds.rs`, and which ports have a larger threshold in `spfc.rs`; the books
//! of the buffer are in `switch/mmu.rs`. The rules are in `specs/switch.md` and `specs/spfc.md`.

mod act;
mod frames;
mod spec;
mod spfc;
mod thresholds;

use super::{Counter, Ports};
use crate::classes::class_label;
use crate::config::{Accounting, Admission, PauseTime, SwitchConfig};
use crate::packet::{Frame, Packet};
use crate::pause_time::Refresh;
use crate::sink::Level;
use crate::switch::mmu::Mmu;
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

/// A port obeys a frame of PFC.
// SW-40, NIC-07, QNT-02
pub(crate) fn obey<P: Ports>(ports: &mut P, port: u16, frame: &Packet) {
    if let Some(PauseClasses { on, classes }) = PauseClasses::read(frame) {
        ports.pause_classes(port, classes, on);
    } else if let Some(PauseFor { quanta, classes }) = PauseFor::read(frame) {
        ports.pause_classes_for(port, classes, quanta);
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
    pub fn count(&self, expiries: u64, values: &mut [u64]) {
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
            expiries,
            spared,
            victim_pauses,
            beside_bytes,
        ]);
    }

    /// A packet that came in by `port` leaves the buffer. Returns true if its upstream may resume.
    #[inline(always)]
    pub fn leave(&mut self, now: Time, mmu: &mut Mmu, port: u16, class: u8, size: u64) -> bool {
        self.thresholds.departing(now, mmu, port, class, size);
        let tell = mmu.leave(port, class, size);
        self.thresholds.left(now, mmu, port, class, tell) == Tell::Xon
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

    /// A port and class whose pause is to be repeated now.
    fn repeats(&mut self, now: Time) -> Option<(u16, u8)> {
        let refresh = self.refresh.as_mut()?;
        let (port, class) = refresh.due(now)?;
        refresh.sent(now, port, class);
        refresh.frames += 1;
        Some((port, class))
    }

    /// Returns the bytes of an ingress and class, and its threshold now.
    pub fn level(&self, now: Time, mmu: &Mmu, port: u16, class: u8) -> Level {
        self.thresholds.level_now(now, mmu, port, class)
    }

    /// Reports which classes of which upstream are paused.
    pub fn explain_stall(&self, mmu: &Mmu, say: &mut dyn FnMut(String)) {
        for (port, class) in mmu.pausing() {
            say(format!(
                "port {port} pauses {} of its upstream by PFC",
                class_label(class)
            ));
        }
    }

    pub fn audit(&self, mmu: &Mmu, ports: u16) -> Option<String> {
        self.thresholds.audit(mmu, ports)
    }
}
