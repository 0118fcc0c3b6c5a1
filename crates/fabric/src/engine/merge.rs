//! Merges the rows of several partitions. The order of the rows does not depend on the number of
//! threads.

use crate::record::{Recorder, Row, Rows};

/// Collects the rows of all partitions and passes them to the recorder, like the rows of one
/// partition.
// PAR-09
#[derive(Debug, Default)]
pub(super) struct Merged {
    /// Rows that have not been passed to the recorder, one entry per row type.
    tables: Vec<Box<dyn Rows>>,
}

impl Merged {
    /// Adds rows of one type.
    pub fn add<R: Row>(&mut self, rows: impl IntoIterator<Item = R>) {
        self.of_type().extend(rows);
    }

    /// Moves all rows out of `rows`. The vector is not copied if there are no rows of this type
    /// yet.
    pub fn take<R: Row>(&mut self, rows: &mut Vec<R>) {
        let all = self.of_type();
        match all.is_empty() {
            true => std::mem::swap(all, rows),
            false => all.append(rows),
        }
    }

    fn of_type<R: Row>(&mut self) -> &mut Vec<R> {
        let known = self.tables.iter().position(|rows| rows.of::<R>().is_some());
        let at = known.unwrap_or_else(|| {
            self.tables.push(Box::<Vec<R>>::default());
            self.tables.len() - 1
        });
        let rows = self.tables[at].of_mut();
        rows.expect("the position is that of this type")
    }

    /// Passes all collected rows to the recorder.
    pub fn deliver(&mut self, recorder: &mut dyn Recorder) {
        for rows in &mut self.tables {
            if !rows.is_empty() {
                rows.order();
                recorder.rows(&**rows);
                rows.clear();
            }
        }
    }
}
