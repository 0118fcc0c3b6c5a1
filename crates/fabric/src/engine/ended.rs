//! Compressed rows of finished operations, until the recorder receives them in blocks. All
//! operations of a workload may end in one instant, so each row takes only a few dozen bytes.

use dataplane::units::Time;

use crate::ids::NodeId;
use crate::record::OperationRecord;

/// Number of rows that the recorder receives in one block.
const BLOCK: usize = 8192;

/// Rows of `operations.parquet`, compressed.
// RNK-19
#[derive(Debug, Default)]
pub(super) struct Ended {
    keys: Vec<Key>,
    /// The fields of the rows that are not in `keys`, as numbers of variable length.
    rest: Vec<u8>,
    /// Operation kinds that have occurred. Rows refer to them by index.
    kinds: Vec<&'static str>,
}

/// Sort key of a row, as in [`OperationRecord::order`], and the position of its other fields in
/// `rest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    end_ps: Time,
    workload: u16,
    rank: u32,
    index: u32,
    /// Index of the partition that has the row. It is only used while rows of several partitions
    /// are sorted.
    part: u16,
    at: usize,
}

/// Bits that mark which optional fields of a row have a value.
const PEER: u64 = 1;
const GROUP: u64 = 2;
const INSTANCE: u64 = 4;
const RELEASED_BY: u64 = 8;
const ENDED_BY: u64 = 16;
const PART_OF: u64 = 32;

impl Ended {
    /// Adds the row of a finished operation.
    pub fn put(&mut self, row: &OperationRecord) {
        let known = self.kinds.iter().position(|kind| *kind == row.kind);
        let kind = known.unwrap_or_else(|| {
            self.kinds.push(row.kind);
            self.kinds.len() - 1
        });
        self.keys.push(Key {
            end_ps: row.end_ps,
            workload: row.workload,
            rank: row.rank,
            index: row.index,
            part: 0,
            at: self.rest.len(),
        });
        let optional = [
            (PEER, row.peer.map(u64::from)),
            (GROUP, row.group.map(u64::from)),
            (INSTANCE, row.instance),
            (PART_OF, row.part_of.map(u64::from)),
            (RELEASED_BY, row.released_by.map(u64::from)),
            (ENDED_BY, row.ended_by.map(|(rank, _)| rank.into())),
            (ENDED_BY, row.ended_by.map(|(_, index)| index.into())),
        ];
        let there = optional.iter().filter(|(_, number)| number.is_some());
        let flags = there.fold(0, |flags, (flag, _)| flags | flag);
        let always = [
            kind as u64,
            flags,
            row.host.bits().into(),
            row.bytes,
            row.moved_bytes,
            row.end_ps.wrapping_sub(row.ready_ps),
            row.end_ps.wrapping_sub(row.start_ps),
        ];
        let optional = optional.into_iter().filter_map(|(_, number)| number);
        for number in always.into_iter().chain(optional) {
            pack(number, &mut self.rest);
        }
    }

    /// Returns the row that belongs to a key.
    fn row(&self, key: &Key) -> OperationRecord {
        let mut rest = Packed(&self.rest[key.at..]);
        let kind = self.kinds[rest.next() as usize];
        let flags = rest.next();
        let (host, bytes, moved_bytes) = (rest.next() as u32, rest.next(), rest.next());
        let (ready_ps, start_ps) = (rest.next(), rest.next());
        let mut optional = |flag: u64| (flags & flag != 0).then(|| rest.next());
        OperationRecord {
            workload: key.workload,
            rank: key.rank,
            index: key.index,
            host: NodeId::from_bits(host),
            kind,
            peer: optional(PEER).map(|peer| peer as u32),
            group: optional(GROUP).map(|group| group as u32),
            instance: optional(INSTANCE),
            part_of: optional(PART_OF).map(|whole| whole as u32),
            bytes,
            moved_bytes,
            ready_ps: key.end_ps.wrapping_sub(ready_ps),
            start_ps: key.end_ps.wrapping_sub(start_ps),
            end_ps: key.end_ps,
            released_by: optional(RELEASED_BY).map(|index| index as u32),
            ended_by: optional(ENDED_BY)
                .map(|rank| rank as u32)
                .zip(optional(ENDED_BY).map(|index| index as u32)),
        }
    }
}

/// Passes the rows of all partitions to the recorder, sorted and in blocks, and removes them.
pub(super) fn pass_on<'a>(
    parts: impl Iterator<Item = &'a mut Ended>,
    mut pass: impl FnMut(&Vec<OperationRecord>),
) {
    let mut parts: Vec<&mut Ended> = parts.filter(|part| !part.keys.is_empty()).collect();
    let mut keys: Vec<Key> = Vec::new();
    for (part, ended) in (0..).zip(&mut parts) {
        let own = std::mem::take(&mut ended.keys);
        if keys.is_empty() {
            keys = own;
        } else {
            keys.extend(own.into_iter().map(|key| Key { part, ..key }));
        }
    }
    keys.sort_unstable();
    for keys in keys.chunks(BLOCK) {
        let row = |key: &Key| parts[usize::from(key.part)].row(key);
        pass(&keys.iter().map(row).collect());
    }
    for part in parts {
        part.rest.clear();
    }
}

/// Appends a number with seven bits per byte, lowest bits first. The top bit of a byte is set if
/// more bytes follow.
fn pack(mut number: u64, to: &mut Vec<u8>) {
    while number > 0x7f {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Reads numbers that [`pack`] has written.
struct Packed<'a>(&'a [u8]);

impl Packed<'_> {
    fn next(&mut self) -> u64 {
        let mut number = 0;
        let mut shift = 0;
        while let [byte, rest @ ..] = self.0 {
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Row as _;
    use kernel::{Purpose, Stream};

    /// Creates rows of which many end in the same instant, with all optional fields and numbers of
    /// all sizes.
    fn rows(count: u32) -> Vec<OperationRecord> {
        let mut stream = Stream::new(1, 2, Purpose::Test);
        let mut row = |index: u32| {
            let number = |stream: &mut Stream| stream.next_u64() >> stream.below(64);
            let some = |stream: &mut Stream| (stream.unit() < 0.5).then(|| number(stream));
            let end_ps = if index.is_multiple_of(3) {
                7
            } else {
                number(&mut stream)
            };
            OperationRecord {
                workload: stream.below(3) as u16,
                rank: stream.below(9) as u32,
                index,
                host: NodeId::from_bits(number(&mut stream) as u32),
                kind: ["calc", "send", "all-reduce"][stream.below(3) as usize],
                peer: some(&mut stream).map(|peer| peer as u32),
                group: some(&mut stream).map(|group| group as u32),
                instance: some(&mut stream),
                part_of: some(&mut stream).map(|whole| whole as u32),
                bytes: number(&mut stream),
                moved_bytes: number(&mut stream),
                ready_ps: stream.below(end_ps.max(1)),
                start_ps: stream.below(end_ps.max(1)),
                end_ps,
                released_by: some(&mut stream).map(|index| index as u32),
                ended_by: some(&mut stream).map(|rank| (rank as u32, index)),
            }
        };
        (0..count).map(&mut row).collect()
    }

    // RNK-19, PAR-09
    #[test]
    fn rows_of_all_partitions_come_back_in_order_and_in_blocks() {
        let mut rows = rows(2 * BLOCK as u32 + 5);
        let mut parts = [Ended::default(), Ended::default(), Ended::default()];
        for (nth, row) in rows.iter().enumerate() {
            // The second partition has no row.
            parts[if nth % 5 < 3 { 0 } else { 2 }].put(row);
        }
        let mut passed: Vec<OperationRecord> = Vec::new();
        let mut blocks = Vec::new();
        pass_on(parts.iter_mut(), |block| {
            blocks.push(block.len());
            passed.extend(block);
        });
        OperationRecord::order(&mut rows);
        assert!(passed == rows);
        assert_eq!(blocks, [BLOCK, BLOCK, 5]);
        pass_on(parts.iter_mut(), |_| panic!("all have been passed on"));
    }

    // RNK-19
    #[test]
    fn a_row_takes_a_few_dozen_bytes() {
        let mut ended = Ended::default();
        for index in 0..1000 {
            ended.put(&OperationRecord {
                workload: 0,
                rank: 900,
                index,
                host: NodeId::new(900),
                kind: "send",
                peer: Some(901),
                group: None,
                instance: None,
                part_of: Some(3),
                bytes: 1 << 30,
                moved_bytes: 1 << 30,
                ready_ps: 5,
                start_ps: 5_000_000,
                end_ps: 90_000_000_000,
                released_by: Some(index),
                ended_by: None,
            });
        }
        let bytes = size_of::<Key>() * ended.keys.len() + ended.rest.len();
        assert!(bytes <= 64 * 1000, "{bytes}");
        assert_eq!(size_of::<Key>(), 32);
    }
}
