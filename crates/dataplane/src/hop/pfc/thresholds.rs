//! When an ingress pauses its upstream, and when it lets it go on: thresholds that are static, dynamic
//! (a share of the free pool), or equal shares of the buffer, and the larger one of victim ports.

use super::Victims;
use crate::classes::{ClassSet, classes_of};
use crate::config::{Admission, Pfc as Config, PfcThreshold, SwitchConfig};
use crate::sink::Level;
use crate::switch::mmu::Mmu;
use crate::switch::space::Tell;
use crate::units::{Rate, Time};

/// The thresholds of a switch.
#[derive(Debug)]
pub(super) struct Thresholds {
    threshold: PfcThreshold,
    xon_offset: u64,
    /// The last pause was that of a victim port.
    last_by_victim: bool,
    /// The state of the ports, if victims are told apart.
    victims: Option<Box<Victims>>,
    /// Packets that a victim port kept though the normal threshold was passed.
    pub spared: u64,
    /// Pauses of ports that were victim ports.
    pub victim_pauses: u64,
    /// The most bytes that there ever were beyond the pool.
    pub beside_bytes: u64,
}

impl Thresholds {
    pub fn new<H>(config: &SwitchConfig<H>, ports: &[(Rate, Time)]) -> Self {
        let pfc = match &config.mmu.admission {
            Admission::Pfc(pfc) => Some(pfc),
            _ => None,
        };
        let rates = ports.iter().map(|link| link.0);
        let victims = |pfc: &Config| pfc.victims;
        let victims = pfc.and_then(victims);
        Self {
            threshold: pfc.map_or(PfcThreshold::Equal, |pfc| pfc.threshold),
            xon_offset: pfc.map_or(0, |pfc| pfc.xon_offset),
            last_by_victim: false,
            victims: victims.map(|of| Box::new(Victims::new(of, rates, config.max_frame))),
            spared: 0,
            victim_pauses: 0,
            beside_bytes: 0,
        }
    }

    /// Bytes that an ingress may have in the pool before it is paused; a victim port has its own limit.
    #[inline(always)]
    fn xoff_threshold(&self, mmu: &Mmu) -> u64 {
        match self.threshold {
            PfcThreshold::Static(bytes) => bytes,
            PfcThreshold::Dynamic(alpha) => alpha.of(mmu.free()),
            PfcThreshold::Equal => mmu.equal_share(), // SPFC-06
        }
    }

    /// Whether an ingress that has passed the normal threshold, or found the pool full, keeps what it
    /// has, as a victim port.
    // SPFC-01, SPFC-02, SPFC-03, SPFC-08
    fn spares(&mut self, now: Time, mmu: &Mmu, port: u16, inside: u64) -> bool {
        let Some(victims) = &mut self.victims else {
            return false;
        };
        self.beside_bytes = self.beside_bytes.max(mmu.beyond_the_pool());
        let room = inside <= mmu.buffer_bytes() && mmu.room_for_victims();
        let spared = room && victims.is_victim(now, port);
        self.spared += u64::from(spared);
        spared
    }

    /// The ingress was paused.
    // SPFC-07, SPFC-12
    fn note_pause(&mut self, now: Time, port: u16, class: u8) {
        if let Some(victims) = &mut self.victims {
            self.last_by_victim = victims.paused(now, port, class);
            self.victim_pauses += u64::from(self.last_by_victim);
        }
    }

    /// The ingress was resumed.
    // SPFC-12
    fn note_resume(&mut self, now: Time, port: u16, class: u8) {
        if let Some(victims) = &mut self.victims {
            victims.resumed(now, port, class);
        }
    }

    /// What an ingress looks like that was paused just now.
    // SPFC-40
    pub fn level(&self, mmu: &Mmu, port: u16, class: u8) -> Level {
        self.level_of(mmu, port, class, self.last_by_victim)
    }

    /// What an ingress looks like.
    // RCD-13
    pub fn level_now(&self, now: Time, mmu: &Mmu, port: u16, class: u8) -> Level {
        let victims = self.victims.as_ref();
        let victim = victims.is_some_and(|victims| victims.looks_victim(now, port));
        self.level_of(mmu, port, class, victim)
    }

    fn level_of(&self, mmu: &Mmu, port: u16, class: u8, victim: bool) -> Level {
        let threshold_bytes = match victim {
            true => mmu.buffer_bytes(),
            false => self.xoff_threshold(mmu),
        };
        mmu.level_beside(port, class, threshold_bytes, victim)
    }

    /// Whether an ingress that is not paused must be. What it has in its headroom it got after its pause.
    #[inline(always)]
    fn must_pause(&mut self, now: Time, mmu: &Mmu, port: u16, class: u8) -> bool {
        // SW-13: paused once the ingress has more than its threshold in the pool.
        let (inside, headroom) = mmu.level(port, class);
        // SW-18: the end of the pool is for nobody.
        let last = inside > 0 && !mmu.room_for_last_frames();
        let over = last || inside > self.xoff_threshold(mmu);
        headroom > 0 || over && !self.spares(now, mmu, port, inside)
    }

    /// A packet entered the buffer: what its upstream is to be told, as the books say it or by comparing.
    #[inline(always)]
    pub fn entered(&mut self, now: Time, mmu: &mut Mmu, port: u16, class: u8, tell: Tell) -> Tell {
        if tell != Tell::Compare {
            return tell;
        }
        if !self.must_pause(now, mmu, port, class) {
            return Tell::Nothing;
        }
        mmu.set_told(port, class, true);
        self.note_pause(now, port, class);
        Tell::Xoff
    }

    /// A packet that came in by `port` is about to leave the buffer.
    #[inline]
    pub fn departing(&mut self, now: Time, mmu: &Mmu, port: u16, class: u8, size: u64) {
        if let Some(victims) = &mut self.victims
            && mmu.pausable() & 1 << class != 0
        {
            victims.departed(now, port, size);
        }
    }

    /// A packet left the buffer: what its upstream is to be told.
    #[inline(always)]
    pub fn left(&mut self, now: Time, mmu: &mut Mmu, port: u16, class: u8, tell: Tell) -> Tell {
        if tell != Tell::Compare {
            return tell;
        }
        let (inside, headroom) = mmu.level(port, class);
        debug_assert_eq!(headroom, 0, "port {port}: XON with packets in the headroom"); // SW-14
        let below = inside + self.xon_offset <= self.xoff_threshold(mmu);
        // SPFC-04
        if inside == 0 || below && mmu.room_for_last_frames() {
            mmu.set_told(port, class, false);
            self.note_resume(now, port, class);
            Tell::Xon
        } else {
            Tell::Nothing
        }
    }

    /// The link of an ingress has failed or come back: its upstream is not paused.
    // LNK-21
    pub fn forget(&mut self, now: Time, mmu: &mut Mmu, port: u16) {
        let held = mmu.forget(port);
        for class in classes_of(held) {
            self.note_resume(now, port, class);
        }
    }

    /// The link of an ingress is back: the classes, as bits, of which it still has so much that they are
    /// paused from now on.
    // LNK-22
    pub fn hold_again(&mut self, now: Time, mmu: &mut Mmu, port: u16) -> ClassSet {
        if !mmu.is_plain() {
            return mmu.hold_again(port);
        }
        let (mut held, pausable) = (0, mmu.pausable());
        for class in classes_of(pausable) {
            if self.must_pause(now, mmu, port, class) {
                mmu.set_told(port, class, true);
                if mmu.level(port, class).1 > 0 {
                    mmu.set_lagging(port, class);
                }
                self.note_pause(now, port, class);
                held |= 1 << class;
            }
        }
        held
    }

    /// Beyond the pool there was never more than there is memory, and nothing unless a victim port was
    /// spared; the circuits of victim ports know of exactly the pauses that there are.
    // AUD-01, SPFC-09
    pub fn audit(&self, mmu: &Mmu, ports: u16) -> Option<String> {
        let victims = self.victims.as_ref()?;
        let (held, most) = (self.beside_bytes, mmu.beside_bytes());
        if held > most || held > 0 && self.spared == 0 {
            return Some(format!(
                "{held} B were held beyond the pool, where victim ports have {most} B; they kept {} packets",
                self.spared
            ));
        }
        let mut told = vec![0 as ClassSet; usize::from(ports)];
        for (port, class) in mmu.pausing() {
            told[usize::from(port)] |= 1 << class;
        }
        victims.audit(&told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::config;
    use crate::config::{Accounting, Alpha, MmuConfig, PauseTime};
    use crate::sink::DropCause;
    use crate::switch::space::Space;
    use crate::units::US;

    const LINK: (Rate, Time) = (Rate::from_gbps(100), US);

    fn pfc(threshold: PfcThreshold) -> Config {
        Config {
            accounting: Accounting::Pool,
            threshold,
            victims: None,
            xon_offset: 2000,
            frame_bytes: 64,
            headroom: Some(5000),
            headroom_pool: None,
            headroom_beside: false,
            response_ps: 0,
            pause: PauseTime::UntilResumed,
        }
    }

    /// A buffer with its thresholds.
    struct Buffer {
        mmu: Mmu,
        thresholds: Thresholds,
    }

    impl Buffer {
        fn verdict(&self, port: u16, class: u8, size: u64, waits: u64) -> Result<Space, DropCause> {
            self.mmu.verdict(port, class, size, waits)
        }

        fn enter(&mut self, now: Time, port: u16, class: u8, size: u64, space: Space) -> Tell {
            let tell = self.mmu.enter(port, class, size, space);
            self.thresholds
                .entered(now, &mut self.mmu, port, class, tell)
        }

        fn leave(&mut self, now: Time, port: u16, class: u8, size: u64) -> Tell {
            self.thresholds.departing(now, &self.mmu, port, class, size);
            let tell = self.mmu.leave(port, class, size);
            self.thresholds.left(now, &mut self.mmu, port, class, tell)
        }
    }

    fn mmu(buffer: u64, reserved: u64, admission: Admission, ports: usize) -> Buffer {
        let mut c = config();
        c.mmu = MmuConfig {
            buffer_bytes: buffer,
            reserved_bytes: reserved,
            admission,
        };
        let links = vec![LINK; ports];
        Buffer {
            mmu: Mmu::new(&c, &links),
            thresholds: Thresholds::new(&c, &links),
        }
    }

    // SW-12, SW-13, SW-14
    #[test]
    fn a_static_threshold_pauses_then_fills_headroom_then_drops_and_resumes_in_reverse() {
        let mut m = mmu(
            40_000,
            0,
            Admission::Pfc(pfc(PfcThreshold::Static(3000))),
            2,
        );
        for _ in 0..3 {
            assert_eq!(m.verdict(0, 2, 1000, 0), Ok(Space::Pool));
            assert_eq!(m.enter(0, 0, 2, 1000, Space::Pool), Tell::Nothing);
        }
        assert_eq!(
            m.verdict(0, 2, 1000, 0),
            Ok(Space::Pool),
            "the frame that crosses is in the pool"
        );
        assert_eq!(m.enter(0, 0, 2, 1000, Space::Pool), Tell::Xoff);
        for _ in 0..5 {
            assert_eq!(m.verdict(0, 2, 1000, 0), Ok(Space::Headroom));
            assert_eq!(
                m.enter(0, 0, 2, 1000, Space::Headroom),
                Tell::Nothing,
                "XOFF is said once"
            );
        }
        assert_eq!(m.verdict(0, 2, 1000, 0), Err(DropCause::Buffer));
        assert_eq!(
            m.verdict(1, 2, 1000, 0),
            Ok(Space::Pool),
            "the other ingress is not concerned"
        );
        assert_eq!((m.mmu.used, m.mmu.max_headroom), (9000, 5000));
        for _ in 0..5 {
            assert_eq!(
                m.leave(0, 0, 2, 1000),
                Tell::Nothing,
                "headroom drains first"
            );
        }
        for _ in 0..2 {
            assert_eq!(
                m.leave(0, 0, 2, 1000),
                Tell::Nothing,
                "above threshold - offset"
            );
        }
        assert_eq!(m.leave(0, 0, 2, 1000), Tell::Xon, "1000 + 2000 <= 3000");
        assert_eq!(m.leave(0, 0, 2, 1000), Tell::Nothing);
        assert_eq!(m.mmu.used, 0);
        m.mmu.audit().unwrap();
    }

    // SW-13
    #[test]
    fn a_dynamic_threshold_shrinks_as_the_pool_fills() {
        let alpha = PfcThreshold::Dynamic(Alpha::new(1.0));
        let mut m = mmu(110_000, 0, Admission::Pfc(pfc(alpha)), 2);
        // Two headrooms of 5000: a pool of 100 000. Alone, an ingress gets half of it.
        let mut entered = 0;
        while m.enter(0, 0, 2, 1000, Space::Pool) == Tell::Nothing {
            entered += 1000;
        }
        assert_eq!(entered, 50_000);
        // The next one gets half of the 49 000 that are free.
        let mut entered = 0;
        while m.enter(0, 1, 2, 1000, Space::Pool) == Tell::Nothing {
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
        let mut m = mmu(20_000_000_000, 0, Admission::Pfc(long), 1);
        assert_eq!(m.enter(0, 0, 2, 1000, Space::Pool), Tell::Xoff);
        m.enter(0, 0, 2, 5_000_000_000, Space::Headroom);
        assert_eq!(m.verdict(0, 2, 1_000_000_000, 0), Ok(Space::Headroom));
        assert_eq!(m.verdict(0, 2, 1_000_000_001, 0), Err(DropCause::Buffer));
        m.mmu.audit().unwrap();
    }

    // SW-18
    #[test]
    fn the_frame_that_crosses_finds_room_in_the_pool_however_full_it_is() {
        // A static threshold that three ingresses together can exceed by far: the pool runs dry.
        let admission = Admission::Pfc(pfc(PfcThreshold::Static(20_000)));
        let mut m = mmu(15_000 + 24_000, 0, admission, 3);
        assert_eq!(m.mmu.free(), 24_000);
        let mut told = [false; 3];
        for nth in 0..60 {
            let port = nth % 3;
            if !told[port as usize] {
                assert_eq!(m.verdict(port, 2, 1048, 0), Ok(Space::Pool), "port {port}");
                told[port as usize] = m.enter(0, port, 2, 1048, Space::Pool) == Tell::Xoff;
            }
        }
        assert_eq!(told, [true; 3]);
        assert!(m.mmu.free() < 3 * 1048);
        // Nobody is below its threshold by the offset before the last frames have room again.
        assert_eq!(m.leave(0, 0, 2, 1048), Tell::Nothing);
        assert_eq!(m.leave(0, 0, 2, 1048), Tell::Nothing);
        assert_eq!(m.leave(0, 0, 2, 1048), Tell::Xon);
        m.mmu.audit().unwrap();
    }
}
