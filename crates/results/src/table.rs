//! Writes one Parquet file in parts of bounded size.

use crate::names::Names;
use crate::{Error, directory};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt8Array, UInt16Array,
    UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use fabric::NodeId;
use fabric::record::table::{ColumnInfo, Values};
use fabric::record::{Rows, Table};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of rows that are collected before they are encoded.
const ROWS_PER_PART: usize = 1024;

/// Number of rows of a Parquet row group. An incomplete row group stays in memory, encoded.
const ROWS_PER_GROUP: usize = 32 * ROWS_PER_PART;

/// One Parquet file under its temporary name, and the rows that are not encoded yet.
pub(crate) struct TableFile {
    table: Table,
    path: PathBuf,
    schema: SchemaRef,
    writer: ArrowWriter<File>,
    /// Rows that are not encoded yet, column by column.
    waiting: Vec<Values>,
    rows_waiting: usize,
}

impl TableFile {
    pub(crate) fn create(dir: &Path, table: Table) -> Result<Self, Error> {
        let path = directory::temporary(dir, &table.file());
        let file = File::create(&path).map_err(|e| Error::io(&path, "create", &e))?;
        let columns = table.columns();
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties(&schema)))
            .map_err(|e| Error::parquet(&path, e))?;
        Ok(Self {
            table,
            path,
            schema,
            writer,
            waiting: empty(&table),
            rows_waiting: 0,
        })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.table.name
    }

    /// Adds rows, encodes complete parts, and writes complete row groups.
    pub(crate) fn add(&mut self, rows: &dyn Rows, names: &Names) -> Result<(), Error> {
        let mut from = 0;
        while from < rows.len() {
            let to = rows.len().min(from + ROWS_PER_PART - self.rows_waiting);
            rows.append(from..to, &mut self.waiting);
            self.rows_waiting += to - from;
            from = to;
            if self.rows_waiting == ROWS_PER_PART {
                self.encode(names)
                    .map_err(|e| Error::parquet(&self.path, e))?;
            }
        }
        Ok(())
    }

    /// Encodes the rows that have been collected.
    fn encode(&mut self, names: &Names) -> Result<(), ParquetError> {
        self.rows_waiting = 0;
        let columns = std::mem::replace(&mut self.waiting, empty(&self.table));
        let columns = columns.into_iter().map(|values| array(values, names));
        let batch = RecordBatch::try_new(self.schema.clone(), columns.collect())?;
        self.writer.write(&batch)
    }

    /// Completes the file, waits until it is on the disk, and returns its final name.
    pub(crate) fn close(mut self, names: &Names) -> Result<String, Error> {
        let path = self.path.clone();
        let finished = self.encode(names).and_then(|()| self.writer.finish());
        finished.map_err(|e| Error::parquet(&path, e))?;
        let file = self.writer.inner();
        file.sync_data()
            .map_err(|e| Error::io(&path, "write", &e))?;
        Ok(self.table.file())
    }
}

/// Returns the columns of a table without rows.
fn empty(table: &Table) -> Vec<Values> {
    let columns = table.columns().into_iter();
    columns.map(|column| column.empty).collect()
}

/// Returns the Parquet encodings: differences for integers, with minimum and maximum of each row
/// group; a dictionary for texts.
fn properties(schema: &Schema) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROWS_PER_GROUP))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true);
    for field in schema.fields() {
        let path = || ColumnPath::from(field.name().as_str());
        if field.data_type().is_integer() {
            properties = properties
                .set_column_statistics_enabled(path(), EnabledStatistics::Chunk)
                .set_column_dictionary_enabled(path(), false)
                .set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}

/// Converts values to an Arrow array of the type of [`field`].
fn array(values: Values, names: &Names) -> ArrayRef {
    match values {
        Values::U8(values) => Arc::new(UInt8Array::from(values)),
        Values::U16(values) => Arc::new(UInt16Array::from(values)),
        Values::U32(values) => Arc::new(UInt32Array::from(values)),
        Values::U64(values) => Arc::new(UInt64Array::from(values)),
        Values::OptionU8(values) => Arc::new(UInt8Array::from(values)),
        Values::OptionU32(values) => Arc::new(UInt32Array::from(values)),
        Values::OptionU64(values) => Arc::new(UInt64Array::from(values)),
        Values::OptionF64(values) => Arc::new(Float64Array::from(values)),
        Values::Bool(values) => Arc::new(BooleanArray::from(values)),
        Values::OptionText(values) => Arc::new(StringArray::from_iter(values)),
        Values::Word(words) => Arc::new(StringArray::from(words)),
        Values::Direction(pairs) => {
            let words = pairs.iter().map(|&(from, to)| names.direction(from, to));
            Arc::new(StringArray::from_iter_values(words))
        }
        Values::NodeName(nodes) => names.nodes.column(nodes.into_iter().map(NodeId::bits)),
        Values::PeerName(ports) => {
            let items = ports.into_iter().map(|port| names.peer(port));
            names.nodes.column(items)
        }
        Values::NodeTier(nodes) => names.tiers.column(nodes.into_iter().map(NodeId::bits)),
        Values::TrafficName(traffics) => names.traffics.column(traffics.into_iter()),
    }
}

/// Returns the Arrow type of a column in the file. Names of nodes, tiers and traffic sources are
/// stored as a dictionary.
fn field(column: &ColumnInfo) -> Field {
    let names = || DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8));
    let (kind, nullable) = match column.empty {
        Values::U8(_) => (DataType::UInt8, false),
        Values::U16(_) => (DataType::UInt16, false),
        Values::U32(_) => (DataType::UInt32, false),
        Values::U64(_) => (DataType::UInt64, false),
        Values::OptionU8(_) => (DataType::UInt8, true),
        Values::OptionU32(_) => (DataType::UInt32, true),
        Values::OptionU64(_) => (DataType::UInt64, true),
        Values::OptionF64(_) => (DataType::Float64, true),
        Values::Bool(_) => (DataType::Boolean, false),
        Values::OptionText(_) => (DataType::Utf8, true),
        Values::NodeName(_)
        | Values::PeerName(_)
        | Values::NodeTier(_)
        | Values::TrafficName(_) => (names(), false),
        Values::Direction(_) | Values::Word(_) => (DataType::Utf8, false),
    };
    Field::new(column.name, kind, nullable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::record::Row;
    use fabric::record::table::{Column, Value, column};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field as Read;

    /// A row with a column of each type. The index of the row determines all values.
    #[derive(Clone, Debug)]
    struct Mixed(u64);

    impl Mixed {
        /// Returns bits that differ between rows. The number of bits changes every 1000 rows.
        fn bits(&self) -> u64 {
            let mixed = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed >> (self.0 / 1000 % 9 * 8).min(63)
        }

        fn text(&self) -> Option<Arc<str>> {
            let some = (5_000..90_000).contains(&self.0) && !self.0.is_multiple_of(3);
            some.then(|| format!("text-{}", self.0 % 700).into())
        }
    }

    impl Row for Mixed {
        const TABLE: &'static str = "mixed";
        const ABOUT: &'static str = "All types.";
        const COLUMNS: &'static [Column<Self>] = &[
            column("u8", Value::U8(|r| r.bits() as u8), ""),
            column("u16", Value::U16(|r| r.bits() as u16), ""),
            column("u32", Value::U32(|r| r.bits() as u32), ""),
            column("u64", Value::U64(Self::bits), ""),
            column("zero", Value::U64(|_| 0), ""),
            column(
                "some32",
                Value::OptionU32(|r| (r.0 % 5 > 2).then_some(r.bits() as u32)),
                "",
            ),
            column(
                "some64",
                Value::OptionU64(|r| (r.0 > 40_000).then_some(r.bits())),
                "",
            ),
            column("none", Value::OptionU32(|_| None), ""),
            column(
                "f64",
                Value::OptionF64(|r| (r.0 & 1 > 0).then_some(r.0 as f64 / 3.0)),
                "",
            ),
            column("bool", Value::Bool(|r| r.bits() & 1 > 0), ""),
            column("text", Value::OptionText(Self::text), ""),
            column(
                "word",
                Value::Word(|r| ["a", "bb", "ccc"][r.0 as usize % 3]),
                "",
            ),
            column(
                "node",
                Value::NodeName(|r| NodeId::from_bits((r.0 / 7 % 3) as u32)),
                "",
            ),
            column("tier", Value::NodeTier(|_| NodeId::new(2)), ""),
            column(
                "direction",
                Value::Direction(|r| (NodeId::new(0), NodeId::from_bits((r.0 % 3) as u32))),
                "",
            ),
            column(
                "some8",
                Value::OptionU8(|r| (r.0 % 7 > 1).then_some(r.bits() as u8)),
                "",
            ),
        ];

        fn order(_: &mut Vec<Self>) {}
    }

    fn names() -> Names {
        let nodes = [
            ("host0", "host", 1),
            ("leaf0", "switch", 0),
            ("spine0", "switch", 2),
        ];
        Names::of_nodes(nodes.into_iter())
    }

    /// Returns the values that a reader of the file must return for a row.
    fn expected(row: u64) -> Vec<Read> {
        let r = Mixed(row);
        let or_null = |read: Option<Read>| read.unwrap_or(Read::Null);
        let word = |word: &str| Read::Str(word.to_owned());
        vec![
            Read::UByte(r.bits() as u8),
            Read::UShort(r.bits() as u16),
            Read::UInt(r.bits() as u32),
            Read::ULong(r.bits()),
            Read::ULong(0),
            or_null((row % 5 > 2).then_some(Read::UInt(r.bits() as u32))),
            or_null((row > 40_000).then_some(Read::ULong(r.bits()))),
            Read::Null,
            or_null((row & 1 > 0).then_some(Read::Double(row as f64 / 3.0))),
            Read::Bool(r.bits() & 1 > 0),
            or_null(r.text().map(|text| word(&text))),
            word(["a", "bb", "ccc"][row as usize % 3]),
            word(["host0", "leaf0", "spine0"][row as usize / 7 % 3]),
            word("switch"),
            word(["side", "down", "up"][row as usize % 3]),
            or_null((row % 7 > 1).then_some(Read::UByte(r.bits() as u8))),
        ]
    }

    #[test]
    fn values_of_all_types_are_read_back_from_files_of_all_sizes() {
        let dir = std::env::temp_dir().join(format!("backwater-table-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        for rows in [0, 1, 300, ROWS_PER_GROUP as u64 + 77] {
            let mut file = TableFile::create(&dir, Table::of::<Mixed>()).unwrap();
            let path = file.path.clone();
            for from in (0..rows).step_by(9_999) {
                let part: Vec<_> = (from..rows.min(from + 9_999)).map(Mixed).collect();
                file.add(&part, &names()).unwrap();
            }
            file.close(&names()).unwrap();
            let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
            assert_eq!(file.metadata().file_metadata().num_rows(), rows as i64);
            let mut read = 0;
            for (nth, row) in (0..).zip(file.get_row_iter(None).unwrap()) {
                let row = row.unwrap();
                let values: Vec<_> = row
                    .get_column_iter()
                    .map(|(_, value)| value.clone())
                    .collect();
                assert_eq!(values, expected(nth), "row {nth} of {rows}");
                read += 1;
            }
            assert_eq!(read, rows);
            if rows == 300 {
                let group = file.metadata().row_group(0);
                let known = group.column(3).statistics().unwrap();
                let all = || (0..rows).map(|row| Mixed(row).bits());
                let bytes = |number: Option<u64>| number.unwrap().to_le_bytes();
                assert_eq!(known.min_bytes_opt().unwrap(), bytes(all().min()));
                assert_eq!(known.max_bytes_opt().unwrap(), bytes(all().max()));
                assert_eq!(
                    group.column(7).statistics().unwrap().null_count_opt(),
                    Some(rows)
                );
            }
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
