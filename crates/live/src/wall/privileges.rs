//! Rights that nodes on the wall clock do not need are given up.

use caps::{CapSet, Capability, CapsHashSet};

/// Keeps the right to open raw sockets, for an interface that is made anew, and no other.
///
/// # Errors
/// The system refuses it: in words.
// WSW-42
pub fn keep_raw_sockets_only() -> Result<(), String> {
    let refused = |why| format!("rights that are not needed cannot be given up: {why}");
    let has = caps::has_cap(None, CapSet::Permitted, Capability::CAP_NET_RAW).map_err(refused)?;
    let kept: CapsHashSet = has.then_some(Capability::CAP_NET_RAW).into_iter().collect();
    caps::clear(None, CapSet::Inheritable).map_err(refused)?;
    caps::set(None, CapSet::Effective, &kept).map_err(refused)?;
    caps::set(None, CapSet::Permitted, &kept).map_err(refused)
}
