//! Components of the delay breakdown of a flow. The code calls a component a *part*.

use crate::ids::LinkId;
use dataplane::units::Time;

/// Value of a root (the congested port that caused a wait) for waits that are not pauses, and for
/// pauses of unknown cause.
pub(super) const NO_ROOT: LinkId = LinkId::NONE;

/// Value of a root (the congested port that caused a wait) if this is the port by which the packet
/// will leave the next node. That port is not known yet.
pub(super) const NEXT_ROOT: LinkId = LinkId::from_bits(u32::MAX - 1);

macro_rules! parts {
    ($($name:ident, $word:literal, $about:literal;)*) => {
        /// A component of the delay breakdown. The rules are in `specs/blame.md`.
        // BLM-10, BLM-11, BLM-20, BLM-21, BLM-22
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Part {$(
            #[doc = $about]
            $name,
        )*}

        impl Part {
            /// All components, in the order in which a flow passes them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the name of the component, which is its column without the unit.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            pub(super) const fn column(self) -> &'static str {
                match self { $(Self::$name => concat!($word, "_ps"),)* }
            }

            pub(super) const fn about(self) -> &'static str {
                match self { $(Self::$name => $about,)* }
            }
        }
    };
}

parts! {
    Sending, "nic_sending", "At the NIC: transmission of the flow's own packets, each counted once.";
    Turn, "nic_turn", "At the NIC: others had the port.";
    Pair, "nic_pair", "At the NIC: earlier messages of its queue pair.";
    Pace, "nic_pace", "At the NIC: the pace of its control.";
    Window, "nic_window", "At the NIC: the window of its control.";
    NicClassPause, "nic_class_pause", "At the NIC: a pause of its class (PFC).";
    NicQueuePause, "nic_queue_pause", "At the NIC: a pause of its queue, or of the flow alone.";
    NicDestinationPause, "nic_destination_pause", "At the NIC: a pause of its destination.";
    NicNoRoom, "nic_no_room", "At the NIC: the neighbour had no room for its class.";
    Receiver, "nic_receiver", "At the NIC: credits, grants or pulls of its receiver.";
    Recovery, "nic_recovery", "At the NIC: repetition of packets, and waiting for what turned out to be lost.";
    Timeout, "nic_timeout", "At the NIC: waits that a retransmission timeout ended.";
    NoLink, "nic_no_link", "At the NIC: links that lead to the receiver.";
    Propagation, "propagation", "The last packet: propagation on all links.";
    Serialisation, "serialisation", "The last packet: its transmission by switches.";
    BehindOwn, "behind_own", "The last packet in switches: behind packets of its own flow.";
    BehindOther, "behind_other", "The last packet in switches: behind data of other flows that belong to no incast.";
    BehindIncast, "behind_incast", "The last packet in switches: behind data of incasts, its own flow apart.";
    BehindControl, "behind_control", "The last packet in switches: behind frames that carry no data.";
    ClassPause, "class_pause", "The last packet in switches: a pause of its class (PFC).";
    QueuePause, "queue_pause", "The last packet in switches: a pause of its queue, or of a flow in it.";
    NoRoom, "no_room", "The last packet in switches: the neighbour had no room for its class.";
    Held, "held", "The last packet in switches: held back for its destination.";
    LinkDown, "link_down", "The last packet in switches: links that were down, or another port before.";
    Host, "host", "The last packet: the receiver's host, until it acted on it.";
}

pub(super) const PARTS: usize = Part::ALL.len();

/// Number of delay components that is enough for most flows.
const FEW: usize = 7;

/// Time of each component of the delay breakdown, ps. Components with a time of 0 are not stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Bit set of the components with a time above 0.
    which: u32,
    /// Times of the components in `which`, in order, if there are at most `FEW`.
    few: [Time; FEW],
    more: Option<Box<[Time; PARTS]>>,
}

impl Parts {
    /// Returns the time of one delay component, ps.
    #[inline]
    #[must_use]
    pub fn get(&self, part: Part) -> Time {
        let bit = 1 << part as u32;
        if self.which & bit == 0 {
            return 0;
        }
        match &self.more {
            Some(more) => more[part as usize],
            None => self.few[self.place(bit)],
        }
    }

    /// Returns the times of all delay components, in the order of [`Part::ALL`], ps.
    #[must_use]
    pub fn all(&self) -> [Time; PARTS] {
        let mut all = [0; PARTS];
        for (time, part) in all.iter_mut().zip(Part::ALL) {
            *time = self.get(*part);
        }
        all
    }

    /// Returns the sum of the times of all delay components, ps.
    #[must_use]
    pub fn sum(&self) -> Time {
        match &self.more {
            Some(more) => more.iter().sum(),
            None => self.few.iter().sum(),
        }
    }

    /// Returns the index among the stored times of the component with this bit.
    const fn place(&self, bit: u32) -> usize {
        (self.which & (bit - 1)).count_ones() as usize
    }
}

impl From<[Time; PARTS]> for Parts {
    fn from(all: [Time; PARTS]) -> Self {
        let mut parts = Self::default();
        let took = all.iter().enumerate().filter(|(_, time)| **time > 0);
        let mut known = 0;
        for (nth, &time) in took {
            parts.which |= 1 << nth;
            if let Some(few) = parts.few.get_mut(known) {
                *few = time;
            }
            known += 1;
        }
        if known > FEW {
            parts.more = Some(Box::new(all));
        }
        parts
    }
}

/// Time that a flow or packet waited at one port for one reason (delay component).
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub link: LinkId,
    /// Congested port that caused the pause, if the wait was for a pause.
    pub root: LinkId,
    /// Index of the port on the path; the NIC is 0.
    pub hop: u16,
    pub part: Part,
    pub spent_ps: Time,
}

/// Time that a flow at its NIC and one of its packets on the path have spent so far.
#[derive(Debug, Default)]
pub(super) struct Spent {
    /// Time that does not depend on other flows, ps: transmission at the NIC, propagation,
    /// transmission by switches.
    pub sending_ps: Time,
    pub propagation_ps: Time,
    pub serialisation_ps: Time,
    /// Waiting times at ports. Those at one port are adjacent.
    pub waits: Vec<Piece>,
    /// True if the root (congested port) of a wait is [`NEXT_ROOT`].
    names_next: bool,
}

impl Spent {
    /// Adds a waiting time of `spent_ps` at a port, given by its index on the path and its link.
    #[inline]
    pub fn add(&mut self, (hop, link): (u16, LinkId), part: Part, root: LinkId, spent_ps: Time) {
        if spent_ps == 0 {
            return;
        }
        let here = self.waits.iter_mut().rev();
        for piece in here.take_while(|piece| piece.hop == hop) {
            if (piece.part, piece.link, piece.root) == (part, link, root) {
                piece.spent_ps += spent_ps;
                return;
            }
        }
        self.names_next |= root == NEXT_ROOT;
        self.waits.push(Piece {
            link,
            root,
            hop,
            part,
            spent_ps,
        });
    }

    /// Replaces [`NEXT_ROOT`] by `link`, because the packet has arrived at a node that it will
    /// leave by `link`.
    // BLM-31
    pub fn leads_to(&mut self, link: LinkId) {
        if !std::mem::take(&mut self.names_next) {
            return;
        }
        for piece in &mut self.waits {
            if piece.root == NEXT_ROOT {
                piece.root = link;
            }
        }
    }

    /// Returns the time by delay component, including all waiting times.
    pub fn parts(&self) -> Parts {
        let mut all = [0; PARTS];
        for (part, spent_ps) in [
            (Part::Sending, self.sending_ps),
            (Part::Propagation, self.propagation_ps),
            (Part::Serialisation, self.serialisation_ps),
        ] {
            all[part as usize] = spent_ps;
        }
        for wait in &self.waits {
            all[wait.part as usize] += wait.spent_ps;
        }
        all.into()
    }

    /// Sets the times that a flow has spent at its NIC, before the packet leaves the host.
    pub fn begin(&mut self, sending_ps: Time, waits: impl Iterator<Item = Piece>) {
        (self.sending_ps, self.propagation_ps, self.serialisation_ps) = (sending_ps, 0, 0);
        self.names_next = false;
        self.waits.clear();
        self.waits.extend(waits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_kept_whether_few_or_many() {
        for count in 0..=PARTS {
            let mut expected = [0; PARTS];
            for nth in 0..count {
                expected[nth * 7 % PARTS] = 10 + nth as Time;
            }
            let parts = Parts::from(expected);
            assert_eq!(parts.all(), expected, "{count}");
            assert_eq!(parts.more.is_some(), count > FEW);
            assert_eq!(parts.sum(), expected.iter().sum::<Time>());
            assert_eq!(parts.get(Part::Host), expected[Part::Host as usize]);
        }
    }

    #[test]
    fn waits_of_one_kind_are_one_part() {
        let mut spent = Spent::default();
        spent.begin(5, std::iter::empty());
        for hop in 0..3 {
            spent.add((hop, LinkId::new(7)), Part::BehindOther, NO_ROOT, 10);
        }
        let parts = spent.parts();
        let of = |part| parts.get(part);
        assert_eq!((of(Part::Sending), of(Part::BehindOther)), (5, 30));
        assert_eq!(parts.sum(), 35);
    }
}
