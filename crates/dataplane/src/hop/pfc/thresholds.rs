//! When an ingress pauses and resumes its upstream: thresholds that are static, dynamic (a share of the free
//! pool), or equal shares of the buffer, and the larger threshold of victim ports.

use super::Victims;
use crate::classes::ClassSet;
use crate::config::{Admission, Pfc as Config, PfcThreshold, SwitchConfig};
use crate::sink::Level;
use crate::space::Excess;
use crate::switch::mmu::Mmu;
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
    pub fn note_pause(&mut self, now: Time, port: u16, class: u8) {
        if let Some(victims) = &mut self.victims {
            self.last_by_victim = victims.paused(now, port, class);
            self.victim_pauses += u64::from(self.last_by_victim);
        }
    }

    /// The ingress was resumed.
    // SPFC-12
    pub fn note_resume(&mut self, now: Time, port: u16, class: u8) {
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

    /// True if an ingress that is not paused must be paused. It got the bytes in its headroom after a pause.
    #[inline(always)]
    pub fn must_pause(&mut self, now: Time, mmu: &Mmu, port: u16, excess: Excess) -> bool {
        if let Some(books) = mmu.replay() {
            return books.must_pause(port, excess);
        }
        // SW-18: no ingress may count on the end of the pool.
        let last = excess.pool > 0 && !mmu.room_for_last_frames();
        // SW-13: pause above the threshold
        let over = last || excess.pool > self.xoff_threshold(mmu);
        excess.headroom > 0 || over && !self.spares(now, mmu, port, excess.pool)
    }

    /// True if a paused ingress may be resumed.
    // SW-14, SPFC-04
    #[inline(always)]
    pub fn may_resume(&self, mmu: &Mmu, port: u16, excess: Excess) -> bool {
        if let Some(books) = mmu.replay() {
            return books.may_resume(port, excess);
        }
        let below = excess.pool + self.xon_offset <= self.xoff_threshold(mmu);
        excess.headroom == 0 && (excess.pool == 0 || below && mmu.room_for_last_frames())
    }

    /// Counts a packet that came in by `port` and leaves the buffer, for the circuits of victim ports.
    #[inline]
    pub fn departing(&mut self, now: Time, mmu: &Mmu, port: u16, class: u8, size: u64) {
        if let Some(victims) = &mut self.victims
            && mmu.pausable() & 1 << class != 0
        {
            victims.departed(now, port, size);
        }
    }

    /// Checks that the bytes beyond the pool never exceeded their memory, and were 0 unless a victim port was
    /// spared. The circuits of victim ports must agree with the paused classes of each ingress.
    // AUD-01, SPFC-09
    pub fn audit(&self, mmu: &Mmu, paused: &[ClassSet]) -> Option<String> {
        let victims = self.victims.as_ref()?;
        let (held, most) = (self.beside_bytes, mmu.beside_bytes());
        if held > most || held > 0 && self.spared == 0 {
            return Some(format!(
                "{held} B were held beyond the pool, where victim ports have {most} B; they kept {} packets",
                self.spared
            ));
        }
        victims.audit(paused)
    }
}
