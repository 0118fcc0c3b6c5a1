//! Asks the processor for memory that will be needed soon. Has no effect on any result.

/// Fetches the first `lines` cache lines of a value.
#[inline]
pub fn prefetch_lines<T>(value: &T, lines: usize) {
    let at = std::ptr::from_ref(value).cast::<u8>();
    for line in 0..lines.min(size_of::<T>().div_ceil(64)) {
        ask(at.wrapping_add(64 * line));
    }
}

/// Fetches the cache line of `slice[index]`; out of bounds it does nothing.
#[inline]
pub fn prefetch<T>(slice: &[T], index: usize) {
    let Some(element) = slice.get(index) else {
        return;
    };
    ask(std::ptr::from_ref(element).cast());
}

#[inline]
fn ask(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that the program sees and cannot fault, wherever it points;
        // SSE is part of every x86-64.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(at.cast::<i8>());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
