//! A reader and a writer of header fields in a byte buffer.

use crate::error::{Fault, Malformed, Unfit};

/// Reads the fields of one header in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    header: &'static str,
    all: &'a [u8],
    at: usize,
}

/// An unsigned integer that is encoded in network byte order.
pub(crate) trait Number: Copy + Into<u64> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed>;
    fn write(self, out: &mut Writer<'_>) -> Result<(), Unfit>;
}

/// Reads or writes the fields of a header in order. One function can then define both the parser
/// and the writer of a header.
pub(crate) trait Fields {
    type Error;

    /// Reads the next field into `value`, or writes `value`.
    fn field<N: Number>(&mut self, value: &mut N) -> Result<(), Self::Error>;

    /// Checks the field that was read last, which has `bytes` bytes. Does nothing when writing.
    fn require(
        &self,
        _holds: bool,
        _bytes: usize,
        _field: &'static str,
        _found: impl Into<u64>,
        _expected: &'static str,
    ) -> Result<(), Self::Error> {
        Ok(())
    }
}

impl Fields for Reader<'_> {
    type Error = Malformed;

    fn field<N: Number>(&mut self, value: &mut N) -> Result<(), Malformed> {
        *value = N::read(self)?;
        Ok(())
    }

    /// Returns an error unless `holds`, a condition on the field that was read last. The field has
    /// `bytes` bytes.
    fn require(
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
        Err(Malformed::value(
            self.header,
            self.at - bytes,
            field,
            found,
            expected,
        ))
    }
}

impl Fields for Writer<'_> {
    type Error = Unfit;

    fn field<N: Number>(&mut self, value: &mut N) -> Result<(), Unfit> {
        value.write(self)
    }
}

macro_rules! numbers {
    ($($number:ident),*) => {
        $(impl Number for $number {
            fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
                reader.$number()
            }
            fn write(self, out: &mut Writer<'_>) -> Result<(), Unfit> {
                out.$number(self)
            }
        })*
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
        Ok(*bytes.first_chunk().expect("`bytes` returns N bytes"))
    }

    /// Reads the next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let needed = self.at + count;
        let Some(bytes) = self.all.get(self.at..needed) else {
            let given = self.all.len();
            return Err(self.wrong(self.at, Fault::Short { needed, given }));
        };
        self.at = needed;
        Ok(bytes)
    }

    /// Returns all bytes that were not read yet.
    pub fn rest(self) -> &'a [u8] {
        &self.all[self.at..]
    }

    /// Returns the number of bytes read so far.
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
}

/// Writes a frame into a buffer of the caller.
#[derive(Debug)]
pub struct Writer<'a> {
    buffer: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// Creates a writer that starts at the beginning of `buffer`.
    pub const fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, at: 0 }
    }

    /// Returns the number of bytes written so far.
    #[must_use]
    pub const fn written(&self) -> usize {
        self.at
    }

    /// Writes `bytes`.
    ///
    /// # Errors
    /// The buffer is too small.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Unfit> {
        self.reserve(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// Reserves the next `count` bytes, which the caller must overwrite.
    pub(crate) fn reserve(&mut self, count: usize) -> Result<&mut [u8], Unfit> {
        let given = self.buffer.len();
        let end = self.at + count;
        let Some(bytes) = self.buffer.get_mut(self.at..end) else {
            return Err(Unfit::Room { given });
        };
        self.at = end;
        Ok(bytes)
    }

    /// Writes `count` zeros.
    pub(crate) fn zeros(&mut self, count: usize) -> Result<(), Unfit> {
        self.reserve(count)?.fill(0);
        Ok(())
    }

    /// Writes zeros until the frame has at least `bytes` bytes.
    pub(crate) fn pad_to(&mut self, bytes: usize) -> Result<(), Unfit> {
        self.zeros(bytes.saturating_sub(self.at))
    }

    /// Returns the bytes written from position `from` on, for changes.
    pub(crate) fn since(&mut self, from: usize) -> &mut [u8] {
        &mut self.buffer[from..self.at]
    }
}
