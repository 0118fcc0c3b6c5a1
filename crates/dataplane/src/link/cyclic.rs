//! Cyclic numbers of 20 bits, as the link schemes of Ultra Ethernet use them.

/// Upper limit of the numbers: they are below this.
// CBFC-01
pub(super) const CYCLE: u32 = 1 << 20;

/// Returns how far a number is ahead of another.
pub(super) const fn distance(from: u32, to: u32) -> u32 {
    to.wrapping_sub(from) % CYCLE
}

/// Returns the number that is `by` ahead.
pub(super) const fn advance(number: u32, by: u32) -> u32 {
    number.wrapping_add(by) % CYCLE
}
