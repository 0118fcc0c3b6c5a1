//! Which endpoints reach each other while links are down. The rules are in `specs/links.md`.

use std::sync::Arc;

/// Why a flow does not send whose receiver no way leads to.
pub const OUT_OF_REACH: &str = "its receiver cannot be reached";

/// The part of the network of an endpoint whose own link is down: nobody reaches it.
pub const CUT_OFF: u32 = u32::MAX;

/// In which part of the network every endpoint is: those of one part reach each other.
// LNK-13
#[derive(Clone, Debug)]
pub(super) struct Reach(pub Arc<[u32]>);

impl Reach {
    /// Whether no way leads from one endpoint to the other.
    pub fn cuts(&self, src: u32, dst: u32) -> bool {
        let part = self.0[src as usize];
        part == CUT_OFF || part != self.0[dst as usize]
    }
}
