//! A column of a row group, encoded while it grows.

use crate::encode::{Differences, pack, put_run, width};
use crate::names::Names;
use bytes::Bytes;
use fabric::record::table::Values;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::collections::HashMap;
use std::sync::Arc;

/// Rows of a page.
const ROWS_PER_PAGE: usize = 8192;

/// A column of a row group.
pub(crate) struct Chunk {
    column: ColumnDescPtr,
    /// The values of the page that grows.
    body: Body,
    /// Of each row of that page, if values may be missing: 1 where one stands, 0 where none does.
    present: Option<Vec<u32>>,
    rows_in_page: usize,
    rows: usize,
    missing: u64,
    pages: Vec<CompressedPage>,
}

/// Values as they are encoded.
enum Body {
    Whole(Box<Differences>),
    Names(Dictionary),
    Bits(Vec<u32>),
    Plain(Vec<u8>),
}

/// The names of a column, and which of them its rows have.
#[derive(Default)]
struct Dictionary {
    /// The different names, as the file has them.
    list: Vec<u8>,
    count: u32,
    /// Of the rows of a page.
    numbers: Vec<u32>,
    /// What has a number here: things by their numbers in the network, words and texts.
    things: Vec<Option<u32>>,
    words: Vec<(&'static str, u32)>,
    texts: HashMap<Arc<str>, u32>,
}

impl Dictionary {
    /// A name that has no number yet. Returns its number.
    fn add(&mut self, name: &str) -> u32 {
        self.list
            .extend_from_slice(&(name.len() as u32).to_le_bytes());
        self.list.extend_from_slice(name.as_bytes());
        self.count += 1;
        self.count - 1
    }

    /// Things that share their names.
    fn put_things<'a>(&mut self, things: &[u32], name: impl Fn(u32) -> (u32, &'a str)) {
        for &thing in things {
            let (of_name, name) = name(thing);
            let at = of_name as usize;
            if self.things.len() <= at {
                self.things.resize(at + 1, None);
            }
            let number = self.things[at].unwrap_or_else(|| self.add(name));
            self.things[at] = Some(number);
            self.numbers.push(number);
        }
    }

    fn put_words(&mut self, words: impl Iterator<Item = &'static str>) {
        for word in words {
            // Few words, most of which are told by where they stand.
            let known = self
                .words
                .iter()
                .find(|(known, _)| std::ptr::eq(*known, word));
            let number = known.map(|(_, number)| *number).unwrap_or_else(|| {
                let same = self.words.iter().find(|(known, _)| *known == word);
                let number = same.map(|(_, number)| *number);
                let number = number.unwrap_or_else(|| self.add(word));
                self.words.push((word, number));
                number
            });
            self.numbers.push(number);
        }
    }

    fn put_texts<'a>(&mut self, texts: impl Iterator<Item = &'a Arc<str>>) {
        for text in texts {
            let number = self.texts.get(text).copied().unwrap_or_else(|| {
                let number = self.add(text);
                self.texts.insert(text.clone(), number);
                number
            });
            self.numbers.push(number);
        }
    }
}

impl Chunk {
    /// No rows of a column with such values.
    pub(crate) fn new(column: ColumnDescPtr, values: &Values) -> Self {
        let whole = || Body::Whole(Box::new(Differences::new()));
        let (body, may_miss) = match values {
            Values::U8(_) | Values::U16(_) | Values::U32(_) | Values::U64(_) => (whole(), false),
            Values::OptionU8(_) | Values::OptionU32(_) | Values::OptionU64(_) => (whole(), true),
            Values::OptionF64(_) => (Body::Plain(Vec::new()), true),
            Values::Bool(_) => (Body::Bits(Vec::new()), false),
            Values::OptionText(_) => (Body::Names(Dictionary::default()), true),
            Values::NodeName(_)
            | Values::PeerName(_)
            | Values::NodeTier(_)
            | Values::TrafficName(_)
            | Values::Direction(_)
            | Values::Word(_) => (Body::Names(Dictionary::default()), false),
        };
        Self {
            column,
            body,
            present: may_miss.then(Vec::new),
            rows_in_page: 0,
            rows: 0,
            missing: 0,
            pages: Vec::new(),
        }
    }

    /// Adds this number of rows.
    pub(crate) fn put(&mut self, rows: usize, values: &Values, names: &Names) -> Result<()> {
        match (&mut self.body, values) {
            (Body::Whole(to), Values::U8(values)) => to.put(values),
            (Body::Whole(to), Values::U16(values)) => to.put(values),
            (Body::Whole(to), Values::U32(values)) => to.put(values),
            (Body::Whole(to), Values::U64(values)) => to.put(values),
            (Body::Whole(to), Values::OptionU8(values)) => {
                to.put(&values.iter().copied().flatten().collect::<Vec<_>>());
                self.note_missing(values);
            }
            (Body::Whole(to), Values::OptionU32(values)) => {
                to.put(&values.iter().copied().flatten().collect::<Vec<_>>());
                self.note_missing(values);
            }
            (Body::Whole(to), Values::OptionU64(values)) => {
                to.put(&values.iter().copied().flatten().collect::<Vec<_>>());
                self.note_missing(values);
            }
            (Body::Plain(to), Values::OptionF64(values)) => {
                to.extend(
                    values
                        .iter()
                        .flatten()
                        .flat_map(|value| value.to_le_bytes()),
                );
                self.note_missing(values);
            }
            (Body::Bits(to), Values::Bool(values)) => {
                to.extend(values.iter().map(|&value| u32::from(value)));
            }
            (Body::Names(to), Values::OptionText(values)) => {
                to.put_texts(values.iter().flatten());
                self.note_missing(values);
            }
            (Body::Names(to), Values::NodeName(nodes)) => {
                to.put_things(nodes, |node| names.nodes.of(node));
            }
            (Body::Names(to), Values::PeerName(ports)) => {
                let things: Vec<u32> = ports.iter().map(|&port| names.peer(port)).collect();
                to.put_things(&things, |thing| names.nodes.of(thing));
            }
            (Body::Names(to), Values::NodeTier(nodes)) => {
                to.put_things(nodes, |node| names.tiers.of(node));
            }
            (Body::Names(to), Values::TrafficName(traffics)) => {
                to.put_things(traffics, |traffic| names.traffics.of(traffic));
            }
            (Body::Names(to), Values::Word(words)) => to.put_words(words.iter().copied()),
            (Body::Names(to), Values::Direction(pairs)) => {
                to.put_words(pairs.iter().map(|&(from, to)| names.direction(from, to)));
            }
            _ => return Err(general("a column keeps its type")),
        }
        self.rows_in_page += rows;
        self.rows += rows;
        if self.rows_in_page >= ROWS_PER_PAGE {
            self.end_page()?;
        }
        Ok(())
    }

    fn note_missing<T>(&mut self, values: &[Option<T>]) {
        let Some(present) = &mut self.present else {
            return;
        };
        present.extend(values.iter().map(|value| u32::from(value.is_some())));
        self.missing += values.iter().filter(|value| value.is_none()).count() as u64;
    }

    fn end_page(&mut self) -> Result<()> {
        let mut page = Vec::new();
        if let Some(present) = &mut self.present {
            // Their length, and themselves.
            page.extend([0; 4]);
            put_run(present, 1, &mut page);
            let bytes = page.len() as u32 - 4;
            page[..4].copy_from_slice(&bytes.to_le_bytes());
            present.clear();
        }
        match &mut self.body {
            Body::Whole(differences) => differences.end_page(&mut page),
            Body::Names(names) => {
                let width = width(names.count.saturating_sub(1).into()).max(1);
                page.push(width as u8);
                put_run(&names.numbers, width, &mut page);
                names.numbers.clear();
            }
            Body::Bits(bits) => {
                pack(bits.iter().map(|&bit| bit.into()), 1, &mut page);
                bits.clear();
            }
            Body::Plain(bytes) => page.append(bytes),
        }
        let page_of = |buf| Page::DataPage {
            buf,
            num_values: self.rows_in_page as u32,
            encoding: self.encoding(),
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        self.pages.push(compressed(&page, page_of)?);
        self.rows_in_page = 0;
        Ok(())
    }

    const fn encoding(&self) -> Encoding {
        match self.body {
            Body::Whole(_) => Encoding::DELTA_BINARY_PACKED,
            Body::Names(_) => Encoding::RLE_DICTIONARY,
            Body::Bits(_) | Body::Plain(_) => Encoding::PLAIN,
        }
    }

    /// Ends the row group. Returns its bytes, and what the file says of them.
    pub(crate) fn close(mut self) -> Result<(Bytes, ColumnCloseResult)> {
        if self.rows_in_page > 0 {
            self.end_page()?;
        }
        let mut sink = TrackedWrite::new(Vec::new());
        let mut to = SerializedPageWriter::new(&mut sink);
        let mut encodings = vec![self.encoding(), Encoding::RLE];
        let (mut written, mut size) = (0, 0);
        let mut first_data = 0;
        if let Body::Names(names) = &self.body {
            let page_of = |buf| Page::DictionaryPage {
                buf,
                num_values: names.count,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            let page = to.write_page(compressed(&names.list, page_of)?)?;
            encodings.push(Encoding::PLAIN);
            (written, size) = (page.bytes_written, page.uncompressed_size);
            first_data = page.bytes_written;
        }
        for page in std::mem::take(&mut self.pages) {
            let page = to.write_page(page)?;
            written += page.bytes_written;
            size += page.uncompressed_size;
        }
        let mut metadata = ColumnChunkMetaData::builder(self.column.clone())
            .set_compression(Compression::SNAPPY)
            .set_encodings(encodings)
            .set_total_compressed_size(written as i64)
            .set_total_uncompressed_size(size as i64)
            .set_num_values(self.rows as i64)
            .set_data_page_offset(first_data as i64)
            .set_dictionary_page_offset((first_data > 0).then_some(0));
        if let Some(statistics) = self.statistics() {
            metadata = metadata.set_statistics(statistics);
        }
        let closed = ColumnCloseResult {
            bytes_written: written,
            rows_written: self.rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((sink.into_inner()?.into(), closed))
    }

    /// The least and the most of whole numbers, and how many are missing.
    fn statistics(&self) -> Option<Statistics> {
        let Body::Whole(differences) = &self.body else {
            return None;
        };
        let (least, most) = differences.range().unzip();
        let missing = Some(self.missing);
        let narrow = |number: Option<u64>| number.map(|number| number as i32);
        let wide = |number: Option<u64>| number.map(|number| number as i64);
        Some(match self.column.physical_type() {
            Type::INT32 => Statistics::int32(narrow(least), narrow(most), None, missing, false),
            _ => Statistics::int64(wide(least), wide(most), None, missing, false),
        })
    }
}

/// A page, compressed.
fn compressed(page: &[u8], of: impl FnOnce(Bytes) -> Page) -> Result<CompressedPage> {
    let bytes = snap::raw::Encoder::new().compress_vec(page);
    let bytes = bytes.map_err(|error| ParquetError::External(Box::new(error)))?;
    Ok(CompressedPage::new(of(bytes.into()), page.len()))
}

fn general(message: &str) -> ParquetError {
    ParquetError::General(message.to_owned())
}
