//! PFC thresholds of an ingress port: static, dynamic (a fraction of the free pool), or an equal
//! fraction of the buffer. Victim ports have a larger threshold.

use super::Victims;
use crate::classes::ClassSet;
use crate::config::{Admission, Pfc as Config, PfcThreshold, SwitchConfig};
use crate::event::Level;
use crate::pipeline::mmu::Mmu;
use crate::space::Excess;
use crate::units::{Rate, Time};

/// PFC thresholds of a switch.
#[derive(Debug)]
pub(super) struct Thresholds {
    threshold: PfcThreshold,
    xon_offset: u64,
    /// True if the last paused port was a victim port.
    last_by_victim: bool,
    /// Detection of victim ports, if configured.
    victims: Option<Box<Victims>>,
    /// Number of packets that victim ports accepted above the normal threshold without a pause.
    pub spared: u64,
    /// Number of pauses of ports that were victim ports until the pause.
    pub victim_pauses: u64,
    /// Maximum number of bytes by which all ingress ports together exceeded the pool.
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

    /// Returns the number of bytes that an ingress may have in the pool before it is paused, if it
    /// is not a victim port.
    #[inline(always)]
    fn xoff_threshold(&self, mmu: &Mmu) -> u64 {
        match self.threshold {
            PfcThreshold::Static(bytes) => bytes,
            PfcThreshold::Dynamic(alpha) => alpha.of(mmu.free()),
            PfcThreshold::Equal => mmu.equal_share(), // SPFC-06
        }
    }

    /// Returns true if an ingress is not paused because it is a victim port, although it exceeds
    /// the normal threshold or the pool is full.
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

    /// Records that an ingress was paused.
    // SPFC-07, SPFC-12
    pub fn note_pause(&mut self, now: Time, port: u16, class: u8) {
        if let Some(victims) = &mut self.victims {
            self.last_by_victim = victims.paused(now, port, class);
            self.victim_pauses += u64::from(self.last_by_victim);
        }
    }

    /// Records that an ingress was resumed.
    // SPFC-12
    pub fn note_resume(&mut self, now: Time, port: u16, class: u8) {
        if let Some(victims) = &mut self.victims {
            victims.resumed(now, port, class);
        }
    }

    /// Returns the buffered bytes and the threshold of an ingress that has just been paused.
    // SPFC-40
    pub fn level(&self, mmu: &Mmu, port: u16, class: u8) -> Level {
        self.level_of(mmu, port, class, self.last_by_victim)
    }

    /// Returns the current buffered bytes and threshold of an ingress.
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

    /// Returns true if an ingress that is not paused must be paused.
    #[inline(always)]
    pub fn must_pause(&mut self, now: Time, mmu: &Mmu, port: u16, excess: Excess) -> bool {
        if let Some(books) = mmu.replay() {
            return books.must_pause(port, excess);
        }
        // SW-18: always keep room in the pool for the last frame of each ingress before its pause
        let last = excess.pool > 0 && !mmu.room_for_last_frames();
        // SW-13: pause above the threshold.
        let over = last || excess.pool > self.xoff_threshold(mmu);
        excess.headroom > 0 || over && !self.spares(now, mmu, port, excess.pool)
    }

    /// Returns true if a paused ingress may be resumed.
    // SW-14, SPFC-04
    #[inline(always)]
    pub fn may_resume(&self, mmu: &Mmu, port: u16, excess: Excess) -> bool {
        if let Some(books) = mmu.replay() {
            return books.may_resume(port, excess);
        }
        let below = excess.pool + self.xon_offset <= self.xoff_threshold(mmu);
        excess.headroom == 0 && (excess.pool == 0 || below && mmu.room_for_last_frames())
    }

    /// Reports to the detection of victim ports that a packet from ingress `port` leaves the
    /// buffer.
    #[inline]
    pub fn departing(&mut self, now: Time, mmu: &Mmu, port: u16, class: u8, size: u64) {
        if let Some(victims) = &mut self.victims
            && mmu.pausable() & 1 << class != 0
        {
            victims.departed(now, port, size);
        }
    }

    /// Checks the bytes of victim ports beyond the pool: they never exceeded their limit, and were
    /// 0 unless a victim port was exempted from a pause. Also checks that victim detection and PFC
    /// have the same paused classes.
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
