//! Recorded paths of data packets, for ACKs that return on the same path (rule in
//! `specs/floodgate-code.md`).
//!
//! Each switch appends the ingress port of a data packet to the path in the packet. The ACK keeps
//! this path, because it reuses the memory of the packet. On the return path each switch removes
//! the last port and uses it as egress port of the ACK.

/// Maximum number of switches on a recorded path.
pub const LONGEST: usize = 15;

/// Ingress ports of a packet at the switches that it has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    ports: [u16; LONGEST],
    count: u8,
}

impl Trail {
    /// Clears the path. The first switch of a packet calls this.
    pub const fn clear(&mut self) {
        self.count = 0;
    }

    /// Records that the packet arrived by ingress `port`. Ports beyond [`LONGEST`] are not
    /// recorded, and the ACK uses its normal route at those switches.
    // FGC-32
    pub fn push(&mut self, port: u16) {
        if let Some(place) = self.ports.get_mut(usize::from(self.count)) {
            *place = port;
            self.count += 1;
        }
    }

    /// Returns the recorded ports, in order.
    #[must_use]
    pub fn ports(&self) -> &[u16] {
        &self.ports[..self.count.into()]
    }

    /// Removes and returns the last port: the ingress port of the packet at the current switch.
    // FGC-32
    pub fn pop(&mut self) -> Option<u16> {
        self.count = self.count.checked_sub(1)?;
        Some(self.ports[usize::from(self.count)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // FGC-32
    #[test]
    fn the_way_back_is_the_way_there_backwards() {
        let mut trail = Trail::default();
        for port in [4, 9, 1] {
            trail.push(port);
        }
        assert_eq!([trail.pop(), trail.pop()], [Some(1), Some(9)]);
        trail.push(7);
        assert_eq!(
            [trail.pop(), trail.pop(), trail.pop()],
            [Some(7), Some(4), None]
        );
        trail.push(2);
        trail.clear();
        assert_eq!(trail.pop(), None);
    }

    // FGC-32
    #[test]
    fn a_way_that_is_too_long_is_cut() {
        let mut trail = Trail::default();
        (0..20).for_each(|port| trail.push(port));
        assert_eq!(trail.pop(), Some(14));
    }
}
