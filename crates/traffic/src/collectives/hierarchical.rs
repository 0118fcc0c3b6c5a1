//! Hierarchical all-reduce: a reduce-scatter inside each server, an all-reduce of each block across
//! the servers, and an all-gather inside each server. // OPS-60

use super::algorithm::{Algorithm, Name, Part};
use super::phases::{Phase, Phases};
use super::{Plan, Span};
use crate::operations::CollectiveKind;

/// Builds the three phases of a member. `plan` builds the plan of each phase.
pub(super) fn hierarchical(
    part: &Part<'_>,
    algorithm: &Algorithm,
    plan: fn(&Part<'_>, &Algorithm) -> Box<dyn Plan>,
) -> Box<dyn Plan> {
    let (me, size) = (part.position, algorithm.server);
    let (server, place) = (me / size, me % size);
    let phase = |kind, name: Name, among: (u32, u32, u32), span: Span, position| {
        let (first, stride, members) = among;
        let inner = Part {
            kind,
            position,
            members,
            bytes: span.bytes,
            ..*part
        };
        Phase {
            plan: plan(&inner, &algorithm.within(name)),
            first,
            stride,
            offset: span.offset,
        }
    };
    let whole = Span::whole(part.bytes);
    let inside = (server * size, 1, size);
    let across = (place, size, part.members / size);
    let own = whole.part(place, size);
    let (in_name, across_name) = (algorithm.inside, algorithm.across);
    Box::new(Phases(vec![
        phase(CollectiveKind::ReduceScatter, in_name, inside, whole, place),
        phase(CollectiveKind::AllReduce, across_name, across, own, server),
        phase(CollectiveKind::AllGather, in_name, inside, whole, place),
    ]))
}
