//! The host of the ns-3 simulator of HPCC, replayed (rules in `specs/ns3.md`): its arbiter in the place of
//! the NIC's own sending half, and its controls, which compute with whole numbers.

mod arbiter;
mod integer;
pub(crate) mod mmu;

pub(crate) use arbiter::Scan;
