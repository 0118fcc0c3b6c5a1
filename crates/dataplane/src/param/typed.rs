//! Typed parameters: a struct, the list of its parameters and its reading, from one declaration.

use super::{Param, Value, Values};

/// The parameters of a scheme as a type. [`params!`](crate::params) implements it.
pub trait Params: Sized {
    /// Declarations of the parameters, in the order of the fields.
    const PARAMS: &'static [Param];

    /// Returns the struct with these values, which were checked against the declarations.
    fn read(values: &Values) -> Self;
}

/// A type of a field that holds a parameter.
pub trait Field: Sized {
    /// Returns the field for the value of its parameter. `None`: the parameter has no effect
    /// ([`Acts`](super::Acts)), or it was left out and has no default.
    ///
    /// # Panics
    ///
    /// If the declaration accepts a value that the type cannot hold. A test reads every scheme from
    /// its defaults.
    fn of(value: Option<&Value>) -> Self;
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        /// 0 if the parameter does not act.
        impl Field for $type {
            fn of(value: Option<&Value>) -> Self {
                match value {
                    None => Self::default(),
                    Some(Value::Size(n) | Value::Time(n) | Value::Rate(n) | Value::Count(n)) => *n as Self,
                    Some(Value::Counted(n)) => *n as Self,
                    Some(Value::Number(n)) => *n as Self,
                    Some(other) => panic!("{other:?} is not a number"),
                }
            }
        }
    )*};
}
numbers!(u8 u16 u32 u64 i32 f64);

/// `false` if the parameter has no effect.
impl Field for bool {
    fn of(value: Option<&Value>) -> Self {
        match value {
            None => false,
            Some(Value::Flag(flag)) => *flag,
            Some(other) => panic!("{other:?} is not a flag"),
        }
    }
}

/// Empty if the parameter has no effect.
impl Field for &'static str {
    fn of(value: Option<&Value>) -> Self {
        match value {
            None => "",
            Some(Value::Word(word)) => word,
            Some(other) => panic!("{other:?} is not a word"),
        }
    }
}

/// `None` if the parameter has no effect, and for a word such as `"off"`.
impl<T: Field> Field for Option<T> {
    fn of(value: Option<&Value>) -> Self {
        match value {
            None | Some(Value::Word(_)) => None,
            value => Some(T::of(value)),
        }
    }
}

/// A vector of the items of a list.
impl<T: Field> Field for Vec<T> {
    fn of(value: Option<&Value>) -> Self {
        match value {
            None => Self::new(),
            Some(Value::List(items)) => items.iter().map(|item| T::of(Some(item))).collect(),
            Some(other) => panic!("{other:?} is not a list"),
        }
    }
}

/// Returns a sentence of doc comments, each of which begins with a space.
#[doc(hidden)]
#[must_use]
pub const fn sentence(docs: &'static str) -> &'static str {
    docs.split_at(1).1
}

/// Returns the list of a group of parameters, if there is a group.
#[doc(hidden)]
#[must_use]
pub const fn first(groups: &[&'static [Param]]) -> &'static [Param] {
    match groups {
        [group, ..] => group,
        [] => &[],
    }
}

/// Returns two lists as one.
#[doc(hidden)]
#[must_use]
pub const fn joined<const N: usize>(first: &[Param], second: &[Param]) -> [Param; N] {
    let mut all = [Param::flag(""); N];
    let mut nth = 0;
    while nth < N {
        all[nth] = match nth < first.len() {
            true => first[nth],
            false => second[nth - first.len()],
        };
        nth += 1;
    }
    all
}

/// Declares the parameters of a scheme: a struct, the list of its parameters, and its reading.
///
/// The comment of a field is the sentence that documents the parameter. Behind `=` is its declaration, without that
/// sentence. A first field `..name: Type` holds parameters of another such struct. Fields that no parameter sets follow
/// in a block `+ { … }`, each with its first value.
///
/// ```
/// use dataplane::param::{Field, Param, Params, Values};
/// use dataplane::units::Time;
///
/// dataplane::words! {
///     /// How packets are spaced.
///     pub enum Pace {
///         /// They are not.
///         Off = "off",
///         /// By a timer.
///         Timer = "timer",
///     }
/// }
///
/// dataplane::params! {
///     /// The parameters of a scheme.
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct Config {
///         /// The round trip that the window is steered to, in base round trips.
///         pub target: f64 = Param::number("target", 1.0, 1e6)
///             .default("2.5", "PRE-55", "in base RTTs (BFC paper A.1)"),
///         /// How packets are spaced.
///         pub pace: Pace = Param::word("pace", Pace::WORDS).default("\"off\"", "PRE-55", "our choice"),
///         /// Time between two packets.
///         pub gap_ps: Option<Time> = Param::time("gap", 1_000)
///             .default("\"1us\"", "PRE-55", "our choice")
///             .with("pace", &["timer"], "`pace` is not \"timer\""),
///     }
/// }
///
/// # let mut values = Values::default();
/// # values.insert("target", dataplane::param::Value::Number(2.5));
/// # values.insert("pace", dataplane::param::Value::Word("off"));
/// let config = Config::read(&values);
/// assert_eq!(config, Config { target: 2.5, pace: Pace::Off, gap_ps: None });
/// assert_eq!(Config::PARAMS[2].about, "Time between two packets.");
/// ```
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* $vis:vis struct $Name:ident;) => {
        $(#[$meta])*
        $vis struct $Name;

        impl $crate::param::Params for $Name {
            const PARAMS: &'static [$crate::param::Param] = &[];

            fn read(_values: &$crate::param::Values) -> Self {
                Self
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis struct $Name:ident {
        $(.. $(#[$group_doc:meta])* $group_vis:vis $group:ident: $Group:ty,)?
        $($(#[doc = $about:literal])+ $field_vis:vis $field:ident: $type:ty = $param:expr,)*
    } $(+ {
        $($(#[$other_doc:meta])* $other_vis:vis $other:ident: $other_type:ty = $first:expr,)*
    })?) => {
        $(#[$meta])*
        $vis struct $Name {
            $($(#[$group_doc])* $group_vis $group: $Group,)?
            $($(#[doc = $about])+ $field_vis $field: $type,)*
            $($($(#[$other_doc])* $other_vis $other: $other_type,)*)?
        }

        impl $crate::param::Params for $Name {
            const PARAMS: &'static [$crate::param::Param] = {
                const OWN: &[$crate::param::Param] = &[$(
                    $param.about($crate::param::sentence(concat!($($about),+))),
                )*];
                const GROUP: &[$crate::param::Param] = $crate::param::first(&[
                    $(<$Group as $crate::param::Params>::PARAMS,)?
                ]);
                const ALL: [$crate::param::Param; GROUP.len() + OWN.len()] =
                    $crate::param::joined(GROUP, OWN);
                &ALL
            };

            fn read(values: &$crate::param::Values) -> Self {
                let mut keys = Self::PARAMS.iter().map(|param| param.key)
                    $(.skip(<$Group as $crate::param::Params>::PARAMS.len()))?;
                let mut next = || keys.next().and_then(|key| values.get(key));
                Self {
                    $($group: <$Group as $crate::param::Params>::read(values),)?
                    $($field: $crate::param::Field::of(next()),)*
                    $($($other: $first,)*)?
                }
            }
        }

        /// A table inside another one.
        impl $crate::param::Field for $Name {
            fn of(value: Option<&$crate::param::Value>) -> Self {
                static NONE: $crate::param::Values = $crate::param::Values::NONE;
                <Self as $crate::param::Params>::read(match value {
                    Some($crate::param::Value::Table(values)) => values,
                    _ => &NONE,
                })
            }
        }
    };
}

/// Declares an enum whose variants are words of a parameter. The first one holds where the parameter does not act.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $Name:ident {$(
        $(#[$doc:meta])* $Variant:ident = $word:literal,
    )*}) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $Name {$(
            $(#[$doc])*
            $Variant,
        )*}

        impl $Name {
            /// The words.
            pub const WORDS: &'static [&'static str] = &[$($word),*];
            const ALL: &'static [Self] = &[$(Self::$Variant),*];
        }

        impl $crate::param::Field for $Name {
            fn of(value: Option<&$crate::param::Value>) -> Self {
                let word = match value {
                    None => return Self::ALL[0],
                    Some($crate::param::Value::Word(word)) => word,
                    Some(other) => panic!("{other:?} is not a word"),
                };
                let nth = Self::WORDS.iter().position(|known| known == word);
                Self::ALL[nth.expect("the declaration has these words")]
            }
        }
    };
}
