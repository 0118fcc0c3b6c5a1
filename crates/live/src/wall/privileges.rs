//! Rights that nodes on the wall clock do not need are given up.

use caps::{CapSet, Capability, CapsHashSet};

use super::socket::SocketKind;

/// Raw sockets alone.
const RAW: &[Capability] = &[Capability::CAP_NET_RAW];
/// What AF_XDP takes until it is open: a program for an interface, and memory that stays where it is.
const XDP: &[Capability] = &[
    Capability::CAP_NET_RAW,
    Capability::CAP_NET_ADMIN,
    Capability::CAP_BPF,
    Capability::CAP_IPC_LOCK,
];

/// Keeps the rights by which sockets of a kind are opened, as far as the process has them, and no other.
///
/// # Errors
/// The system refuses it: in words.
// WSW-42
pub fn keep_what_opens(kind: SocketKind) -> Result<(), String> {
    keep(match kind {
        SocketKind::Packet => RAW,
        SocketKind::Xdp => XDP,
    })
}

/// Keeps the right to open raw sockets, and no other.
///
/// # Errors
/// The system refuses it: in words.
// WSW-42
pub fn keep_raw_sockets_only() -> Result<(), String> {
    keep(RAW)
}

fn keep(rights: &[Capability]) -> Result<(), String> {
    let refused = |why| format!("rights that are not needed cannot be given up: {why}");
    let has = caps::read(None, CapSet::Permitted).map_err(refused)?;
    let kept: CapsHashSet = rights
        .iter()
        .copied()
        .filter(|right| has.contains(right))
        .collect();
    caps::clear(None, CapSet::Inheritable).map_err(refused)?;
    caps::set(None, CapSet::Effective, &kept).map_err(refused)?;
    caps::set(None, CapSet::Permitted, &kept).map_err(refused)
}
