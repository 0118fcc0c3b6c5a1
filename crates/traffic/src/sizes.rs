//! Flow-size distributions: their definition, their file format, and the built-in ones.
//!
//! The points of a distribution do not define the values between them. The same points have a mean
//! of 1.71 MB when joined by lines and 2.43 MB as steps. So the interpolation is part of the
//! distribution, like its origin and its unit.

use std::sync::{Arc, LazyLock};

use crate::csv::{self, Columns, Field};
use crate::error::{Error, Faults, nearest, shown};

/// Maximum size of a flow: 2^48 bytes take more than six hours at 100 Gbps.
pub const MAX_FLOW_BYTES: u64 = 1 << 48;

/// Maximum number of points of a distribution.
const MAX_POINTS: usize = 100_000;

/// Interpolation between two points of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// A straight line: sizes are spread evenly between the two points. Two points of the same size
    /// are an atom.
    Linear,
    /// A step: only the sizes of the points occur.
    Step,
}

impl Interpolation {
    /// Name of the interpolation in a file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Step => "step",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Linear, Self::Step]
            .into_iter()
            .find(|mode| mode.as_str() == word)
    }
}

/// A distribution of flow sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// Name without the origin.
    pub name: String,
    /// Origin of the data. The same name with another origin is different data.
    pub origin: String,
    /// Bytes per unit of the file's sizes: 1, or the bytes of a packet.
    pub unit_bytes: u64,
    /// Interpolation between the points.
    pub interpolation: Interpolation,
    /// Interpolation at the origin, if it differs: fine steps that were replaced by lines.
    pub origin_interpolation: Option<Interpolation>,
    /// Mean in the file, in bytes. The mean of the points is within 0.1 % of it.
    pub declared_mean_bytes: Option<f64>,
    /// Source of the data.
    pub source: Option<String>,
    /// Further information for users.
    pub note: Option<String>,
    /// The distribution of which this is an approximation with fewer points.
    pub redrawn: Option<String>,
    /// Points (bytes, share of the flows that are at most that large). Both are non-decreasing, and
    /// the last share is 1.
    points: Vec<(u64, f64)>,
}

impl Distribution {
    /// Returns `name@origin`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}@{}", self.name, self.origin)
    }

    /// Returns the points: bytes, and the share of flows that are at most that large.
    #[must_use]
    pub fn points(&self) -> &[(u64, f64)] {
        &self.points
    }

    /// Returns the mean in bytes, exact for the interpolation. // TRA-02
    #[must_use]
    pub fn mean(&self) -> f64 {
        let (first_bytes, first_cdf) = self.points[0];
        let first = first_bytes as f64 * first_cdf;
        self.points.windows(2).fold(first, |sum, pair| {
            let ((low, below), (high, up_to)) = (pair[0], pair[1]);
            let size = match self.interpolation {
                Interpolation::Step => high as f64,
                Interpolation::Linear => (low as f64 + high as f64) / 2.0,
            };
            sum + (up_to - below) * size
        })
    }

    /// Returns the smallest size in bytes that a share `u` of the flows does not exceed. `u`
    /// outside 0..=1 is clamped. // TRA-01
    #[must_use]
    pub fn quantile(&self, u: f64) -> f64 {
        let u = if u > 0.0 { u.min(1.0) } else { 0.0 };
        // At 0 the result is the smallest possible size, not a point without any flow.
        let at = if u == 0.0 {
            let with_mass = self.points.partition_point(|&(_, cdf)| cdf <= 0.0);
            match self.interpolation {
                Interpolation::Step => with_mass,
                Interpolation::Linear => with_mass.saturating_sub(1),
            }
        } else {
            self.points.partition_point(|&(_, cdf)| cdf < u)
        };
        let (bytes, cdf) = self.points[at];
        if self.interpolation == Interpolation::Step || at == 0 || u == 0.0 {
            return bytes as f64;
        }
        let (low_bytes, low_cdf) = self.points[at - 1];
        let (low, high) = (low_bytes as f64, bytes as f64);
        (low + (high - low) * ((u - low_cdf) / (cdf - low_cdf))).min(high)
    }

    /// Returns the flow size for a random number `u` in [0, 1): the quantile rounded to the nearest
    /// byte, halves up, and at least 1. // TRA-03
    #[must_use]
    pub fn sample(&self, u: f64) -> u64 {
        ((self.quantile(u) + 0.5) as u64).max(1)
    }

    /// Returns the largest possible size in bytes.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.sample(1.0)
    }

    /// Returns the smallest possible size in bytes.
    #[must_use]
    pub fn min(&self) -> u64 {
        self.sample(0.0)
    }

    /// Parses a distribution. The format has lines `key = value` with the keys `name`, `origin`,
    /// `unit` (`bytes`, or `1460 bytes` for sizes in packets) and `interpolation` (`linear` or
    /// `step`). Optional keys are `mean`, `source`, `note`, `origin-interpolation` and `redrawn`.
    /// Then each line has a size and the share of flows up to that size. `#` begins a comment line.
    ///
    /// # Errors
    /// All errors of the text, each with line and column.
    pub fn parse(text: &str) -> Result<Self, Vec<Error>> {
        let mut file = File::default();
        let mut faults = Faults::default();
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            faults.note(file.line(index + 1, line));
        }
        // Checks of the whole file need all lines to be valid.
        faults.result()?;
        file.finish().map_err(|error| vec![error])
    }

    /// Parses a distribution from CSV. Each line has a size in bytes and the share of flows up to
    /// that size. A header line may name the columns `bytes` and `cdf`, in any order. Other columns
    /// are ignored with warnings, which are returned. // TRA-27
    ///
    /// # Errors
    /// All errors of the text, each with line and column.
    pub fn parse_csv(
        text: &str,
        name: &str,
        interpolation: Interpolation,
    ) -> Result<(Self, Vec<Error>), Vec<Error>> {
        const COLUMNS: Columns = Columns {
            required: &["bytes", "cdf"],
            optional: &[],
        };
        let mut file = File::default();
        // If the first line has numbers, it is a point and the columns are `bytes` and `cdf`.
        let first = csv::lines(text).next().map_or("", |(_, line)| line);
        let has_header = first
            .split(',')
            .all(|word| word.trim().parse::<f64>().is_err());
        let mut add = |size: Field<'_>, cdf: Field<'_>| {
            file.last_line = size.line;
            file.add(size.line, (size.column, size.text), (cdf.column, cdf.text))
        };
        let warnings = match has_header || first.is_empty() {
            true => csv::read(text, &COLUMNS, |row| add(row.required(0), row.required(1)))?,
            false => {
                csv::read_bare(text, &COLUMNS, |row| add(row.required(0), row.required(1)))?;
                Vec::new()
            }
        };
        let points = file.scaled_points(1).map_err(|error| vec![error])?;
        let distribution = Self {
            name: name.to_owned(),
            origin: "csv".to_owned(),
            unit_bytes: 1,
            interpolation,
            origin_interpolation: None,
            declared_mean_bytes: None,
            source: None,
            note: None,
            redrawn: None,
            points,
        };
        Ok((distribution, warnings))
    }

    /// True if a text has commas, which the format of [`Distribution::parse`] does not have.
    #[must_use]
    pub fn is_csv(text: &str) -> bool {
        let first = csv::lines(text).next().map_or("", |(_, line)| line);
        first.contains(',') && !first.contains('=')
    }
}

/// Converts bytes to text.
///
/// # Errors
/// The bytes are not UTF-8. The error has the position of the first invalid byte.
pub fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let line_start = good
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        let line = 1 + good.iter().filter(|&&byte| byte == b'\n').count();
        let column = 1 + String::from_utf8_lossy(&good[line_start..]).chars().count();
        Error::at(line, column, "this is no UTF-8 text; expected a text file")
    })
}

const KEYS: [&str; 9] = [
    "name",
    "origin",
    "unit",
    "interpolation",
    "origin-interpolation",
    "mean",
    "source",
    "note",
    "redrawn",
];

/// Number of required keys in `KEYS`.
const REQUIRED: usize = 4;

/// A value of the header and its position.
#[derive(Clone)]
struct Value {
    line: usize,
    column: usize,
    text: String,
}

impl Value {
    fn error(&self, message: impl Into<String>) -> Error {
        Error::at(self.line, self.column, message)
    }
}

/// A distribution that is being parsed.
#[derive(Default)]
struct File {
    header: [Option<Value>; KEYS.len()],
    points: Vec<(u64, f64)>,
    last_line: usize,
}

/// Returns the words of a line with their columns, counted from 1.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.split_whitespace().map(move |word| {
        let offset = word.as_ptr() as usize - line.as_ptr() as usize;
        (line[..offset].chars().count() + 1, word)
    })
}

impl File {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Error> {
        let Some((column, first)) = words(line).next() else {
            return Ok(());
        };
        if first.starts_with('#') {
            return Ok(());
        }
        if let Some((byte, c)) = line
            .char_indices()
            .find(|&(_, c)| c.is_control() && c != '\t')
        {
            let column = line[..byte].chars().count() + 1;
            let what =
                format!("unexpected character {c:?}; expected a text file of sizes and shares");
            return Err(Error::at(number, column, what));
        }
        self.last_line = number;
        match line.split_once('=') {
            Some((key, value)) => {
                self.key(number, column, key.trim(), key.chars().count() + 2, value)
            }
            None => self.point(number, line),
        }
    }

    fn key(
        &mut self,
        line: usize,
        column: usize,
        key: &str,
        after: usize,
        value: &str,
    ) -> Result<(), Error> {
        let Some(index) = KEYS.iter().position(|&known| known == key) else {
            let hint = nearest(key, KEYS).map_or_else(
                || format!("known keys are {}", KEYS.join(", ")),
                |known| format!("did you mean '{known}'?"),
            );
            return Err(Error::at(
                line,
                column,
                format!("unknown key '{}'; {hint}", shown(key)),
            ));
        };
        if !self.points.is_empty() {
            let what = format!("key '{key}' after the points; the keys come first");
            return Err(Error::at(line, column, what));
        }
        if let Some(earlier) = &self.header[index] {
            let what = format!("key '{key}' is given twice, first on line {}", earlier.line);
            return Err(Error::at(line, column, what));
        }
        let text = value.trim();
        let column = after + value.chars().take_while(|c| c.is_whitespace()).count();
        if text.is_empty() {
            return Err(Error::at(line, after, format!("key '{key}' has no value")));
        }
        self.header[index] = Some(Value {
            line,
            column,
            text: text.to_owned(),
        });
        Ok(())
    }

    fn point(&mut self, line: usize, text: &str) -> Result<(), Error> {
        let mut words = words(text);
        let (size_column, size_word) = words.next().unwrap_or((1, ""));
        size(line, size_column, size_word)?;
        let Some((cdf_column, cdf_word)) = words.next() else {
            let column = text.trim_end().chars().count() + 1;
            let what = "the share of flows up to this size is missing; expected 'size share', as in '1000 0.25'";
            return Err(Error::at(line, column, what));
        };
        if let Some((column, word)) = words.next() {
            let what = format!(
                "'{}' is too much; expected 'size share' and no more",
                shown(word)
            );
            return Err(Error::at(line, column, what));
        }
        self.add(line, (size_column, size_word), (cdf_column, cdf_word))
    }

    /// Adds a point from the words of its size and share, with their columns.
    fn add(
        &mut self,
        line: usize,
        (size_column, size_word): (usize, &str),
        (cdf_column, cdf_word): (usize, &str),
    ) -> Result<(), Error> {
        let size = size(line, size_column, size_word)?;
        let cdf = share(line, cdf_column, cdf_word)?;
        if let Some(&(last_size, last_cdf)) = self.points.last() {
            if size < last_size {
                let what = format!("size {size} after {last_size}; sizes must not fall");
                return Err(Error::at(line, size_column, what));
            }
            if cdf < last_cdf {
                let what = format!("share {cdf} after {last_cdf}; shares add up and must not fall");
                return Err(Error::at(line, cdf_column, what));
            }
            if size == last_size && cdf == last_cdf {
                let what = "the same point twice; leave one out";
                return Err(Error::at(line, size_column, what));
            }
        }
        if self.points.len() == MAX_POINTS {
            let what = format!("more than {MAX_POINTS} points; a distribution needs a few dozen");
            return Err(Error::at(line, size_column, what));
        }
        self.points.push((size, cdf));
        Ok(())
    }

    fn finish(self) -> Result<Distribution, Error> {
        if self.last_line == 0 {
            let what = "the distribution is empty; expected 'name = ...', 'origin = ...', 'unit = bytes', \
                        'interpolation = linear' and lines 'size share'";
            return Err(Error::at(1, 1, what));
        }
        if let Some(missing) = (0..REQUIRED).find(|&index| self.header[index].is_none()) {
            let hint = ["web-search", "mine", "bytes", "linear"][missing];
            let key = KEYS[missing];
            let what =
                format!("key '{key}' is missing; add a line such as '{key} = {hint}' at the top");
            return Err(Error::at(1, 1, what));
        }
        let unit_bytes = self.value(2).map_or(Ok(1), unit)?;
        let points = self.scaled_points(unit_bytes)?;
        let distribution = Distribution {
            name: self.value(0).map_or(Ok(String::new()), label)?,
            origin: self.value(1).map_or(Ok(String::new()), label)?,
            unit_bytes,
            interpolation: self.value(3).map_or(Ok(Interpolation::Linear), mode)?,
            origin_interpolation: self.value(4).map(mode).transpose()?,
            declared_mean_bytes: self.value(5).map(declared_mean).transpose()?,
            source: self.value(6).map(|value| value.text.clone()),
            note: self.value(7).map(|value| value.text.clone()),
            redrawn: self.value(8).map(|value| value.text.clone()),
            points,
        };
        if let (Some(declared), Some(value)) = (distribution.declared_mean_bytes, self.value(5)) {
            let mean = distribution.mean();
            if (mean - declared).abs() > 0.001 * declared {
                let mode = distribution.interpolation.as_str();
                let what = format!(
                    "the declared mean is {declared} bytes, but the points have {mean} ({mode}); \
                     correct the mean, the unit or the interpolation"
                );
                return Err(value.error(what));
            }
        }
        Ok(distribution)
    }

    fn value(&self, index: usize) -> Option<&Value> {
        self.header[index].as_ref()
    }

    /// Returns the points in bytes, after the checks that need all of them.
    fn scaled_points(&self, unit_bytes: u64) -> Result<Vec<(u64, f64)>, Error> {
        let Some(&(largest, end)) = self.points.last() else {
            let what = "there are no points; expected lines 'size share', as in '1000 0.25', ending with share 1";
            return Err(Error::at(self.last_line, 1, what));
        };
        if end != 1.0 {
            let what = format!("the last share is {end}; the shares must end at 1");
            return Err(Error::at(self.last_line, 1, what));
        }
        if largest == 0 {
            let what = "every flow would have 0 bytes; the largest size must be at least 1";
            return Err(Error::at(self.last_line, 1, what));
        }
        if largest
            .checked_mul(unit_bytes)
            .is_none_or(|bytes| bytes > MAX_FLOW_BYTES)
        {
            let what = format!(
                "{largest} units of {unit_bytes} bytes are more than 2^48 bytes; is the unit right?"
            );
            return Err(Error::at(self.last_line, 1, what));
        }
        Ok(self
            .points
            .iter()
            .map(|&(size, cdf)| (size * unit_bytes, cdf))
            .collect())
    }
}

fn size(line: usize, column: usize, word: &str) -> Result<u64, Error> {
    let fault = |what: String| Error::at(line, column, what);
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    match word.parse::<u64>() {
        Ok(size) if digits && size <= MAX_FLOW_BYTES => Ok(size),
        Err(_) | Ok(_) if digits => Err(fault(format!(
            "size {} is more than 2^48; is the unit right?",
            shown(word)
        ))),
        _ => Err(fault(match word.parse::<f64>() {
            Ok(number) if number.is_nan() => "size is not a number".to_owned(),
            Ok(number) if number < 0.0 => format!("size {} is negative", shown(word)),
            Ok(number) if number > MAX_FLOW_BYTES as f64 => {
                format!("size {} is more than 2^48; is the unit right?", shown(word))
            }
            Ok(_) => format!(
                "size {} is not a whole number written in digits",
                shown(word)
            ),
            Err(_) => format!(
                "expected 'key = value' or 'size share', found '{}'",
                shown(word)
            ),
        })),
    }
}

fn share(line: usize, column: usize, word: &str) -> Result<f64, Error> {
    let fault = |what: String| Err(Error::at(line, column, what));
    match word.parse::<f64>() {
        Ok(cdf) if (0.0..=1.0).contains(&cdf) => Ok(cdf.abs()), // no negative zero
        Ok(cdf) if cdf.is_nan() => fault("share is not a number".to_owned()),
        Ok(cdf) if cdf < 0.0 => fault(format!("share {} is negative", shown(word))),
        Ok(cdf) if cdf <= 100.0 => fault(format!(
            "share {} is more than 1; if these are percent, divide by 100",
            shown(word)
        )),
        Ok(_) => fault(format!("share {} is more than 1", shown(word))),
        Err(_) => fault(format!(
            "expected a share between 0 and 1, found '{}'",
            shown(word)
        )),
    }
}

fn label(value: &Value) -> Result<String, Error> {
    let text = &value.text;
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.len() > 64 || !text.chars().all(good) {
        let what = format!(
            "'{}' is no name; use up to 64 letters, digits, '-', '_' and '.', as in 'web-search'",
            shown(text)
        );
        return Err(value.error(what));
    }
    Ok(text.clone())
}

fn unit(value: &Value) -> Result<u64, Error> {
    let packet = match value.text.split_whitespace().collect::<Vec<_>>()[..] {
        ["bytes"] => Some(1),
        [count, "bytes"] => count
            .parse::<u64>()
            .ok()
            .filter(|count| (1..=1 << 20).contains(count)),
        _ => None,
    };
    packet.ok_or_else(|| {
        let what = format!(
            "unknown unit '{}'; expected 'bytes', or '1460 bytes' for packets",
            shown(&value.text)
        );
        value.error(what)
    })
}

fn mode(value: &Value) -> Result<Interpolation, Error> {
    Interpolation::from_word(&value.text).ok_or_else(|| {
        let what = format!(
            "unknown interpolation '{}'; expected 'linear' or 'step'",
            shown(&value.text)
        );
        value.error(what)
    })
}

fn declared_mean(value: &Value) -> Result<f64, Error> {
    let mean = value
        .text
        .parse::<f64>()
        .ok()
        .filter(|&mean| mean > 0.0 && mean <= MAX_FLOW_BYTES as f64);
    mean.ok_or_else(|| {
        value.error(format!(
            "mean '{}' is not a number of bytes",
            shown(&value.text)
        ))
    })
}

/// The files of the built-in distributions. Long ones are approximations. // TRA-18
const FILES: &[&str] = &[
    include_str!("../data/alistorage@hpcc.dist"),
    include_str!("../data/cache-follower@conweave.dist"),
    include_str!("../data/cache-follower@homa.dist"),
    include_str!("../data/cache-follower@parsimon.dist"),
    include_str!("../data/data-mining@abm.dist"),
    include_str!("../data/data-mining@conweave.dist"),
    include_str!("../data/data-mining@pfabric.dist"),
    include_str!("../data/data-mining@vl2.dist"),
    include_str!("../data/fb-hadoop-intracluster@parsimon.dist"),
    include_str!("../data/fb-hadoop-intrarack@parsimon.dist"),
    include_str!("../data/fb-hadoop@abm.dist"),
    include_str!("../data/fb-hadoop@bfc.dist"),
    include_str!("../data/fb-hadoop@homa.dist"),
    include_str!("../data/fb-hadoop@hpcc.dist"),
    include_str!("../data/fb-hadoop@parsimon.dist"),
    include_str!("../data/fb-keyvalue@hkust.dist"),
    include_str!("../data/google-allrpc@bfc.dist"),
    include_str!("../data/google-allrpc@homa.dist"),
    include_str!("../data/google-rpc2008@hpcc.dist"),
    include_str!("../data/google-searchrpc@homa.dist"),
    include_str!("../data/incast-30-40@floodgate.dist"),
    include_str!("../data/memcached@homa.dist"),
    include_str!("../data/solar@alibaba.dist"),
    include_str!("../data/web-search@abm.dist"),
    include_str!("../data/web-search@conweave.dist"),
    include_str!("../data/web-search@homa.dist"),
    include_str!("../data/web-search@hpcc.dist"),
    include_str!("../data/web-search@pfabric.dist"),
    include_str!("../data/web-server@conweave.dist"),
    include_str!("../data/web-server@homa.dist"),
    include_str!("../data/web-server@parsimon.dist"),
];

static NAMED: LazyLock<Vec<Arc<Distribution>>> = LazyLock::new(|| {
    let mut named: Vec<_> = FILES
        .iter()
        // A test parses every file, so a release has no invalid one.
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

/// Returns the distribution `name@origin`, or `name` if only one origin has it.
///
/// # Errors
/// The name is unknown (the error has the most similar one), or several origins share it (the error
/// lists them). // TRA-04
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
