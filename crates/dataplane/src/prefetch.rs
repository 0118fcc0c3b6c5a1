//! Hints for performance: prefetching of memory that is needed soon, and large pages. They do not
//! affect results.

/// Size in bytes from which arrays use large memory pages.
#[cfg(target_os = "linux")]
const LARGE: usize = 1 << 20;

/// Requests large memory pages for a large array, best before the array is filled. Large networks
/// access their packets in random order, so with small pages most accesses miss the TLB. Has an
/// effect on Linux only.
pub fn large_pages<T>(array: &Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let bytes = array.capacity() * size_of::<T>();
        let start = array.as_ptr().cast_mut().cast::<u8>();
        let skipped = start.align_offset(PAGE);
        if bytes < LARGE || skipped >= bytes {
            return;
        }
        let whole = (bytes - skipped) / PAGE * PAGE;
        // SAFETY: `skipped + whole <= bytes`, so the range is inside the allocation of `array`,
        // which is borrowed and therefore live. MADV_HUGEPAGE changes neither content nor access
        // rights. If the system returns an error, it is ignored and the pages stay small.
        #[allow(unsafe_code)]
        unsafe {
            libc::madvise(start.add(skipped).cast(), whole, libc::MADV_HUGEPAGE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = array;
}

/// Makes room for `more` values. A large array moves to new memory with large pages, because a
/// reallocation by the system would keep its small pages.
pub fn make_room<T>(array: &mut Vec<T>, more: usize) {
    let mut roomy = Vec::with_capacity(array.len() + more);
    large_pages(&roomy);
    roomy.append(array);
    *array = roomy;
}

/// Prefetches all cache lines of a value.
#[inline]
pub fn prefetch_whole<T: ?Sized>(value: &T) {
    let at = std::ptr::from_ref(value).cast::<u8>();
    for line in 0..size_of_val(value).div_ceil(64) {
        ask(at.wrapping_add(64 * line));
    }
}

/// Prefetches the cache line of `slice[index]`. An index out of bounds is allowed and has no effect
/// on results.
#[inline]
pub fn prefetch<T>(slice: &[T], index: usize) {
    ask(slice.as_ptr().wrapping_add(index).cast());
}

#[inline]
fn ask(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no observable effect on the program and does not fault for any
        // address. Every x86-64 processor has SSE, which includes the instruction.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(at.cast::<i8>());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
