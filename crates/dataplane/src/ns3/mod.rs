//! Congestion controls and buffer accounting as in the ns-3 simulator of HPCC (rules in
//! `specs/ns3.md`). These congestion controls use integer arithmetic and have the parameters of the
//! controls in `cc/`. The host of that simulator, which scans its queue pairs, is `nic/scan.rs`.

pub(crate) mod integer;
pub(crate) mod mmu;
