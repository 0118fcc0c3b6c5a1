//! Reachability of endpoints while links are down. The rules are in `specs/links.md`.

use std::sync::Arc;

/// Text for reports: the reason why a flow waits if no path leads to its receiver.
pub const OUT_OF_REACH: &str = "its receiver cannot be reached";

/// Index of the network partition of an endpoint whose own link is down. No other endpoint can
/// reach it.
pub const CUT_OFF: u32 = u32::MAX;

/// Index of the network partition of every endpoint. Endpoints of the same partition can reach
/// each other.
// LNK-13
#[derive(Clone, Debug)]
pub(super) struct Reach(pub Arc<[u32]>);

impl Reach {
    /// Returns true if no path leads from one endpoint to the other.
    pub fn cuts(&self, src: u32, dst: u32) -> bool {
        let part = self.0[src as usize];
        part == CUT_OFF || part != self.0[dst as usize]
    }
}
