//! The file format of flow-size distributions.

use super::{Distribution, Interpolation, MAX_FLOW_BYTES, MAX_POINTS};
use crate::error::{Error, nearest, shown};

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

/// Number of required keys. They are the first entries of `KEYS`.
const REQUIRED: usize = 4;

/// A value of the header with its position in the file.
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
pub(super) struct File {
    header: [Option<Value>; KEYS.len()],
    points: Vec<(u64, f64)>,
    pub(super) last_line: usize,
}

/// Returns the words of a line, each with its column counted from 1.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.split_whitespace().map(move |word| {
        let offset = word.as_ptr() as usize - line.as_ptr() as usize;
        (line[..offset].chars().count() + 1, word)
    })
}

impl File {
    pub(super) fn line(&mut self, number: usize, line: &str) -> Result<(), Error> {
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

    /// Adds a point from the words of its size and its fraction, each with its column.
    pub(super) fn add(
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

    pub(super) fn finish(self) -> Result<Distribution, Error> {
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

    /// Returns the points with sizes in bytes, after the checks that need all points.
    pub(super) fn scaled_points(&self, unit_bytes: u64) -> Result<Vec<(u64, f64)>, Error> {
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
