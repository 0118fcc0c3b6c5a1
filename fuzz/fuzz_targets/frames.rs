//! Fuzz target: decodes frames, and checks that encoding and decoding a decoded packet gives the
//! same packet.
//!
//! The first byte selects the network, and the use of the other bytes: either they are the frame,
//! or they are the seed of a random packet and changes of its frame.
#![no_main]

#[path = "../../crates/wire/tests/common/check.rs"]
mod check;
#[path = "../../crates/wire/tests/common/mod.rs"]
#[allow(dead_code)]
mod common;

use common::{Random, SIZES, any, link, repair};
use dataplane::int::{IntFormat, Layout};
use dataplane::packet::Arena;
use libfuzzer_sys::fuzz_target;
use wire::frame::MOST_BYTES;
use wire::{Network, encode};

/// Returns the network that the bits of the first byte select.
fn network(choice: u8) -> Network {
    Network {
        v6: choice & 1 != 0,
        telemetry: match choice >> 1 & 3 {
            0 => IntFormat::Wire(Layout::new(1, 16)),
            1 => IntFormat::Wire(Layout::new(4, 17)),
            _ => IntFormat::Exact,
        },
        link_numbers: choice & 8 != 0,
        trails: choice & 16 != 0,
        timed_pauses: choice & 32 != 0,
        sizes: SIZES,
    }
}

/// Generates a packet from a seed (the first eight bytes), encodes it into `frame`, and changes
/// bytes of the frame: each change has a position and a new value. Returns the length of the frame.
fn generate(network: &Network, rest: &[u8], arena: &mut Arena, frame: &mut [u8]) -> usize {
    let (seed, edits) = rest.split_at(rest.len().min(8));
    let mut bytes = [0; 8];
    bytes[..seed.len()].copy_from_slice(seed);
    let id = any(&mut Random::new(u64::from_le_bytes(bytes)), network, arena);
    let length = encode(&link(network), arena, id, frame).expect("it fits");
    arena.free(id);
    for edit in edits.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([edit[0], edit[1]]));
        frame[place % length] = edit[2];
    }
    length
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, rest)) = data.split_first() else {
        return;
    };
    let network = network(choice);
    let mut arena = Arena::new();
    let (mut frame, mut again) = (vec![0; MOST_BYTES], vec![0; MOST_BYTES]);
    let length = if choice & 64 != 0 {
        generate(&network, rest, &mut arena, &mut frame)
    } else {
        let length = rest.len().min(MOST_BYTES);
        frame[..length].copy_from_slice(&rest[..length]);
        length
    };
    if choice & 128 != 0 {
        repair(&mut frame[..length]);
    }
    let _ = check::read_twice(&network, &frame[..length], &mut arena, &mut again);
    assert_eq!(arena.alive(), 0, "a refused frame must leave no packet");
});
