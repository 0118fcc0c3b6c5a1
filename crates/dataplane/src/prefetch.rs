//! Asks the processor for memory that will be needed soon, and the system for large pages. Has no
//! effect on any result.

/// Arrays of at least this many bytes get large pages.
#[cfg(target_os = "linux")]
const LARGE: usize = 1 << 20;

/// Requests large pages under a large array, best before it is filled: a network of thousands of hosts
/// touches its packets in no order, and each would cost a search of the tables of small pages. On
/// other systems than Linux it does nothing.
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
        // SAFETY: `skipped + whole <= bytes`, so the range lies inside the allocation of `array`, which
        // is borrowed and therefore live. MADV_HUGEPAGE changes neither content nor access rights. An
        // error of the system is ignored: then the pages stay small.
        #[allow(unsafe_code)]
        unsafe {
            libc::madvise(start.add(skipped).cast(), whole, libc::MADV_HUGEPAGE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = array;
}

/// Makes room for `more` values. A large array moves to fresh memory with large pages: what the system
/// moves by its tables keeps the pages that it has, small ones.
pub fn make_room<T>(array: &mut Vec<T>, more: usize) {
    let mut roomy = Vec::with_capacity(array.len() + more);
    large_pages(&roomy);
    roomy.append(array);
    *array = roomy;
}

/// Fetches all cache lines of a value.
#[inline]
pub fn prefetch_whole<T: ?Sized>(value: &T) {
    let at = std::ptr::from_ref(value).cast::<u8>();
    for line in 0..size_of_val(value).div_ceil(64) {
        ask(at.wrapping_add(64 * line));
    }
}

/// Fetches the cache line of `slice[index]`; out of bounds it fetches what is of no use.
#[inline]
pub fn prefetch<T>(slice: &[T], index: usize) {
    ask(slice.as_ptr().wrapping_add(index).cast());
}

#[inline]
fn ask(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no effect that the program can observe and does not fault, whatever the
        // address is. Every x86-64 processor has SSE, to which the instruction belongs.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(at.cast::<i8>());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
