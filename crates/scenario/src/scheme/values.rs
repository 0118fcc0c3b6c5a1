//! Values that several axes read.

use crate::document::{Node, Value};
use crate::reader::{Read, quantity, refuse};
use crate::units::{SIZE, TIME};
use dataplane::config::BaseRtt;

/// Longest time that is taken, in ps.
pub(super) const SECOND: u64 = 1_000_000_000_000;

pub(super) fn bytes(node: &Node, min: u64, max: u64) -> Read<u16> {
    quantity(node, &SIZE, min, max).map(|v| v as u16)
}

pub(super) fn base_rtt(node: &Node) -> Read<BaseRtt> {
    if let Value::String(text) = &node.value {
        match text.as_str() {
            "pair" => return Ok(BaseRtt::Pair),
            "network" => return Ok(BaseRtt::Network),
            "ns3-pair" => return Ok(BaseRtt::Ns3Pair),
            "ns3-network" => return Ok(BaseRtt::Ns3Network),
            _ => {}
        }
    }
    match quantity(node, &TIME, 1_000, SECOND) {
        Ok(ps) => Ok(BaseRtt::Fixed(ps)),
        Err(r) => refuse(
            r.message,
            "\"pair\", \"network\", \"ns3-pair\", \"ns3-network\", or a time such as \"13us\"",
        ),
    }
}
