//! Drops the capabilities that a node on the wall clock does not need.

use caps::{CapSet, Capability, CapsHashSet};

use crate::Error;

/// Drops all capabilities of this thread except `CAP_NET_RAW` (open raw sockets). Threads that it
/// starts later have no other capabilities either.
///
/// # Errors
/// The system rejects the change.
// WSW-42: only CAP_NET_RAW is kept
pub fn keep_raw_sockets_only() -> Result<(), Error> {
    let refused = Error::Capabilities;
    let raw = Capability::CAP_NET_RAW;
    let is_permitted = caps::has_cap(None, CapSet::Permitted, raw).map_err(refused)?;
    let kept: CapsHashSet = is_permitted.then_some(raw).into_iter().collect();
    caps::clear(None, CapSet::Inheritable).map_err(refused)?;
    caps::set(None, CapSet::Effective, &kept).map_err(refused)?;
    caps::set(None, CapSet::Permitted, &kept).map_err(refused)
}
