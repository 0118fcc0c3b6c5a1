//! Tests of congestion controls against the rules of `specs/`: examples with numbers computed by
//! hand, and properties that hold for all feedback.

mod hpcc;
mod hpcc_fixed;
mod hpcc_theory;
mod hpcc_variants;
mod properties;
mod swift;
mod timely;
mod wire;
