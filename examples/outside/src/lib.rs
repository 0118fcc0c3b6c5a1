//! A congestion control and a hop scheme in a crate of their own.
//!
//! [`add`] makes them known. Then a scenario can name them like the schemes of Backwater.

pub mod brake;
pub mod delay_aimd;

/// Adds both schemes. Call it once, before a scenario is read.
pub fn add() {
    dataplane::outside::add_control::<delay_aimd::DelayAimd>();
    dataplane::outside::add_hop::<brake::Brake, brake::Switch>();
}
