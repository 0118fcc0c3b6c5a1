//! Algorithms of the collectives of a scenario: their defaults, and a check if trees form a
//! pipeline.

use traffic::collectives::Algorithm;
use traffic::operations::CollectiveKind;

/// Hint for an algorithm that is not possible.
pub(crate) const ALGORITHMS_HINT: &str = "docs/workloads.md lists the algorithms of each kind";

/// Returns the text of an algorithm, and adds the chunks of trees if they are missing. The text is
/// checked for a collective of this kind in a group of `members`. `None` means the default of the
/// kind.
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

/// A collective with the algorithm that the scenario sets for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen<'a> {
    /// The algorithm with its parameters.
    pub algorithm: &'a str,
    /// Bytes of the whole vector.
    pub bytes: u64,
    /// Number of members of its group.
    pub members: u32,
}

impl Chosen<'_> {
    /// Returns why the trees of this algorithm do not form a pipeline, and what to do. Returns
    /// `None` if they do, or if there are no trees. `in_order` is true if the messages of a channel
    /// leave one after the other.
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
