//! Reading and writing bytes at a place that moves on.

use crate::error::{Fault, Malformed, Unfit};

/// Reads one header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    header: &'static str,
    all: &'a [u8],
    at: usize,
}

macro_rules! numbers {
    ($($number:ident),*) => {
        impl Reader<'_> {$(
            pub fn $number(&mut self) -> Result<$number, Malformed> {
                self.take().map($number::from_be_bytes)
            }
        )*}
        impl Writer<'_> {$(
            pub(crate) fn $number(&mut self, value: $number) -> Result<(), Unfit> {
                self.put(&value.to_be_bytes())
            }
        )*}
    };
}
numbers!(u8, u16, u32, u64);

impl<'a> Reader<'a> {
    pub const fn new(header: &'static str, all: &'a [u8]) -> Self {
        Self { header, all, at: 0 }
    }

    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let bytes = self.bytes(N)?;
        Ok(*bytes.first_chunk().expect("it has N bytes"))
    }

    /// The next bytes, this many.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let needed = self.at + count;
        let Some(bytes) = self.all.get(self.at..needed) else {
            let given = self.all.len();
            return Err(self.wrong(self.at, Fault::Short { needed, given }));
        };
        self.at = needed;
        Ok(bytes)
    }

    /// All bytes that are left.
    pub fn rest(self) -> &'a [u8] {
        &self.all[self.at..]
    }

    /// Bytes read so far.
    pub const fn at(&self) -> usize {
        self.at
    }

    pub const fn wrong(&self, at: usize, fault: Fault) -> Malformed {
        Malformed {
            header: self.header,
            at,
            fault,
        }
    }

    /// Requires something of a field that was read last and has this many bytes.
    pub fn require(
        &self,
        holds: bool,
        bytes: usize,
        field: &'static str,
        found: impl Into<u64>,
        expected: &'static str,
    ) -> Result<(), Malformed> {
        if holds {
            return Ok(());
        }
        let found = found.into();
        let fault = Fault::Value {
            field,
            found,
            expected,
        };
        Err(self.wrong(self.at - bytes, fault))
    }
}

/// Writes into a place that it was given.
#[derive(Debug)]
pub struct Writer<'a> {
    place: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// Writes into `place` from its beginning.
    pub const fn new(place: &'a mut [u8]) -> Self {
        Self { place, at: 0 }
    }

    /// Bytes written so far.
    #[must_use]
    pub const fn written(&self) -> usize {
        self.at
    }

    /// Writes some bytes.
    ///
    /// # Errors
    /// The place is too small.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Unfit> {
        self.reserve(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// The next bytes, this many, to be written: whatever they hold now.
    pub(crate) fn reserve(&mut self, count: usize) -> Result<&mut [u8], Unfit> {
        let given = self.place.len();
        let end = self.at + count;
        let Some(bytes) = self.place.get_mut(self.at..end) else {
            return Err(Unfit::Room { given });
        };
        self.at = end;
        Ok(bytes)
    }

    /// Writes this many zeros.
    pub(crate) fn zeros(&mut self, count: usize) -> Result<(), Unfit> {
        self.reserve(count)?.fill(0);
        Ok(())
    }

    /// Writes zeros until this many bytes are written.
    pub(crate) fn pad_to(&mut self, bytes: usize) -> Result<(), Unfit> {
        self.zeros(bytes.saturating_sub(self.at))
    }

    /// What has been written from `from` on, to change.
    pub(crate) fn since(&mut self, from: usize) -> &mut [u8] {
        &mut self.place[from..self.at]
    }
}
