//! Links: the state at both ends of each direction, and the ports that have requested to send.

use dataplane::ids::IndexVec;
use dataplane::prefetch::large_pages;
use dataplane::units::{NEVER, Rate, Time};
use kernel::calendar::{Calendar, Event, phase};

use super::clock::Clock;
use super::places::Places;
use crate::ids::{LinkId, LocalNode};
use crate::topology::{Graph, Loss};

/// Sender's state of a link, in one cache line. The ID of a link is the global ID of the port that
/// sends on it.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Near {
    /// Time at which the last bit of the last frame leaves the port.
    pub busy_ps: Time,
    pub delay_ps: Time,
    /// Number of frames sent.
    pub packets: u64,
    /// Bytes of the frames sent.
    pub bytes: u64,
    pub data_packets: u64,
    pub data_bytes: u64,
    /// Transmission time of a byte in ps; 0 if it is not an integer (use [`Links::rates`]).
    ps_per_byte: u32,
    /// Index of the sending node in its partition.
    pub node: LocalNode,
    pub port: u16,
    /// True if the port is in the list of ports that will choose a frame (the kick list).
    pub kicked: bool,
    /// True if the calendar has an event for the time at which the port becomes free.
    pub armed: bool,
    /// Lane of the node at the other end.
    pub lane: u8,
    /// True if the node at the other end is a host.
    pub to_host: bool,
    /// True if the node at the other end is in another partition.
    pub leaves: bool,
}

/// Receiver's state of a link.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(super) struct Far {
    /// Running hash of all frames that arrived.
    pub digest: u64,
    /// Number of frames that arrived.
    pub arrived: u64,
    /// Index of the receiving node in its partition.
    pub node: LocalNode,
    /// Link of port 0 of the receiving node.
    pub base: LinkId,
    pub port: u16,
    /// Index of the partition of the receiving node.
    pub part: u32,
    /// True if the link loses frames.
    pub lossy: bool,
}

/// Counters of the PFC pauses at the sender of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    /// Number of times that a class of the sending port became paused.
    pub count: u64,
    /// Number of times that a pause of a class ended: XON arrived, or the pause time was over.
    pub resumes: u64,
    /// PFC frames with XOFF that the sending node received, repetitions included.
    pub frames: u64,
    /// PFC frames with XON that the sending node received.
    pub resume_frames: u64,
    /// Time since which at least one class is paused; [`NEVER`]: no class is paused.
    pub since_ps: Time,
    pub paused_ps: Time,
}

impl Pauses {
    const NEW: Self = Self {
        count: 0,
        resumes: 0,
        frames: 0,
        resume_frames: 0,
        since_ps: NEVER,
        paused_ps: 0,
    };
}

/// All links in the order of nodes and ports.
#[derive(Debug)]
pub(super) struct Links {
    pub near: IndexVec<LinkId, Near>,
    pub far: IndexVec<LinkId, Far>,
    pub pauses: IndexVec<LinkId, Pauses>,
    pub rates: IndexVec<LinkId, Rate>,
    /// Kick list: ports that will choose a frame in the next round of this instant.
    pub kicks: Vec<LinkId>,
}

impl Links {
    pub fn new(graph: &Graph, clock: Clock, places: &Places, part: u32) -> Self {
        let ports = graph.port_count() as usize;
        let mut links = Self {
            near: Vec::with_capacity(ports).into(),
            far: Vec::with_capacity(ports).into(),
            pauses: vec![Pauses::NEW; ports].into(),
            rates: Vec::with_capacity(ports).into(),
            kicks: Vec::new(),
        };
        large_pages(&links.near);
        large_pages(&links.far);
        for node in graph.node_ids() {
            for (port, index) in graph.links_of(node).enumerate() {
                let of = graph.port(index);
                let rate = clock.of(of.rate);
                let (here, there) = (places.of(node), places.of(of.peer));
                let leaves = here.part == part && there.part != part;
                links.rates.push(rate);
                links.near.push(Near {
                    busy_ps: 0,
                    delay_ps: of.delay_ps,
                    packets: 0,
                    bytes: 0,
                    data_packets: 0,
                    data_bytes: 0,
                    ps_per_byte: rate.whole_ps_per_byte().unwrap_or(0),
                    node: here.at,
                    port: port as u16,
                    kicked: false,
                    armed: false,
                    lane: there.lane,
                    to_host: graph.is_host(of.peer),
                    leaves,
                });
                links.far.push(Far {
                    digest: 0,
                    arrived: 0,
                    node: there.at,
                    part: there.part,
                    base: graph.first_link(of.peer),
                    port: of.peer_port,
                    lossy: graph.loss(index) != Loss::NONE,
                });
            }
        }
        links
    }

    /// Counts a frame whose transmission starts at `now`. Returns its arrival time and the sender's
    /// state of the link.
    #[inline(always)]
    pub fn send(&mut self, now: Time, link: LinkId, size: u64, data: bool) -> (Time, &Near) {
        let near = &mut self.near[link];
        near.packets += 1;
        near.bytes += size;
        near.data_packets += u64::from(data);
        near.data_bytes += if data { size } else { 0 };
        let takes_ps = match near.ps_per_byte {
            0 => self.rates[link].serialisation_ps(size),
            ps => size * u64::from(ps),
        };
        near.busy_ps = now + takes_ps;
        (near.busy_ps + near.delay_ps, near)
    }

    /// Adds a port to the kick list, unless it is already there.
    #[inline]
    pub fn kick(&mut self, link: LinkId) {
        let near = &mut self.near[link];
        if !near.kicked {
            near.kicked = true;
            self.kicks.push(link);
        }
    }

    /// Schedules an event for the time at which a port's link becomes free, unless the event
    /// exists.
    // ENG-06
    #[inline]
    pub fn arm(&mut self, link: LinkId, calendar: &mut impl Calendar) {
        let near = &mut self.near[link];
        // LNK-01: a link that is down is never free.
        if !near.armed && near.busy_ps != NEVER {
            near.armed = true;
            calendar.push(Event::new(near.busy_ps, phase::EGRESS, link.bits(), 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_of_a_link_lies_in_one_cache_line() {
        assert_eq!((size_of::<Near>(), align_of::<Near>()), (64, 64));
        assert_eq!((size_of::<Far>(), align_of::<Far>()), (32, 32));
    }
}
