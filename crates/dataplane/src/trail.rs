//! The way on which a packet came: where ACKs go back by it (rule in `specs/floodgate-code.md`).
//!
//! Each switch writes down by which of its ports a data packet came in. The packet's record becomes
//! the ACK, and on its way back each switch takes its own entry off again.

/// Switches on the longest way.
pub const LONGEST: usize = 15;

/// Ports by which a packet came into the switches behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    ports: [u16; LONGEST],
    count: u8,
}

impl Trail {
    /// Begins anew, at the first switch.
    pub const fn clear(&mut self) {
        self.count = 0;
    }

    /// The packet came in by `port`. What is beyond the longest way is not written down, and its ACKs go
    /// their own way from there on.
    // FGC-32
    pub fn push(&mut self, port: u16) {
        if let Some(place) = self.ports.get_mut(usize::from(self.count)) {
            *place = port;
            self.count += 1;
        }
    }

    /// The ports so far, in order.
    #[must_use]
    pub fn ports(&self) -> &[u16] {
        &self.ports[..self.count.into()]
    }

    /// The port by which the packet had come in here, from the last switch on.
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
