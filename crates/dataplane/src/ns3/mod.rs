//! Congestion controls and buffer accounting of the ns-3 simulator of HPCC (rules in
//! `specs/ns3.md`). The controls use integers, and the parameters of the controls in `cc/`. The
//! arbiter of that simulator is an arbiter of the NIC, `nic/scan.rs`.

pub(crate) mod integer;
pub(crate) mod mmu;
