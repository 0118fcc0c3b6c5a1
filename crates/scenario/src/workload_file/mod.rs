//! Workloads with dependencies in Parquet files. docs/workloads.md describes the format. // OPS-04
//!
//! A file is read twice: first completely, to check it and to find the rows of each rank; then
//! block by block during the run.

mod columns;
mod header;

pub use header::Header;

use bytes::Bytes;
use columns::{Columns, Row};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection,
    RowSelector,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use traffic::Error;
use traffic::operations::{Block, Operation, Source, Workload, needed_at};

/// Maximum number of operations per block.
const ROWS_PER_BLOCK: u32 = 1024;

/// A row group with at most this many rows stays decoded until another row group is needed.
const ROWS_KEPT: i64 = 65_536;

/// A workload in a file. In memory it needs a few bytes per block of operations, and the most
/// recently read row group.
#[derive(Debug)]
pub struct WorkloadFile {
    path: PathBuf,
    file: File,
    metadata: ArrowReaderMetadata,
    /// Properties that apply to all ranks.
    pub header: Header,
    workload: Arc<Workload>,
    /// The highest traffic class of the messages.
    pub max_class: u8,
    /// Size of the largest message or collective in bytes.
    pub max_bytes: u64,
    blocks: Vec<BlockInfo>,
    /// For each rank: index of its first block, and number of its operations. One additional entry
    /// marks the end.
    ranks: Vec<(usize, u32)>,
    /// Index of the first row of each row group, and the total number of rows at the end.
    groups: Vec<u64>,
    kept: Mutex<Option<(usize, Arc<Columns>)>>,
}

/// A block: consecutive operations of one rank in one row group.
#[derive(Clone, Copy, Debug)]
struct BlockInfo {
    first_row: u64,
    first_index: u32,
    count: u32,
    /// Minimum of [`Block::next_at`] over this block and all later blocks of its rank.
    needed_at: u32,
}

/// Checks that the byte ranges of all columns are inside the file. Otherwise the Parquet reader
/// panics.
fn check_ranges(metadata: &ParquetMetaData, length: u64) -> Result<(), String> {
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let is_inside = |column: &ColumnChunkMetaData| {
            let data = column.data_page_offset();
            let first = column.dictionary_page_offset().unwrap_or(data);
            let end = first.checked_add(column.compressed_size());
            let end = end.and_then(|end| u64::try_from(end).ok());
            data >= 0
                && first >= 0
                && column.compressed_size() >= 0
                && end.is_some_and(|end| end <= length)
        };
        if group.num_rows() < 0 || !group.columns().iter().all(is_inside) {
            return Err(format!(
                "row group {number} does not lie in the file, which is damaged; write it again"
            ));
        }
    }
    Ok(())
}

/// A file whose readers return an error at the end of the file. The readers of `File` return no
/// bytes there, and then the `parquet` crate skips up to 2³¹ nonexistent fields of a damaged page.
struct FailingAtEnd(File);

impl Read for FailingAtEnd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 if !buffer.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            count => Ok(count),
        }
    }
}

impl Length for FailingAtEnd {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for FailingAtEnd {
    type T = BufReader<Self>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let mut file = self.0.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(BufReader::new(Self(file)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.0.get_bytes(start, length)
    }
}

/// Calls a function of the `parquet` crate, and converts its panics to errors. A damaged file can
/// violate assertions of that crate.
fn without_panic<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ParquetError::General("the file is damaged".into())))
}

impl WorkloadFile {
    /// Opens a workload file and checks its complete contents.
    ///
    /// # Errors
    /// The file is invalid. The error contains the file, the row and the problem.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let wrong = |what: String| Error::new(format!("{}: {what}", path.display()));
        let file = File::open(path).map_err(|error| wrong(format!("cannot read: {error}")))?;
        // The column types are those of Parquet. The types that the writing program stored in
        // addition are ignored.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = without_panic(|| ArrowReaderMetadata::load(&file, options))
            .map_err(|error| wrong(format!("this is no Parquet file: {error}")))?;
        let length = file
            .metadata()
            .map_err(|error| wrong(format!("cannot read: {error}")))?
            .len();
        check_ranges(metadata.metadata(), length).map_err(wrong)?;
        let pairs = metadata.metadata().file_metadata().key_value_metadata();
        let text = pairs
            .into_iter()
            .flatten()
            .find(|pair| pair.key == header::KEY)
            .and_then(|pair| pair.value.as_deref());
        let text = text.ok_or_else(|| {
            wrong(format!(
                "this is no workload: its metadata has no entry \"{}\"; write it with the Python module backwater.workloads",
                header::KEY
            ))
        })?;
        let header = Header::parse(text).map_err(wrong)?;
        columns::check_types(metadata.schema()).map_err(wrong)?;
        let mut groups = vec![0];
        for group in metadata.metadata().row_groups() {
            groups.push(groups[groups.len() - 1] + group.num_rows() as u64);
        }
        let mut opened = Self {
            path: path.to_owned(),
            file,
            metadata,
            workload: Arc::new(header.workload.clone()),
            header,
            max_class: 0,
            max_bytes: 0,
            blocks: Vec::new(),
            ranks: Vec::new(),
            groups,
            kept: Mutex::new(None),
        };
        opened.scan()?;
        Ok(opened)
    }

    /// Returns the properties that apply to all ranks of the workload.
    #[must_use]
    pub fn workload(&self) -> Arc<Workload> {
        Arc::clone(&self.workload)
    }

    fn wrong(&self, what: impl std::fmt::Display) -> Error {
        Error::new(format!("{}: {what}", self.path.display()))
    }

    /// Reads the whole file once. Checks each operation, and records the blocks of each rank.
    fn scan(&mut self) -> Result<(), Error> {
        let workload = self.workload();
        let mut checker = columns::Checker::new(&workload);
        let mut expected = Row { rank: 0, index: 0 };
        self.ranks.push((0, 0));
        for group in 0..self.groups.len() - 1 {
            self.scan_group(group, &workload, &mut checker, &mut expected)?;
        }
        self.max_class = checker.max_class;
        self.max_bytes = checker.max_bytes;
        if let Some(empty) = checker.parts.iter().position(|&parts| parts == 0) {
            return Err(self.wrong(format!(
                "collective {empty} of the metadata has no operation whose \"part_of\" is {empty}"
            )));
        }
        let counted = checker.parts;
        let collectives = &mut Arc::make_mut(&mut self.workload).collectives;
        for (collective, parts) in collectives.iter_mut().zip(counted) {
            collective.parts = parts;
        }
        while self.ranks.len() <= workload.ranks as usize {
            self.ranks.push((self.blocks.len(), 0));
        }
        // A block is needed at the latest when a later block of its rank is needed.
        for rank in self.ranks.windows(2) {
            let mut least = u32::MAX;
            for block in self.blocks[rank[0].0..rank[1].0].iter_mut().rev() {
                least = least.min(block.needed_at);
                block.needed_at = least;
            }
        }
        Ok(())
    }

    /// Reads a row group. `expected` is the rank and index that the next row of the file must have.
    fn scan_group(
        &mut self,
        group: usize,
        workload: &Workload,
        checker: &mut columns::Checker<'_>,
        expected: &mut Row,
    ) -> Result<(), Error> {
        let columns = self.decode(group, None)?;
        let stated = self.groups[group + 1] - self.groups[group];
        if columns.rows() as u64 != stated {
            return Err(self.wrong(format!(
                "row group {group} has {} rows and states {stated}: the file is damaged; write it \
                 again",
                columns.rows()
            )));
        }
        let mut block: Vec<Operation> = Vec::new();
        for at in 0..columns.rows() {
            let file_row = self.groups[group] + at as u64;
            let row = columns.row(at);
            let row = row.map_err(|what| self.wrong(format!("row {file_row}: {what}")))?;
            while row.rank > expected.rank && row.index == 0 {
                if row.rank >= workload.ranks {
                    let (rank, last) = (row.rank, workload.ranks - 1);
                    let what = format!("row {file_row}: rank {rank}; ranks are 0 to {last}");
                    return Err(self.wrong(what));
                }
                self.close(&mut block, file_row, expected);
                *expected = Row {
                    rank: expected.rank + 1,
                    index: 0,
                };
                self.ranks.push((self.blocks.len(), 0));
            }
            if row != *expected {
                return Err(self.wrong(format!(
                    "row {file_row}: operation {} of rank {}, where operation {} of rank {} was \
                     expected; rows are sorted by rank and index, without gaps",
                    row.index, row.rank, expected.index, expected.rank
                )));
            }
            let operation = columns.operation(at, workload).and_then(|operation| {
                checker.check(row, &operation)?;
                Ok(operation)
            });
            block.push(operation.map_err(|what| {
                let name = columns
                    .name(at)
                    .map_or(String::new(), |name| format!(" \"{name}\""));
                let Row { rank, index } = row;
                self.wrong(format!("rank {rank}, operation {index}{name}: {what}"))
            })?);
            expected.index += 1;
            if block.len() == ROWS_PER_BLOCK as usize {
                self.close(&mut block, file_row + 1, expected);
            }
        }
        self.close(&mut block, self.groups[group + 1], expected);
        Ok(())
    }

    /// Records the block of operations that ends before row `end_row`.
    fn close(&mut self, block: &mut Vec<Operation>, end_row: u64, expected: &Row) {
        if let Some(needed_at) = needed_at(block.iter()) {
            let count = block.len() as u32;
            self.blocks.push(BlockInfo {
                first_row: end_row - u64::from(count),
                first_index: expected.index - count,
                count,
                needed_at,
            });
            self.ranks.last_mut().expect("a rank is open").1 += count;
            block.clear();
        }
    }

    /// Decodes a row group, or only a range of its rows: (first row, number of rows).
    fn decode(&self, group: usize, part: Option<(usize, usize)>) -> Result<Columns, Error> {
        self.batches(group, part, None).map(Columns::new)
    }

    fn batches(
        &self,
        group: usize,
        part: Option<(usize, usize)>,
        column: Option<&str>,
    ) -> Result<Vec<arrow_array::RecordBatch>, Error> {
        let file = self.file.try_clone();
        let file = file.map_err(|error| self.wrong(format!("cannot read: {error}")))?;
        let metadata = self.metadata.clone();
        let rows = self.groups[group + 1] - self.groups[group];
        let mut builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(FailingAtEnd(file), metadata)
                .with_row_groups(vec![group])
                .with_batch_size(rows.max(1) as usize);
        if let Some((first, count)) = part {
            builder = builder.with_row_selection(RowSelection::from(vec![
                RowSelector::skip(first),
                RowSelector::select(count),
            ]));
        }
        if let Some(column) = column {
            let mask = ProjectionMask::columns(builder.parquet_schema(), [column]);
            builder = builder.with_projection(mask);
        }
        let read = || Ok(builder.build()?.collect::<Result<Vec<_>, _>>()?);
        without_panic(read).map_err(|error| {
            self.wrong(format!(
                "cannot read: {error}; compress it with Snappy or not at all"
            ))
        })
    }

    /// Returns the index of the block that contains an operation, and the index of its row group.
    fn block_of(&self, rank: u32, index: u32) -> (usize, usize) {
        let (from, to) = (self.ranks[rank as usize].0, self.ranks[rank as usize + 1].0);
        let blocks = &self.blocks[from..to];
        let at = from + blocks.partition_point(|block| block.first_index <= index) - 1;
        let row = self.blocks[at].first_row;
        let group = self.groups.partition_point(|&first| first <= row) - 1;
        (at, group)
    }
}

impl Source for WorkloadFile {
    fn count(&self, rank: u32) -> u32 {
        self.ranks[rank as usize].1
    }

    fn read(&self, rank: u32, from: u32) -> Result<Block, Error> {
        if from >= self.count(rank) {
            return Ok(Block::default());
        }
        let (at, group) = self.block_of(rank, from);
        let block = self.blocks[at];
        let skipped = from - block.first_index;
        let first = (block.first_row - self.groups[group]) as usize + skipped as usize;
        let count = (block.count - skipped) as usize;
        let group_rows = self.groups[group + 1] - self.groups[group];
        let (columns, first) = if group_rows as i64 <= ROWS_KEPT {
            let mut kept = self.kept.lock().expect("no thread fails while it reads");
            let columns = match &*kept {
                Some((number, columns)) if *number == group => Arc::clone(columns),
                _ => {
                    let columns = Arc::new(self.decode(group, None)?);
                    *kept = Some((group, Arc::clone(&columns)));
                    columns
                }
            };
            (columns, first)
        } else {
            (Arc::new(self.decode(group, Some((first, count)))?), 0)
        };
        let operations = (first..first + count)
            .map(|at| columns.operation(at, &self.workload))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|what| self.wrong(what))?;
        let last = block.first_index + block.count == self.count(rank);
        Ok(Block {
            operations,
            next_at: (!last).then(|| self.blocks[at + 1].needed_at),
        })
    }

    fn name(&self, rank: u32, index: u32) -> Option<String> {
        let (at, group) = self.block_of(rank, index);
        let block = self.blocks[at];
        let row = block.first_row + u64::from(index - block.first_index) - self.groups[group];
        let batches = self
            .batches(group, Some((row as usize, 1)), Some("name"))
            .ok()?;
        Columns::new(batches).name(0)
    }
}
