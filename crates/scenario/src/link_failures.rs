//! The link failures of a run: links that the scenario lists, and links that are drawn at random.

use std::collections::BTreeSet;

use fabric::LinkId;
use fabric::link_failures::{LinkFailure, LinkFailures};
use fabric::topology::Graph;
use kernel::{Purpose, Stream};

use crate::failures::{Which, candidates};
use crate::spec::Spec;

/// Draws `number` candidates that are not in `taken`, or all of them if there are fewer.
// LNK-05: random failures
fn draw(
    candidates: Vec<LinkId>,
    number: u32,
    taken: &BTreeSet<LinkId>,
    stream: &mut Stream,
) -> Vec<LinkId> {
    let mut left: Vec<LinkId> = candidates
        .into_iter()
        .filter(|link| !taken.contains(link))
        .collect();
    let number = (number as usize).min(left.len());
    (0..number)
        .map(|_| left.swap_remove(stream.below(left.len() as u64) as usize))
        .collect()
}

impl Spec {
    /// Returns all link failures of the run, including randomly drawn links.
    // LNK-05: random failures
    #[must_use]
    pub fn link_failures(&self, graph: &Graph) -> LinkFailures {
        self.drawn(graph).0
    }

    /// Number of links that cannot be drawn because there are too few candidates.
    // LNK-05: random failures
    #[must_use]
    pub(crate) fn missing_links(&self, graph: &Graph) -> u32 {
        self.drawn(graph).1
    }

    fn drawn(&self, graph: &Graph) -> (LinkFailures, u32) {
        let failures = &self.failures;
        let mut missing = 0;
        let mut taken: BTreeSet<LinkId> = BTreeSet::new();
        for entry in &failures.entries {
            if let Which::Named(links) = &entry.which {
                taken.extend(links);
            }
        }
        let mut all = Vec::new();
        for (nth, entry) in (0..).zip(&failures.entries) {
            let links = match &entry.which {
                Which::Named(links) => links.clone(),
                Which::Random(number, among) => {
                    let mut stream = Stream::new(self.seed, nth, Purpose::Failures);
                    let links = draw(candidates(graph, *among), *number, &taken, &mut stream);
                    missing += number - links.len() as u32;
                    links
                }
            };
            taken.extend(&links);
            all.extend(links.into_iter().map(|link| LinkFailure {
                link,
                from_ps: entry.from_ps,
                until_ps: entry.until_ps,
            }));
        }
        let mut link_failures = LinkFailures::new(graph, &all, failures.reconvergence_ps);
        link_failures.stranded = failures.stranded;
        link_failures.elide_backpressure = self.scheme.elides();
        (link_failures, missing)
    }
}
