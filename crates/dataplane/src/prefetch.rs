//! Asks the processor for memory that will be needed soon. Has no effect on any result.

/// Fetches the cache line of `slice[index]`; out of bounds it does nothing.
#[inline]
pub fn prefetch<T>(slice: &[T], index: usize) {
    let Some(element) = slice.get(index) else {
        return;
    };
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that the program sees and cannot fault; SSE is part of
        // every x86-64; the pointer comes from a live reference.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast::<i8>());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = element;
}
