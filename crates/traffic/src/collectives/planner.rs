//! Builds the plan of a member for an algorithm.

use super::Plan;
use super::algorithm::{Algorithm, Name, Part};
use super::barrier::Barrier;
use super::broadcast::{Broadcast, Spread};
use super::direct::{Direct, Exchange};
use super::double_binary_tree::DoubleBinaryTree;
use super::halving_doubling::{Halves, HalvingDoubling};
use super::hierarchical::hierarchical;
use super::phases::Phases;
use super::ring::{PassOn, Ring, Rounds};
use crate::operations::CollectiveKind as Kind;

/// Builds the plan of one member. The algorithm must have passed [`Algorithm::check`].
#[must_use]
pub fn plan(part: &Part<'_>, algorithm: &Algorithm) -> Box<dyn Plan> {
    if part.members < 2 {
        return Box::new(Phases(Vec::new()));
    }
    match (algorithm.name, part.kind) {
        (Name::Ring, Kind::Broadcast) => spread(part, algorithm, Spread::Chain),
        (Name::BinomialTree, _) => spread(part, algorithm, Spread::Binomial),
        (Name::Direct, Kind::Broadcast) => spread(part, algorithm, Spread::Direct),
        (Name::Ring, Kind::AllToAll) => Box::new(PassOn {
            position: part.position,
            members: part.members,
            bytes: part.bytes,
        }),
        (Name::Ring, _) => ring(part, algorithm),
        (Name::Direct, _) => direct(part, algorithm),
        (Name::HalvingDoubling, _) => halving(part, algorithm),
        (Name::DoubleBinaryTree, _) => Box::new(DoubleBinaryTree {
            position: part.position,
            members: part.members,
            bytes: part.bytes,
            channels: algorithm.channels,
            chunks: algorithm.chunks,
        }),
        (Name::Hierarchical, _) => hierarchical(part, algorithm, plan),
        (Name::Dissemination, _) => Box::new(Barrier {
            position: part.position,
            members: part.members,
        }),
    }
}

fn ring(part: &Part<'_>, algorithm: &Algorithm) -> Box<dyn Plan> {
    Box::new(Ring {
        position: part.position,
        members: part.members,
        bytes: part.bytes,
        rounds: match part.kind {
            Kind::ReduceScatter => Rounds::ReduceScatter,
            Kind::AllGather => Rounds::AllGather,
            _ => Rounds::AllReduce,
        },
        channels: algorithm.channels,
        chunks: algorithm.chunks,
        active: algorithm.active,
        server: algorithm.server,
    })
}

fn direct(part: &Part<'_>, algorithm: &Algorithm) -> Box<dyn Plan> {
    Box::new(Direct {
        position: part.position,
        members: part.members,
        bytes: part.bytes,
        exchange: match part.kind {
            Kind::ReduceScatter => Exchange::ReduceScatter,
            Kind::AllGather => Exchange::AllGather,
            Kind::AllToAll => Exchange::AllToAll,
            Kind::AllToAllV => Exchange::AllToAllV {
                to_each: part.to_each.to_vec(),
                from_each: part.from_each.to_vec(),
            },
            _ => Exchange::AllReduce,
        },
        channels: algorithm.channels,
        window: algorithm.window,
    })
}

fn halving(part: &Part<'_>, algorithm: &Algorithm) -> Box<dyn Plan> {
    Box::new(HalvingDoubling {
        position: part.position,
        members: part.members,
        bytes: part.bytes,
        halves: match part.kind {
            Kind::ReduceScatter => Halves::ReduceScatter,
            Kind::AllGather => Halves::AllGather,
            _ => Halves::AllReduce,
        },
        channels: algorithm.channels,
    })
}

fn spread(part: &Part<'_>, algorithm: &Algorithm, spread: Spread) -> Box<dyn Plan> {
    let (members, root) = (part.members, part.root);
    Box::new(Broadcast {
        place: (part.position + members - root) % members,
        root,
        members,
        bytes: part.bytes,
        spread,
        channels: algorithm.channels,
        chunks: algorithm.chunks,
    })
}
