//! A policy's parameters as a struct: the table of them, and their reading from values.

use super::{Fault, Kind, Limit, Param, Value};
use crate::units::{Rate, Span};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A struct whose fields are the keys of a table; written by `parameters!`.
pub trait Parameters: Clone + PartialEq + core::fmt::Debug + Send + Sync + Sized + 'static {
    /// Its keys, in the order in which they are documented.
    const PARAMS: &'static [Param];

    /// The struct with these values, each of its parameter's kind and in its range; a missing value
    /// has its default.
    ///
    /// # Errors
    /// When a required value is missing, is of another kind or cannot be held.
    fn read(values: &[(&'static str, Value)]) -> Result<Self, Fault>;

    /// Returns the values from which [`read`](Parameters::read) would make the same struct.
    fn values(&self) -> Vec<(&'static str, Value)>;
}

/// A type that a parameter may have.
pub trait Parameter: Sized {
    /// Its kind in a file, unless the table states another.
    const KIND: Kind;

    /// Value of a parameter without a default that is left out; `None` when it must be given.
    const ABSENT: Option<Self> = None;

    /// Converts a value that was read.
    ///
    /// # Errors
    /// The mistake, as a phrase that continues the parameter's name.
    fn of(value: &Value) -> Result<Self, String>;

    /// Returns the value as read for `kind`; `None` for one that was left out.
    fn value(&self, kind: Kind) -> Option<Value>;
}

const WRONG_KIND: &str = "is of another kind";

impl Parameter for Rate {
    const KIND: Kind = Kind::Rate;

    fn of(value: &Value) -> Result<Rate, String> {
        let Value::Rate(bits) = value else { return Err(WRONG_KIND.into()) };
        Rate::from_bits_per_second(*bits)
            .ok_or_else(|| format!("({bits} bit/s) is not a rate that can be sent"))
    }

    fn value(&self, _: Kind) -> Option<Value> {
        Some(Value::Rate(libm::round(self.bits_per_second()) as u64))
    }
}

impl Parameter for Span {
    const KIND: Kind = Kind::Time;

    fn of(value: &Value) -> Result<Span, String> {
        let Value::Time(span) = value else { return Err(WRONG_KIND.into()) };
        Ok(*span)
    }

    fn value(&self, _: Kind) -> Option<Value> {
        Some(Value::Time(*self))
    }
}

impl Parameter for Limit {
    const KIND: Kind = Kind::Limit;

    fn of(value: &Value) -> Result<Limit, String> {
        let Value::Limit(limit) = value else { return Err(WRONG_KIND.into()) };
        Ok(*limit)
    }

    fn value(&self, _: Kind) -> Option<Value> {
        Some(Value::Limit(*self))
    }
}

impl<T: Parameter> Parameter for Option<T> {
    const KIND: Kind = T::KIND;
    const ABSENT: Option<Option<T>> = Some(None);

    fn of(value: &Value) -> Result<Option<T>, String> {
        T::of(value).map(Some)
    }

    fn value(&self, kind: Kind) -> Option<Value> {
        self.as_ref()?.value(kind)
    }
}

/// Whole numbers, and sizes in bytes (`as Size`).
macro_rules! whole {
    ($($type:ty, $beyond:literal;)*) => {$(
        impl Parameter for $type {
            const KIND: Kind = Kind::Integer(0, <$type>::MAX as i64);

            fn of(value: &Value) -> Result<$type, String> {
                match value {
                    Value::Size(bytes) => <$type>::try_from(*bytes)
                        .map_err(|_| format!("is above {} ({}B)", $beyond, <$type>::MAX)),
                    Value::Integer(number) => <$type>::try_from(*number)
                        .map_err(|_| format!("({number}) is not from 0 to {}", <$type>::MAX)),
                    _ => Err(WRONG_KIND.into()),
                }
            }

            fn value(&self, kind: Kind) -> Option<Value> {
                Some(match kind {
                    Kind::Size => Value::Size(u64::from(*self)),
                    _ => Value::Integer(i64::from(*self)),
                })
            }
        }
    )*};
}

whole! {
    u8, "255 bytes";
    u16, "64 KiB";
    u32, "4 GiB";
}

/// Numbers, from 0 to 1 unless the table states another range.
impl Parameter for f64 {
    const KIND: Kind = Kind::Number(0.0, 1.0);

    fn of(value: &Value) -> Result<f64, String> {
        let Value::Number(number) = value else { return Err(WRONG_KIND.into()) };
        Ok(*number)
    }

    fn value(&self, _: Kind) -> Option<Value> {
        Some(Value::Number(*self))
    }
}

/// Writes a struct of parameters. A field's comment is the help. An `Option` may be left out; a
/// value after `=` is the default of one that is left out; all others must be given.
/// `as Integer(1, 8)` is a whole number's range, `as Size` makes it a size in bytes. `; gate =` is
/// the default in gate files, if it differs.
#[doc(hidden)]
#[macro_export]
macro_rules! __parameters {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $help:literal])+
                $param:ident: $type:ty $(as $kind:ident $(($low:literal, $high:literal))?)? $(= $default:expr)?
                    $(; gate = $gate:expr)?,
            )*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $help])+ pub $param: $type,)*
        }

        impl $crate::params::Parameters for $name {
            const PARAMS: &'static [$crate::params::Param] = &[$($crate::params::Param {
                name: stringify!($param),
                kind: $crate::params::parameters!(@kind $type $(, $kind $(($low, $high))?)?),
                default: || $crate::params::parameters!(
                    @default $type, $crate::params::parameters!(@kind $type $(, $kind $(($low, $high))?)?) $(, $default)?
                ),
                in_gate: || $crate::params::parameters!(
                    @default $type, $crate::params::parameters!(@kind $type $(, $kind $(($low, $high))?)?) $(, $gate)?
                ),
                required: $crate::params::parameters!(@required $type $(, $default)?),
                help: concat!($($help),+).trim_ascii_start(),
            },)*];

            fn read(
                values: &[(&'static str, $crate::params::Value)],
            ) -> Result<$name, $crate::params::Fault> {
                let _ = values;
                Ok($name { $(
                    $param: match values.iter().find(|(name, _)| *name == stringify!($param)) {
                        Some((name, value)) => <$type as $crate::params::Parameter>::of(value)
                            .map_err(|wrong| $crate::params::Fault::at(name, $crate::alloc::format!("`{name}` {wrong}")))?,
                        None => $crate::params::parameters!(@absent $param, $type $(, $default)?),
                    },
                )* })
            }

            fn values(&self) -> $crate::alloc::vec::Vec<(&'static str, $crate::params::Value)> {
                let values: $crate::alloc::vec::Vec<(&'static str, Option<$crate::params::Value>)> = $crate::alloc::vec![$((
                    stringify!($param),
                    $crate::params::Parameter::value(
                        &self.$param,
                        $crate::params::parameters!(@kind $type $(, $kind $(($low, $high))?)?),
                    ),
                ),)*];
                values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
            }
        }
    };
    (@kind $type:ty) => { <$type as $crate::params::Parameter>::KIND };
    (@kind $type:ty, $kind:ident $(($low:literal, $high:literal))?) => {
        $crate::params::Kind::$kind $(($low, $high))?
    };
    (@default $type:ty, $kind:expr) => { None };
    (@default $type:ty, $kind:expr, $default:expr) => {
        <$type as $crate::params::Parameter>::value(&$default, $kind)
    };
    (@required $type:ty) => { <$type as $crate::params::Parameter>::ABSENT.is_none() };
    (@required $type:ty, $default:expr) => { false };
    (@absent $param:ident, $type:ty) => {
        <$type as $crate::params::Parameter>::ABSENT.ok_or_else(|| {
            $crate::params::Fault::at(stringify!($param), concat!("`", stringify!($param), "` is missing"))
        })?
    };
    (@absent $param:ident, $type:ty, $default:expr) => { $default };
}

/// Writes an enum; a file names one of its variants by its word.
#[doc(hidden)]
#[macro_export]
macro_rules! __words {
    (
        $(#[$about:meta])*
        pub enum $name:ident {
            $($(#[$help:meta])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$help])+ $variant,)+
        }

        impl $crate::params::Parameter for $name {
            const KIND: $crate::params::Kind = $crate::params::Kind::Word(&[$($word),+]);

            fn of(value: &$crate::params::Value) -> Result<$name, $crate::alloc::string::String> {
                match value {
                    $($crate::params::Value::Text(word) if word == $word => Ok($name::$variant),)+
                    _ => Err($crate::alloc::string::String::from("is none of its words")),
                }
            }

            fn value(&self, _: $crate::params::Kind) -> Option<$crate::params::Value> {
                Some($crate::params::Value::Text($crate::alloc::string::String::from(match self {
                    $($name::$variant => $word,)+
                })))
            }
        }
    };
}

pub use __parameters as parameters;
pub use __words as words;
