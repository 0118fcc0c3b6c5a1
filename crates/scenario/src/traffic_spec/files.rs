//! Reads the files to which `[[traffic]]` refers: flow-size distributions, and lists of flows.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dataplane::param::Values;
use traffic::sizes::{Format, utf8};
use traffic::{Distribution, Interpolation, KnownHosts, ListedFlow};

use super::Around;
use crate::hosts;
use crate::keys::MAX_TRAFFIC_CLASS;
use crate::params::text;
use crate::problem::Code;
use crate::reader::Section;

/// Maximum size of a file to which a scenario refers, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Reads a flow-size distribution from the file in the key `file`.
// TRA-27: files of sizes
pub(super) fn sizes(
    s: &Section<'_>,
    values: &Values,
    around: &Around<'_>,
) -> Option<Arc<Distribution>> {
    let mode = values.some_word("interpolation").map(|word| match word {
        "step" => Interpolation::Step,
        _ => Interpolation::Linear,
    });
    let (path, bytes) = load(s, text(values, "file")?, around.base)?;
    let text = contents(s, &path, utf8(&bytes).map_err(|error| vec![error]))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let found = match (Format::of(text), mode) {
        (Format::Csv, Some(mode)) => {
            let read = Distribution::parse_csv(text, &name, mode);
            let (found, warnings) = contents(s, &path, read)?;
            warn(s, &path, &warnings);
            found
        }
        (Format::Csv, None) => {
            s.missing(
                "interpolation",
                "\"linear\" or \"step\": a CSV does not define the sizes between two points",
            );
            return None;
        }
        (Format::Own | Format::List, Some(_)) => {
            let message = format!(
                "{} is no CSV of `bytes,cdf`, and only such a file needs an interpolation",
                path.display()
            );
            let hint = "leave `interpolation` out, or give the file the columns bytes,cdf";
            s.complain_of(&["interpolation"], message, hint);
            return None;
        }
        (Format::List, None) => contents(s, &path, Distribution::parse_list(text, &name))?,
        (Format::Own, None) => contents(s, &path, Distribution::parse(text))?,
    };
    Some(Arc::new(found))
}

/// Reads a list of flows from the file in the key `file`.
// TRA-26: files of flows
pub(super) fn flows(s: &Section<'_>, name: &str, around: &Around<'_>) -> Option<Vec<ListedFlow>> {
    let (path, bytes) = load(s, name, around.base)?;
    // Without the network, host names cannot be resolved.
    let graph = around.graph?;
    let find = |name: &str| hosts::find(graph, name).map(|node| node.bits());
    let known = KnownHosts {
        count: graph.hosts(),
        find: &find,
        max_class: MAX_TRAFFIC_CLASS as u8,
    };
    let file = contents(
        s,
        &path,
        traffic::list::parse_flow_csv_bytes(&bytes, &known),
    )?;
    warn(s, &path, &file.warnings);
    Some(file.flows)
}

/// Formats a position in a file, as `path:line:column`.
fn place_in(path: &Path, error: &traffic::Error) -> String {
    let place = error.place.map(|p| format!(":{}:{}", p.line, p.column));
    format!(
        "{}{}: {}",
        path.display(),
        place.unwrap_or_default(),
        error.message
    )
}

/// Returns the parsed contents of the file in the key `file`, or reports each of its errors.
// TRA-26: all errors of a file together
fn contents<T>(s: &Section<'_>, path: &Path, read: Result<T, Vec<traffic::Error>>) -> Option<T> {
    let report = |errors: Vec<traffic::Error>| {
        for error in &errors {
            let hint = "docs/scenario.md shows the format of the file";
            s.complain("file", place_in(path, error), hint);
        }
    };
    read.map_err(report).ok()
}

fn warn(s: &Section<'_>, path: &Path, warnings: &[traffic::Error]) {
    for warning in warnings {
        let hint = "remove the column from the file, or correct its name";
        s.warn_of(&["file"], place_in(path, warning), hint);
    }
}

/// Reads the bytes of the file in the key `file`. Also returns the full path of the file.
fn load(s: &Section<'_>, name: &str, base: &Path) -> Option<(PathBuf, Vec<u8>)> {
    let path = base.join(name);
    match bytes_of(&path) {
        Ok(bytes) => {
            let path = path.canonicalize().unwrap_or(path);
            s.context.rewrite(&s.child("file"), &path);
            Some((path, bytes))
        }
        Err(why) => {
            let message = format!("`file`: cannot read {}: {why}", path.display());
            let hint =
                "a file of at most 1 GiB; the path is relative to the folder of the scenario";
            s.refuse_keys(Code::Unreadable, &["file"], message, hint);
            None
        }
    }
}

fn bytes_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = File::open(path)?;
    // Only regular files are allowed, because reading a pipe or a device could block forever.
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(std::io::Error::other("it is larger than 1 GiB"));
    }
    Ok(bytes)
}
