//! Parses control frames between neighbours, for switches and hosts that run on the wall clock.

use dataplane::packet::{Arena, PacketId};
use wire::pause::Pause;
use wire::{Network, decode};

/// Returns the bitmap of priorities and the pause times of a PFC frame. For an IEEE 802.3x pause
/// frame or a malformed frame, increments the counter and returns `None`.
// WSW-23, HST-20: pause frames
pub(crate) fn priorities(
    body: &[u8],
    global: &mut u64,
    malformed: &mut u64,
) -> Option<(u8, [u16; 8])> {
    let counter = match Pause::parse(body) {
        Ok(Pause::Priority { enabled, quanta }) => return Some((enabled, quanta)),
        Ok(Pause::Global { .. }) => global,
        Err(_) => malformed,
    };
    *counter += 1;
    None
}

/// Parses a control frame from a neighbour that is not a pause frame. Returns `None` if the frame
/// is malformed, or if it refers to an endpoint that does not exist.
pub(crate) fn neighbour(
    network: &Network,
    endpoints: u32,
    frame: &[u8],
    arena: &mut Arena,
) -> Option<PacketId> {
    let id = decode(network, frame, arena).ok()?;
    if has_unknown_endpoint(arena, id, endpoints) {
        arena.free(id);
        return None;
    }
    Some(id)
}

fn has_unknown_endpoint(arena: &Arena, id: PacketId, endpoints: u32) -> bool {
    let packet = arena.hot(id);
    let unknown = |endpoint: u32| endpoint >= endpoints;
    let named = packet.dst != u32::MAX && unknown(packet.dst);
    let listed = packet.has_list() && packet.is_credit();
    named || listed && arena.list(id).iter().step_by(3).any(|&dst| unknown(dst))
}
