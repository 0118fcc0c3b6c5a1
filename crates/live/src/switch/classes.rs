//! The traffic class of a frame of real traffic, and the priorities that a pause of a class names.

use dataplane::classes::DATA_CLASS;
use wire::ethernet::{Ethernet, ether_type};

use crate::Error;

/// Priorities of 802.1Q and of PFC.
pub const PRIORITIES: usize = 8;

/// The scenario's traffic class of each priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes([u8; PRIORITIES]);

impl Default for Classes {
    /// A priority is the traffic class of this number, as in frames of our own.
    // WSW-11
    fn default() -> Self {
        Self([0, 1, 2, 3, 4, 5, 6, 7])
    }
}

impl Classes {
    /// With these traffic classes of the priorities 0 to 7.
    ///
    /// # Errors
    /// There are not 8 classes, or one is not 0 to 7.
    pub fn new(of: &[u8]) -> Result<Self, Error> {
        let all: [u8; PRIORITIES] = of.try_into().map_err(|_| Error::ClassCount(of.len()))?;
        match all.iter().find(|class| **class > 7) {
            Some(class) => Err(Error::Class(*class)),
            None => Ok(Self(all)),
        }
    }

    /// The traffic class of a priority.
    #[must_use]
    pub const fn traffic_class(&self, priority: u8) -> u8 {
        self.0[priority as usize % PRIORITIES]
    }

    /// The class of the dataplane that carries a priority.
    #[must_use]
    pub const fn class(&self, priority: u8) -> u8 {
        DATA_CLASS + self.traffic_class(priority)
    }

    /// The traffic classes of some priorities, both as bits.
    #[must_use]
    pub fn classes(&self, priorities: u8) -> u8 {
        let named = (0..8u8).filter(|priority| priorities >> priority & 1 != 0);
        named.fold(0, |bits, priority| bits | 1 << self.traffic_class(priority))
    }

    /// The priorities of some traffic classes, both as bits.
    #[must_use]
    pub fn priorities(&self, classes: u8) -> u8 {
        let of = (0..8u8).filter(|&priority| classes >> self.traffic_class(priority) & 1 != 0);
        of.fold(0, |bits, priority| bits | 1 << priority)
    }
}

/// The priority of a frame: that of its tag, else the upper three bits of its DSCP, else 0.
// WSW-10
#[must_use]
pub fn priority(header: &Ethernet, body: &[u8]) -> u8 {
    if let Some(tag) = header.tag {
        return tag.priority;
    }
    match (header.ether_type, body) {
        (ether_type::IPV4, [_, service, ..]) => service >> 5,
        (ether_type::IPV6, [first, ..]) => first >> 1 & 7,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::ethernet::Tag;

    // WSW-10, WSW-11
    #[test]
    fn tags_go_before_dscp_and_classes_before_names() {
        let mut header = Ethernet {
            to: [2; 6],
            from: [2; 6],
            tag: None,
            ether_type: ether_type::IPV4,
        };
        // DSCP of class selector 3, ECT(0)
        assert_eq!(priority(&header, &[0x45, 0b0110_0010]), 3);
        assert_eq!(priority(&header, &[0x45]), 0, "cut off");
        header.ether_type = ether_type::IPV6;
        assert_eq!(priority(&header, &[0x6a, 0]), 5);
        header.tag = Some(Tag {
            priority: 4,
            drop_eligible: false,
            vlan: 9,
        });
        assert_eq!(priority(&header, &[0x6a, 0]), 4);
        header.tag = None;
        header.ether_type = 0x0806;
        assert_eq!(priority(&header, &[0xff; 28]), 0);

        let classes = Classes::default();
        assert_eq!(classes.priorities(1 << 7), 1 << 7);
        let last = Classes::new(&[7, 1, 2, 3, 4, 5, 6, 7]).unwrap();
        assert_eq!(last.priorities(1 << 7), 0b1000_0001);
        assert_eq!(last.class(0), DATA_CLASS + 7);
        assert_eq!(classes.classes(0b1100), 0b1100);
        assert!(Classes::new(&[8; 8]).is_err() && Classes::new(&[2; 7]).is_err());
        assert_eq!(Classes::new(&[2; 8]).unwrap().priorities(4), 0xff);
    }
}
