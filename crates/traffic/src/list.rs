//! Lists of flows, and their CSV format.

use crate::DEFAULT_PORT;
use crate::csv::{self, Columns, Field, Row};
use crate::error::{Error, shown};
use crate::sizes::{MAX_FLOW_BYTES, utf8};

/// One flow of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedFlow {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Payload bytes; at least 1.
    pub bytes: u64,
    /// Start time, ps of simulated time.
    pub start_ps: u64,
    /// Traffic class. `None`: the class of the source.
    pub class: Option<u8>,
    /// Destination port number. [`INCAST_PORT`](crate::INCAST_PORT) marks a flow of an incast.
    // TRA-19
    pub port: u16,
    /// Source port number. `None`: the engine assigns a number if needed. // FGC-30
    pub src_port: Option<u16>,
}

/// Highest traffic class. Classes are numbered 0 to 7, like the priorities of a VLAN tag.
pub const MAX_CLASS: u8 = 7;

/// Latest start time in ps: eleven and a half days.
const MAX_START_PS: u64 = 1_000_000_000_000_000_000;

impl ListedFlow {
    /// Checks the flows of a list for validity in a network of `hosts` hosts.
    ///
    /// # Errors
    /// A flow is invalid. The error contains the position of the first invalid flow, counted from
    /// 1.
    pub fn check_all(flows: &[Self], hosts: u32) -> Result<(), Error> {
        for (index, flow) in flows.iter().enumerate() {
            flow.check(hosts)
                .map_err(|error| error.of(format_args!("flow {} of the list", index + 1)))?;
        }
        Ok(())
    }

    fn check(&self, hosts: u32) -> Result<(), Error> {
        for (what, host) in [("source", self.src), ("destination", self.dst)] {
            if host >= hosts {
                let range = format!("hosts are 0 to {}", hosts.saturating_sub(1));
                return Err(Error::new(format!("{what} {host} does not exist; {range}")));
            }
        }
        if self.src == self.dst {
            return Err(Error::new(format!(
                "host {} would send to itself",
                self.src
            )));
        }
        if self.bytes == 0 || self.bytes > MAX_FLOW_BYTES {
            return Err(Error::new(format!(
                "{} bytes; expected 1 to 2^48",
                self.bytes
            )));
        }
        if let Some(class) = self.class.filter(|&class| class > MAX_CLASS) {
            return Err(Error::new(format!(
                "class {class} does not exist; classes are 0 to {MAX_CLASS}"
            )));
        }
        Ok(())
    }
}

const COLUMNS: Columns = Columns {
    required: &["src", "dst", "bytes", "start"],
    optional: &["class", "port", "sport"],
};

/// Hosts and traffic classes that a file of flows may use.
pub struct KnownHosts<'a> {
    /// Number of hosts.
    pub count: u32,
    /// Returns the index of the host with a name.
    pub find: &'a dyn Fn(&str) -> Option<u32>,
    /// The highest traffic class.
    pub max_class: u8,
}

/// The flows and warnings of a CSV file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowFile {
    /// The flows, in the order of the lines.
    pub flows: Vec<ListedFlow>,
    /// Warnings about unused columns.
    pub warnings: Vec<Error>,
}

/// Parses flows from CSV. The header line contains the columns `src`, `dst`, `bytes`, `start` and
/// optionally `class`, `port` and `sport`, in any order. Each further line is one flow. Hosts are
/// numbers or names. `start` has a unit (`10us`). Empty lines and lines that begin with `#` are
/// ignored. Other columns are ignored with a warning. // TRA-14, TRA-26
///
/// # Errors
/// All errors of the text, each with line and column.
pub fn parse_flow_csv(text: &str, hosts: &KnownHosts<'_>) -> Result<FlowFile, Vec<Error>> {
    let mut flows = Vec::new();
    let warnings = csv::read(text, &COLUMNS, |row| {
        flows.push(flow(row, hosts)?);
        Ok(())
    })?;
    Ok(FlowFile { flows, warnings })
}

/// Like [`parse_flow_csv`], for bytes that are possibly not valid UTF-8.
///
/// # Errors
/// The errors of [`parse_flow_csv`].
pub fn parse_flow_csv_bytes(bytes: &[u8], hosts: &KnownHosts<'_>) -> Result<FlowFile, Vec<Error>> {
    parse_flow_csv(utf8(bytes).map_err(|error| vec![error])?, hosts)
}

fn flow(row: &Row<'_, '_>, hosts: &KnownHosts<'_>) -> Result<ListedFlow, Error> {
    let (src, dst) = (row.required(0), row.required(1));
    let flow = ListedFlow {
        src: host(src, hosts)?,
        dst: host(dst, hosts)?,
        bytes: bytes(row.required(2))?,
        start_ps: start_ps(row.required(3))?,
        class: row
            .optional(4)
            .map(|field| class(field, hosts.max_class))
            .transpose()?,
        port: row.optional(5).map_or(Ok(DEFAULT_PORT), port)?,
        src_port: row.optional(6).map(port).transpose()?,
    };
    if flow.src == flow.dst {
        return Err(dst.error(format!("host {} would send to itself", shown(dst.text))));
    }
    Ok(flow)
}

/// Parses an unsigned integer.
fn whole(field: Field<'_>, what: &str) -> Result<u64, Error> {
    let text = field.text;
    if text.is_empty() {
        return Err(field.error(format!("{what} is missing")));
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text
            .parse()
            .map_err(|_| field.error(format!("{what} {} is absurdly large", shown(text))));
    }
    let fault = match text.parse::<f64>() {
        Ok(number) if number < 0.0 => format!("{what} {} is negative", shown(text)),
        _ => format!(
            "{what} '{}' is not a whole number written in digits",
            shown(text)
        ),
    };
    Err(field.error(fault))
}

/// Parses a host from its number or its name. A text of digits is a number.
// TRA-26: hosts by number or name
fn host(field: Field<'_>, hosts: &KnownHosts<'_>) -> Result<u32, Error> {
    let last = hosts.count.saturating_sub(1);
    let text = field.text;
    if !text.is_empty() && !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return (hosts.find)(text).ok_or_else(|| {
            field.error(format!(
                "there is no host '{}'; expected the name of a host, or a number from 0 to {last}",
                shown(text)
            ))
        });
    }
    let number = whole(field, "host")?;
    let known = u32::try_from(number)
        .ok()
        .filter(|&number| number < hosts.count);
    known.ok_or_else(|| field.error(format!("there is no host {number}; hosts are 0 to {last}")))
}

fn port(field: Field<'_>) -> Result<u16, Error> {
    let number = whole(field, "port")?;
    u16::try_from(number).map_err(|_| field.error(format!("port {number} is more than 65535")))
}

fn bytes(field: Field<'_>) -> Result<u64, Error> {
    match whole(field, "size")? {
        0 => Err(field.error("a flow of 0 bytes; expected at least 1")),
        bytes if bytes > MAX_FLOW_BYTES => Err(field.error(format!(
            "a flow of {bytes} bytes is more than 2^48 bytes; sizes are in bytes"
        ))),
        bytes => Ok(bytes),
    }
}

fn class(field: Field<'_>, max: u8) -> Result<u8, Error> {
    match whole(field, "class")? {
        class if class <= u64::from(max) => Ok(class as u8),
        class => Err(field.error(format!("there is no class {class}; classes are 0 to {max}"))),
    }
}

/// Parses a time with its unit without rounding. Returns the time in ps.
fn start_ps(field: Field<'_>) -> Result<u64, Error> {
    let text = field.text;
    if text.is_empty() {
        return Err(field.error("start is missing; expected a time such as '10us'"));
    }
    if text.starts_with('-') {
        return Err(field.error(format!("start {} is negative", shown(text))));
    }
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let decimals: u32 = match unit.trim_start() {
        "ps" => 0,
        "ns" => 3,
        "us" | "µs" | "μs" => 6,
        "ms" => 9,
        "s" => 12,
        "" => {
            let what = format!(
                "start {} has no unit; write ps, ns, us, ms or s, as in '10us'",
                shown(text)
            );
            return Err(field.error(what));
        }
        _ => {
            let what = format!(
                "start '{}' is no time; expected a number with ps, ns, us, ms or s",
                shown(text)
            );
            return Err(field.error(what));
        }
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let good =
        fraction.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty() && number != ".";
    if !good {
        return Err(field.error(format!(
            "start '{}' is no time; expected one such as '10us'",
            shown(text)
        )));
    }
    let Some(zeros) = decimals.checked_sub(u32::try_from(fraction.len()).unwrap_or(u32::MAX))
    else {
        return Err(field.error(format!("start {} is finer than 1 ps", shown(text))));
    };
    let value = |digits: &str| {
        if digits.is_empty() {
            Some(0)
        } else {
            digits.parse::<u64>().ok()
        }
    };
    let exact = value(whole)
        .and_then(|whole| whole.checked_mul(10u64.pow(decimals)))
        .zip(value(fraction).and_then(|part| part.checked_mul(10u64.pow(zeros))))
        .and_then(|(whole, part)| whole.checked_add(part))
        .filter(|&start| start <= MAX_START_PS);
    exact.ok_or_else(|| field.error(format!("start {} is later than 10^6 s", shown(text))))
}
