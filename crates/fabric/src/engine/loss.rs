//! Random losses of frames on links.

use dataplane::ids::IndexVec;
use kernel::random::{Purpose, Stream};

use crate::ids::LinkId;
use crate::topology::{Graph, Loss};

/// State of one direction of a link that loses frames.
#[derive(Debug)]
struct Lossy {
    loss: Loss,
    stream: Stream,
    lost: u64,
}

/// Random losses on all links. Each direction has its own random stream and draws once for each
/// frame that arrives at its end.
// TOP-20
#[derive(Debug)]
pub(super) struct Losses {
    /// State per link; empty if all links are lossless.
    links: IndexVec<LinkId, Lossy>,
}

impl Losses {
    pub fn new(graph: &Graph, seed: u64) -> Self {
        let lossy = graph.link_ids().any(|link| graph.loss(link) != Loss::NONE);
        let link = |link: LinkId| Lossy {
            loss: graph.loss(link),
            stream: Stream::new(seed, link.bits().into(), Purpose::Link),
            lost: 0,
        };
        Self {
            links: graph.link_ids().filter(|_| lossy).map(link).collect(),
        }
    }

    /// Returns true if all links are lossless.
    pub fn none(&self) -> bool {
        self.links.is_empty()
    }

    /// Returns true if the frame that now arrives at the end of a lossy link is lost.
    pub fn takes(&mut self, link: LinkId) -> bool {
        let lossy = &mut self.links[link];
        let lost = lossy.loss.takes(lossy.stream.next_u64());
        lossy.lost += u64::from(lost);
        lost
    }

    /// Returns the number of frames that a link has lost.
    pub fn lost(&self, link: LinkId) -> u64 {
        self.links.get(link.index()).map_or(0, |lossy| lossy.lost)
    }
}
