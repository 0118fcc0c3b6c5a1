//! Maps priorities of real frames to traffic classes, and traffic classes to priorities.

use dataplane::classes::DATA_CLASS;
use wire::ethernet::{Ethernet, ether_type};

use crate::Error;

/// Number of priorities of 802.1Q and PFC.
pub const PRIORITIES: usize = 8;

/// The traffic class of each priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes([u8; PRIORITIES]);

impl Default for Classes {
    /// Maps each priority to the traffic class of the same number, as in frames of Backwater.
    // WSW-11: default mapping
    fn default() -> Self {
        Self([0, 1, 2, 3, 4, 5, 6, 7])
    }
}

impl Classes {
    /// Maps priority i to traffic class `of[i]`, for i from 0 to 7.
    ///
    /// # Errors
    /// The list does not have 8 entries, or a class is not in 0 to 7.
    pub fn new(of: &[u8]) -> Result<Self, Error> {
        let all: [u8; PRIORITIES] = of.try_into().map_err(|_| Error::ClassCount(of.len()))?;
        match all.iter().find(|class| **class > 7) {
            Some(class) => Err(Error::Class(*class)),
            None => Ok(Self(all)),
        }
    }

    /// Returns the traffic class of a priority.
    #[must_use]
    pub const fn traffic_class(&self, priority: u8) -> u8 {
        self.0[priority as usize % PRIORITIES]
    }

    /// Returns the dataplane class (queue class) of a priority.
    #[must_use]
    pub const fn class(&self, priority: u8) -> u8 {
        DATA_CLASS + self.traffic_class(priority)
    }

    /// Converts a bitmap of priorities to a bitmap of traffic classes.
    #[must_use]
    pub fn classes(&self, priorities: u8) -> u8 {
        let named = (0..8u8).filter(|priority| priorities >> priority & 1 != 0);
        named.fold(0, |bits, priority| bits | 1 << self.traffic_class(priority))
    }

    /// Converts a bitmap of traffic classes to a bitmap of priorities.
    #[must_use]
    pub fn priorities(&self, classes: u8) -> u8 {
        let of = (0..8u8).filter(|&priority| classes >> self.traffic_class(priority) & 1 != 0);
        of.fold(0, |bits, priority| bits | 1 << priority)
    }
}

/// Returns the priority of a frame: from its VLAN tag, else from the upper three bits of its DSCP,
/// else 0.
// WSW-10: priority of a frame
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

    // WSW-10, WSW-11: priorities and classes
    #[test]
    fn a_tag_takes_precedence_over_dscp_and_classes_can_be_set() {
        let mut header = Ethernet {
            to: [2; 6],
            from: [2; 6],
            tag: None,
            ether_type: ether_type::IPV4,
        };
        // The second byte has the DSCP of class selector 3 and the ECN bits ECT(0).
        assert_eq!(priority(&header, &[0x45, 0b0110_0010]), 3);
        assert_eq!(priority(&header, &[0x45]), 0, "too short");
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
