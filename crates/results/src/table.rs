//! One Parquet file, written in parts of bounded size.

use crate::info::RunInfo;
use crate::{Error, directory};
use arrow_array::types::UInt32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, RecordBatch, StringArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use fabric::record::table::{ColumnInfo, Values};
use fabric::record::{Rows, Table};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that are gathered before they are handed to Parquet.
pub(crate) const ROWS_PER_PART: usize = 32_768;

/// A table with more rows than this gets room for a whole part at once.
const MANY_ROWS: usize = ROWS_PER_PART / 16;

/// Rows of a Parquet row group: what is held in memory, compressed, until it is written.
const ROWS_PER_GROUP: usize = 8 * ROWS_PER_PART;

/// One Parquet file under its temporary name, and the rows that wait to be written.
pub(crate) struct TableFile {
    table: Table,
    path: PathBuf,
    schema: Arc<Schema>,
    writer: ArrowWriter<File>,
    /// What waits, column by column.
    waiting: Vec<Values>,
    rows_waiting: usize,
}

impl TableFile {
    pub(crate) fn create(dir: &Path, table: Table) -> Result<Self, Error> {
        let path = directory::temporary(dir, &table.file());
        let file = File::create(&path).map_err(|e| Error::io(&path, "create", &e))?;
        let columns = table.columns();
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties(&columns)))
            .map_err(|e| Error::parquet(&path, e))?;
        Ok(Self {
            waiting: empty(&table),
            table,
            path,
            schema,
            writer,
            rows_waiting: 0,
        })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.table.name
    }

    /// Adds rows; writes those that make a whole part.
    pub(crate) fn add(&mut self, rows: &dyn Rows, names: &Names) -> Result<(), Error> {
        let mut from = 0;
        while from < rows.len() {
            let left = ROWS_PER_PART - self.rows_waiting;
            let to = rows.len().min(from + left);
            if self.rows_waiting + (to - from) > MANY_ROWS {
                for column in &mut self.waiting {
                    column.reserve(left);
                }
            }
            rows.append(from..to, &mut self.waiting);
            self.rows_waiting += to - from;
            from = to;
            if self.rows_waiting == ROWS_PER_PART {
                self.write(names)?;
            }
        }
        Ok(())
    }

    /// Writes the rows that wait.
    fn write(&mut self, names: &Names) -> Result<(), Error> {
        let columns = std::mem::replace(&mut self.waiting, empty(&self.table));
        let columns = columns.into_iter().map(|column| names.array(column));
        self.rows_waiting = 0;
        let batch = RecordBatch::try_new(self.schema.clone(), columns.collect())
            .map_err(|e| Error::new(&self.path, format!("columns do not fit the table: {e}")))?;
        self.writer
            .write(&batch)
            .map_err(|e| Error::parquet(&self.path, e))
    }

    /// Completes the file, makes sure that it is on the disk, and returns its final name.
    pub(crate) fn close(mut self, names: &Names) -> Result<String, Error> {
        if self.rows_waiting > 0 {
            self.write(names)?;
        }
        // A second handle, because only `close` passes on what the system said.
        let file = self.writer.inner().try_clone();
        let file = file.map_err(|e| Error::io(&self.path, "write", &e))?;
        self.writer
            .close()
            .map_err(|e| Error::parquet(&self.path, e))?;
        file.sync_data()
            .map_err(|e| Error::io(&self.path, "write", &e))?;
        Ok(self.table.file())
    }
}

/// How a table is encoded. Whole numbers are written as differences: of times and counts, most of which differ from
/// row to row, a list of those that occur would be as long as the column, and to look others up in one takes longer.
fn properties(columns: &[ColumnInfo]) -> WriterProperties {
    let all = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROWS_PER_GROUP));
    let whole = columns
        .iter()
        .filter(|column| field(column).data_type().is_integer());
    let encoded = whole.fold(all, |all, column| {
        let path = ColumnPath::from(column.name);
        all.set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
    });
    encoded.build()
}

/// No values for any column.
fn empty(table: &Table) -> Vec<Values> {
    let columns = table.columns().into_iter();
    columns.map(|column| column.empty).collect()
}

/// The type of a column in the file. Names are stored as numbers into a list of the different ones.
fn field(column: &ColumnInfo) -> Field {
    let names = || DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8));
    let (kind, nullable) = match column.empty {
        Values::U8(_) => (DataType::UInt8, false),
        Values::U16(_) => (DataType::UInt16, false),
        Values::U32(_) => (DataType::UInt32, false),
        Values::U64(_) => (DataType::UInt64, false),
        Values::OptionU32(_) => (DataType::UInt32, true),
        Values::OptionU64(_) => (DataType::UInt64, true),
        Values::OptionF64(_) => (DataType::Float64, true),
        Values::Bool(_) => (DataType::Boolean, false),
        Values::OptionText(_) => (DataType::Utf8, true),
        Values::NodeName(_) | Values::NodeTier(_) | Values::TrafficName(_) => (names(), false),
        Values::Direction(_) | Values::Word(_) => (DataType::Utf8, false),
    };
    Field::new(column.name, kind, nullable)
}

/// What stands for numbers of nodes and traffics in tables.
pub(crate) struct Names {
    nodes: NameList,
    tiers: NameList,
    traffics: NameList,
    /// Level of each node.
    levels: Vec<u8>,
}

impl Names {
    pub(crate) fn new(info: &RunInfo) -> Self {
        Self {
            nodes: NameList::new(info.nodes.iter().map(|n| n.name.as_str())),
            tiers: NameList::new(info.nodes.iter().map(|n| n.tier.as_str())),
            traffics: NameList::new(info.sources.iter().map(String::as_str)),
            levels: info.nodes.iter().map(|n| n.level).collect(),
        }
    }

    /// A column as it is written.
    fn array(&self, values: Values) -> ArrayRef {
        match values {
            Values::U8(values) => Arc::new(UInt8Array::from(values)),
            Values::U16(values) => Arc::new(UInt16Array::from(values)),
            Values::U32(values) => Arc::new(UInt32Array::from(values)),
            Values::U64(values) => Arc::new(UInt64Array::from(values)),
            Values::OptionU32(values) => Arc::new(UInt32Array::from(values)),
            Values::OptionU64(values) => Arc::new(UInt64Array::from(values)),
            Values::OptionF64(values) => Arc::new(Float64Array::from(values)),
            Values::Bool(values) => Arc::new(BooleanArray::from(values)),
            Values::OptionText(values) => Arc::new(StringArray::from_iter(values)),
            Values::NodeName(nodes) => self.nodes.column(nodes),
            Values::NodeTier(nodes) => self.tiers.column(nodes),
            Values::TrafficName(traffics) => self.traffics.column(traffics),
            Values::Word(words) => Arc::new(StringArray::from(words)),
            Values::Direction(pairs) => {
                let level = |node: u32| self.levels[node as usize];
                let words = pairs
                    .into_iter()
                    .map(|(a, b)| direction(level(a), level(b)));
                Arc::new(StringArray::from_iter_values(words))
            }
        }
    }
}

/// `up`, `down`, or `side` between switches of the same tier.
pub(crate) fn direction(from_level: u8, to_level: u8) -> &'static str {
    match to_level.cmp(&from_level) {
        std::cmp::Ordering::Greater => "up",
        std::cmp::Ordering::Less => "down",
        std::cmp::Ordering::Equal => "side",
    }
}

/// The different names of something, and which of them each thing has.
struct NameList {
    values: Arc<StringArray>,
    index: Vec<u32>,
}

impl NameList {
    fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut numbers = std::collections::BTreeMap::new();
        let mut values = Vec::new();
        let mut index = Vec::new();
        for name in names {
            index.push(*numbers.entry(name).or_insert_with(|| {
                values.push(name);
                values.len() as u32 - 1
            }));
        }
        Self {
            values: Arc::new(StringArray::from(values)),
            index,
        }
    }

    /// The column that names thing after thing.
    fn column(&self, things: Vec<u32>) -> ArrayRef {
        let keys = things.into_iter().map(|thing| self.index[thing as usize]);
        let keys = UInt32Array::from_iter_values(keys);
        Arc::new(DictionaryArray::<UInt32Type>::new(
            keys,
            self.values.clone(),
        ))
    }
}
