//! A congestion control and a hop-by-hop scheme in a separate crate.
//!
//! [`add`] registers both schemes. Then a scenario can select them like the schemes of Backwater.

pub mod brake;
pub mod delay_aimd;

/// Registers both schemes. Call it once, before a scenario is read.
pub fn add() {
    dataplane::outside::add_control::<delay_aimd::DelayAimd>();
    dataplane::outside::add_hop::<brake::Brake, brake::Switch>();
}
