//! Parameters of schemes as plain data.
//!
//! A scheme declares each of its parameters once, beside its code. Reading a scenario, ranges, defaults and
//! where they come from, the tables of docs/scenario.md and the JSON Schema all follow from these
//! declarations. Nothing here is used while packets move.

/// One parameter: a key of the table that has the scheme's name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// The key.
    pub key: &'static str,
    /// What it takes: unit and range.
    pub kind: Kind,
    /// The value where neither preset nor scenario gives one, written as TOML.
    pub default: &'static str,
    /// The rule under `specs/` that the default follows.
    pub rule: &'static str,
    /// Where the default comes from; stands behind the value in `resolved.toml`.
    pub source: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// It acts only beside certain words of another parameter; elsewhere it is refused.
    pub only_if: Option<OnlyIf>,
}

/// A parameter acts only if another one has one of these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnlyIf {
    /// The other parameter of the same table.
    pub key: &'static str,
    /// Words of the other one with which this one acts.
    pub words: &'static [&'static str],
    /// Why it would do nothing otherwise.
    pub why: &'static str,
}

/// What a parameter takes. Ranges are in base units: bytes, picoseconds, bits per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A size with its unit.
    Size {
        /// Least bytes.
        min: u64,
        /// Most bytes.
        max: u64,
    },
    /// A time with its unit.
    Time {
        /// Least, ps.
        min: u64,
        /// Most, ps.
        max: u64,
    },
    /// A rate with its unit.
    Rate {
        /// Least bits per second.
        min: u64,
        /// Most bits per second.
        max: u64,
    },
    /// A whole number.
    Count {
        /// Least.
        min: u64,
        /// Most.
        max: u64,
    },
    /// A number.
    Number {
        /// Least.
        min: f64,
        /// Most.
        max: f64,
    },
    /// A fraction, as a number or a percentage.
    Fraction {
        /// Least.
        min: f64,
        /// Most.
        max: f64,
    },
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number and this word behind it, such as `"100 flows"`.
    Counted {
        /// The word behind the number.
        noun: &'static str,
        /// Least.
        min: u64,
        /// Most.
        max: u64,
    },
    /// The first of these that fits.
    Either(&'static [Kind]),
    /// A table of parameters of its own.
    Table(&'static [Param]),
}

/// What a scenario gives for a [`Kind`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Bytes.
    Size(u64),
    /// Picoseconds.
    Time(u64),
    /// Bits per second.
    Rate(u64),
    /// A whole number.
    Count(u64),
    /// A number or a fraction.
    Number(f64),
    /// `true` or `false`.
    Flag(bool),
    /// One of the words of the declaration.
    Word(&'static str),
    /// The number of [`Kind::Counted`].
    Counted(u64),
    /// A table.
    Table(Values),
}

/// The values of a table of parameters, each checked against its declaration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(Vec<(&'static str, Value)>);

/// A sentence about values that cannot go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The keys that make it together, the one to show first.
    pub keys: Vec<&'static str>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident: $variant:ident -> $type:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Panics
        /// If the declaration has no such parameter, or one of another kind. A test configures every
        /// scheme from its defaults.
        #[must_use]
        pub fn $name(&self, key: &str) -> $type {
            match self.get(key) {
                Some(Value::$variant(value)) => value.clone(),
                other => panic!("`{key}` is {other:?}, not a {}", stringify!($name)),
            }
        }
    )*};
}

impl Values {
    /// Adds the value of a key.
    pub fn insert(&mut self, key: &'static str, value: Value) {
        self.0.push((key, value));
    }

    /// The value of a key; `None`: the key acts only beside other words, see [`OnlyIf`].
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        let found = self.0.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| value)
    }

    getters! {
        /// A size in bytes.
        size: Size -> u64;
        /// A time in picoseconds.
        time: Time -> u64;
        /// A rate in bits per second.
        rate: Rate -> u64;
        /// A whole number.
        count: Count -> u64;
        /// A number or a fraction.
        number: Number -> f64;
        /// `true` or `false`.
        flag: Flag -> bool;
        /// One of the words of the declaration.
        word: Word -> &'static str;
        /// A table.
        table: Table -> Values;
    }
}
