//! Flow-size distributions: their definition, their file format, and the built-in distributions.
//!
//! The points of a distribution do not define the values between the points. For example, the same
//! points have a mean of 1.71 MB with linear interpolation and 2.43 MB as steps. So the
//! interpolation is part of the distribution, like its origin and its unit.

mod file;
mod named;

use crate::csv::{self, Columns, Field};
use crate::error::{Error, Faults, shown};
use file::File;
pub use named::{all, find};

/// Maximum size of a flow: 2^48 bytes take more than six hours at 100 Gbps.
pub const MAX_FLOW_BYTES: u64 = 1 << 48;

/// Maximum number of points of a distribution.
const MAX_POINTS: usize = 100_000;

/// Interpolation between two points of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// A straight line: sizes are spread evenly between the two points. Two points of the same size
    /// are a probability mass at this size.
    Linear,
    /// A step function: only the sizes of the points occur.
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
    /// Name without the origin, such as `web-search`.
    pub name: String,
    /// Origin of the data, such as a paper or simulator. Distributions of the same name from other
    /// origins have different data.
    pub origin: String,
    /// Bytes per unit of the sizes in the file: 1, or the bytes of a packet.
    pub unit_bytes: u64,
    /// Interpolation between the points.
    pub interpolation: Interpolation,
    /// Interpolation of the original data, if it differs: fine steps were replaced by lines.
    pub origin_interpolation: Option<Interpolation>,
    /// Mean stated in the file, in bytes. The mean of the points must be within 0.1 % of it.
    pub declared_mean_bytes: Option<f64>,
    /// Description of where the data come from.
    pub source: Option<String>,
    /// Further information for users.
    pub note: Option<String>,
    /// Name of the original distribution, if this one approximates it with fewer points.
    pub redrawn: Option<String>,
    /// Points (bytes, fraction of the flows of at most this size). Both values are non-decreasing,
    /// and the last fraction is 1.
    points: Vec<(u64, f64)>,
}

impl Distribution {
    /// Returns `name@origin`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}@{}", self.name, self.origin)
    }

    /// Returns the points: bytes, and the fraction of flows of at most this size.
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

    /// Returns the smallest size in bytes that a fraction `u` of the flows does not exceed. `u`
    /// outside 0..=1 is clamped. // TRA-01
    #[must_use]
    pub fn quantile(&self, u: f64) -> f64 {
        let u = if u > 0.0 { u.min(1.0) } else { 0.0 };
        // For `u` = 0 the result is the smallest possible size. Points without any flow are
        // skipped.
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
    /// Each further line contains a size and the fraction of flows of at most that size. A line
    /// that begins with `#` is a comment.
    ///
    /// # Errors
    /// All errors of the text, each with line and column.
    pub fn parse(text: &str) -> Result<Self, Vec<Error>> {
        let mut file = File::default();
        let mut faults = Faults::default();
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            faults.note(file.line(index + 1, line));
        }
        // The checks of the whole file are only possible if all lines are valid.
        faults.result()?;
        file.finish().map_err(|error| vec![error])
    }

    /// Parses a distribution from CSV. Each line contains a size in bytes and the fraction of flows
    /// of at most that size. An optional header line contains the column names `bytes` and `cdf`,
    /// in any order. Other columns are ignored; the function returns a warning for each. // TRA-27
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
        // If the first line contains numbers, it is a point, and the columns are `bytes` and `cdf`.
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
        Ok((Self::of_points(name, interpolation, points), warnings))
    }

    /// Parses measured sizes: the size of one flow per line, in bytes, after an optional header
    /// line `bytes`. Each listed size then has equal probability. // TRA-27
    ///
    /// # Errors
    /// All errors of the text, each with line and column.
    pub fn parse_list(text: &str, name: &str) -> Result<Self, Vec<Error>> {
        let mut sizes = Vec::new();
        let mut faults = Faults::default();
        for (line, word) in csv::lines(text).skip_while(|(_, word)| is_header(word)) {
            let size = word.trim().parse().ok();
            let size = size.filter(|size| (1..=MAX_FLOW_BYTES).contains(size));
            sizes.extend(faults.note(size.ok_or_else(|| {
                let word = shown(word);
                let message = format!("`{word}` is no size; expected 1 to {MAX_FLOW_BYTES} bytes");
                Error::at(line, 1, message)
            })));
        }
        faults.result()?;
        if sizes.is_empty() {
            let message = "the file has no sizes; expected one per line";
            return Err(vec![Error::at(1, 1, message)]);
        }
        sizes.sort_unstable();
        let share = |place: usize| (place + 1) as f64 / sizes.len() as f64;
        let last = |place: usize| sizes.get(place + 1) != Some(&sizes[place]);
        let places = (0..sizes.len()).filter(|&place| last(place));
        let points: Vec<_> = places.map(|place| (sizes[place], share(place))).collect();
        if points.len() > MAX_POINTS {
            let message = format!("the file has {} sizes, limit {MAX_POINTS}", points.len());
            return Err(vec![Error::at(1, 1, message)]);
        }
        Ok(Self::of_points(name, Interpolation::Step, points))
    }

    fn of_points(name: &str, interpolation: Interpolation, points: Vec<(u64, f64)>) -> Self {
        Self {
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
        }
    }
}

/// Format of a file of flow sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Header keys and points, see [`Distribution::parse`].
    Own,
    /// Table of sizes and cumulative fractions, see [`Distribution::parse_csv`].
    Csv,
    /// One measured size per line, see [`Distribution::parse_list`].
    List,
}

impl Format {
    /// Detects the format of a text from its first line.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let first = csv::lines(text).next().map_or("", |(_, line)| line);
        if first.contains(',') && !first.contains('=') {
            Self::Csv
        } else if is_header(first) || first.trim().parse::<f64>().is_ok() {
            Self::List
        } else {
            Self::Own
        }
    }
}

/// True if a line is the header of a list of sizes.
fn is_header(line: &str) -> bool {
    line.trim() == "bytes"
}

/// Converts bytes to text.
///
/// # Errors
/// The bytes are not UTF-8. The error contains the position of the first invalid byte.
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
