//! Pauses of a NIC that name a destination (dstPause): its flows to that endpoint wait, all others
//! go on.

use crate::ids::FlowSlot;
use crate::mixed::MixedMap;

/// Destinations that are paused at the ports of a NIC, and the flows that wait for each: lists of
/// slots, linked by their owner.
// FG-42
#[derive(Debug, Default)]
pub(crate) struct Destinations {
    /// First waiting slot by (port, destination).
    paused: MixedMap<u64, FlowSlot>,
}

#[inline]
const fn at(port: u16, dst: u32) -> u64 {
    (port as u64) << 32 | dst as u64
}

impl Destinations {
    /// Whether flows of a port to this endpoint wait.
    #[inline]
    pub fn is_paused(&self, port: u16, dst: u32) -> bool {
        !self.paused.is_empty() && self.paused.contains_key(&at(port, dst))
    }

    /// Destinations that are paused at a port, in order.
    // LNK-27
    pub fn paused_at(&self, port: u16) -> Vec<u32> {
        let keys = self
            .paused
            .keys()
            .filter(|&&key| key >> 32 == u64::from(port));
        let mut paused: Vec<u32> = keys.map(|&key| key as u32).collect();
        paused.sort_unstable();
        paused
    }

    /// Pauses a destination. False where that changed nothing.
    pub fn pause(&mut self, port: u16, dst: u32) -> bool {
        let mut news = false;
        self.paused.entry(at(port, dst)).or_insert_with(|| {
            news = true;
            FlowSlot::NONE
        });
        news
    }

    /// Resumes a destination. Returns the first of the slots that waited for it; `None` where that
    /// changed nothing.
    pub fn resume(&mut self, port: u16, dst: u32) -> Option<FlowSlot> {
        self.paused.remove(&at(port, dst))
    }

    /// A slot joins those that wait for a paused destination. Returns the slot that follows it.
    pub fn wait(&mut self, port: u16, dst: u32, slot: FlowSlot) -> FlowSlot {
        let first = self.paused.insert(at(port, dst), slot);
        first.unwrap_or(FlowSlot::NONE)
    }

    /// The first slot that waits for a destination, to take it out of the list.
    pub fn first_mut(&mut self, port: u16, dst: u32) -> Option<&mut FlowSlot> {
        self.paused.get_mut(&at(port, dst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // FG-42
    #[test]
    fn flows_wait_for_their_own_destination_and_port() {
        let mut d = Destinations::default();
        assert!(d.pause(0, 7) && !d.pause(0, 7));
        assert!(d.is_paused(0, 7) && !d.is_paused(1, 7) && !d.is_paused(0, 8));
        assert_eq!(d.wait(0, 7, FlowSlot::new(3)), FlowSlot::NONE);
        assert_eq!(d.wait(0, 7, FlowSlot::new(5)), FlowSlot::new(3));
        assert_eq!(d.resume(0, 7), Some(FlowSlot::new(5)));
        assert_eq!(d.resume(0, 7), None);
    }
}
