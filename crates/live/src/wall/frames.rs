//! What nodes on the wall clock make of frames between neighbours, whatever they are themselves.

use dataplane::packet::{Arena, PacketId};
use wire::pause::Pause;
use wire::{Network, decode};

/// The priorities that a pause names, and its times. `None`: it is one of 802.3x or cannot be read, and has been
/// counted as that.
// WSW-23, HST-20
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

/// Reads a frame between neighbours that no standard has. `None`: it cannot be read, or speaks of endpoints that
/// there are not.
pub(crate) fn neighbour(
    network: &Network,
    endpoints: u32,
    frame: &[u8],
    arena: &mut Arena,
) -> Option<PacketId> {
    let id = decode(network, frame, arena).ok()?;
    if names_nobody(arena, id, endpoints) {
        arena.free(id);
        return None;
    }
    Some(id)
}

fn names_nobody(arena: &Arena, id: PacketId, endpoints: u32) -> bool {
    let packet = arena.hot(id);
    let unknown = |endpoint: u32| endpoint >= endpoints;
    let named = packet.dst != u32::MAX && unknown(packet.dst);
    let listed = packet.has_list() && packet.is_credit();
    named || listed && arena.list(id).iter().step_by(3).any(|&dst| unknown(dst))
}
