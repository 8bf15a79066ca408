//! A section as a struct: one declaration of its keys gives its record and the fields that code
//! reads.

mod key;
mod params;
mod types;

pub(crate) use key::{About, Key, Keys, Placed, Scalar, Table, scalar};
pub(crate) use params::{Offered, ParamsOf, PolicyOf, Selected, Settings, registered};
pub(crate) use types::{Name, Names, OneOrMore, OneOrMoreNames};

/// The key of a field, which may be a word of Rust.
pub(crate) fn key_of(field: &'static str) -> &'static str {
    field.trim_start_matches("r#")
}

/// Writes a struct of keys. A field's comment is the help; a field without one holds the keys of
/// another struct, which are keys of the same table. An `Option`, a list of values and a list of
/// tables may be left out; a value after `=`, spelled as in a file, is the default of one that is
/// left out; all others must be given. `as Rate`, `as Integer(1, 8)` and so on are the values that
/// a number, a size or a word takes.
///
/// After the struct's name stand the key and the title of the table; a struct without them is part
/// of others.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $(#[source = $source:expr])?
        $(#[responsive = $responsive:expr])?
        pub(crate) struct $name:ident $(= $key:literal, $title:literal)? {
            $(
                $(#[doc = $help:literal])*
                $field:ident: $type:ty $(as $kind:ident $(($($bound:expr),+))?)? $(= $default:expr)?,
            )*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug)]
        pub(crate) struct $name {
            $($(#[doc = $help])* pub(crate) $field: $crate::section::section!(@held [$($help)*] $type),)*
        }

        impl $crate::section::Keys for $name {
            fn fields() -> Vec<$crate::record::Field> {
                let parts: Vec<Vec<$crate::record::Field>> = vec![$($crate::section::section!(
                    @fields $field, $type, [$($help)*], [$($kind $(($($bound),+))?)?], [$($default)?]
                ),)*];
                parts.concat()
            }

            fn read(values: &$crate::values::Values) -> Option<$name> {
                let _ = values;
                Some($name { $($field: $crate::section::section!(@read values, $field, [$($help)*])?,)* })
            }
        }

        $crate::section::section!(
            @table $name [$($about)+] [$($source)?] [$($responsive)?] $($key, $title)?
        );
    };
    (@table $name:ident [$($about:literal)+] [$($source:expr)?] [$($responsive:expr)?]) => {};
    (
        @table $name:ident [$($about:literal)+] [$($source:expr)?] [$($responsive:expr)?]
        $key:literal, $title:literal
    ) => {
        impl $crate::section::Table for $name {
            const ABOUT: $crate::section::About = $crate::section::About {
                name: $key,
                title: $title,
                responsive: $crate::section::section!(@flag $($responsive)?),
            };

            fn section() -> $crate::record::Section {
                $crate::record::Section {
                    name: $key,
                    title: $title,
                    help: concat!($($about),+).trim_ascii_start(),
                    source: $crate::section::section!(@option $($source)?),
                    fields: <$name as $crate::section::Keys>::fields(),
                    policy: None,
                    responsive: $crate::section::section!(@flag $($responsive)?),
                }
            }
        }
    };
    (@held [] $type:ty) => { $type };
    (@held [$($help:literal)+] $type:ty) => { $crate::section::Placed<$type> };
    (@fields $field:ident, $type:ty, [], [], []) => { <$type as $crate::section::Keys>::fields() };
    (@fields $field:ident, $type:ty, [$($help:literal)+], [$($kind:tt)*], [$($default:expr)?]) => {
        vec![<$type as $crate::section::Key>::field(
            $crate::section::key_of(stringify!($field)),
            $crate::section::section!(@kind $($kind)*),
            $crate::section::section!(@option $($default)?),
            concat!($($help),+).trim_ascii_start(),
        )]
    };
    (@kind) => { None };
    (@kind $kind:ident $(($($bound:expr),+))?) => {
        Some(tidegate_core::params::Kind::$kind $(($($bound),+))?)
    };
    (@option) => { None };
    (@option $value:expr) => { Some($value) };
    (@flag) => { false };
    (@flag $flag:expr) => { $flag };
    (@read $values:ident, $field:ident, []) => { $crate::section::Keys::read($values) };
    (@read $values:ident, $field:ident, [$($help:literal)+]) => {
        $crate::section::Placed::read($values, $crate::section::key_of(stringify!($field)))
    };
}

/// Writes an enum of tables; a file chooses one by its name, with the keys of that one. After the
/// enum's name stands its name in prose. With `or Variant(Kind)`, a file may also name a policy of
/// this kind that was registered.
macro_rules! kinds {
    (
        $(#[$about:meta])*
        pub(crate) enum $name:ident = $what:literal $(or $other:ident($policy:ty))? {
            $($kind:ident,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub(crate) enum $name {
            $($kind($kind),)+
            $(
                /// A policy that was registered.
                $other($crate::section::PolicyOf<$policy>),
            )?
        }

        impl $name {
            /// The names of the kind.
            #[allow(dead_code, reason = "messages name some kinds, and not others")]
            pub(crate) fn about(&self) -> $crate::section::About {
                match self {
                    $($name::$kind(_) => <$kind as $crate::section::Table>::ABOUT,)+
                    $($name::$other(policy) => $crate::section::About::of_policy(policy.record),)?
                }
            }
        }

        impl $crate::section::Key for $name {
            fn shape() -> $crate::record::Shape {
                let options = vec![$(<$kind as $crate::section::Table>::section()),+];
                $(let options = [options, $crate::section::registered::<$policy>()].concat();)?
                $crate::record::Shape::OneOf($crate::record::OneOf {
                    what: $what,
                    default_kind: None,
                    options,
                })
            }

            fn of(read: &$crate::values::Read) -> Option<$name> {
                let $crate::values::Read::Table(values) = read else { return None };
                match values.section.name {
                    $(name if name == <$kind as $crate::section::Table>::ABOUT.name => {
                        $crate::section::Keys::read(values).map($name::$kind)
                    })+
                    $(_ if values.section.policy.is_some() => {
                        $crate::section::PolicyOf::<$policy>::read(values).map($name::$other)
                    })?
                    _ => None,
                }
            }
        }
    };
}

/// Writes an enum, or names the variants of one that there is; a file names a variant by its word.
macro_rules! words {
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

        $crate::section::words!($name { $($variant = $word,)+ });
    };
    ($name:ident { $($variant:ident = $word:literal,)+ }) => {
        impl $crate::section::Scalar for $name {
            const KIND: tidegate_core::params::Kind = tidegate_core::params::Kind::Word(&[$($word),+]);

            fn of(value: &tidegate_core::params::Value) -> Option<$name> {
                match value {
                    $(tidegate_core::params::Value::Text(word) if word == $word => Some($name::$variant),)+
                    _ => None,
                }
            }
        }

        $crate::section::scalar!($name);
    };
}

pub(crate) use {kinds, section, words};

#[cfg(test)]
mod tests;
