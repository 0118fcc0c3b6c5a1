//! Least loaded: each packet uses the equal-cost port with the fewest queued bytes.

use super::{Context, EqualPorts, Policy};
use crate::packet::Packet;

crate::params! {
    /// Policy that sends each packet to the least loaded equal-cost port, without parameters or
    /// state.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LeastLoaded;
}

impl Policy for LeastLoaded {
    type Config = Self;

    const REORDERS: bool = true;

    const ABOUT: &'static str = "each packet takes the port with the fewest waiting bytes";

    fn new(_: &Self) -> Self {
        Self
    }

    fn choose<L: Fn(u16) -> Option<u64>>(
        &mut self,
        cx: &Context<L>,
        _: &Packet,
        ports: EqualPorts<'_>,
    ) -> usize {
        cx.least_loaded(ports)
    }
}
