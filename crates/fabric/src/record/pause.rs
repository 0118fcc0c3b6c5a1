//! Rows of `pauses.parquet`.

use dataplane::units::Time;

use super::table::{Column, Row, columns, traffic_class};
use crate::ids::NodeId;

/// One interval during which a class of a port was paused by PFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRecord {
    /// The paused node.
    pub node: NodeId,
    /// Port of the paused node.
    pub port: u16,
    /// The dataplane class.
    pub class: u8,
    /// Time at which XOFF took effect, ps.
    pub from_ps: Time,
    /// Time at which XON took effect or the run ended, ps.
    pub to_ps: Time,
    /// True if the class was still paused at the end of the run.
    pub open: bool,
    /// Index of the pause among those of this port and class, from 1; `None`: no measure counts
    /// pauses.
    pub number: Option<u32>,
}

impl Row for PauseRecord {
    const TABLE: &'static str = "pauses";
    const ABOUT: &'static str = "An interval during which PFC held a port's class.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U32 node = |r| r.node.bits(), "The node that had to wait.";
        NodeName name = |r| r.node, "Its name.";
        NodeTier tier = |r| r.node, "Its tier.";
        U16 port, "Its port.";
        [traffic_class!()];
        U64 from_ps, "XOFF took effect.";
        U64 to_ps, "XON took effect, or the run ended.";
        Bool open, "XON never came.";
        OptionU32 number, "Which of the pauses of this port and class, where pauses are followed.";
    };

    /// Sorts the rows by the end time of the pause. Pauses that are still open come last.
    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|r| (r.open, r.to_ps, r.node, r.port, r.class, r.from_ps));
    }
}
