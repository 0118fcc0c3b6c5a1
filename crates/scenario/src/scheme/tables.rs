//! The list of the tables of `[scheme]` whose parameters are declared.

use super::{nic, signal, switch};
use dataplane::cc::delay_window;
use dataplane::param::Param;

/// Each table and its parameters. Their defaults are a layer below every preset, in the place of the header that
/// `presets/common.toml` has for the table.
pub(crate) const TABLES: &[(&str, &[Param])] = &[
    ("ack", nic::ACK),
    ("drr", switch::DRR),
    ("egress-dynamic", switch::EGRESS_DYNAMIC),
    ("per-port", switch::PER_PORT),
    ("ecn", signal::ECN),
    ("int", signal::INT),
    ("delay-window", delay_window::PARAMS),
    ("go-back-n", nic::GO_BACK_N),
    ("irn", nic::IRN),
    ("ideal", nic::IDEAL),
    ("nic", nic::NIC),
];
