//! Tests of the dataplane against its rules, in one program.

mod controls;
mod lists;
mod nic;
mod sets;
mod switch;
