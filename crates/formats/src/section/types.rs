//! The types that a key may have.

use super::{Key, Keys, Placed, Scalar, Table, scalar};
use crate::error::Place;
use crate::record::Shape;
use crate::values::{Read, Values};
use std::fmt::{self, Display, Formatter};
use std::ops::Deref;
use std::path::PathBuf;
use tidegate_core::classifier::matching::PortRange;
use tidegate_core::params::{Kind, Limit, Parameter, Scope, Value};
use tidegate_core::switch::plan::PushOut;
use tidegate_core::units::Span;

/// Scalars by the form of their value, each with the kind that needs no statement.
macro_rules! scalars {
    ($($type:ty: $kind:expr, $($value:pat => $made:expr),+;)+) => {$(
        impl Scalar for $type {
            const KIND: Kind = $kind;

            fn of(value: &Value) -> Option<$type> {
                match value {
                    $($value => $made,)+
                    _ => None,
                }
            }
        }

        scalar!($type);
    )+};
}

scalars! {
    u64: Kind::Integer(0, i64::MAX),
        Value::Rate(bits) => Some(*bits),
        Value::Size(bytes) => Some(*bytes),
        Value::Integer(number) => u64::try_from(*number).ok();
    u32: Kind::Integer(0, u32::MAX as i64), Value::Integer(number) => u32::try_from(*number).ok();
    u16: Kind::Integer(0, u16::MAX as i64), Value::Integer(number) => u16::try_from(*number).ok();
    u8: Kind::Integer(0, u8::MAX as i64), Value::Integer(number) => u8::try_from(*number).ok();
    i32: Kind::Integer(i32::MIN as i64, i32::MAX as i64),
        Value::Integer(number) => i32::try_from(*number).ok();
    f64: Kind::Number(0.0, 1.0), Value::Number(number) => Some(*number);
    Span: Kind::Time, Value::Time(span) => Some(*span);
    Limit: Kind::Limit, Value::Limit(limit) => Some(*limit);
    String: Kind::Text, Value::Text(text) => Some(text.clone());
}

/// Words that the core declares.
macro_rules! words_of_core {
    ($($type:ty),+) => {$(
        impl Scalar for $type {
            const KIND: Kind = <$type as Parameter>::KIND;

            fn of(value: &Value) -> Option<$type> {
                Parameter::of(value).ok()
            }
        }

        scalar!($type);
    )+};
}

words_of_core!(PushOut, Scope);

impl Key for bool {
    fn shape() -> Shape {
        Shape::Flag
    }

    fn of(read: &Read) -> Option<bool> {
        let Read::Flag(flag) = read else { return None };
        Some(*flag)
    }
}

impl Key for PathBuf {
    fn shape() -> Shape {
        Shape::File
    }

    fn of(read: &Read) -> Option<PathBuf> {
        let Read::Text(path) = read else { return None };
        Some(PathBuf::from(path))
    }
}

impl<T: Key> Key for Option<T> {
    fn shape() -> Shape {
        T::shape()
    }

    fn of(read: &Read) -> Option<Option<T>> {
        T::of(read).map(Some)
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }
}

impl<T: Table> Key for T {
    fn shape() -> Shape {
        Shape::Table(T::section())
    }

    fn of(read: &Read) -> Option<T> {
        let Read::Table(values) = read else { return None };
        Keys::read(values)
    }
}

/// A list of tables.
impl<T: Table> Key for Vec<Placed<T>> {
    fn shape() -> Shape {
        Shape::Tables(T::section())
    }

    fn of(read: &Read) -> Option<Vec<Placed<T>>> {
        let Read::Tables(tables) = read else { return None };
        let placed = |values: &Values| {
            Some(Placed { key: T::ABOUT.name, value: Keys::read(values)?, place: values.place, given: true })
        };
        // Not collected: a vector that grows may take twice its length, of what may be 2 kB each.
        let mut read = Vec::with_capacity(tables.len());
        for table in tables {
            read.push(placed(table)?);
        }
        Some(read)
    }

    fn absent() -> Option<Vec<Placed<T>>> {
        Some(Vec::new())
    }
}

impl Key for Vec<PortRange> {
    fn shape() -> Shape {
        Shape::Ports
    }

    fn of(read: &Read) -> Option<Vec<PortRange>> {
        let Read::Ports(ports) = read else { return None };
        Some(ports.clone())
    }

    fn absent() -> Option<Vec<PortRange>> {
        Some(Vec::new())
    }
}

/// One value, or a list of several; empty only when the key was left out.
#[derive(Clone, Debug)]
pub(crate) struct OneOrMore<T>(Vec<T>);

impl<T> Deref for OneOrMore<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Scalar> Key for OneOrMore<T> {
    fn shape() -> Shape {
        Shape::OneOrMore(T::KIND)
    }

    fn of(read: &Read) -> Option<OneOrMore<T>> {
        let Read::Several(values) = read else { return None };
        values.iter().map(T::of).collect::<Option<_>>().map(OneOrMore)
    }

    fn absent() -> Option<OneOrMore<T>> {
        Some(OneOrMore(Vec::new()))
    }
}

/// Writes a type of names around what the reader makes of them.
macro_rules! names {
    ($($(#[$about:meta])+ $type:ident($read:ident($inner:ty)) = $shape:ident -> $target:ty;)+) => {$(
        $(#[$about])+
        #[derive(Clone, Debug)]
        pub(crate) struct $type($inner);

        impl Deref for $type {
            type Target = $target;

            fn deref(&self) -> &$target {
                &self.0
            }
        }

        impl Key for $type {
            fn shape() -> Shape {
                Shape::$shape
            }

            fn of(read: &Read) -> Option<$type> {
                let Read::$read(names) = read else { return None };
                Some($type(names.clone()))
            }
        }
    )+};
}

names! {
    /// A name.
    Name(Text(String)) = Name -> str;
    /// A list of names, each with its place.
    Names(Texts(Vec<(Place, String)>)) = Names -> [(Place, String)];
    /// One name or a list of several, each with its place.
    OneOrMoreNames(Texts(Vec<(Place, String)>)) = OneOrMoreNames -> [(Place, String)];
}

impl Name {
    /// The name as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}
