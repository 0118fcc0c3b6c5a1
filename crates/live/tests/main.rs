//! Tests of frames and hosts that need no network interfaces, as one program.

#![cfg(target_os = "linux")]

#[path = "../../wire/tests/common/mod.rs"]
#[allow(dead_code, reason = "the tests of wire use the rest")]
mod common;
mod conformance;
mod host;
