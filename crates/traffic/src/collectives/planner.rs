//! Builds the plan of a member from an algorithm.

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
use crate::operations::CollectiveKind;

/// Builds the plan of one member. The algorithm must have passed [`Algorithm::check`].
#[must_use]
pub fn plan(part: &Part<'_>, algorithm: &Algorithm) -> Box<dyn Plan> {
    let &Part {
        kind,
        position,
        members,
        bytes,
        root,
        ..
    } = part;
    let Algorithm {
        channels, chunks, ..
    } = *algorithm;
    if members < 2 {
        return Box::new(Phases(Vec::new()));
    }
    let ring = |rounds| Ring {
        position,
        members,
        bytes,
        rounds,
        channels,
        chunks,
        active: algorithm.active,
        server: algorithm.server,
    };
    let direct = |exchange| Direct {
        position,
        members,
        bytes,
        exchange,
        channels,
        window: algorithm.window,
    };
    let halving = |halves| HalvingDoubling {
        position,
        members,
        bytes,
        halves,
        channels,
    };
    let spread = |spread| Broadcast {
        place: (position + members - root) % members,
        root,
        members,
        bytes,
        spread,
        channels,
        chunks,
    };
    use CollectiveKind as Kind;
    match (kind, algorithm.name) {
        (Kind::AllReduce, Name::Ring) => Box::new(ring(Rounds::AllReduce)),
        (Kind::ReduceScatter, Name::Ring) => Box::new(ring(Rounds::ReduceScatter)),
        (Kind::AllGather, Name::Ring) => Box::new(ring(Rounds::AllGather)),
        (Kind::AllToAll, Name::Ring) => Box::new(PassOn {
            position,
            members,
            bytes,
        }),
        (Kind::AllReduce, Name::HalvingDoubling) => Box::new(halving(Halves::AllReduce)),
        (Kind::ReduceScatter, Name::HalvingDoubling) => Box::new(halving(Halves::ReduceScatter)),
        (Kind::AllGather, Name::HalvingDoubling) => Box::new(halving(Halves::AllGather)),
        (Kind::AllReduce, Name::Direct) => Box::new(direct(Exchange::AllReduce)),
        (Kind::ReduceScatter, Name::Direct) => Box::new(direct(Exchange::ReduceScatter)),
        (Kind::AllGather, Name::Direct) => Box::new(direct(Exchange::AllGather)),
        (Kind::AllToAll, Name::Direct) => Box::new(direct(Exchange::AllToAll)),
        (Kind::AllToAllV, Name::Direct) => Box::new(direct(Exchange::AllToAllV {
            to_each: part.to_each.to_vec(),
            from_each: part.from_each.to_vec(),
        })),
        (Kind::AllReduce, Name::DoubleBinaryTree) => Box::new(DoubleBinaryTree {
            position,
            members,
            bytes,
            channels,
            chunks,
        }),
        (Kind::AllReduce, Name::Hierarchical) => hierarchical(part, algorithm, plan),
        (Kind::Broadcast, Name::Ring) => Box::new(spread(Spread::Chain)),
        (Kind::Broadcast, Name::BinomialTree) => Box::new(spread(Spread::Binomial)),
        (Kind::Broadcast, Name::Direct) => Box::new(spread(Spread::Direct)),
        (Kind::Barrier, Name::Dissemination) => Box::new(Barrier { position, members }),
        (kind, name) => unreachable!("{} does no {kind}, which was checked", name.word()),
    }
}
