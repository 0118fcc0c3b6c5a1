//! One Parquet file, written in parts of bounded size.

use crate::{Error, directory};
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that are gathered before they are handed to Parquet.
pub(crate) const ROWS_PER_PART: usize = 32_768;

/// Rows of a Parquet row group: what is held in memory, compressed, until it is written.
const ROWS_PER_GROUP: usize = 8 * ROWS_PER_PART;

/// One Parquet file under its temporary name.
pub(crate) struct Table {
    path: PathBuf,
    schema: Arc<Schema>,
    writer: ArrowWriter<File>,
}

impl Table {
    pub(crate) fn create(dir: &Path, name: &str, fields: Vec<Field>) -> Result<Self, Error> {
        let path = directory::temporary(dir, name);
        let file = File::create(&path).map_err(|e| Error::io(&path, "create", &e))?;
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(ROWS_PER_GROUP))
            .build();
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties))
            .map_err(|e| Error::parquet(&path, e))?;
        Ok(Self {
            path,
            schema,
            writer,
        })
    }

    /// Writes one part; `columns` in the order of the fields.
    pub(crate) fn write(&mut self, columns: Vec<ArrayRef>) -> Result<(), Error> {
        let batch = RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(|e| Error::new(&self.path, format!("columns do not fit the table: {e}")))?;
        self.writer
            .write(&batch)
            .map_err(|e| Error::parquet(&self.path, e))
    }

    /// Completes the file and makes sure that it is on the disk.
    pub(crate) fn close(self) -> Result<(), Error> {
        let file = self
            .writer
            .into_inner()
            .map_err(|e| Error::parquet(&self.path, e))?;
        file.sync_data()
            .map_err(|e| Error::io(&self.path, "write", &e))
    }
}

/// A column that is never null.
pub(crate) fn field(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, false)
}

/// A column of names, stored as numbers into a list of the different ones.
pub(crate) fn name_field(name: &str) -> Field {
    field(
        name,
        DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8)),
    )
}

/// The different names of something, and which of them each thing has.
pub(crate) struct Names {
    values: Arc<StringArray>,
    index: Vec<u32>,
}

impl Names {
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
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
    pub(crate) fn column(&self, things: impl Iterator<Item = usize>) -> ArrayRef {
        let keys = UInt32Array::from_iter_values(things.map(|thing| self.index[thing]));
        Arc::new(DictionaryArray::<UInt32Type>::new(
            keys,
            self.values.clone(),
        ))
    }
}
