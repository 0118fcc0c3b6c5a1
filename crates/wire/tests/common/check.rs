//! Check for any sequence of bytes: a decoded packet survives another round trip.

use dataplane::packet::Arena;
use wire::{Malformed, Network, decode, encode};

use crate::common::link;

/// Decodes bytes, encodes the packet, decodes it again, and compares both decoded packets.
///
/// # Panics
/// If the packets differ.
pub fn read_twice(
    network: &Network,
    bytes: &[u8],
    arena: &mut Arena,
    place: &mut [u8],
) -> Result<(), Malformed> {
    let first = decode(network, bytes, arena)?;
    let written =
        encode(&link(network), arena, first, place).expect("what was read can be written");
    let second = decode(network, &place[..written], arena).expect("what was written can be read");
    let record = |id| format!("{:?} {:?}", arena.hot(id), arena.cold(id));
    let (one, other) = (record(first), record(second));
    let same = one == other
        && (!arena.hot(first).has_list() || arena.list(first) == arena.list(second))
        && (!network.trails
            || arena.hot(first).is_frame()
            || arena.trail(first) == arena.trail(second))
        && match (arena.stack(first), arena.stack(second)) {
            (Some(one), Some(other)) => one.hops() == other.hops() && one.path() == other.path(),
            (one, other) => one.is_none() && other.is_none(),
        };
    assert!(same, "{bytes:02x?}\nis read as {one}\nand then as {other}");
    arena.free(first);
    arena.free(second);
    Ok(())
}
