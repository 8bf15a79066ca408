//! The traits of keys and of tables, and the value of a key.

use crate::error::Place;
use crate::record::{Field, Section, Shape};
use crate::values::{Read, Values};
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::ops::Deref;
use tidegate_core::params::{Kind, PolicyRecord, Value};

/// A struct whose fields are keys of a table; written by `section!`.
pub(crate) trait Keys: Sized {
    /// Its keys, in the order in which they are documented.
    fn fields() -> Vec<Field>;

    /// The struct with the values of a table, each of which fits its record. `None` when a required
    /// one is missing, which has been reported.
    fn read(values: &Values) -> Option<Self>;
}

/// The keys of a whole table; written by `section!`.
pub(crate) trait Table: Keys {
    /// Its names.
    const ABOUT: About;

    /// Its record.
    fn section() -> Section;
}

/// The names of a table.
pub(crate) struct About {
    /// Its key in a file, or the value of `kind` that selects it.
    pub name: &'static str,
    /// Its name in prose.
    pub title: &'static str,
    /// True for a source that adapts its sending to the network.
    pub responsive: bool,
}

impl About {
    /// The names of a policy.
    pub(crate) fn of_policy(record: &'static PolicyRecord) -> About {
        About { name: record.name, title: record.title, responsive: record.is_responsive() }
    }
}

/// The value of a key.
#[derive(Clone, Debug)]
pub(crate) struct Placed<T> {
    /// The key; for an entry of a list of tables, the list's.
    pub key: &'static str,
    pub value: T,
    /// Place of the value; that of the table when the key was not written.
    pub place: Place,
    /// True if the key was written, rather than left to its default.
    pub given: bool,
}

impl<T> Deref for Placed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Display> Display for Placed<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T> Placed<T> {
    /// The key and its place, if it was written.
    pub(crate) fn written(&self) -> Option<(&'static str, Place)> {
        self.given.then_some((self.key, self.place))
    }
}

impl<T: Key> Placed<T> {
    /// The value of the key `name` of a table. `None` when it is missing and required.
    pub(crate) fn read(values: &Values, name: &'static str) -> Option<Placed<T>> {
        let held = values.held(name);
        let value = held.map_or_else(T::absent, |held| T::of(&held.read))?;
        let (place, given) = held.map_or((values.place, false), |held| (held.place, held.given));
        Some(Placed { key: name, value, place, given })
    }
}

/// A type that a key may have.
pub(crate) trait Key: Sized {
    /// The values that it takes, unless the declaration states a kind.
    fn shape() -> Shape;

    /// Converts a value that fits the record.
    fn of(read: &Read) -> Option<Self>;

    /// Its value when the key is left out and has no default; `None` when it must be given.
    fn absent() -> Option<Self> {
        None
    }

    /// The record of a key of this type, for values of the `kind` that is stated.
    fn field(
        name: &'static str,
        kind: Option<Kind>,
        default: Option<&'static str>,
        help: &'static str,
    ) -> Field {
        let shape = match (Self::shape(), kind) {
            (Shape::OneOrMore(_), Some(kind)) => Shape::OneOrMore(kind),
            (_, Some(kind)) => Shape::Value(kind),
            (shape, None) => shape,
        };
        let required = default.is_none() && Self::absent().is_none();
        Field { name, shape, default: default.map(Cow::Borrowed), required, help }
    }
}

/// A type of single values.
pub(crate) trait Scalar: Sized {
    /// The values that it takes, unless the declaration states a kind.
    const KIND: Kind;

    /// Converts a value of its kind.
    fn of(value: &Value) -> Option<Self>;
}

/// Makes a scalar the type of a key.
macro_rules! scalar {
    ($type:ty) => {
        impl $crate::section::Key for $type {
            fn shape() -> $crate::record::Shape {
                $crate::record::Shape::Value(<$type as $crate::section::Scalar>::KIND)
            }

            fn of(read: &$crate::values::Read) -> Option<$type> {
                let $crate::values::Read::Value(value) = read else { return None };
                $crate::section::Scalar::of(value)
            }
        }
    };
}
pub(crate) use scalar;
