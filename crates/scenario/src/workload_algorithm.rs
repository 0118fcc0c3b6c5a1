//! Algorithms of the collectives of a scenario: their defaults, and a check that tree algorithms
//! are pipelined.

use traffic::collectives::Algorithm;
use traffic::operations::CollectiveKind;

/// Hint for an algorithm that the collective does not support.
pub(crate) const ALGORITHMS_HINT: &str = "docs/workloads.md lists the algorithms of each kind";

/// Checks the text of an algorithm for a collective of this kind in a group of `members` ranks, and
/// adds the number of chunks of trees if it is missing. `None` is the default algorithm.
// OPS-63: chunks of trees
pub(crate) fn checked_algorithm(
    kind: CollectiveKind,
    text: Option<&str>,
    bytes: u64,
    members: u32,
) -> Result<Option<String>, String> {
    let Some(text) = text else {
        return Ok(None);
    };
    let written = Algorithm::parse(text)?;
    written.check(kind, members)?;
    let complete = Algorithm::pipelined(text, bytes, members)?;
    Ok(Some(match complete == written {
        true => text.to_owned(),
        false => complete.to_string(),
    }))
}

/// A collective of the scenario with its algorithm, for checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen<'a> {
    /// The algorithm with its parameters.
    pub algorithm: &'a str,
    /// Bytes of the whole vector of the collective.
    pub bytes: u64,
    /// Number of members of the collective's group.
    pub members: u32,
}

impl Chosen<'_> {
    /// Returns the reason why the chunks of this tree algorithm are not pipelined, and a remedy.
    /// Returns `None` if they are pipelined, or if the algorithm has no tree. `in_order` is true if
    /// the messages of a channel are sent one after the other.
    // OPS-63: NCCL pipelines trees
    pub fn no_pipeline(&self, in_order: bool) -> Option<(String, String)> {
        let Self {
            algorithm: text,
            bytes,
            members,
        } = *self;
        let algorithm = Algorithm::parse(text).ok()?;
        let usual = algorithm.chunks_of_trees(bytes, members)?;
        if algorithm.chunks == 1 && usual > 1 {
            return Some((
                format!(
                    "\"{text}\" of {bytes} B does not pipeline: each member sends its whole half at once"
                ),
                format!("leave `chunks` out; NCCL makes {usual} chunks of this vector"),
            ));
        }
        (algorithm.chunks > 1 && !in_order).then(|| {
            (
                format!(
                    "\"{text}\" hardly pipelines: each of its {} chunks has a queue pair of its own, and the NIC \
                     sends all of them in turn, so that none arrives early",
                    algorithm.chunks
                ),
                "set queue_pairs = \"per-channel\", with a scheme that lets messages share queue pairs"
                    .to_owned(),
            )
        })
    }
}
