//! Tests of the dataplane against the rules in `specs/`, as one test program.

mod controls;
mod lists;
mod nic;
mod sets;
mod switch;
