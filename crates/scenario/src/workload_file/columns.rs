//! The columns of a workload file, and the conversion of rows to operations.

use crate::keys::MAX_TRAFFIC_CLASS;
use crate::problem::nearest;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use std::collections::BTreeSet;
use std::sync::Arc;
use traffic::operations::{
    Collective, CollectiveKind, Matching, Operation, Receive, Send, Work, Workload,
};

/// Maximum duration of one operation in a file: 2⁵⁶ ps, about 20 hours.
const MOST_PS: u64 = 1 << 56;

/// Maximum number of bytes of one operation in a file: 256 TiB.
pub(super) const MOST_BYTES: u64 = 1 << 48;

/// The columns of a workload file with their data types.
const COLUMNS: [(&str, DataType); 17] = [
    ("rank", DataType::UInt32),
    ("index", DataType::UInt32),
    ("kind", DataType::Utf8),
    ("peer", DataType::UInt32),
    ("tag", DataType::UInt64),
    ("bytes", DataType::UInt64),
    ("duration_ps", DataType::UInt64),
    ("resource", DataType::UInt16),
    ("nic", DataType::UInt16),
    ("channel", DataType::UInt16),
    ("class", DataType::UInt8),
    ("latency_ps", DataType::UInt64),
    ("priority", DataType::UInt64),
    ("group", DataType::Utf8),
    ("algorithm", DataType::Utf8),
    ("part_of", DataType::UInt32),
    ("name", DataType::Utf8),
];

const TRIGGER_COLUMNS: [&str; 3] = ["trigger", "on_sent", "on_received"];

const LISTS: [(&str, DataType); 4] = [
    ("after_end", DataType::UInt32),
    ("after_start", DataType::UInt32),
    ("to_each", DataType::UInt64),
    ("from_each", DataType::UInt64),
];

const REQUIRED: [&str; 3] = ["rank", "index", "kind"];

/// The operation (rank, index) of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub rank: u32,
    pub index: u32,
}

fn expected_type(name: &str) -> Option<DataType> {
    let plain = COLUMNS.iter().find(|(known, _)| *known == name);
    let plain = plain.map(|(_, kind)| kind.clone());
    let list = LISTS.iter().find(|(known, _)| *known == name);
    let list =
        list.map(|(_, kind)| DataType::List(Arc::new(Field::new("item", kind.clone(), true))));
    let trigger = TRIGGER_COLUMNS.contains(&name).then_some(DataType::UInt32);
    plain.or(list).or(trigger)
}

fn same_type(one: &DataType, other: &DataType) -> bool {
    match (one, other) {
        (DataType::List(one), DataType::List(other)) => one.data_type() == other.data_type(),
        _ => one == other,
    }
}

/// Checks that a file has the required columns, and no columns with wrong types or unknown names.
pub(super) fn check_types(schema: &Schema) -> Result<(), String> {
    for field in schema.fields() {
        let name = field.name();
        let Some(expected) = expected_type(name) else {
            let known = COLUMNS.iter().map(|(known, _)| *known);
            let known = known.chain(LISTS.iter().map(|(known, _)| *known));
            let hint = nearest(name, known.chain(TRIGGER_COLUMNS))
                .map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
            return Err(format!("there is no column \"{name}\" in a workload{hint}"));
        };
        if !same_type(field.data_type(), &expected) {
            return Err(format!(
                "column \"{name}\" has type {}; expected {expected}",
                field.data_type()
            ));
        }
    }
    match REQUIRED.iter().find(|name| schema.index_of(name).is_err()) {
        Some(name) => Err(format!("column \"{name}\" is missing")),
        None => Ok(()),
    }
}

/// Decoded rows of a Parquet file.
#[derive(Debug)]
pub(super) struct Columns {
    batches: Vec<RecordBatch>,
}

impl Columns {
    pub const fn new(batches: Vec<RecordBatch>) -> Self {
        Self { batches }
    }

    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Returns a column of a record batch and the index of the row in it, if the field is not null.
    fn find(&self, name: &str, mut row: usize) -> Option<(&dyn Array, usize)> {
        let batch = self.batches.iter().find(|batch| {
            let inside = row < batch.num_rows();
            if !inside {
                row -= batch.num_rows();
            }
            inside
        })?;
        let column = batch.column_by_name(name)?;
        (!column.is_null(row)).then_some((column.as_ref(), row))
    }

    fn number<T: ArrowPrimitiveType>(&self, name: &str, row: usize) -> Option<T::Native> {
        let (column, row) = self.find(name, row)?;
        Some(column.as_primitive::<T>().value(row))
    }

    fn text(&self, name: &str, row: usize) -> Option<&str> {
        let (column, row) = self.find(name, row)?;
        Some(column.as_string::<i32>().value(row))
    }

    fn list<T: ArrowPrimitiveType>(&self, name: &str, row: usize) -> Vec<T::Native> {
        let Some((column, row)) = self.find(name, row) else {
            return Vec::new();
        };
        let values = column.as_list::<i32>().value(row);
        values.as_primitive::<T>().values().to_vec()
    }

    pub fn name(&self, row: usize) -> Option<String> {
        self.text("name", row).map(str::to_owned)
    }

    pub fn row(&self, row: usize) -> Result<Row, String> {
        let number = |name: &str| {
            self.number::<UInt32Type>(name, row)
                .ok_or_else(|| format!("\"{name}\" is null"))
        };
        Ok(Row {
            rank: number("rank")?,
            index: number("index")?,
        })
    }

    /// Returns the index of the group in the header, for a collective. `None`: all ranks.
    fn group(&self, row: usize, workload: &Workload) -> Result<Option<u32>, String> {
        let Some(name) = self.text("group", row) else {
            return Ok(None);
        };
        let found = workload.groups.iter().position(|group| group.name == name);
        let found = found.ok_or_else(|| format!("there is no group \"{name}\""))?;
        Ok(Some(found as u32))
    }

    /// Checks that the columns of other kinds of operations are null.
    fn check_columns(&self, row: usize, kind: &str, is_collective: bool) -> Result<(), String> {
        let only = |name: &str, for_this: bool, whose: &str| {
            if for_this || self.find(name, row).is_none() {
                Ok(())
            } else {
                Err(format!("\"{name}\" is for {whose} only; leave it null"))
            }
        };
        only("duration_ps", kind == "calc", "calc")?;
        only("on_sent", kind == "send", "send")?;
        only("on_received", kind == "send", "send")?;
        for name in ["group", "algorithm"] {
            only(name, is_collective, "collectives")?;
        }
        for name in ["to_each", "from_each"] {
            only(name, kind == "all-to-allv", "all-to-allv")?;
        }
        only("peer", kind != "calc", "send, recv and broadcast")?;
        only("part_of", !is_collective, "calc, send and recv")
    }

    /// Converts a row to an operation. [`Checker`] checks the values later.
    pub fn operation(&self, row: usize, workload: &Workload) -> Result<Operation, String> {
        let kind = self.text("kind", row).ok_or("\"kind\" is null")?;
        let u16s = |name| self.number::<UInt16Type>(name, row);
        let u32s = |name| self.number::<UInt32Type>(name, row);
        let u64s = |name| self.number::<UInt64Type>(name, row);
        let (peer, tag) = (u32s("peer"), u64s("tag"));
        let bytes = u64s("bytes").unwrap_or(0);
        let channel = u16s("channel").unwrap_or(0);
        let class = self.number::<UInt8Type>("class", row).unwrap_or(0);
        let latency_ps = u64s("latency_ps").unwrap_or(0);
        let is_collective = CollectiveKind::of_word(kind).is_some();
        if !is_collective && !["calc", "send", "recv"].contains(&kind) {
            return Err(unknown_kind(kind));
        }
        self.check_columns(row, kind, is_collective)?;
        let work = match kind {
            "calc" => Work::Calc {
                duration_ps: u64s("duration_ps").unwrap_or(0),
            },
            "send" => Work::Send(Send {
                to: peer.ok_or("a send needs a \"peer\"")?,
                bytes,
                tag: tag.unwrap_or(0),
                channel,
                class,
                latency_ps,
                on_sent: u32s("on_sent"),
                on_received: u32s("on_received"),
            }),
            "recv" => Work::Receive(Receive {
                from: peer,
                bytes,
                tag,
            }),
            word => {
                let kind = CollectiveKind::of_word(word).ok_or_else(|| unknown_kind(word))?;
                Work::Collective(Box::new(Collective {
                    kind,
                    group: self.group(row, workload)?,
                    instance: tag,
                    bytes,
                    root: peer.unwrap_or(0),
                    algorithm: self.text("algorithm", row).map(Into::into),
                    channel,
                    class,
                    latency_ps,
                    to_each: self.list::<UInt64Type>("to_each", row),
                    from_each: self.list::<UInt64Type>("from_each", row),
                }))
            }
        };
        Ok(Operation {
            work,
            after_end: self.list::<UInt32Type>("after_end", row),
            after_start: self.list::<UInt32Type>("after_start", row),
            trigger: u32s("trigger"),
            resource: u16s("resource"),
            nic: u16s("nic").unwrap_or(0),
            priority: u64s("priority").unwrap_or(0),
            part_of: u32s("part_of"),
        })
    }
}

fn unknown_kind(word: &str) -> String {
    let known = CollectiveKind::WORDS;
    let known = ["calc", "send", "recv"].into_iter().chain(known);
    match nearest(word, known.clone()) {
        Some(near) => format!("there is no kind \"{word}\"; did you mean \"{near}\"?"),
        None => {
            let all: Vec<_> = known.collect();
            format!("there is no kind \"{word}\"; expected {}", all.join(", "))
        }
    }
}

fn check_time(name: &str, ps: u64) -> Result<(), String> {
    if ps > MOST_PS {
        return Err(format!(
            "\"{name}\" is {ps} ps; at most {MOST_PS} (20 hours) is possible"
        ));
    }
    Ok(())
}

/// Checks the operations of a workload, one at a time. // OPS-02
pub struct Checker<'a> {
    workload: &'a Workload,
    /// The highest traffic class of the checked messages.
    pub max_class: u8,
    /// The size of the largest checked message or collective, bytes.
    pub max_bytes: u64,
    /// Combinations of kind, number of members and algorithm that were already checked.
    known: BTreeSet<(CollectiveKind, u32, Option<Box<str>>)>,
    /// For each collective of the header, the number of checked operations that belong to it.
    pub parts: Vec<u64>,
}

impl<'a> Checker<'a> {
    /// Creates a checker for the operations of a workload.
    #[must_use]
    pub fn new(workload: &'a Workload) -> Self {
        Self {
            workload,
            max_class: 0,
            max_bytes: 0,
            known: BTreeSet::new(),
            parts: vec![0; workload.collectives.len()],
        }
    }

    /// Checks that an operation is valid in its workload.
    ///
    /// # Errors
    /// The operation is invalid. The error contains the problem and the valid values.
    pub(super) fn check(&mut self, row: Row, operation: &Operation) -> Result<(), String> {
        let Row { rank, index } = row;
        let before = operation.after_end.iter().chain(&operation.after_start);
        if let Some(before) = before.copied().find(|&before| before >= index) {
            return Err(format!(
                "it waits for operation {before}; expected an index below its own"
            ));
        }
        self.check_trigger("trigger", operation.trigger)?;
        if let Some(whole) = operation.part_of {
            self.check_part(rank, whole)?;
        }
        let class = match &operation.work {
            Work::Send(send) => send.class,
            Work::Collective(collective) => collective.class,
            _ => 0,
        };
        if u64::from(class) > MAX_TRAFFIC_CLASS {
            return Err(format!(
                "\"class\" is {class}; traffic classes are 0 to {MAX_TRAFFIC_CLASS}"
            ));
        }
        self.max_class = self.max_class.max(class);
        let largest = match &operation.work {
            Work::Calc { .. } => 0,
            Work::Send(send) => send.bytes,
            Work::Receive(receive) => receive.bytes,
            Work::Collective(collective) => {
                let each = collective.to_each.iter().chain(&collective.from_each);
                each.copied().fold(collective.bytes, u64::max)
            }
        };
        self.max_bytes = self.max_bytes.max(largest);
        if largest > MOST_BYTES {
            return Err(format!(
                "{largest} bytes; at most {MOST_BYTES} (256 TiB) are possible"
            ));
        }
        self.check_work(rank, &operation.work)
    }

    fn check_work(&mut self, rank: u32, work: &Work) -> Result<(), String> {
        match work {
            Work::Calc { duration_ps } => check_time("duration_ps", *duration_ps),
            Work::Send(send) => {
                self.check_peer(rank, send.to)?;
                check_time("latency_ps", send.latency_ps)?;
                self.check_trigger("on_sent", send.on_sent)?;
                self.check_trigger("on_received", send.on_received)
            }
            Work::Receive(receive) => {
                if let Some(from) = receive.from {
                    self.check_peer(rank, from)?;
                }
                let any = receive.from.is_none() || receive.tag.is_none();
                match self.workload.options.matching {
                    Matching::None => Err("matching is \"none\", so there are no receives".into()),
                    Matching::Bytes if any => {
                        Err("with matching \"bytes\" a receive needs a peer and a tag".into())
                    }
                    _ => Ok(()),
                }
            }
            Work::Collective(collective) => {
                check_time("latency_ps", collective.latency_ps)?;
                self.check_collective(rank, collective)
            }
        }
    }

    fn check_trigger(&self, name: &str, number: Option<u32>) -> Result<(), String> {
        let triggers = self.workload.triggers.len();
        match number {
            Some(number) if number as usize >= triggers => Err(format!(
                "\"{name}\" is trigger {number}, but there are {triggers}"
            )),
            _ => Ok(()),
        }
    }

    /// Checks that a rank may have an operation that belongs to collective `whole` of the header.
    // OPS-38
    fn check_part(&mut self, rank: u32, whole: u32) -> Result<(), String> {
        let there = self.workload.collectives.len();
        let Some(collective) = self.workload.collectives.get(whole as usize) else {
            return Err(format!(
                "\"part_of\" is collective {whole}, but the metadata lists {there}"
            ));
        };
        let members = self.workload.members(collective.group);
        if members.position(rank).is_none() {
            let group = self.workload.group_name(collective.group);
            return Err(format!(
                "it is part of collective {whole}, but its rank is not in group \"{group}\""
            ));
        }
        self.parts[whole as usize] += 1;
        Ok(())
    }

    fn check_peer(&self, rank: u32, peer: u32) -> Result<(), String> {
        let last = self.workload.ranks - 1;
        if peer > last {
            Err(format!("peer {peer}; ranks are 0 to {last}"))
        } else if peer == rank {
            Err("its peer is its own rank; use calc for what stays on a rank".to_owned())
        } else {
            Ok(())
        }
    }

    fn check_collective(&mut self, rank: u32, collective: &Collective) -> Result<(), String> {
        let members = self.workload.members(collective.group);
        let count = members.count();
        if members.position(rank).is_none() {
            let group = self.workload.group_name(collective.group);
            return Err(format!("the rank is not in group \"{group}\""));
        }
        if collective.root >= count {
            let root = collective.root;
            return Err(format!(
                "the root is position {root} of a group of {count} ranks"
            ));
        }
        let is_v = collective.kind == CollectiveKind::AllToAllV;
        for each in [&collective.to_each, &collective.from_each] {
            if is_v && each.len() != count as usize {
                let sizes = each.len();
                return Err(format!("{sizes} sizes for a group of {count} ranks"));
            }
        }
        let key = (collective.kind, count, collective.algorithm.clone());
        if self.known.contains(&key) {
            return Ok(());
        }
        let algorithm = self.workload.algorithm(collective)?;
        algorithm.check(collective.kind, count)?;
        self.known.insert(key);
        Ok(())
    }
}
