//! Flows that are listed one by one, and the CSV text they come in.

use crate::DEFAULT_PORT;
use crate::error::{Error, nearest, shown};
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
    /// When it starts, ps of simulated time.
    pub start_ps: u64,
    /// Traffic class; that of the source if not said.
    pub class: Option<u8>,
    /// Destination port; [`INCAST_PORT`](crate::INCAST_PORT) means that it belongs to an incast. // TRA-19
    pub port: u16,
    /// Source port; `None`: the engine assigns one where it needs one. // FGC-30
    pub src_port: Option<u16>,
}

/// Classes are numbered 0 to 7, as priorities are in a frame's tag.
pub const MAX_CLASS: u8 = 7;

/// No start is later than this: eleven and a half days.
const MAX_START_PS: u64 = 1_000_000_000_000_000_000;

impl ListedFlow {
    /// Checks a list against the number of hosts.
    ///
    /// # Errors
    /// Names the first flow (counted from 1) that is wrong.
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

const COLUMNS: [&str; 7] = ["src", "dst", "bytes", "start", "class", "port", "sport"];

/// How many of `COLUMNS` must be there.
const REQUIRED: usize = 4;

/// One field of a line: what it says and where it begins.
#[derive(Clone, Copy)]
struct Field<'a> {
    line: usize,
    column: usize,
    text: &'a str,
}

impl Field<'_> {
    fn error(&self, message: impl Into<String>) -> Error {
        Error::at(self.line, self.column, message)
    }
}

/// The fields of a line, without blanks and enclosing quotes.
fn fields(line: usize, text: &str) -> Vec<Field<'_>> {
    let mut column = 1;
    let mut found = Vec::with_capacity(COLUMNS.len());
    for raw in text.split(',') {
        let blanks = raw.chars().take_while(|c| c.is_whitespace()).count();
        let trimmed = raw.trim();
        let bare = trimmed
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(trimmed);
        found.push(Field {
            line,
            column: column + blanks,
            text: bare,
        });
        column += raw.chars().count() + 1;
    }
    found
}

/// Reads flows from CSV: a header line naming the columns `src`, `dst`, `bytes`, `start` and, if
/// wished, `class`, `port` and `sport`, in any order, then one flow a line. `start` carries its unit (`10us`). Empty
/// lines and lines that begin with `#` are passed over. Hosts are checked later, by
/// [`ListedFlow::check_all`]. // TRA-14
///
/// # Errors
/// Says what is wrong with the text, at which line and column.
pub fn parse_flow_csv(text: &str) -> Result<Vec<ListedFlow>, Error> {
    let mut lines = (1..)
        .zip(text.trim_start_matches('\u{feff}').lines())
        .filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let Some((header_line, header)) = lines.next() else {
        return Err(Error::at(
            1,
            1,
            "the list is empty; expected a header line 'src,dst,bytes,start,class,port'",
        ));
    };
    let places = header_places(header_line, header)?;
    let width = header.split(',').count();
    let mut flows = Vec::new();
    for (number, line) in lines {
        let fields = fields(number, line);
        if fields.len() != width {
            let what = format!(
                "{} fields, but the header names {width} columns",
                fields.len()
            );
            let at = fields.last().map_or(1, |field| field.column);
            return Err(Error::at(number, at, what));
        }
        flows.push(flow(&fields, &places)?);
    }
    if flows.is_empty() {
        return Err(Error::at(
            header_line,
            1,
            "there is no flow after the header line",
        ));
    }
    Ok(flows)
}

/// As [`parse_flow_csv`], of bytes that may be no text at all.
///
/// # Errors
/// As [`parse_flow_csv`].
pub fn parse_flow_csv_bytes(bytes: &[u8]) -> Result<Vec<ListedFlow>, Error> {
    parse_flow_csv(utf8(bytes)?)
}

/// Which field holds each of `COLUMNS`.
fn header_places(line: usize, text: &str) -> Result<[Option<usize>; COLUMNS.len()], Error> {
    let mut places = [None; COLUMNS.len()];
    for (index, field) in fields(line, text).iter().enumerate() {
        let Some(known) = COLUMNS.iter().position(|&column| column == field.text) else {
            let hint = nearest(field.text, COLUMNS).map_or_else(
                || "the first line must name the columns src,dst,bytes,start,class,port".to_owned(),
                |near| format!("did you mean '{near}'?"),
            );
            return Err(field.error(format!("unknown column '{}'; {hint}", shown(field.text))));
        };
        if places[known].replace(index).is_some() {
            return Err(field.error(format!("column '{}' is there twice", field.text)));
        }
    }
    match (0..REQUIRED).find(|&known| places[known].is_none()) {
        Some(missing) => {
            let what = format!(
                "column '{}' is missing; expected src,dst,bytes,start,class,port",
                COLUMNS[missing]
            );
            Err(Error::at(line, 1, what))
        }
        None => Ok(places),
    }
}

fn flow(
    fields: &[Field<'_>],
    places: &[Option<usize>; COLUMNS.len()],
) -> Result<ListedFlow, Error> {
    let field = |column: usize| places[column].and_then(|place| fields.get(place)).copied();
    let need = |column: usize| field(column).ok_or_else(|| Error::new("a field is missing"));
    let (src, dst) = (need(0)?, need(1)?);
    let flow = ListedFlow {
        src: host(src)?,
        dst: host(dst)?,
        bytes: bytes(need(2)?)?,
        start_ps: start_ps(need(3)?)?,
        class: field(4)
            .filter(|field| !field.text.is_empty())
            .map(class)
            .transpose()?,
        port: match field(5).filter(|field| !field.text.is_empty()) {
            Some(field) => port(field)?,
            None => DEFAULT_PORT,
        },
        src_port: field(6)
            .filter(|field| !field.text.is_empty())
            .map(port)
            .transpose()?,
    };
    if flow.src == flow.dst {
        return Err(dst.error(format!("host {} would send to itself", flow.src)));
    }
    Ok(flow)
}

/// A whole number without sign, or what is wrong with it.
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

fn host(field: Field<'_>) -> Result<u32, Error> {
    let number = whole(field, "host")?;
    u32::try_from(number).map_err(|_| field.error(format!("host {number} is more than 2^32 - 1")))
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

fn class(field: Field<'_>) -> Result<u8, Error> {
    match whole(field, "class")? {
        class if class <= u64::from(MAX_CLASS) => Ok(class as u8),
        class => Err(field.error(format!(
            "class {class} does not exist; classes are 0 to {MAX_CLASS}"
        ))),
    }
}

/// A time with its unit, exactly, in ps.
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
