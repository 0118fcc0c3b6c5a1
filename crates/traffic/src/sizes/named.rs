//! The built-in distributions.

use super::Distribution;
use crate::error::{Error, nearest, shown};
use std::sync::{Arc, LazyLock};

/// The files of the built-in distributions. Long distributions are approximated by fewer points.
// TRA-18
const FILES: &[&str] = &[
    include_str!("../../data/alistorage@hpcc.dist"),
    include_str!("../../data/cache-follower@conweave.dist"),
    include_str!("../../data/cache-follower@homa.dist"),
    include_str!("../../data/cache-follower@parsimon.dist"),
    include_str!("../../data/data-mining@abm.dist"),
    include_str!("../../data/data-mining@conweave.dist"),
    include_str!("../../data/data-mining@pfabric.dist"),
    include_str!("../../data/data-mining@vl2.dist"),
    include_str!("../../data/fb-hadoop-intracluster@parsimon.dist"),
    include_str!("../../data/fb-hadoop-intrarack@parsimon.dist"),
    include_str!("../../data/fb-hadoop@abm.dist"),
    include_str!("../../data/fb-hadoop@bfc.dist"),
    include_str!("../../data/fb-hadoop@homa.dist"),
    include_str!("../../data/fb-hadoop@hpcc.dist"),
    include_str!("../../data/fb-hadoop@parsimon.dist"),
    include_str!("../../data/fb-keyvalue@hkust.dist"),
    include_str!("../../data/google-allrpc@bfc.dist"),
    include_str!("../../data/google-allrpc@homa.dist"),
    include_str!("../../data/google-rpc2008@hpcc.dist"),
    include_str!("../../data/google-searchrpc@homa.dist"),
    include_str!("../../data/incast-30-40@floodgate.dist"),
    include_str!("../../data/memcached@homa.dist"),
    include_str!("../../data/solar@alibaba.dist"),
    include_str!("../../data/web-search@abm.dist"),
    include_str!("../../data/web-search@conweave.dist"),
    include_str!("../../data/web-search@homa.dist"),
    include_str!("../../data/web-search@hpcc.dist"),
    include_str!("../../data/web-search@pfabric.dist"),
    include_str!("../../data/web-server@conweave.dist"),
    include_str!("../../data/web-server@homa.dist"),
    include_str!("../../data/web-server@parsimon.dist"),
];

static NAMED: LazyLock<Vec<Arc<Distribution>>> = LazyLock::new(|| {
    let mut named: Vec<_> = FILES
        .iter()
        // A test parses every file, so all files of a release are valid.
        .filter_map(|text| Distribution::parse(text).ok())
        .map(Arc::new)
        .collect();
    named.sort_by_key(|distribution| distribution.full_name());
    named
});

/// Returns all built-in distributions in the order of their names.
#[must_use]
pub fn all() -> &'static [Arc<Distribution>] {
    &NAMED
}

/// Returns the distribution `name@origin`. `name` alone is sufficient if only one origin has it.
///
/// # Errors
/// The name is unknown (the error contains the most similar name), or several origins have a
/// distribution of this name (the error lists them). // TRA-04
pub fn find(name: &str) -> Result<Arc<Distribution>, Error> {
    let (bare, origin) = match name.split_once('@') {
        Some((bare, origin)) => (bare, Some(origin)),
        None => (name, None),
    };
    let same_name: Vec<_> = all().iter().filter(|known| known.name == bare).collect();
    let origins = || {
        same_name
            .iter()
            .map(|known| known.full_name())
            .collect::<Vec<_>>()
            .join(", ")
    };
    match (same_name.as_slice(), origin) {
        ([], _) => Err(unknown(name, bare)),
        ([only], None) => Ok(Arc::clone(only)),
        (several, Some(origin)) => several
            .iter()
            .find(|known| known.origin == origin)
            .map(|known| Arc::clone(known))
            .ok_or_else(|| {
                let what = format!(
                    "flow sizes '{bare}' have no origin '{}'; there is {}",
                    shown(origin),
                    origins()
                );
                Error::new(what)
            }),
        (_, None) => Err(Error::new(format!(
            "flow sizes '{bare}' have several origins with different data; name one of {}",
            origins()
        ))),
    }
}

fn unknown(name: &str, bare: &str) -> Error {
    let full: Vec<_> = all().iter().map(|known| known.full_name()).collect();
    let hint = nearest(name, full.iter().map(String::as_str))
        .or_else(|| nearest(bare, full.iter().map(String::as_str)))
        .map_or_else(
            || format!("known are {}", full.join(", ")),
            |near| format!("did you mean '{near}'?"),
        );
    Error::new(format!("unknown flow sizes '{}'; {hint}", shown(name)))
}
