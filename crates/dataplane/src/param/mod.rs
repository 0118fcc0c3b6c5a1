//! Parameters of schemes as plain data.
//!
//! A scheme declares each of its parameters once, beside its code. Reading a scenario, ranges,
//! defaults and where they come from, the tables of docs/scenario.md and the JSON Schema all follow
//! from these declarations. Nothing here is used while packets move.
//!
//! [`params!`](crate::params) declares the parameters of a scheme once: from it come a struct, the
//! list of its parameters and the reading of values.
//!
//! The [`Kind`] of a parameter limits single values: others are refused at their place before the
//! scheme sees them. Values that contradict each other are a [`Conflict`] that the scheme returns.
//! A key that acts only beside certain words of another one ([`Acts`]) is declared after that one.
//! Where it does not act, it is refused and has no value. A default follows a rule of `specs/`,
//! whose number stands beside it: the declaration counts as the code of the rule.

mod typed;
mod word;

use crate::units::{MS, Time};
pub use typed::{Field, Params, first, joined, sentence};
pub use word::Word;

/// Longest time that a parameter takes: a second, in ps.
pub const MAX_TIME_PS: Time = 1_000 * MS;
/// Largest size that a parameter takes: the counters of INT and of ports hold 4 GB.
pub const MAX_SIZE_BYTES: u64 = 4_000_000_000;
/// Fastest rate that a parameter takes, in bits per second.
pub const MAX_RATE_BPS: u64 = 1_000_000_000_000_000;

/// One parameter: a key of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// Name of the key in the table.
    pub key: &'static str,
    /// Type of its values, with unit and range.
    pub kind: Kind,
    /// Words that are valid values too, such as `"off"`.
    pub words: &'static [&'static str],
    /// Default, or what holds without a value.
    pub fallback: Fallback,
    /// Rule under `specs/` that defines the default; empty if there is no rule.
    pub rule: &'static str,
    /// Source of the default, a comment of the value in `resolved.toml`.
    pub source: &'static str,
    /// Sentence about the effect of the parameter, for documents.
    pub about: &'static str,
    /// Values of another parameter with which this parameter has an effect.
    pub acts: Acts,
    /// Dependence of the value or the default on the network.
    pub network: InNetwork,
}

/// How the value or the default of a parameter depends on the network in which it is used.
// PRE-270, PRE-271, PRE-272, PRE-273, PRE-274
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InNetwork {
    /// Neither the value nor the default depends on the network.
    Independent,
    /// A time without progress after which packets are sent again. It must exceed the largest base
    /// round trip, including the time of hosts. The default is at least [`TIMEOUT_ROUND_TRIPS`] of
    /// them.
    Timeout,
    /// A round trip above which a control slows down. It must exceed the largest base round trip.
    Target {
        /// True if the control counts the processing time of hosts in the round trip.
        with_hosts: bool,
    },
    /// A time in both hosts above which a control slows down. It must exceed the time that
    /// hosts need for a packet and its ACK.
    HostTarget,
    /// A time for each switch on the path, which is added to the target under this key.
    PerHop(&'static str),
    /// Period of a timer of the control. It should be shorter than the window in which measured
    /// flows start.
    Period,
    /// The default is for hosts of this rate, in bits per second, and scales with the rate of the
    /// hosts.
    AtRate(u64),
    /// The default is this word if links can lose frames or fail, unless another parameter has a
    /// certain word.
    RepairsLosses {
        /// Default if links can lose frames or fail.
        word: &'static str,
        /// Key of the other parameter, which is declared earlier, and its word.
        unless: (&'static str, &'static str),
    },
}

/// Base round trips that the default of a timeout lasts at least: the first timeout after one
/// measured round trip R is R + 4 R / 2 (RFC 6298, 2.2).
// PRE-270
pub const TIMEOUT_ROUND_TRIPS: u64 = 3;

/// Value if neither preset nor scenario sets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// This value, written as TOML.
    Value(&'static str),
    /// No default: the key is required. The TOML is an example.
    Needed(&'static str),
    /// No default: the key may be missing. The sentence describes the behaviour without it.
    Absent(&'static str),
}

/// Condition on another parameter of the table under which a parameter has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acts {
    /// No condition: it always has an effect.
    Always,
    /// The other parameter has one of these words.
    With(Beside),
    /// The other parameter has none of these words.
    Without(Beside),
    /// The other parameter is not given.
    Unless {
        /// The other parameter, which is declared earlier.
        key: &'static str,
        /// Reason why the parameter has no effect together with it.
        why: &'static str,
    },
}

/// A parameter and its words on which the effect of another one depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The parameter, which is declared earlier.
    pub key: &'static str,
    /// Its words; a flag has the words `true` and `false`.
    pub words: &'static [&'static str],
    /// Reason why the other parameter has no effect.
    pub why: &'static str,
}

/// Type of a value. Ranges are in base units: bytes, picoseconds, bits per second.
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
    /// A multiple of a quantity that depends on the network, such as the round trip.
    Multiple {
        /// Name of the quantity, in the plural.
        of: &'static str,
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
    /// Any text.
    Text,
    /// A port of a switch, by both ends of its link: `"leaf0->host3"`. Only `[record]` has such
    /// ports.
    Port,
    /// Directions of links by a pattern: `"leaf*->spine1"`, `"host0:*"`. Only `[record]` has such
    /// links.
    Links,
    /// Two times, the first before the second.
    Window {
        /// Latest, ps.
        max: Time,
    },
    /// A whole number followed by a word, such as `"100 flows"`.
    Counted {
        /// The word.
        noun: &'static str,
        /// Least.
        min: u64,
        /// Most.
        max: u64,
    },
    /// One of these kinds, none of them words. If several accept strings, the last one reports
    /// errors.
    Either(&'static [Kind]),
    /// An array of these.
    List(&'static Kind),
    /// A table of parameters of its own.
    Table(&'static [Param]),
    /// An array of tables, at least one.
    Tables {
        /// Noun for one of them.
        noun: &'static str,
        /// The parameters of each.
        of: &'static [Param],
    },
}

impl Param {
    /// Creates a required parameter of this kind, without rule and description.
    #[must_use]
    pub const fn new(key: &'static str, kind: Kind) -> Self {
        Self {
            key,
            kind,
            words: &[],
            fallback: Fallback::Needed(""),
            rule: "",
            source: "",
            about: "",
            acts: Acts::Always,
            network: InNetwork::Independent,
        }
    }

    /// Creates a parameter for a size of `min` to `max` bytes.
    #[must_use]
    pub const fn size(key: &'static str, min: u64, max: u64) -> Self {
        Self::new(key, Kind::Size { min, max })
    }

    /// Creates a parameter for a time from `min` ps to a second.
    #[must_use]
    pub const fn time(key: &'static str, min: Time) -> Self {
        let max = MAX_TIME_PS;
        Self::new(key, Kind::Time { min, max })
    }

    /// Creates a parameter for a rate above 0.
    #[must_use]
    pub const fn rate(key: &'static str) -> Self {
        let (min, max) = (1, MAX_RATE_BPS);
        Self::new(key, Kind::Rate { min, max })
    }

    /// Creates a parameter for a whole number from `min` to `max`.
    #[must_use]
    pub const fn count(key: &'static str, min: u64, max: u64) -> Self {
        Self::new(key, Kind::Count { min, max })
    }

    /// Creates a parameter for a number from `min` to `max`.
    #[must_use]
    pub const fn number(key: &'static str, min: f64, max: f64) -> Self {
        Self::new(key, Kind::Number { min, max })
    }

    /// Creates a parameter for a fraction from `min` to `max`, a number or a percentage.
    #[must_use]
    pub const fn fraction(key: &'static str, min: f64, max: f64) -> Self {
        Self::new(key, Kind::Fraction { min, max })
    }

    /// Creates a parameter for `true` or `false`.
    #[must_use]
    pub const fn flag(key: &'static str) -> Self {
        Self::new(key, Kind::Flag)
    }

    /// Creates a parameter for one of these words.
    #[must_use]
    pub const fn word(key: &'static str, words: &'static [&'static str]) -> Self {
        Self::new(key, Kind::Word(words))
    }

    /// Creates a parameter for a value of one of several kinds.
    #[must_use]
    pub const fn either(key: &'static str, kinds: &'static [Kind]) -> Self {
        Self::new(key, Kind::Either(kinds))
    }

    /// Creates a parameter for an array of values of this kind.
    #[must_use]
    pub const fn list(key: &'static str, of: &'static Kind) -> Self {
        Self::new(key, Kind::List(of))
    }

    /// Creates a parameter for a nested table. It has a default if all its parameters have one.
    #[must_use]
    pub const fn table(key: &'static str, params: &'static [Self]) -> Self {
        Self::new(key, Kind::Table(params)).needed("{ ... }")
    }

    /// Adds words that are valid values too, such as `"off"`.
    #[must_use]
    pub const fn or(mut self, words: &'static [&'static str]) -> Self {
        self.words = words;
        self
    }

    /// Creates a parameter for an array of tables; `noun` is the noun for one of them.
    #[must_use]
    pub const fn tables(key: &'static str, noun: &'static str, of: &'static [Self]) -> Self {
        Self::new(key, Kind::Tables { noun, of })
    }

    /// Sets the default as TOML, its rule, and its source.
    #[must_use]
    pub const fn default(
        mut self,
        toml: &'static str,
        rule: &'static str,
        source: &'static str,
    ) -> Self {
        self.fallback = Fallback::Value(toml);
        self.rule = rule;
        self.source = source;
        self
    }

    /// Makes the parameter required, with this TOML as example.
    #[must_use]
    pub const fn needed(mut self, example: &'static str) -> Self {
        self.fallback = Fallback::Needed(example);
        self
    }

    /// Makes the parameter optional. The sentence describes the behaviour without it.
    #[must_use]
    pub const fn absent(mut self, sentence: &'static str) -> Self {
        self.fallback = Fallback::Absent(sentence);
        self
    }

    /// Sets the description of its effect, one sentence.
    #[must_use]
    pub const fn about(mut self, sentence: &'static str) -> Self {
        self.about = sentence;
        self
    }

    /// Restricts its effect to these words of the parameter `key`, which is declared earlier.
    #[must_use]
    pub const fn with(
        mut self,
        key: &'static str,
        words: &'static [&'static str],
        why: &'static str,
    ) -> Self {
        self.acts = Acts::With(Beside { key, words, why });
        self
    }

    /// Restricts its effect to other words of the parameter `key`, which is declared earlier.
    #[must_use]
    pub const fn without(
        mut self,
        key: &'static str,
        words: &'static [&'static str],
        why: &'static str,
    ) -> Self {
        self.acts = Acts::Without(Beside { key, words, why });
        self
    }

    /// Restricts its effect to tables without the parameter `key`, which is declared earlier.
    #[must_use]
    pub const fn unless(mut self, key: &'static str, why: &'static str) -> Self {
        self.acts = Acts::Unless { key, why };
        self
    }

    /// Sets the dependence of its value or default on the network.
    #[must_use]
    pub const fn in_network(mut self, network: InNetwork) -> Self {
        self.network = network;
        self
    }

    /// Returns the reason why the parameter has no effect with the values of earlier parameters;
    /// `None` if it has an effect.
    #[must_use]
    pub fn useless(&self, values: &Values) -> Option<&'static str> {
        let (beside, wanted) = match self.acts {
            Acts::Always => return None,
            Acts::With(beside) => (beside, true),
            Acts::Without(beside) => (beside, false),
            Acts::Unless { key, why } => return values.get(key).map(|_| why),
        };
        // A value that could not be read decides nothing.
        let word = match values.get(beside.key)? {
            Value::Word(word) => word,
            Value::Flag(true) => "true",
            Value::Flag(false) => "false",
            _ => "",
        };
        (beside.words.contains(&word) != wanted).then_some(beside.why)
    }
}

/// A value of a [`Kind`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Bytes.
    Size(u64),
    /// Picoseconds.
    Time(Time),
    /// Bits per second.
    Rate(u64),
    /// A whole number.
    Count(u64),
    /// A number, a multiple or a fraction.
    Number(f64),
    /// `true` or `false`.
    Flag(bool),
    /// One of the words of the declaration.
    Word(&'static str),
    /// The number of a value such as `"100 flows"`, see [`Kind::Counted`].
    Counted(u64),
    /// Any text.
    Text(String),
    /// A port of a switch: the switch by its number among nodes, and its port.
    Port(u32, u16),
    /// Two times, ps.
    Window(Time, Time),
    /// An array.
    List(Vec<Value>),
    /// A table.
    Table(Values),
}

/// The values of a table of parameters, each checked against its declaration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(Vec<(&'static str, Value)>);

/// An error message about values that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Keys of the values. The message has the position of the first one that the scenario sets.
    pub keys: &'static [&'static str],
    /// Key and index of the entry of an array of tables that holds these keys; `None`: the table
    /// itself does.
    pub item: Option<(&'static str, usize)>,
    /// Description of the problem.
    pub message: String,
    /// Hint for a solution.
    pub hint: String,
}

impl Conflict {
    /// Creates a message about these keys.
    #[must_use]
    pub fn new(
        keys: &'static [&'static str],
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            keys,
            item: None,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// Sets the item of an array of tables that contains the keys.
    #[must_use]
    pub fn in_item(mut self, key: &'static str, index: usize) -> Self {
        self.item = Some((key, index));
        self
    }
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident, $some:ident: $variant:ident -> $type:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Panics
        /// If the table has no such parameter, or one of another kind, or it does not act
        /// ([`Acts`]). A test configures every scheme from its defaults.
        #[must_use]
        pub fn $name(&self, key: &str) -> $type {
            match self.get(key) {
                Some(Value::$variant(value)) => value.clone(),
                other => panic!("`{key}` is {other:?}, not a {}", stringify!($name)),
            }
        }

        $(#[$doc])*
        /// `None`: a value of another kind, such as the word `"off"`, or the key does not act
        /// ([`Acts`]).
        #[must_use]
        pub fn $some(&self, key: &str) -> Option<$type> {
            match self.get(key) {
                Some(Value::$variant(value)) => Some(value.clone()),
                _ => None,
            }
        }
    )*};
}

impl Values {
    /// No values.
    pub const NONE: Self = Self(Vec::new());

    /// Adds a value.
    pub fn insert(&mut self, key: &'static str, value: Value) {
        self.0.push((key, value));
    }

    /// Returns the value of a key; `None`: the key has no effect ([`Acts`]), or is missing and has
    /// no default.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        let found = self.0.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| value)
    }

    /// Returns the two times of a window, in ps.
    ///
    /// # Panics
    ///
    /// If the table has no such parameter, or one of another kind.
    #[must_use]
    pub fn window(&self, key: &str) -> (Time, Time) {
        match self.get(key) {
            Some(&Value::Window(from_ps, to_ps)) => (from_ps, to_ps),
            other => panic!("`{key}` is {other:?}, not a window"),
        }
    }

    /// Returns true if the value of a key is this word.
    #[must_use]
    pub fn is(&self, key: &str, word: &str) -> bool {
        self.some_word(key) == Some(word)
    }

    getters! {
        /// A size in bytes.
        size, some_size: Size -> u64;
        /// A time in picoseconds.
        time, some_time: Time -> Time;
        /// A rate in bits per second.
        rate, some_rate: Rate -> u64;
        /// A whole number.
        count, some_count: Count -> u64;
        /// A number, a multiple or a fraction.
        number, some_number: Number -> f64;
        /// `true` or `false`.
        flag, some_flag: Flag -> bool;
        /// One of the words of the declaration.
        word, some_word: Word -> &'static str;
        /// An array.
        list, some_list: List -> Vec<Value>;
        /// A table.
        table, some_table: Table -> Values;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: &[Param] = &[
        Param::either(
            "cnp",
            &[Kind::Word(&["on-ack"]), Kind::Size { min: 1, max: 9 }],
        ),
        Param::time("interval", 0).without("cnp", &["on-ack"], "every ACK is one"),
        Param::flag("cut").with("cnp", &["on-ack"], "there are frames"),
        Param::count("cuts", 1, 9).with("cut", &["true"], "nothing is cut"),
        Param::rate("pace").unless("cnp", "CNPs set the pace"),
    ];

    fn useless(values: &Values) -> Vec<bool> {
        PARAMS.iter().map(|p| p.useless(values).is_some()).collect()
    }

    #[test]
    fn a_parameter_acts_beside_words_or_without_them() {
        let mut values = Values::default();
        assert_eq!(useless(&values), [false; 5], "nothing has been read");
        values.insert("cnp", Value::Word("on-ack"));
        values.insert("cut", Value::Flag(false));
        assert_eq!(useless(&values), [false, true, false, true, true]);
        assert_eq!(PARAMS[1].useless(&values), Some("every ACK is one"));
        assert!(values.is("cnp", "on-ack") && values.some_size("cnp").is_none());
        let mut values = Values::default();
        values.insert("cnp", Value::Size(5));
        values.insert("cut", Value::Flag(true));
        assert_eq!(useless(&values), [false, false, true, false, true]);
        assert_eq!((values.size("cnp"), values.some_word("cnp")), (5, None));
    }

    #[test]
    #[should_panic(expected = "not a time")]
    fn a_value_of_another_kind_is_a_mistake_of_the_scheme() {
        let mut values = Values::default();
        values.insert("gap", Value::Size(5));
        let _ = values.time("gap");
    }
}
