//! Quantities with units: rates, times, sizes and fractions.
//!
//! Quantities are parsed as exact decimals and stored as integers (picoseconds, bytes, bits per
//! second). So `"0.1us"` is exactly 100 000 ps, without binary rounding. A value that is not a
//! whole number of the base unit, or is too large, is an error.

/// Longest time in a scenario, in ps: a million seconds.
pub const MAX_TIME_PS: u64 = 1_000_000_000_000_000_000;
/// Largest size in a scenario, in bytes.
pub const MAX_SIZE_BYTES: u64 = 1_000_000_000_000_000_000;
/// Highest rate in a scenario, in bits per second.
pub const MAX_RATE_BPS: u64 = 1_000_000_000_000_000;

/// A kind of quantity: its units, its maximum, and its texts for messages.
#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    /// Name of the quantity in messages.
    pub noun: &'static str,
    /// Example of a valid value.
    pub example: &'static str,
    /// Names of units, each with its value in the base unit. If two names have the same value,
    /// output uses the first.
    units: &'static [(&'static str, u64)],
    /// Name of the base unit.
    base: &'static str,
    max: u64,
}

/// Rates, in bits per second.
pub const RATE: Dimension = Dimension {
    noun: "rate",
    example: "\"100Gbps\"",
    units: &[
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
    ],
    base: "bps",
    max: MAX_RATE_BPS,
};

/// Times, in picoseconds.
pub const TIME: Dimension = Dimension {
    noun: "time",
    example: "\"1us\"",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("μs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
    ],
    base: "ps",
    max: MAX_TIME_PS,
};

/// Sizes, in bytes.
pub const SIZE: Dimension = Dimension {
    noun: "size",
    example: "\"12MB\"",
    units: &[
        ("B", 1),
        ("KB", 1_000),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
    base: "B",
    max: MAX_SIZE_BYTES,
};

/// An exact decimal number: `digits` · 10^`exponent`.
struct Decimal {
    digits: u128,
    exponent: i32,
}

/// Parses the digits, point and exponent at the start of `text`. Also returns the remaining text.
fn decimal(text: &str) -> Result<(Decimal, &str), String> {
    let bytes = text.as_bytes();
    let (mut digits, mut exponent, mut seen, mut point) = (0u128, 0i32, false, false);
    let mut at = 0;
    while let Some(&b) = bytes.get(at) {
        match b {
            b'0'..=b'9' => {
                seen = true;
                digits = digits
                    .checked_mul(10)
                    .and_then(|d| d.checked_add(u128::from(b - b'0')))
                    .ok_or_else(|| format!("`{}` has too many digits", shorten(text)))?;
                exponent -= i32::from(point);
            }
            b'_' if seen => {}
            b'.' if !point => point = true,
            _ => break,
        }
        at += 1;
    }
    if !seen {
        return Err(format!("`{}` does not start with a number", shorten(text)));
    }
    if let Some((power, used)) = scientific(&text[at..]) {
        exponent = exponent.saturating_add(power);
        at += used;
    }
    Ok((Decimal { digits, exponent }, &text[at..]))
}

/// Parses an exponent such as `e30` at the start of `text`. Returns the exponent and its length in
/// bytes.
fn scientific(text: &str) -> Option<(i32, usize)> {
    let rest = text.strip_prefix(['e', 'E'])?;
    let sign = usize::from(rest.starts_with(['+', '-']));
    let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    // An exponent that does not fit an i32 is handled like 10^±9999, which is out of range as well.
    let power = rest[sign..sign + digits]
        .parse::<i32>()
        .unwrap_or(9_999)
        .min(9_999);
    Some((
        if rest.starts_with('-') { -power } else { power },
        1 + sign + digits,
    ))
}

/// Shortens a user's text to at most forty characters.
fn shorten(text: &str) -> String {
    if text.chars().count() <= 40 {
        return text.to_owned();
    }
    text.chars().take(37).chain("...".chars()).collect()
}

impl Dimension {
    /// Parses `text` to its exact value in the base unit. The error is a message with the problem.
    pub fn parse(&self, text: &str) -> Result<u64, String> {
        let trimmed = text.trim();
        if trimmed.starts_with(['-', '\u{2212}']) {
            return Err(format!("`{}` is negative", shorten(trimmed)));
        }
        let (number, unit) = decimal(trimmed)?;
        let unit = unit.trim();
        if unit.is_empty() {
            return Err(format!("`{}` has no unit", shorten(trimmed)));
        }
        let Some(&(_, factor)) = self.units.iter().find(|(name, _)| *name == unit) else {
            return Err(self.wrong_unit(unit));
        };
        self.scale(&number, factor, trimmed)
    }

    fn wrong_unit(&self, unit: &str) -> String {
        let known = [&RATE, &TIME, &SIZE].into_iter().find(|d| d.has(unit));
        let mut message = format!("`{}` is not a unit of {}", shorten(unit), self.noun);
        if let Some(other) = known {
            message.push_str(&format!(" but of {}", other.noun));
        } else if let Some((near, _)) = self
            .units
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(unit))
        {
            message.push_str(&format!("; did you mean `{near}`?"));
        }
        message
    }

    /// Names of all units.
    pub fn unit_names(&self) -> impl Iterator<Item = &'static str> {
        self.units.iter().map(|(name, _)| *name)
    }

    /// The largest valid value, in the base unit.
    #[must_use]
    pub const fn max(&self) -> u64 {
        self.max
    }

    fn has(&self, unit: &str) -> bool {
        self.units.iter().any(|(name, _)| *name == unit)
    }

    /// Returns digits · 10^exponent · factor, if it is a whole number of base units.
    fn scale(&self, number: &Decimal, factor: u64, text: &str) -> Result<u64, String> {
        if number.digits == 0 {
            return Ok(0);
        }
        let too_large = || {
            format!(
                "`{}` is beyond the largest {}, {}",
                shorten(text),
                self.noun,
                self.show(self.max)
            )
        };
        let (mut value, mut exponent) = (number.digits, number.exponent);
        while exponent < 0 && value % 10 == 0 {
            value /= 10;
            exponent += 1;
        }
        let mut value = value
            .checked_mul(u128::from(factor))
            .ok_or_else(too_large)?;
        while exponent < 0 {
            if value % 10 != 0 {
                return Err(format!("`{}` is finer than 1 {}", shorten(text), self.base));
            }
            value /= 10;
            exponent += 1;
        }
        while exponent > 0 {
            value = value.checked_mul(10).ok_or_else(too_large)?;
            exponent -= 1;
        }
        u64::try_from(value)
            .ok()
            .filter(|v| *v <= self.max)
            .ok_or_else(too_large)
    }

    /// Formats a value as the shortest text that parses to exactly this value.
    #[must_use]
    pub fn show(&self, value: u64) -> String {
        let mut best = format!("{value}{}", self.base);
        for &(name, factor) in self.units {
            if !name.is_ascii() || name == "kB" {
                continue;
            }
            if let Some(text) = exact_decimal(value, factor) {
                let text = format!("{text}{name}");
                let rank = |t: &str| (t.len(), t.contains('.'));
                if rank(&text) < rank(&best) {
                    best = text;
                }
            }
        }
        best
    }
}

/// Returns `value` / `factor` as a decimal, if it has finitely many digits.
fn exact_decimal(value: u64, factor: u64) -> Option<String> {
    let whole = value / factor;
    let mut rest = value % factor;
    if rest == 0 {
        return Some(whole.to_string());
    }
    if !factor.is_power_of_two() && whole > 0 {
        let mut text = format!("{whole}.");
        let mut step = factor;
        while rest > 0 {
            step /= 10;
            text.push((b'0' + (rest / step) as u8) as char);
            rest %= step;
        }
        return Some(text);
    }
    None
}

/// Formats a time, such as `1us`.
#[must_use]
pub fn show_time(ps: u64) -> String {
    TIME.show(ps)
}

/// Formats a time. It is rounded up to nanoseconds below 1 ms, and to microseconds from 1 ms.
#[must_use]
pub fn show_rounded(ps: u64) -> String {
    let unit = if ps < 1_000_000_000 { 1_000 } else { 1_000_000 };
    show_time(ps.div_ceil(unit).saturating_mul(unit))
}

/// Formats a size, such as `12MB`.
#[must_use]
pub fn show_size(bytes: u64) -> String {
    SIZE.show(bytes)
}

/// Formats a rate, such as `100Gbps`.
#[must_use]
pub fn show_rate(bps: u64) -> String {
    RATE.show(bps)
}

/// Parses a fraction: a percentage such as `"55%"`, or a plain number such as `"0.55"`.
pub fn parse_fraction(text: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    let (number, percent) = match trimmed.strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (trimmed, false),
    };
    if number.starts_with(['-', '\u{2212}']) {
        return Err(format!("`{}` is negative", shorten(trimmed)));
    }
    let (value, rest) = decimal(number)?;
    if !rest.is_empty() {
        return Err(format!("`{}` is not a number", shorten(trimmed)));
    }
    let exponent = value.exponent.saturating_sub(if percent { 2 } else { 0 });
    // The standard library rounds decimals correctly, so 55% and 0.55 give the same number.
    format!("{}e{exponent}", value.digits)
        .parse::<f64>()
        .ok()
        .filter(|v| v.is_finite())
        .ok_or_else(|| format!("`{}` is too large", shorten(trimmed)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn exact_decimals() {
        assert_eq!(TIME.parse("0.1us"), Ok(100_000));
        assert_eq!(TIME.parse("80ps"), Ok(80));
        assert_eq!(TIME.parse("1.5 ms"), Ok(1_500_000_000));
        assert_eq!(TIME.parse("2s"), Ok(2_000_000_000_000));
        assert_eq!(TIME.parse("1e3 ns"), Ok(1_000_000));
        assert_eq!(TIME.parse("0.001ns"), Ok(1));
        assert_eq!(RATE.parse("100Gbps"), Ok(100_000_000_000));
        assert_eq!(RATE.parse("25 Gbps"), Ok(25_000_000_000));
        assert_eq!(RATE.parse("1Tbps"), Ok(1_000_000_000_000));
        assert_eq!(SIZE.parse("12MB"), Ok(12_000_000));
        assert_eq!(SIZE.parse("32MiB"), Ok(33_554_432));
        assert_eq!(SIZE.parse("64KB"), Ok(64_000));
        assert_eq!(SIZE.parse("0.5KiB"), Ok(512));
    }

    #[test]
    fn refusals_say_why() {
        let says = |r: Result<u64, String>, part: &str| {
            let message = r.unwrap_err();
            assert!(message.contains(part), "{message:?} lacks {part:?}");
        };
        says(TIME.parse("1"), "no unit");
        says(TIME.parse("-1us"), "negative");
        says(TIME.parse("NaN"), "does not start with a number");
        says(TIME.parse("inf s"), "does not start with a number");
        says(TIME.parse("1MB"), "not a unit of time but of size");
        says(TIME.parse("1US"), "did you mean `us`");
        says(TIME.parse("0.1ps"), "finer than 1 ps");
        says(TIME.parse("1e30s"), "beyond the largest time");
        says(SIZE.parse("1e30B"), "beyond the largest size");
        says(SIZE.parse("1e99999999999B"), "beyond the largest size");
        says(RATE.parse("100Gbit"), "not a unit of rate");
        says(
            SIZE.parse(&format!("{}B", "9".repeat(60))),
            "too many digits",
        );
        says(SIZE.parse(""), "does not start with a number");
    }

    #[test]
    fn shortest_exact_forms() {
        assert_eq!(show_time(1_000_000), "1us");
        assert_eq!(show_time(80), "80ps");
        assert_eq!(show_time(100_000), "100ns");
        assert_eq!(show_time(1_500_000), "1.5us");
        assert_eq!(show_time(0), "0s");
        assert_eq!(show_size(12_000_000), "12MB");
        assert_eq!(show_size(33_554_432), "32MiB");
        assert_eq!(show_size(1048), "1048B");
        assert_eq!(show_rate(100_000_000_000), "100Gbps");
        assert_eq!(show_rate(400_000_000_000), "400Gbps");
    }

    #[test]
    fn fractions() {
        assert_eq!(parse_fraction("55%"), Ok(0.55));
        assert_eq!(parse_fraction(" 12.5 %"), Ok(0.125));
        assert_eq!(parse_fraction("0.55"), Ok(0.55));
        assert!(parse_fraction("-5%").unwrap_err().contains("negative"));
        assert!(parse_fraction("1e400").is_err());
        assert!(parse_fraction("5 percent").is_err());
    }

    proptest! {
        #[test]
        fn what_is_shown_parses_back(value in 0u64..=MAX_RATE_BPS) {
            for dimension in [&RATE, &TIME, &SIZE] {
                prop_assert_eq!(dimension.parse(&dimension.show(value)), Ok(value));
            }
        }

        #[test]
        fn round_numbers_stay_short(n in 1u64..1000) {
            prop_assert!(show_time(n * 1_000_000).len() <= 6);
        }

        #[test]
        fn any_text_is_answered(text in "\\PC{0,60}") {
            let _ = (RATE.parse(&text), TIME.parse(&text), SIZE.parse(&text), parse_fraction(&text));
        }
    }
}
