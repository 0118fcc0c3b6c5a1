//! The sending direction of every link, and who asked to send.

use dataplane::units::{NEVER, Rate, Time};

use super::Clock;
use super::places::Places;
use crate::topology::{Graph, Loss};

/// One direction of one link. The global number of a link is the number of the port that sends.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// The last bit of the last frame leaves then.
    pub busy_ps: Time,
    pub delay_ps: Time,
    pub rate: Rate,
    /// Running hash over everything that arrived.
    pub digest: u64,
    /// Frames that arrived.
    pub arrived: u64,
    /// The node that sends, by its number in its partition, and its port.
    pub node: u32,
    pub port: u16,
    /// Port of the node at the other end.
    pub peer_port: u16,
    /// The node at the other end, by its number in its partition.
    pub peer: u32,
    /// Stands in the kick list.
    pub kicked: bool,
    /// A port-free event is in the calendar.
    pub armed: bool,
    /// Some frames are lost on it.
    pub lossy: bool,
}

/// What is counted on a link but not needed to run it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkStats {
    pub packets: u64,
    pub bytes: u64,
    pub data_packets: u64,
    pub data_bytes: u64,
    /// XOFF transitions that the sending node received.
    pub pauses: u64,
    /// XON transitions that it received.
    pub resumes: u64,
    /// Since when at least one class is paused; [`NEVER`]: none is.
    pub paused_since: Time,
    pub paused_ps: Time,
}

impl LinkStats {
    const NEW: Self = Self {
        packets: 0,
        bytes: 0,
        data_packets: 0,
        data_bytes: 0,
        pauses: 0,
        resumes: 0,
        paused_since: NEVER,
        paused_ps: 0,
    };
}

/// All links in the order of nodes and ports.
#[derive(Debug)]
pub(super) struct Links {
    pub hot: Vec<Link>,
    pub stats: Vec<LinkStats>,
    /// Ports to look at in the next round of this instant.
    pub kicks: Vec<u32>,
}

impl Links {
    pub fn new(graph: &Graph, clock: Clock, places: &Places) -> Self {
        let mut hot = Vec::with_capacity(graph.port_count() as usize);
        for node in 0..graph.nodes() {
            for (port, index) in graph.port_range(node).enumerate() {
                let of = graph.port(index);
                hot.push(Link {
                    busy_ps: 0,
                    delay_ps: of.delay_ps,
                    rate: clock.of(of.rate),
                    digest: 0,
                    arrived: 0,
                    node: places.of(node).at,
                    port: port as u16,
                    peer: places.of(of.peer).at,
                    peer_port: of.peer_port,
                    kicked: false,
                    armed: false,
                    lossy: graph.loss(index) != Loss::NONE,
                });
            }
        }
        let stats = vec![LinkStats::NEW; hot.len()];
        Self {
            hot,
            stats,
            kicks: Vec::new(),
        }
    }

    /// Puts a port on the kick list, once.
    #[inline]
    pub fn kick(&mut self, link: u32) {
        let l = &mut self.hot[link as usize];
        if !l.kicked {
            l.kicked = true;
            self.kicks.push(link);
        }
    }
}
