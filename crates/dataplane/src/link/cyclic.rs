//! Cyclic sequence numbers of 20 bits. The link schemes of Ultra Ethernet use them.

/// Modulus: the numbers are 0 to `CYCLE` − 1.
// CBFC-01
pub(super) const CYCLE: u32 = 1 << 20;

/// Returns (`to` − `from`) modulo `CYCLE`.
pub(super) const fn distance(from: u32, to: u32) -> u32 {
    to.wrapping_sub(from) % CYCLE
}

/// Returns (`number` + `by`) modulo `CYCLE`.
pub(super) const fn advance(number: u32, by: u32) -> u32 {
    number.wrapping_add(by) % CYCLE
}
