//! Priority flow control (IEEE 802.1Qbb). If the packets of an ingress port and class fill too much
//! buffer, the switch pauses this class at the upstream neighbour.
//!
//! The buffer (`pipeline/mmu.rs`) counts the bytes of each ingress (port and class).
//! `thresholds.rs` compares them with the thresholds. SPFC (`spfc.rs`) selects ports with a larger
//! threshold, the *victim ports*. `act.rs` sends the frames. The rules are in `specs/switch.md`
//! and `specs/spfc.md`.

mod act;
mod frames;
mod spfc;
mod thresholds;

use crate::classes::{ClassSet, class_label, classes_of};
use crate::config::{Accounting, Admission, ClassConfig, PauseTime, SwitchConfig};
use crate::declaration::Counter;
use crate::event::Level;
use crate::packet::{Frame, Packet};
use crate::pause_time::Refresh;
use crate::pipeline::mmu::Mmu;
use crate::ports::Ports;
use crate::sink::DropCause;
use crate::space::Excess;
use crate::units::{Rate, Time};
pub use frames::{PauseClasses, PauseFor, said};
use spfc::Victims;
pub use spfc::{
    ABOUT as VICTIM_ABOUT, Interval, VictimParams, WORD as VICTIM_WORD, counting_number,
};
use thresholds::Thresholds;

/// PFC state of a switch. It exists in every switch, but never pauses without a lossless buffer.
#[derive(Debug)]
pub(crate) struct Pfc {
    thresholds: Thresholds,
    /// Classes that may be paused, as a bit set.
    pausable: ClassSet,
    /// Per ingress port: classes that are paused upstream, as a bit set.
    paused: Vec<ClassSet>,
    /// Per ingress port: paused classes whose headroom still contains packets from before the link
    /// recovered.
    // LNK-22
    lagging: Vec<ClassSet>,
    frame_bytes: u16,
    pauses: u64,
    resumes: u64,
    /// Timers that repeat pause frames before the pauses expire, if pauses have a duration.
    refresh: Option<Box<Refresh>>,
    /// True if a new pause removes a resume frame of the same class that is still queued at the
    /// port.
    takes_back: bool,
}

/// Returns the size of a pause frame in bytes, or `None` without PFC.
#[must_use]
pub const fn frame_bytes<H>(config: &SwitchConfig<H>) -> Option<u16> {
    match &config.mmu.admission {
        Admission::Pfc(pfc) => Some(pfc.frame_bytes),
        _ => None,
    }
}

/// Pauses or resumes the classes of a port that a received PFC frame contains.
// SW-40, NIC-07, QNT-02
pub(crate) fn obey<P: Ports>(ports: &mut P, port: u16, frame: &Packet) {
    if let Some(PauseClasses { on, classes }) = PauseClasses::read(frame) {
        ports.pause_classes(port, classes, on);
    } else if let Some(PauseFor { quanta, classes }) = PauseFor::read(frame) {
        ports.pause_classes_for(port, classes, quanta);
    }
}

/// Returns the classes that PFC may pause, as a bit set. HPCC's simulator pauses every class of the
/// buffer.
fn pausable<H>(config: &SwitchConfig<H>) -> ClassSet {
    let Admission::Pfc(pfc) = &config.mmu.admission else {
        return 0;
    };
    let is_pausable = |class: &ClassConfig| {
        class.buffered && (class.pausable || pfc.accounting != Accounting::Pool)
    };
    let classes = config.classes.iter().enumerate();
    classes.fold(0, |set, (nth, class)| {
        set | ClassSet::from(is_pausable(class)) << nth
    })
}

/// Returns true if a pause removes a queued resume frame. HPCC's simulator sends every frame.
// SW-44, NS3-12
fn takes_back<H>(config: &SwitchConfig<H>) -> bool {
    matches!(&config.mmu.admission, Admission::Pfc(pfc) if pfc.accounting == Accounting::Pool)
}

/// Returns the timers that repeat pauses, or `None` if pauses have no duration.
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
            pausable: pausable(config),
            paused: vec![0; ports.len()],
            lagging: vec![0; ports.len()],
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

    /// Counts a packet from ingress `port` that leaves the buffer. Returns true if the upstream
    /// neighbour must be resumed.
    #[inline(always)]
    pub fn leave(&mut self, now: Time, mmu: &mut Mmu, port: u16, class: u8, size: u64) -> bool {
        self.thresholds.departing(now, mmu, port, class, size);
        let Some(excess) = mmu.leave(port, class, size) else {
            debug_assert!(
                !self.is_paused(port, class),
                "port {port} is paused within its reserve"
            );
            return false;
        };
        if !self.is_paused(port, class) || !self.thresholds.may_resume(mmu, port, excess) {
            return false;
        }
        self.resume(now, port, class);
        true
    }

    /// Returns true if this switch has paused a class of the upstream neighbour at a port.
    #[inline(always)]
    pub fn is_paused(&self, port: u16, class: u8) -> bool {
        self.paused[port as usize] >> class & 1 != 0
    }

    /// Counts a packet that entered the buffer. `excess` contains the bytes of its ingress beyond
    /// the reserve. Returns true if the upstream neighbour must be paused.
    #[inline(always)]
    pub fn entered(&mut self, now: Time, mmu: &Mmu, port: u16, class: u8, excess: Excess) -> bool {
        let may_pause = self.pausable & !self.paused[port as usize];
        if may_pause >> class & 1 == 0 || !self.thresholds.must_pause(now, mmu, port, excess) {
            return false;
        }
        self.pause(now, port, class);
        true
    }

    /// Returns the cause to report for a dropped packet: [`DropCause::Link`] if the headroom still
    /// contains packets from before a link failure.
    // LNK-22
    pub fn drop_cause(&self, port: u16, class: u8, cause: DropCause) -> DropCause {
        match cause {
            DropCause::Buffer if self.lagging[port as usize] >> class & 1 != 0 => DropCause::Link,
            cause => cause,
        }
    }

    fn pause(&mut self, now: Time, port: u16, class: u8) {
        // SW-13, SW-14: XOFF and XON alternate.
        debug_assert!(
            !self.is_paused(port, class),
            "port {port}, class {class}: XOFF twice"
        );
        self.paused[port as usize] |= 1 << class;
        self.thresholds.note_pause(now, port, class);
    }

    fn resume(&mut self, now: Time, port: u16, class: u8) {
        debug_assert!(
            self.is_paused(port, class),
            "port {port}, class {class}: XON twice"
        );
        self.paused[port as usize] &= !(1 << class);
        self.lagging[port as usize] &= !(1 << class);
        self.thresholds.note_resume(now, port, class);
    }

    /// Resets the pauses sent by an ingress port whose link has failed or recovered.
    // LNK-21
    fn forget(&mut self, now: Time, port: u16) {
        for class in classes_of(self.paused[port as usize]) {
            self.resume(now, port, class);
        }
        if let Some(refresh) = &mut self.refresh {
            refresh.stop(port, ClassSet::MAX);
        }
    }

    /// Marks the classes as paused that still exceed their threshold after the link of an ingress
    /// port recovered. Returns these classes as a bit set.
    // LNK-22
    fn pause_again(&mut self, now: Time, mmu: &Mmu, port: u16) -> ClassSet {
        for class in classes_of(self.pausable) {
            let excess = mmu.excess(port, class);
            if excess != Excess::default() && self.entered(now, mmu, port, class, excess) {
                let lags = excess.headroom > 0 && mmu.replay().is_none();
                self.lagging[port as usize] |= ClassSet::from(lags) << class;
            }
        }
        self.paused[port as usize]
    }

    /// Returns the (ingress port, class) whose upstream neighbour is paused, in ascending order.
    pub fn pausing(&self) -> impl Iterator<Item = (u16, u8)> + '_ {
        let ports = (0..).zip(&self.paused);
        ports.flat_map(|(port, &classes)| classes_of(classes).map(move |class| (port, class)))
    }

    /// Returns the frame that pauses (`xoff`) or resumes a class of an upstream neighbour.
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

    /// Returns a port and class whose pause frame must be repeated now, and restarts its timer.
    fn repeats(&mut self, now: Time) -> Option<(u16, u8)> {
        let refresh = self.refresh.as_mut()?;
        let (port, class) = refresh.due(now)?;
        refresh.sent(now, port, class);
        refresh.frames += 1;
        Some((port, class))
    }

    /// Returns the buffered bytes of an ingress port and class, and its current threshold.
    pub fn level(&self, now: Time, mmu: &Mmu, port: u16, class: u8) -> Level {
        self.thresholds.level_now(now, mmu, port, class)
    }

    /// Reports the paused classes of each upstream neighbour.
    pub fn explain_stall(&self, say: &mut dyn FnMut(String)) {
        for (port, class) in self.pausing() {
            say(format!(
                "port {port} pauses {} of its upstream by PFC",
                class_label(class)
            ));
        }
    }

    pub fn audit(&self, mmu: &Mmu) -> Option<String> {
        self.thresholds.audit(mmu, &self.paused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Pfc as Config;
    use crate::config::tests::{config as config_of_switch, pfc};
    use crate::config::{Alpha, MmuConfig, PfcThreshold};
    use crate::sink::DropCause;
    use crate::space::Space;
    use crate::units::US;

    const LINK: (Rate, Time) = (Rate::from_gbps(100), US);

    /// A switch buffer with its PFC state.
    struct Buffer {
        mmu: Mmu,
        pfc: Pfc,
    }

    impl Buffer {
        fn verdict(&self, port: u16, size: u64) -> Result<Space, DropCause> {
            self.mmu
                .verdict(port, 2, size, 0, self.pfc.is_paused(port, 2))
        }

        /// Stores a packet of class 2. Returns true if the packet causes a pause of its ingress.
        fn enter(&mut self, port: u16, size: u64, space: Space) -> bool {
            let excess = self.mmu.enter(port, 2, size, space);
            self.pfc.entered(0, &self.mmu, port, 2, excess)
        }

        /// Removes a packet of class 2. Returns true if this causes a resume of its ingress.
        fn leave(&mut self, port: u16, size: u64) -> bool {
            self.pfc.leave(0, &mut self.mmu, port, 2, size)
        }
    }

    fn buffer(bytes: u64, config: Config, ports: usize) -> Buffer {
        let mut c = config_of_switch();
        c.mmu = MmuConfig {
            buffer_bytes: bytes,
            reserved_bytes: 0,
            admission: Admission::Pfc(config),
        };
        let links = vec![LINK; ports];
        Buffer {
            mmu: Mmu::new(&c, &links),
            pfc: Pfc::new(&c, &links),
        }
    }

    // SW-12, SW-13, SW-14
    #[test]
    fn a_static_threshold_pauses_then_fills_headroom_then_drops_and_resumes_in_reverse() {
        let mut m = buffer(40_000, pfc(PfcThreshold::Static(3000)), 2);
        for _ in 0..3 {
            assert_eq!(m.verdict(0, 1000), Ok(Space::Pool));
            assert!(!m.enter(0, 1000, Space::Pool));
        }
        assert_eq!(
            m.verdict(0, 1000),
            Ok(Space::Pool),
            "the frame that crosses is in the pool"
        );
        assert!(m.enter(0, 1000, Space::Pool));
        for _ in 0..5 {
            assert_eq!(m.verdict(0, 1000), Ok(Space::Headroom));
            assert!(!m.enter(0, 1000, Space::Headroom), "XOFF is sent once");
        }
        assert_eq!(m.verdict(0, 1000), Err(DropCause::Buffer));
        assert_eq!(
            m.verdict(1, 1000),
            Ok(Space::Pool),
            "the other ingress is not concerned"
        );
        assert_eq!((m.mmu.used, m.mmu.max_headroom), (9000, 5000));
        for _ in 0..5 {
            assert!(!m.leave(0, 1000), "headroom drains first");
        }
        for _ in 0..2 {
            assert!(!m.leave(0, 1000), "above threshold - offset");
        }
        assert!(m.leave(0, 1000), "1000 + 2000 <= 3000");
        assert!(!m.leave(0, 1000));
        assert_eq!(m.mmu.used, 0);
        m.mmu.audit().unwrap();
    }

    // SW-13
    #[test]
    fn a_dynamic_threshold_shrinks_as_the_pool_fills() {
        let alpha = PfcThreshold::Dynamic(Alpha::new(1.0));
        let mut m = buffer(110_000, pfc(alpha), 2);
        // Two headrooms of 5000 B leave a pool of 100 000 B. A single active ingress gets half.
        let mut entered = 0;
        while !m.enter(0, 1000, Space::Pool) {
            entered += 1000;
        }
        assert_eq!(entered, 50_000);
        // The second ingress gets half of the 49 000 B that are free.
        let mut entered = 0;
        while !m.enter(1, 1000, Space::Pool) {
            entered += 1000;
        }
        assert_eq!(entered, 24_000);
    }

    // SW-12
    #[test]
    fn the_headroom_of_a_long_fast_link_is_not_cut() {
        let long = Config {
            headroom: Some(6_000_000_000),
            ..pfc(PfcThreshold::Static(0))
        };
        let mut m = buffer(20_000_000_000, long, 1);
        assert!(m.enter(0, 1000, Space::Pool));
        m.enter(0, 5_000_000_000, Space::Headroom);
        assert_eq!(m.verdict(0, 1_000_000_000), Ok(Space::Headroom));
        assert_eq!(m.verdict(0, 1_000_000_001), Err(DropCause::Buffer));
        m.mmu.audit().unwrap();
    }

    // SW-18
    #[test]
    fn the_frame_that_crosses_finds_room_in_the_pool_however_full_it_is() {
        // Three ingress ports can together exceed the pool: their static thresholds are larger.
        let mut m = buffer(15_000 + 24_000, pfc(PfcThreshold::Static(20_000)), 3);
        assert_eq!(m.mmu.free(), 24_000);
        let mut told = [false; 3];
        for nth in 0..60 {
            let port = nth % 3;
            if !told[port as usize] {
                assert_eq!(m.verdict(port, 1048), Ok(Space::Pool), "port {port}");
                told[port as usize] = m.enter(port, 1048, Space::Pool);
            }
        }
        assert_eq!(told, [true; 3]);
        assert!(m.mmu.free() < 3 * 1048);
        // No ingress resumes until the pool has room again for one last frame per ingress.
        assert!(!m.leave(0, 1048));
        assert!(!m.leave(0, 1048));
        assert!(m.leave(0, 1048));
        m.mmu.audit().unwrap();
    }
}
