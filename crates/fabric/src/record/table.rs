//! Tables of results.
//!
//! A row type declares its table once ([`Row`]): name, columns with their units, and one sentence
//! each. All code that writes, merges, documents or reads tables uses this declaration ([`Rows`],
//! [`Table`]).

use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::ids::NodeId;

/// A row type, with the declaration of its table.
pub trait Row: Clone + Debug + Send + 'static {
    /// Name of the table. The file is `<name>.parquet`, unless [`Row::FORMAT`] differs.
    const TABLE: &'static str;
    /// Description of a row, in one sentence.
    const ABOUT: &'static str;
    /// The columns, in the order of the file.
    const COLUMNS: &'static [Column<Self>];
    /// Format of the table's file.
    const FORMAT: Format = Format::Columns;
    /// Percentiles of this table in `summary.json`; `None`: the table has none there.
    const SUMMARY: Option<Summarised<Self>> = None;

    /// Sorts the rows of several partitions. The order does not depend on the number of threads.
    fn order(rows: &mut Vec<Self>);
}

/// One column of a table.
pub struct Column<R> {
    /// Name of the column. It ends with the unit if the value is a quantity.
    pub name: &'static str,
    /// Type of the column, and the function that returns its value.
    pub value: Value<R>,
    /// Description of the column, in one sentence.
    pub about: &'static str,
}

/// Creates a column.
pub const fn column<R>(name: &'static str, value: Value<R>, about: &'static str) -> Column<R> {
    Column { name, value, about }
}

/// Declares columns: the type, the name, and one sentence. The value of a column is the field with
/// its name, or the result of the function after `=`. An entry in brackets is a complete column.
macro_rules! columns {
    ($($([$column:expr])? $($kind:ident $name:ident $(= $value:expr)?, $about:expr)?;)*) => {
        &[$(
            $($column,)?
            $($crate::record::table::column(
                stringify!($name),
                $crate::record::table::columns!(@value $kind $name $($value)?),
                $about,
            ),)?
        )*]
    };
    (@value $kind:ident $name:ident) => {
        $crate::record::table::Value::$kind(|row| row.$name)
    };
    (@value $kind:ident $name:ident $value:expr) => {
        $crate::record::table::Value::$kind($value)
    };
}
pub(crate) use columns;

/// Declares the column `class` of rows whose field `class` is a dataplane class.
// SW-03: results use the class numbers of the scenario
macro_rules! traffic_class {
    () => {
        $crate::record::table::column(
            "class",
            $crate::record::table::Value::OptionU8(|r| dataplane::classes::traffic_class(r.class)),
            "Traffic class, as the scenario numbers it; null: frames between neighbours or control.",
        )
    };
}
pub(crate) use traffic_class;

/// Percentiles that are computed from a histogram table, with one row per bin.
pub struct Summarised<R> {
    /// Key of the percentiles in `summary.json`.
    pub key: &'static str,
    /// Unit, with which the names of the percentiles end.
    pub unit: &'static str,
    /// Returns the lower edge of the bin of a row.
    pub bin: fn(&R) -> u64,
    /// Returns the number of samples of a row.
    pub samples: fn(&R) -> u64,
}

macro_rules! types {
    ($($(#[$doc:meta])* $name:ident($of_row:ty, $word:literal);)*) => {
        /// The type of a column, and the function that returns its value for a row.
        #[derive(Clone, Copy, Debug)]
        pub enum Value<R> {$(
            $(#[$doc])*
            $name(fn(&R) -> $of_row),
        )*}

        /// Values of one column.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Values {$(
            $(#[$doc])*
            $name(Vec<$of_row>),
        )*}

        impl<R> Value<R> {
            /// Returns an empty list of values of this type.
            fn none(&self) -> Values {
                match self { $(Self::$name(_) => Values::$name(Vec::new()),)* }
            }

            /// Appends the values of some rows to `to`.
            ///
            /// # Panics If `to` has another type.
            fn append(&self, rows: &[R], to: &mut Values) {
                match (self, to) {
                    $((Self::$name(value), Values::$name(to)) => to.extend(rows.iter().map(value)),)*
                    _ => panic!("a column keeps its type"),
                }
            }
        }

        impl Values {
            /// Returns the name of this type in documents.
            #[must_use]
            pub const fn word(&self) -> &'static str {
                match self { $(Self::$name(_) => $word,)* }
            }
        }
    };
}

types! {
    /// A small number.
    U8(u8, "u8");
    /// A small number, or null.
    OptionU8(Option<u8>, "u8 or null");
    /// The number of a port, or another 16-bit number.
    U16(u16, "u16");
    /// The number of a node or flow, or another 32-bit number.
    U32(u32, "u32");
    /// A count, a size or a time.
    U64(u64, "u64");
    /// A 32-bit number, or null.
    OptionU32(Option<u32>, "u32 or null");
    /// A time, or null.
    OptionU64(Option<u64>, "u64 or null");
    /// A ratio, or null.
    OptionF64(Option<f64>, "f64 or null");
    /// Yes or no.
    Bool(bool, "bool");
    /// The name of the node with this number.
    NodeName(NodeId, "text");
    /// The name of the node at the other end of a port, by node, port and the other node. Where
    /// several links join the two nodes, the number of the link follows (`spine1#2`).
    PeerName((NodeId, u16, NodeId), "text");
    /// The tier of the node with this number.
    NodeTier(NodeId, "text");
    /// The name of the traffic with this number.
    TrafficName(u32, "text");
    /// A name, or null.
    OptionText(Option<Arc<str>>, "text or null");
    /// One of some words.
    Word(&'static str, "text");
    /// `up`, `down` or `side`: the direction from the first of two nodes to the second.
    Direction((NodeId, NodeId), "text");
}

/// Rows of one table, of any type.
pub trait Rows: Any + Debug + Send {
    /// Returns the table to which the rows belong.
    fn table(&self) -> Table;
    /// Returns the number of rows.
    fn len(&self) -> usize;
    /// Returns true if there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Appends the values of some rows to `to`, which has one entry per column of
    /// [`Table::columns`].
    fn append(&self, rows: Range<usize>, to: &mut [Values]);
    /// Returns the lower edge and the number of samples of each bin. Call it only for tables with
    /// [`Row::SUMMARY`].
    fn bins(&self) -> Vec<(u64, u64)>;
    /// Sorts the rows by [`Row::order`].
    fn order(&mut self);
    /// Removes all rows.
    fn clear(&mut self);
    /// Copies the rows, to pass them to another thread.
    fn copy(&self) -> Box<dyn Rows>;
}

impl<R: Row> Rows for Vec<R> {
    fn table(&self) -> Table {
        Table::of::<R>()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn append(&self, rows: Range<usize>, to: &mut [Values]) {
        for (column, to) in R::COLUMNS.iter().zip(to) {
            column.value.append(&self[rows.clone()], to);
        }
    }

    fn bins(&self) -> Vec<(u64, u64)> {
        let bins = R::SUMMARY.map(|of| {
            self.iter()
                .map(move |row| ((of.bin)(row), (of.samples)(row)))
        });
        bins.into_iter().flatten().collect()
    }

    fn order(&mut self) {
        R::order(self);
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn copy(&self) -> Box<dyn Rows> {
        Box::new(self.clone())
    }
}

impl dyn Rows {
    /// Returns the rows if their type is `R`, otherwise `None`.
    #[must_use]
    pub fn of<R: Row>(&self) -> Option<&[R]> {
        let all = (self as &dyn Any).downcast_ref::<Vec<R>>();
        all.map(Vec::as_slice)
    }

    /// Returns the rows for changes if their type is `R`, otherwise `None`.
    pub fn of_mut<R: Row>(&mut self) -> Option<&mut Vec<R>> {
        (self as &mut dyn Any).downcast_mut()
    }
}

/// Format of the file of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Parquet, with the columns of the rows.
    Columns,
    /// pcapng, with the frames of the rows. A ring (a set of files in which the oldest file is
    /// overwritten) has at most `most` files.
    Frames {
        /// Maximum number of files of a ring.
        most: u16,
    },
}

/// A table without the Rust type of its rows.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Name of the table; see [`Table::file`].
    pub name: &'static str,
    /// Description of a row, in one sentence.
    pub about: &'static str,
    /// Format of the table's file.
    pub format: Format,
    /// Key and unit of the table's percentiles in `summary.json`; `None`: the table has none there.
    pub summary: Option<(&'static str, &'static str)>,
    columns: fn() -> Vec<ColumnInfo>,
}

/// A column without the Rust type of its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnInfo {
    /// Name of the column.
    pub name: &'static str,
    /// Empty list of values of the type of the column.
    pub empty: Values,
    /// Description of the column, in one sentence.
    pub about: &'static str,
}

impl Table {
    /// Returns the table that the row type `R` declares.
    #[must_use]
    pub fn of<R: Row>() -> Self {
        Self {
            name: R::TABLE,
            about: R::ABOUT,
            format: R::FORMAT,
            summary: R::SUMMARY.map(|of| (of.key, of.unit)),
            columns: || {
                let info = |column: &Column<R>| ColumnInfo {
                    name: column.name,
                    empty: column.value.none(),
                    about: column.about,
                };
                R::COLUMNS.iter().map(info).collect()
            },
        }
    }

    /// Returns the columns of the table, in the order of the file.
    #[must_use]
    pub fn columns(&self) -> Vec<ColumnInfo> {
        (self.columns)()
    }

    /// Returns the name of the file of the table.
    #[must_use]
    pub fn file(&self) -> String {
        match self.format {
            Format::Columns => format!("{}.parquet", self.name),
            Format::Frames { .. } => format!("{}.pcapng", self.name),
        }
    }

    /// Returns the name of file `number`, counted from 1, if the table is a ring of several files.
    #[must_use]
    pub fn numbered_file(&self, number: u16) -> String {
        format!("{}-{number:02}.pcapng", self.name)
    }

    /// Returns the names of all files that the table may have.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let ring = match self.format {
            Format::Columns => 0,
            Format::Frames { most } => most,
        };
        let numbered = (1..=ring).map(|number| self.numbered_file(number));
        std::iter::once(self.file()).chain(numbered).collect()
    }
}
