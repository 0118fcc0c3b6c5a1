//! Encodings of Parquet: whole numbers as differences, and numbers of few bits.
//!
//! Tables of many columns, most of them zero, are a large part of what a recording costs: columns are encoded block by
//! block, without Arrow's arrays and lists of rows between, and blocks of equal differences without looking at each.

/// Differences of a block, and of a part of it, which has a width of its own.
const BLOCK: usize = 256;
const PART: usize = 64;
const PARTS: usize = BLOCK / PART;

/// A whole number in a column: of 32 bits in the file, or of 64.
pub(crate) trait Whole: Copy {
    /// It takes 64 bits in the file.
    const WIDE: bool;
    /// Its value.
    fn value(self) -> u64;
    /// These bits as the number with a sign that the file has.
    #[inline]
    fn signed(bits: u64) -> i64 {
        if Self::WIDE {
            bits as i64
        } else {
            (bits as i32).into()
        }
    }
}

macro_rules! whole {
    ($($type:ty: $wide:literal;)*) => {$(
        impl Whole for $type {
            const WIDE: bool = $wide;
            #[inline]
            fn value(self) -> u64 {
                self.into()
            }
        }
    )*};
}

whole! {
    u8: false;
    u16: false;
    u32: false;
    u64: true;
}

/// Whole numbers of a page as differences (`DELTA_BINARY_PACKED`).
#[derive(Debug)]
pub(crate) struct Differences {
    first: i64,
    last: u64,
    count: usize,
    waiting: [i64; BLOCK],
    waits: usize,
    blocks: Vec<u8>,
    /// The least and the most number since the start of the column.
    range: Option<(u64, u64)>,
}

impl Differences {
    pub(crate) const fn new() -> Self {
        Self {
            first: 0,
            last: 0,
            count: 0,
            waiting: [0; BLOCK],
            waits: 0,
            blocks: Vec::new(),
            range: None,
        }
    }

    pub(crate) const fn range(&self) -> Option<(u64, u64)> {
        self.range
    }

    pub(crate) fn put<T: Whole>(&mut self, mut values: &[T]) {
        let Some(&first) = values.first() else {
            return;
        };
        let (mut least, mut most) = self.range.unwrap_or((u64::MAX, 0));
        if self.count == 0 {
            let first = first.value();
            (self.first, self.last) = (T::signed(first), first);
            (least, most) = (least.min(first), most.max(first));
            (self.count, values) = (1, &values[1..]);
        }
        self.count += values.len();
        while !values.is_empty() {
            let (now, later) = values.split_at(values.len().min(BLOCK - self.waits));
            let to = &mut self.waiting[self.waits..][..now.len()];
            let mut last = self.last;
            for (difference, value) in to.iter_mut().zip(now) {
                let value = value.value();
                *difference = T::signed(value.wrapping_sub(last));
                (least, most) = (least.min(value), most.max(value));
                last = value;
            }
            self.last = last;
            self.waits += now.len();
            if self.waits == BLOCK {
                self.end_block();
            }
            values = later;
        }
        self.range = Some((least, most));
    }

    /// Writes a block: its least difference, the width of each part, and how much more than the least each
    /// difference is.
    fn end_block(&mut self) {
        let (mut least, mut most) = (i64::MAX, i64::MIN);
        for &difference in &self.waiting[..self.waits] {
            (least, most) = (least.min(difference), most.max(difference));
        }
        put_signed(least, &mut self.blocks);
        let widths_at = self.blocks.len();
        self.blocks.extend([0; PARTS]);
        if most > least {
            // What is missing in the last block is none more than the least.
            self.waiting[self.waits..].fill(least);
            for (nth, part) in self.waiting.chunks_exact(PART).enumerate() {
                let more = |difference: &i64| difference.wrapping_sub(least) as u64;
                let width = width(part.iter().map(more).fold(0, |all, more| all | more));
                if width > 0 {
                    self.blocks[widths_at + nth] = width as u8;
                    pack(part.iter().map(more), width, &mut self.blocks);
                }
            }
        }
        self.waits = 0;
    }

    /// Ends the page and appends it.
    pub(crate) fn end_page(&mut self, to: &mut Vec<u8>) {
        if self.waits > 0 {
            self.end_block();
        }
        for number in [BLOCK, PARTS, self.count] {
            put_number(number as u64, to);
        }
        put_signed(self.first, to);
        to.append(&mut self.blocks);
        (self.first, self.last, self.count) = (0, 0, 0);
    }
}

/// Bits that a number needs.
pub(crate) const fn width(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// Appends numbers of `width` bits each, the lowest first, and fills the last byte.
pub(crate) fn pack(numbers: impl Iterator<Item = u64>, width: u32, to: &mut Vec<u8>) {
    let (mut word, mut used) = (0_u64, 0);
    for number in numbers {
        word |= number << used;
        used += width;
        if used >= u64::BITS {
            to.extend_from_slice(&word.to_le_bytes());
            used -= u64::BITS;
            word = if used == 0 {
                0
            } else {
                number >> (width - used)
            };
        }
    }
    to.extend_from_slice(&word.to_le_bytes()[..used.div_ceil(8) as usize]);
}

/// Appends numbers as one run (`RLE`): of equal ones, or packed.
pub(crate) fn put_run(numbers: &[u32], width: u32, to: &mut Vec<u8>) {
    let Some(&first) = numbers.first() else {
        return;
    };
    if numbers.iter().all(|&number| number == first) {
        put_number((numbers.len() as u64) << 1, to);
        to.extend_from_slice(&first.to_le_bytes()[..width.div_ceil(8) as usize]);
    } else {
        // Packed runs have numbers in groups of eight.
        let groups = numbers.len().div_ceil(8);
        put_number((groups as u64) << 1 | 1, to);
        let missing = std::iter::repeat_n(0, 8 * groups - numbers.len());
        let all = numbers.iter().map(|&number| number.into());
        pack(all.chain(missing), width, to);
    }
}

/// Appends a number, seven bits to a byte.
fn put_number(mut number: u64, to: &mut Vec<u8>) {
    while number > 0x7f {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Appends a number with a sign, small ones of both in few bytes.
fn put_signed(number: i64, to: &mut Vec<u8>) {
    put_number((number << 1 ^ number >> 63) as u64, to);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_packed_across_words() {
        for width in 1..=64_u32 {
            let mask = u64::MAX >> (64 - width);
            let numbers: Vec<u64> = (0..100_u64)
                .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask)
                .collect();
            let mut bytes = Vec::new();
            pack(numbers.iter().copied(), width, &mut bytes);
            assert_eq!(bytes.len(), (100 * width as usize).div_ceil(8));
            let bit = |at: usize| u64::from(bytes[at / 8] >> (at % 8) & 1);
            for (nth, &number) in numbers.iter().enumerate() {
                let from = nth * width as usize;
                let read = (0..width as usize)
                    .map(|at| bit(from + at) << at)
                    .sum::<u64>();
                assert_eq!(read, number, "width {width}, number {nth}");
            }
        }
    }

    #[test]
    fn a_column_of_zeros_takes_few_bytes() {
        let mut zeros = Differences::new();
        for _ in 0..100 {
            zeros.put(&[0_u64; 100]);
        }
        let mut page = Vec::new();
        zeros.end_page(&mut page);
        assert!(page.len() < 10_000 / BLOCK * 6 + 16, "{}", page.len());
        assert_eq!(zeros.range(), Some((0, 0)));
    }
}
