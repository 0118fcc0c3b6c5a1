//! The shared buffer of a switch. It decides which packets may enter, and counts the bytes of each
//! ingress.
//!
//! An *ingress* is an (ingress port, class). Each has a small reserve. Further packets use a pool
//! that all ingresses share. With PFC, each pausable ingress also has headroom for packets that
//! arrive after its XOFF. `pipeline/pfc/` stores which ingresses are paused.

use crate::classes::ClassSet;
use crate::config::{Accounting, Admission, MmuConfig, Pfc, SwitchConfig};
use crate::event::Level;
use crate::ns3::mmu::{self as ns3, Books};
use crate::prefetch::prefetch;
use crate::sink::DropCause;
use crate::space::{Excess, Space};
use crate::units::{Rate, Time};

/// Returns the headroom in bytes that one ingress port and class needs so that no packet is lost
/// after XOFF (IEEE 802.1Qbb Annex O). It is a sum: the bytes that arrive during the round trip and
/// the response time; one largest frame that the upstream has begun to send; one largest frame that
/// delays the pause frame; and the pause frames of all classes.
/// `classes` is the number of classes that PFC pauses.
// SW-11, SW-54
#[must_use]
pub fn headroom_bytes(
    rate: Rate,
    delay_ps: Time,
    max_frame: u16,
    classes: usize,
    pfc: &Pfc,
) -> u64 {
    let in_flight = rate.bytes_in(2 * delay_ps + pfc.response_ps) + 1;
    let pauses = classes as u64 * u64::from(pfc.frame_bytes);
    in_flight + 2 * u64::from(max_frame) + pauses
}

/// Returns the number of classes that PFC pauses.
#[must_use]
pub fn pausable_classes<H>(config: &SwitchConfig<H>) -> usize {
    let pausable = config.classes.iter().filter(|c| c.buffered && c.pausable);
    pausable.count()
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Ingress {
    /// Bytes of the ingress in its reserve and in the pool.
    bytes: u64,
    headroom: u64,
    headroom_limit: u64,
    /// Fast-path limit in bytes: below it a packet fits the reserve and the headroom is empty, so
    /// that no threshold has to be compared. 0 disables the fast path.
    calm_below: u32,
}

impl Ingress {
    /// Updates the fast-path limit after a change of the headroom. `calm_below` is the limit with
    /// empty headroom.
    #[inline]
    const fn settle(&mut self, calm_below: u32) {
        self.calm_below = if self.headroom == 0 { calm_below } else { 0 };
    }
}

/// The buffer of a switch and its byte counters. The fields that every packet needs come first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Mmu {
    ingress: Vec<Ingress>,
    classes: usize,
    reserved: u64,
    /// Bytes in the whole buffer: reserve, pool and headroom.
    pub used: u64,
    pub max_used: u64,
    /// Fast-path limit ([`Ingress::calm_below`]) of ingresses with empty headroom. 0: no ingress
    /// has a fast path.
    calm_below: u32,
    pausable: ClassSet,
    /// Buffer counters as in the ns-3 simulator. If present, they replace those of this file.
    ns3: Option<Box<Books>>,
    shared_used: u64,
    shared_bytes: u64,
    /// Size of the pool in bytes, plus the bytes that victim ports may use in addition.
    room_bytes: u64,
    /// Space of the pool, in bytes, that is reserved for the frame by which an ingress exceeds its
    /// threshold: one frame of maximum size for every pausable ingress.
    last_frames: u64,
    admission: Admission,
    buffer_bytes: u64,
    ports: u64,
    /// Bytes in the headroom of all ingresses together.
    headroom_used: u64,
    /// Upper limit of `headroom_used` in bytes; `u64::MAX` if headroom is not shared by ports.
    headroom_pool: u64,
    /// Maximum number of headroom bytes that one ingress used.
    pub max_headroom: u64,
}

/// Returns the headroom of a port and class in bytes: the configured value, or that of
/// [`headroom_bytes`].
#[must_use]
pub fn headroom_of<H>(config: &SwitchConfig<H>, pfc: &Pfc, (rate, delay_ps): (Rate, Time)) -> u64 {
    pfc.headroom.unwrap_or_else(|| match pfc.accounting {
        Accounting::Pool => headroom_bytes(
            rate,
            delay_ps,
            config.max_frame,
            pausable_classes(config),
            pfc,
        ),
        Accounting::Ns3 {
            headroom_delays, ..
        } => ns3::headroom_bytes(rate, delay_ps, headroom_delays),
    })
}

/// Returns the division of a buffer as `(reserved, headroom, shared)`, each in bytes for all ports
/// together. `shared` is negative if reserve and headroom exceed the buffer. `headroom` is 0 if the
/// headroom lies outside the buffer.
// SW-19, SPFC-05
#[must_use]
pub fn division<H>(config: &SwitchConfig<H>, ports: &[(Rate, Time)]) -> (u64, u64, i64) {
    let MmuConfig {
        buffer_bytes,
        reserved_bytes,
        admission,
    } = config.mmu;
    let mut buffered = config.classes.iter().filter(|c| c.buffered).count() as u64;
    let mut pausable = pausable_classes(config) as u64;
    if let Admission::Pfc(pfc) = admission
        && pfc.accounting != Accounting::Pool
    {
        (buffered, pausable) = (1, 1); // NS3-10: once per port, for any number of classes
    }
    let reserved = reserved_bytes * buffered * ports.len() as u64;
    let headroom = match admission {
        Admission::Pfc(pfc) if !pfc.headroom_beside => {
            // SW-56: a headroom pool replaces the headroom of each port
            pfc.headroom_pool.unwrap_or_else(|| {
                let all = ports.iter().map(|&link| headroom_of(config, &pfc, link));
                all.sum::<u64>() * pausable
            })
        }
        _ => 0,
    };
    (
        reserved,
        headroom,
        buffer_bytes as i64 - reserved as i64 - headroom as i64,
    )
}

impl Mmu {
    pub fn new<H>(config: &SwitchConfig<H>, ports: &[(Rate, Time)]) -> Self {
        let (_, _, shared) = division(config, ports);
        let classes = config.classes.len();
        let mut pausable: ClassSet = 0;
        let mut ingress = vec![Ingress::default(); ports.len() * classes];
        let mut last_frames = 0;
        let ns3 = match &config.mmu.admission {
            Admission::Pfc(pfc) => {
                let reserved = config.mmu.reserved_bytes;
                Books::new(pfc, ports, classes, reserved, shared.max(0) as u64)
            }
            _ => None,
        };
        if let Admission::Pfc(pfc) = config.mmu.admission {
            for (class, c) in config.classes.iter().enumerate() {
                if c.pausable && c.buffered {
                    pausable |= 1 << class;
                    last_frames += u64::from(config.max_frame) * ports.len() as u64;
                    for (port, &link) in ports.iter().enumerate() {
                        ingress[port * classes + class].headroom_limit =
                            headroom_of(config, &pfc, link);
                    }
                }
            }
        }
        let beside = match config.mmu.admission {
            Admission::Pfc(pfc) => pfc.victims.map_or(0, |victims| {
                let ingresses = ports.len() as u64 * u64::from(pausable.count_ones());
                victims.beside.bytes(config.mmu.buffer_bytes, ingresses)
            }),
            _ => 0,
        };
        let shared_bytes = shared.max(0) as u64;
        let own_reserve = match config.mmu.admission {
            Admission::Pfc(_) => ns3.is_none(),
            Admission::SharedPool => true,
            _ => false,
        };
        let reserved = config.mmu.reserved_bytes;
        let calm_below = match own_reserve {
            true => u32::try_from(reserved.saturating_add(1)).unwrap_or(u32::MAX),
            false => 0,
        };
        for ingress in &mut ingress {
            ingress.settle(calm_below);
        }
        Self {
            admission: config.mmu.admission,
            calm_below,
            ns3: ns3.map(Box::new),
            buffer_bytes: config.mmu.buffer_bytes,
            ports: ports.len().max(1) as u64,
            reserved,
            shared_bytes,
            room_bytes: shared_bytes.saturating_add(beside),
            shared_used: 0,
            ingress,
            classes,
            pausable,
            last_frames,
            used: 0,
            max_used: 0,
            headroom_used: 0,
            headroom_pool: match config.mmu.admission {
                Admission::Pfc(pfc) => pfc.headroom_pool.unwrap_or(u64::MAX),
                _ => u64::MAX,
            },
            max_headroom: 0,
        }
    }

    #[inline]
    fn at(&self, port: u16, class: u8) -> usize {
        port as usize * self.classes + class as usize
    }

    /// Returns the buffer counters as in the ns-3 simulator, if they replace those of this file.
    #[inline(always)]
    pub const fn replay(&self) -> Option<&Books> {
        match &self.ns3 {
            Some(books) => Some(books),
            None => None,
        }
    }

    /// Prefetches the counters of an ingress port.
    #[inline]
    pub fn prefetch(&self, port: u16) {
        prefetch(&self.ingress, (port as usize + 1) * self.classes - 1);
    }

    /// Returns by how many bytes `bytes` exceeds the reserve of an ingress.
    // SW-10
    #[inline]
    const fn beyond(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.reserved)
    }

    /// SW-18: returns true if the pool has room for one frame of maximum size of every pausable
    /// ingress, so that the frame by which an ingress exceeds its threshold fits.
    #[inline]
    pub const fn room_for_last_frames(&self) -> bool {
        self.shared_used + self.last_frames <= self.shared_bytes
    }

    /// SPFC-08: returns true if the pool and the additional space of victim ports have room for one
    /// frame of maximum size of every pausable ingress.
    pub const fn room_for_victims(&self) -> bool {
        self.shared_used + self.last_frames <= self.room_bytes
    }

    /// Returns the number of bytes that victim ports may use in addition to the pool.
    pub const fn beside_bytes(&self) -> u64 {
        self.room_bytes - self.shared_bytes
    }

    /// Returns the number of bytes by which all ingresses together exceed the pool.
    pub const fn beyond_the_pool(&self) -> u64 {
        self.shared_used.saturating_sub(self.shared_bytes)
    }

    /// Returns the free bytes of the shared pool.
    #[inline(always)]
    pub const fn free(&self) -> u64 {
        self.shared_bytes.saturating_sub(self.shared_used)
    }

    /// Returns the size of the whole buffer in bytes.
    pub const fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes
    }

    /// Returns the size of the whole buffer in bytes, divided by the number of ports.
    pub const fn equal_share(&self) -> u64 {
        self.buffer_bytes / self.ports
    }

    /// Returns the classes that PFC may pause upstream, as a bit set.
    #[inline(always)]
    pub const fn pausable(&self) -> ClassSet {
        self.pausable
    }

    /// Returns the bytes of an ingress beyond its reserve, in the pool and in the headroom.
    pub fn excess(&self, port: u16, class: u8) -> Excess {
        if let Some(books) = &self.ns3 {
            return books.excess(port, class);
        }
        let ingress = &self.ingress[self.at(port, class)];
        Excess {
            pool: self.beyond(ingress.bytes),
            headroom: ingress.headroom,
        }
    }

    /// Returns the buffered bytes of an ingress and of the pool, for reports. `threshold_bytes` and
    /// `victim` are copied into the result.
    // SPFC-40, RCD-13
    pub fn level_beside(&self, port: u16, class: u8, threshold_bytes: u64, victim: bool) -> Level {
        if let Some(books) = &self.ns3 {
            return books.level(port, class);
        }
        let ingress = &self.ingress[self.at(port, class)];
        Level {
            held_bytes: ingress.bytes + ingress.headroom,
            threshold_bytes,
            pool_bytes: self.shared_used,
            victim,
        }
    }

    /// Stores a packet that fits the reserve of its ingress, if the fast path permits it. If this
    /// returns false, the caller calls [`Mmu::verdict`].
    // SW-10
    #[inline(always)]
    pub fn enter_reserve(&mut self, port: u16, class: u8, size: u64) -> bool {
        let at = self.at(port, class);
        let ingress = &mut self.ingress[at];
        let bytes = ingress.bytes + size;
        if bytes >= u64::from(ingress.calm_below) {
            return false;
        }
        ingress.bytes = bytes;
        self.used += size;
        self.max_used = self.max_used.max(self.used);
        true
    }

    /// Returns the space (pool or headroom) for a packet of `size` bytes, or the cause of its drop.
    /// Changes nothing.
    ///
    /// `egress_bytes` is the number of queued bytes of its egress queue or port, depending on
    /// [`Mmu::per_queue`]. `is_paused` is true if PFC has paused the ingress.
    #[inline(always)]
    pub fn verdict(
        &self,
        port: u16,
        class: u8,
        size: u64,
        egress_bytes: u64,
        is_paused: bool,
    ) -> Result<Space, DropCause> {
        match self.admission {
            Admission::Unlimited => return Ok(Space::Pool), // SW-17: no limit
            // XP-06: each port has its own memory
            Admission::PerPort { bytes } if egress_bytes + size > bytes => {
                return Err(DropCause::EgressThreshold);
            }
            Admission::PerPort { .. } => return Ok(Space::Pool),
            _ => {}
        }
        if let Some(books) = &self.ns3 {
            return books.verdict(port, class, size).ok_or(DropCause::Buffer);
        }
        let ingress = &self.ingress[self.at(port, class)];
        let more = self.beyond(ingress.bytes + size) - self.beyond(ingress.bytes);
        let fits = self.shared_used + more <= self.room_bytes;
        match self.admission {
            Admission::Pfc(_) if self.pausable & 1 << class != 0 => {
                // SW-12: before XOFF packets use the pool, after XOFF the headroom.
                if fits && (!is_paused || more == 0) {
                    Ok(Space::Pool)
                } else if ingress.headroom + size <= ingress.headroom_limit
                    && self.headroom_used + size <= self.headroom_pool
                {
                    Ok(Space::Headroom) // SW-56: limit of the ingress, and of the headroom pool
                } else {
                    Err(DropCause::Buffer)
                }
            }
            Admission::EgressDynamic { alpha, .. } => {
                // SW-15: dynamic egress threshold
                let free = self.shared_bytes.saturating_sub(self.shared_used);
                if egress_bytes + size > alpha.of(free) {
                    Err(DropCause::EgressThreshold)
                } else if fits {
                    Ok(Space::Pool)
                } else {
                    Err(DropCause::Buffer)
                }
            }
            // SW-16, BFC-15, SW-18: classes that use the pool without PFC
            _ if more == 0 || self.shared_used + more + self.last_frames <= self.shared_bytes => {
                Ok(Space::Pool)
            }
            _ => Err(DropCause::Buffer),
        }
    }

    /// Counts an accepted packet in `space`. Returns the bytes of its ingress beyond the reserve.
    #[inline(always)]
    pub fn enter(&mut self, port: u16, class: u8, size: u64, space: Space) -> Excess {
        self.used += size;
        self.max_used = self.max_used.max(self.used);
        if let Some(books) = &mut self.ns3 {
            let excess = books.enter(port, class, size, space);
            self.max_headroom = self.max_headroom.max(excess.headroom);
            return excess;
        }
        let at = self.at(port, class);
        let before = self.beyond(self.ingress[at].bytes);
        let ingress = &mut self.ingress[at];
        match space {
            Space::Pool => {
                ingress.bytes += size;
                let after = ingress.bytes.saturating_sub(self.reserved);
                self.shared_used += after - before;
            }
            Space::Headroom => {
                ingress.headroom += size;
                self.headroom_used += size;
                // SW-56: one limit for each ingress, and one for the sum of all ingresses.
                debug_assert!(
                    ingress.headroom <= ingress.headroom_limit,
                    "headroom of port {port}"
                );
                debug_assert!(
                    self.headroom_used <= self.headroom_pool,
                    "headroom of all ports"
                );
                ingress.settle(self.calm_below);
                self.max_headroom = self.max_headroom.max(ingress.headroom);
            }
        }
        let ingress = &self.ingress[at];
        Excess {
            pool: self.beyond(ingress.bytes),
            headroom: ingress.headroom,
        }
    }

    /// Removes a packet that arrived at ingress `port`. Returns the bytes of its ingress that
    /// remain beyond the reserve, or `None` if the ingress used only its reserve.
    #[inline(always)]
    pub fn leave(&mut self, port: u16, class: u8, size: u64) -> Option<Excess> {
        debug_assert!(
            self.used >= size,
            "{size} B leave a buffer with {} B",
            self.used
        );
        self.used -= size;
        if let Some(books) = &mut self.ns3 {
            return Some(books.leave(port, class, size));
        }
        let at = self.at(port, class);
        let ingress = &mut self.ingress[at];
        if ingress.bytes < u64::from(ingress.calm_below) {
            debug_assert!(
                ingress.bytes >= size,
                "{size} B leave an ingress with {} B",
                ingress.bytes
            );
            ingress.bytes -= size; // the ingress used only its reserve
            return None;
        }
        let before = ingress.bytes.saturating_sub(self.reserved);
        // SW-14: the bytes of a departing packet free headroom first, then the pool.
        let from_headroom = ingress.headroom.min(size);
        debug_assert!(
            self.headroom_used >= from_headroom,
            "headroom of all ingresses"
        );
        debug_assert!(
            ingress.bytes >= size - from_headroom,
            "{size} B leave an ingress with {} B",
            ingress.bytes
        );
        ingress.headroom -= from_headroom;
        self.headroom_used -= from_headroom;
        ingress.bytes -= size - from_headroom;
        ingress.settle(self.calm_below);
        let after = ingress.bytes.saturating_sub(self.reserved);
        debug_assert!(
            self.shared_used >= before - after,
            "shared pool of all ingresses"
        );
        self.shared_used -= before - after;
        Some(Excess {
            pool: after,
            headroom: ingress.headroom,
        })
    }

    /// Returns true if the egress threshold applies to the bytes of the egress queue, and false if
    /// it applies to the bytes of the egress port.
    #[inline]
    pub const fn per_queue(&self) -> bool {
        matches!(
            self.admission,
            Admission::EgressDynamic {
                per_queue: true,
                ..
            }
        )
    }

    /// Checks that the byte counters of the buffer agree. The error describes a difference.
    pub fn audit(&self) -> Result<(), String> {
        if let Some(books) = &self.ns3 {
            return books.audit(self.used);
        }
        let held: u64 = self.ingress.iter().map(|i| i.bytes + i.headroom).sum();
        let shared: u64 = self.ingress.iter().map(|i| self.beyond(i.bytes)).sum();
        if held != self.used {
            return Err(format!(
                "ingresses hold {held} B, the buffer counts {} B",
                self.used
            ));
        }
        if shared != self.shared_used {
            return Err(format!(
                "ingresses have {shared} B in the pool, it counts {} B",
                self.shared_used
            ));
        }
        let headroom: u64 = self.ingress.iter().map(|i| i.headroom).sum();
        if headroom != self.headroom_used || headroom > self.headroom_pool {
            return Err(format!(
                "ingresses have {headroom} B of headroom, the buffer counts {} B of at most {} B",
                self.headroom_used, self.headroom_pool
            ));
        }
        let shares = !matches!(
            self.admission,
            Admission::Unlimited | Admission::PerPort { .. }
        );
        if shares && self.shared_used > self.room_bytes {
            return Err(format!(
                "{} B used of a pool of {} B",
                self.shared_used, self.room_bytes
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
