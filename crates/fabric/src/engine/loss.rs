//! Frames that links lose.

use kernel::random::{Purpose, Stream};

use crate::topology::{Graph, Loss};

/// One direction of one link.
#[derive(Debug)]
struct Lossy {
    loss: Loss,
    stream: Stream,
    lost: u64,
}

/// What every link loses. Each direction draws from a stream of its own, once for each frame that
/// comes to its end.
// TOP-20
#[derive(Debug)]
pub(super) struct Losses {
    /// By the number of the link; empty where no link loses anything.
    links: Vec<Lossy>,
}

impl Losses {
    pub fn new(graph: &Graph, seed: u64) -> Self {
        let ports = 0..graph.port_count() as usize;
        let lossy = ports.clone().any(|index| graph.loss(index) != Loss::NONE);
        let link = |index| Lossy {
            loss: graph.loss(index),
            stream: Stream::new(seed, index as u64, Purpose::Link),
            lost: 0,
        };
        Self {
            links: ports.filter(|_| lossy).map(link).collect(),
        }
    }

    /// No link loses anything.
    pub fn none(&self) -> bool {
        self.links.is_empty()
    }

    /// Whether the frame that comes to the end of a lossy link now is lost.
    pub fn takes(&mut self, link: u32) -> bool {
        let lossy = &mut self.links[link as usize];
        let lost = lossy.loss.takes(lossy.stream.next_u64());
        lossy.lost += u64::from(lost);
        lost
    }

    /// Frames that a link has lost.
    pub fn lost(&self, link: usize) -> u64 {
        self.links.get(link).map_or(0, |lossy| lossy.lost)
    }
}
