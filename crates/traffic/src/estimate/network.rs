//! Network models that carry whole messages instead of packets.

use crate::operations::Message;
use kernel::Time;
use std::collections::BTreeMap;

/// A network model for whole messages.
#[derive(Clone, Debug)]
pub enum Network {
    /// A network with only a latency. The time of NICs (g and G of LogGOPS) is in the options of
    /// the workload.
    LogGops(LogGops),
    /// Links that carry one message at a time. A node forwards a message after it has received all
    /// of it.
    StoreAndForward(StoreAndForward),
}

impl Network {
    /// Returns the time at which a message reaches the end of link `hop` (from 0) of its path.
    /// Returns `None` if its path has no such link.
    pub(super) fn hop(&mut self, message: &Message, hop: u32, now: Time) -> Option<Time> {
        match self {
            Self::LogGops(net) => (hop == 0).then(|| now.saturating_add(net.latency_ps)),
            Self::StoreAndForward(net) => net.hop(message, hop, now),
        }
    }
}

/// A LogGOPS network: it has only the latency L. // OPS-81
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogGops {
    /// Time from the departure of a message to the arrival of its first byte, ps.
    pub latency_ps: Time,
}

/// Connections between the nodes of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Each node is connected to its two neighbours. Messages use the shorter direction, or the
    /// ascending one if both directions are equally long.
    Ring,
    /// All nodes are connected to one switch.
    Switch,
    /// Each node is connected to each other node.
    FullyConnected,
}

impl Shape {
    /// Returns the shape that a word names in a scenario, if the word is valid.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "ring" => Some(Self::Ring),
            "switch" => Some(Self::Switch),
            "fully-connected" => Some(Self::FullyConnected),
            _ => None,
        }
    }
}

/// One dimension of a multi-dimensional network of ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dimension {
    /// Connections between the nodes of this dimension.
    pub shape: Shape,
    /// Number of nodes in this dimension.
    pub size: u32,
    /// Bandwidth of each link and direction, in bytes per second.
    pub bytes_per_second: f64,
    /// Latency of each link, ps.
    pub latency_ps: Time,
}

/// A link: index of the dimension, sending rank, receiving rank. A switch has the number of its
/// first rank, plus 2³¹.
type Link = (usize, u32, u32);

const SWITCH: u32 = 1 << 31;

/// Network of links that carry one message at a time. Nodes forward complete messages. The rank
/// number is counted with the first dimension fastest. Messages cross the first dimension first.
// OPS-82
#[derive(Clone, Debug)]
pub struct StoreAndForward {
    dimensions: Vec<Dimension>,
    /// Transmission times are rounded down to multiples of this, ps.
    grain_ps: Time,
    free_at: BTreeMap<Link, Time>,
}

impl StoreAndForward {
    /// Creates a network with these dimensions. Transmission times are rounded down to multiples of
    /// `grain_ps`: 1 ps for exact times, or 1000 ps as in ASTRA-sim.
    #[must_use]
    pub const fn new(dimensions: Vec<Dimension>, grain_ps: Time) -> Self {
        Self {
            dimensions,
            grain_ps,
            free_at: BTreeMap::new(),
        }
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u64 {
        let sizes = self.dimensions.iter();
        sizes.map(|dimension| u64::from(dimension.size)).product()
    }

    /// Returns link `hop` (from 0) of the path between two ranks, if the path is that long.
    fn link(&self, from: u32, to: u32, hop: u32) -> Option<Link> {
        let (mut at, mut hop, mut stride) = (from, hop, 1);
        for (number, dimension) in self.dimensions.iter().enumerate() {
            let size = dimension.size;
            let (here, there) = (at / stride % size, to / stride % size);
            let node = |coordinate: u32| at - here * stride + coordinate % size * stride;
            let ahead = (there + size - here) % size;
            let (length, link) = match dimension.shape {
                _ if here == there => (0, None),
                Shape::FullyConnected => (1, Some((at, node(there)))),
                Shape::Switch => {
                    let switch = SWITCH + node(0);
                    let link = if hop == 0 {
                        (at, switch)
                    } else {
                        (switch, node(there))
                    };
                    (2, Some(link))
                }
                Shape::Ring if 2 * ahead <= size => {
                    (ahead, Some((node(here + hop), node(here + hop + 1))))
                }
                Shape::Ring => {
                    let back = size - ahead;
                    let place = |hop: u32| node(here + size - hop.min(back));
                    (back, Some((place(hop), place(hop + 1))))
                }
            };
            if hop < length {
                return link.map(|(from, to)| (number, from, to));
            }
            hop -= length;
            at = node(there);
            stride *= size;
        }
        None
    }

    fn hop(&mut self, message: &Message, hop: u32, now: Time) -> Option<Time> {
        let link = self.link(message.from, message.to, hop)?;
        let dimension = &self.dimensions[link.0];
        let exact_ps = message.bytes as f64 / dimension.bytes_per_second * 1e12;
        let sending_ps = exact_ps as Time / self.grain_ps * self.grain_ps;
        let free_at = self.free_at.entry(link).or_default();
        *free_at = now.max(*free_at).saturating_add(sending_ps);
        Some(free_at.saturating_add(dimension.latency_ps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(shapes: &[(Shape, u32)]) -> StoreAndForward {
        let dimensions = shapes.iter().map(|&(shape, size)| Dimension {
            shape,
            size,
            bytes_per_second: 1e9,
            latency_ps: 0,
        });
        StoreAndForward::new(dimensions.collect(), 1)
    }

    fn path(net: &StoreAndForward, from: u32, to: u32) -> Vec<(u32, u32)> {
        let links = (0..).map_while(|hop| net.link(from, to, hop));
        links.map(|(_, from, to)| (from, to)).collect()
    }

    /// OPS-82: a link carries one message at a time
    #[test]
    fn paths() {
        let ring = network(&[(Shape::Ring, 6)]);
        assert_eq!(path(&ring, 4, 1), [(4, 5), (5, 0), (0, 1)]);
        assert_eq!(path(&ring, 1, 5), [(1, 0), (0, 5)]);
        assert_eq!(path(&ring, 2, 2), []);
        let star = network(&[(Shape::Switch, 4)]);
        assert_eq!(path(&star, 3, 1), [(3, SWITCH), (SWITCH, 1)]);
        let both = network(&[
            (Shape::Switch, 4),
            (Shape::Ring, 3),
            (Shape::FullyConnected, 2),
        ]);
        assert_eq!(both.ranks(), 24);
        assert_eq!(
            path(&both, 5, 22),
            [(5, SWITCH + 4), (SWITCH + 4, 6), (6, 10), (10, 22)]
        );
    }
}
