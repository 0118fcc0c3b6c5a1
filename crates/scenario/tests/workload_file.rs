//! Workloads in files: operations and blocks that are read, and files that are refused.

use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, ListArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use scenario::workload_file::WorkloadFile;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use traffic::estimate::{LogGops, Network, estimate};
use traffic::operations::{CollectiveKind, Record, Source, Stragglers, Work};

/// The rows of a file, by column. All columns have the same length as `rank`.
#[derive(Clone, Default)]
struct Rows {
    rank: Vec<u32>,
    index: Vec<u32>,
    kind: Vec<&'static str>,
    peer: Vec<Option<u32>>,
    bytes: Vec<Option<u64>>,
    duration_ps: Vec<Option<u64>>,
    after_end: Vec<Vec<u32>>,
    name: Vec<Option<&'static str>>,
}

impl Rows {
    fn add(&mut self, rank: u32, index: u32, kind: &'static str) -> &mut Self {
        self.rank.push(rank);
        self.index.push(index);
        self.kind.push(kind);
        self.peer.push(None);
        self.bytes.push(None);
        self.duration_ps.push(None);
        self.after_end.push(Vec::new());
        self.name.push(None);
        self
    }

    fn columns(&self) -> Vec<(&'static str, ArrayRef)> {
        let lists = self.after_end.iter().map(|list| {
            let values = list.iter().map(|&index| Some(index));
            Some(values.collect::<Vec<_>>())
        });
        vec![
            ("rank", Arc::new(UInt32Array::from(self.rank.clone()))),
            ("index", Arc::new(UInt32Array::from(self.index.clone()))),
            ("kind", Arc::new(StringArray::from(self.kind.clone()))),
            ("peer", Arc::new(UInt32Array::from(self.peer.clone()))),
            ("bytes", Arc::new(UInt64Array::from(self.bytes.clone()))),
            (
                "duration_ps",
                Arc::new(UInt64Array::from(self.duration_ps.clone())),
            ),
            (
                "after_end",
                Arc::new(ListArray::from_iter_primitive::<UInt32Type, _, _>(lists)),
            ),
            ("name", Arc::new(StringArray::from(self.name.clone()))),
        ]
    }
}

fn write(
    name: &str,
    columns: Vec<(&str, ArrayRef)>,
    header: &str,
    rows_per_group: usize,
) -> PathBuf {
    let path =
        std::env::temp_dir().join(format!("backwater-{}-{name}.parquet", std::process::id()));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let pair = KeyValue::new("backwater.workload".to_owned(), header.to_owned());
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(vec![pair]))
        .set_max_row_group_row_count(Some(rows_per_group))
        .build();
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

fn error(name: &str, columns: Vec<(&str, ArrayRef)>, header: &str) -> String {
    let path = write(name, columns, header, 1000);
    let told = WorkloadFile::open(&path).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert!(told.contains(name), "it names the file: {told}");
    told
}

const TWO: &str = r#"{"version": 1, "ranks": 2}"#;

fn small() -> Rows {
    let mut rows = Rows::default();
    rows.add(0, 0, "calc").duration_ps[0] = Some(5_000);
    rows.add(0, 1, "send").peer[1] = Some(1);
    rows.bytes[1] = Some(1 << 40);
    rows.after_end[1] = vec![0];
    rows.add(1, 0, "recv").name[2] = Some("line 7");
    rows
}

#[test]
fn what_is_written_is_read() {
    let header = r#"{"version": 1, "ranks": 3, "options": {"overhead_ps": 7, "gap_per_byte_ps": 40.5,
        "matching": "tag-and-source", "algorithms": {"all-reduce": "ring:channels=2"}},
        "groups": {"pair": [2, 0]}, "triggers": [{"kind": "barrier", "count": 3}], "source": {"by": "hand"}}"#;
    let path = write("small", small().columns(), header, 1000);
    let file = WorkloadFile::open(&path).unwrap();
    let workload = file.workload();
    assert_eq!(workload.ranks, 3);
    assert_eq!(workload.options.overhead_ps, 7);
    assert_eq!(workload.options.gap_per_byte.times(10), 405);
    assert_eq!(workload.groups[0].ranks[..], [2, 0]);
    assert_eq!(file.header.source["by"], "hand");
    assert_eq!([0, 1, 2].map(|rank| file.count(rank)), [2, 1, 0]);
    let operations = file.read(0, 0).unwrap().operations;
    assert!(matches!(
        operations[0].work,
        Work::Calc { duration_ps: 5_000 }
    ));
    assert!(
        matches!(operations[1].work, Work::Send(send) if send.to == 1 && send.bytes == 1 << 40)
    );
    assert_eq!(operations[1].after_end, [0]);
    assert_eq!(file.name(1, 0).as_deref(), Some("line 7"));
    assert_eq!(file.name(0, 0), None);
    std::fs::remove_file(path).unwrap();
}

/// OPS-04: for any grouping of the rows, reading blocks on demand gives the same run as reading all
/// operations at once. A block is not read before it is needed.
#[test]
fn blocks_are_read_when_they_are_needed() {
    const LONG: u32 = 5_000;
    let mut rows = Rows::default();
    for rank in 0..2 {
        for index in 0..LONG {
            let kind = if (index + rank) % 2 == 0 {
                "send"
            } else {
                "recv"
            };
            let at = rows.rank.len();
            rows.add(rank, index, kind);
            rows.peer[at] = Some(1 - rank);
            rows.bytes[at] = Some(u64::from(index));
            rows.after_end[at] = (index > 0).then(|| index - 1).into_iter().collect();
        }
    }
    let run = |rows_per_group: usize| {
        let name = format!("blocks-{rows_per_group}");
        let path = write(&name, rows.columns(), TWO, rows_per_group);
        let file = WorkloadFile::open(&path).unwrap();
        let block = file.read(0, 0).unwrap();
        assert!(block.operations.len() <= 1024);
        assert_eq!(block.next_at, Some(block.operations.len() as u32));
        let last = file.read(1, LONG - 1).unwrap();
        assert_eq!((last.operations.len(), last.next_at), (1, None));
        let workload = file.workload();
        let source: Arc<dyn Source> = Arc::new(file);
        let network = Network::LogGops(LogGops { latency_ps: 10 });
        let mut ends = Vec::new();
        let mut recorder = |record: &Record| ends.push((record.rank, record.index, record.end_ps));
        let stragglers = Arc::new(Stragglers::default());
        estimate(&workload, &source, &stragglers, network, &mut recorder).unwrap();
        std::fs::remove_file(path).unwrap();
        assert_eq!(ends.len(), 2 * LONG as usize);
        ends
    };
    let whole = run(100_000);
    assert_eq!(run(700), whole);
    assert_eq!(run(1024), whole);
}

/// A computation, a send and a receive. Each may belong to a collective.
fn composed(part_of: [Option<u32>; 3]) -> Vec<(&'static str, ArrayRef)> {
    let mut columns = small().columns();
    let parts = UInt32Array::from(part_of.to_vec());
    columns.push(("part_of", Arc::new(parts)));
    columns
}

// OPS-38: operations that belong to collectives
#[test]
fn operations_may_be_parts_of_collectives() {
    let header = r#"{"version": 1, "ranks": 2, "groups": {"pair": [1, 0], "one": [1]}, "collectives": [
        {"kind": "broadcast", "bytes": 1000, "group": "pair"}, {"kind": "barrier"}]}"#;
    let parts = [None, Some(0), Some(0)];
    let path = write("composed", composed([Some(1), Some(0), Some(0)]), header, 1);
    let file = WorkloadFile::open(&path).unwrap();
    let workload = file.workload();
    let [broadcast, barrier] = workload.collectives[..] else {
        panic!("{workload:?}")
    };
    assert_eq!(broadcast.kind, CollectiveKind::Broadcast);
    assert_eq!(workload.group_name(broadcast.group), "pair");
    assert_eq!(broadcast.bytes, 1000);
    assert_eq!((barrier.group, barrier.bytes), (None, 0));
    assert_eq!((broadcast.parts, barrier.parts), (2, 1));
    let first = file.read(0, 0).unwrap().operations;
    assert_eq!(first[0].part_of, Some(1));
    std::fs::remove_file(path).unwrap();
    let told = |part_of, from: &str, to: &str| {
        assert!(header.contains(from), "{from}");
        error("composed", composed(part_of), &header.replace(from, to))
    };
    for (told, says) in [
        (
            told([None, Some(0), Some(2)], "", ""),
            "rank 1, operation 0 \"line 7\": \"part_of\" is collective 2, but the metadata lists 2",
        ),
        (
            told([Some(1), Some(0), Some(0)], "\"pair\"}", "\"one\"}"),
            "rank 0, operation 1: it is part of collective 0, but its rank is not in group \"one\"",
        ),
        (
            told(parts, "", ""),
            "collective 1 of the metadata has no operation whose \"part_of\" is 1",
        ),
        (
            told(parts, "\"pair\"}", "\"pear\"}"),
            "collective 0: there is no group \"pear\"",
        ),
        (
            told(parts, "broadcast", "broadcats"),
            "collective 0: \"kind\" is \"broadcats\"; expected all-reduce, ",
        ),
        (
            told(parts, "broadcast", "all-to-allv"),
            "collective 0: \"kind\" is \"all-to-allv\"; expected",
        ),
        (
            told(parts, "1000", "0"),
            "collective 0: \"bytes\" is more than 0, but for a barrier",
        ),
        (
            told(parts, "1000", "1125899906842624"),
            "at most 281474976710656 (256 TiB) are possible",
        ),
        (
            told(parts, "\"barrier\"", "\"barrier\", \"size\": 1"),
            "collective 1: it has no key \"size\"",
        ),
    ] {
        assert!(told.contains(says), "{told}");
    }
    let mut rows = small();
    rows.kind[0] = "all-reduce";
    rows.duration_ps[0] = None;
    let mut columns = rows.columns();
    let parts = UInt32Array::from(vec![Some(1), None, None]);
    columns.push(("part_of", Arc::new(parts)));
    let told = error("composed", columns, header);
    assert!(
        told.contains("\"part_of\" is for calc, send and recv only"),
        "{told}"
    );
}

#[test]
fn what_cannot_be_is_refused() {
    let with = |change: &dyn Fn(&mut Rows)| {
        let mut rows = small();
        change(&mut rows);
        error("wrong", rows.columns(), TWO)
    };
    for (told, says) in [
        (
            with(&|rows| rows.kind[0] = "clac"),
            "did you mean \"calc\"?",
        ),
        (
            with(&|rows| rows.peer[1] = Some(2)),
            "peer 2; ranks are 0 to 1",
        ),
        (
            with(&|rows| rows.peer[1] = Some(0)),
            "its peer is its own rank",
        ),
        (with(&|rows| rows.peer[1] = None), "a send needs a \"peer\""),
        (
            with(&|rows| rows.after_end[1] = vec![1]),
            "rank 0, operation 1: it waits for operation 1",
        ),
        (
            with(&|rows| rows.duration_ps[1] = Some(1)),
            "\"duration_ps\" is for calc only",
        ),
        (
            with(&|rows| rows.duration_ps[0] = Some(1 << 60)),
            "20 hours",
        ),
        (
            with(&|rows| rows.bytes[1] = Some(1 << 50)),
            "at most 281474976710656 (256 TiB) are possible",
        ),
        (
            with(&|rows| rows.index[1] = 2),
            "row 1: operation 2 of rank 0, where operation 1 of rank 0",
        ),
        (with(&|rows| rows.rank[2] = 5), "rank 5; ranks are 0 to 1"),
    ] {
        assert!(told.contains(says), "{told}");
    }
    for (header, says) in [
        (
            r#"{"version": 2, "ranks": 2}"#,
            "this program reads version 1",
        ),
        (r#"{"version": 1}"#, "\"ranks\" must be"),
        // One rank more than the maximum number of hosts. Such a header is refused because each
        // rank needs memory before its first operation is read.
        (r#"{"version": 1, "ranks": 262145}"#, "\"ranks\" must be"),
        (
            r#"{"version": 1, "ranks": 2, "option": {}}"#,
            "did you mean \"options\"?",
        ),
        (
            r#"{"version": 1, "ranks": 2, "options": {"macthing": "bytes"}}"#,
            "did you mean \"matching\"?",
        ),
        (
            r#"{"version": 1, "ranks": 2, "options": {"matching": "byte"}}"#,
            "expected \"tag-and-source\" or",
        ),
        (
            r#"{"version": 1, "ranks": 2, "options": {"rendezvous_message_bytes": 1048577}}"#,
            "at most 1048576 are possible",
        ),
        (
            r#"{"version": 1, "ranks": 2, "options": {"latency_across_ps": 5}}"#,
            "needs server_ranks",
        ),
        (
            r#"{"version": 1, "ranks": 2, "options": {"matching": "none"}}"#,
            "there are no receives",
        ),
        (
            r#"{"version": 1, "ranks": 2, "options": {"algorithms": {"barrier": "rin"}}}"#,
            "did you mean ring?",
        ),
        (
            r#"{"version": 1, "ranks": 2, "groups": {"g": [0, 0]}}"#,
            "none twice",
        ),
        (
            r#"{"version": 1, "ranks": 2, "triggers": [{"kind": "barrier"}]}"#,
            "a barrier with a count",
        ),
        ("{", "is no JSON"),
    ] {
        let told = error("header", small().columns(), header);
        assert!(told.contains(says), "{told}");
    }
    let mut columns = small().columns();
    columns[4].1 = Arc::new(UInt32Array::from(vec![1; 3]));
    assert!(error("type", columns, TWO).contains("\"bytes\" has type UInt32; expected UInt64"));
    let mut columns = small().columns();
    columns[4].0 = "byte";
    assert!(error("name", columns, TWO).contains("did you mean \"bytes\"?"));
    let columns = small().columns().split_off(2);
    assert!(error("missing", columns, TWO).contains("\"rank\" is missing"));
    let lists =
        ListArray::from_iter_primitive::<UInt64Type, _, _>([None, None::<Vec<Option<u64>>>, None]);
    let mut columns = small().columns();
    columns[6].1 = Arc::new(lists);
    assert!(error("list", columns, TWO).contains("\"after_end\" has type"));
    let path = std::env::temp_dir().join("backwater-there-is-no-such-file.parquet");
    assert!(
        WorkloadFile::open(&path)
            .unwrap_err()
            .to_string()
            .contains("cannot read")
    );
}

/// Files that the fuzz target `workloads` found: one with a negative offset, one with a wrong
/// number of rows.
#[test]
fn a_damaged_file_is_refused() {
    let path = std::env::temp_dir().join(format!("backwater-damaged-{}", std::process::id()));
    for (file, expected) in [
        (
            include_bytes!("workload_file/negative_range.parquet").as_slice(),
            "row group 0",
        ),
        (
            include_bytes!("workload_file/row_count.parquet"),
            "row group 0",
        ),
        (
            include_bytes!("workload_file/levels.parquet"),
            "the file is damaged",
        ),
        // Reading this file took a minute before `FailingAtEnd` was introduced.
        (
            include_bytes!("workload_file/past_the_end.parquet"),
            "cannot read",
        ),
    ] {
        std::fs::write(&path, file).unwrap();
        let error = WorkloadFile::open(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    std::fs::remove_file(&path).unwrap();
}
