//! Parameters that the core declares, as keys of a section.

use super::{Key, Keys};
use crate::error::Place;
use crate::record::{Field, Section, Shape};
use crate::values::{Read, Values};
use std::marker::PhantomData;
use std::ops::Deref;
use tidegate_core::params::{NamedPolicy, Param, PolicyRecord, PolicyValue, Value};

/// Values of parameters by their names, by which the core also states a fault.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Place of the table.
    pub place: Place,
    held: Vec<Setting>,
}

#[derive(Clone, Debug)]
struct Setting {
    name: &'static str,
    value: Value,
    place: Place,
    given: bool,
    /// True if the core itself has this value for a parameter that is not given.
    is_default: bool,
}

impl Settings {
    /// The values of a table under these names.
    fn of(values: &Values, params: &[&Param]) -> Settings {
        let settings = values.held.iter().filter_map(|held| {
            let param = params.iter().find(|param| param.name == held.name)?;
            let value = match &held.read {
                Read::Value(value) => value.clone(),
                Read::Table(values) => Value::Policy(policy(values)?),
                _ => return None,
            };
            let is_default = !held.given && (param.default)().as_ref() == Some(&value);
            Some(Setting { name: held.name, value, place: held.place, given: held.given, is_default })
        });
        Settings { place: values.place, held: settings.collect() }
    }

    fn find(&self, name: &str) -> Option<&Setting> {
        self.held.iter().find(|setting| setting.name == name)
    }

    /// Returns true if the parameter was written, rather than left to its default.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.find(name).is_some_and(|setting| setting.given)
    }

    /// The parameters that were written, each with its place.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&'static str, Place)> {
        self.held.iter().filter(|setting| setting.given).map(|setting| (setting.name, setting.place))
    }

    /// Place of the parameter; that of the table when it was not written.
    pub(crate) fn place_of(&self, name: &str) -> Place {
        self.find(name).map_or(self.place, |setting| setting.place)
    }

    /// Every value but those that the core finds itself, which may depend on others.
    pub(crate) fn values(&self) -> Vec<(&'static str, Value)> {
        let stated = self.held.iter().filter(|setting| !setting.is_default);
        stated.map(|setting| (setting.name, setting.value.clone())).collect()
    }
}

/// A policy that is the value of a parameter.
fn policy(values: &Values) -> Option<PolicyValue> {
    let record = values.section.policy?;
    let settings = Settings::of(values, &record.params.iter().collect::<Vec<_>>());
    Some(PolicyValue { name: record.name.to_owned(), values: settings.values() })
}

/// A selection of the parameters that the core declares.
pub(crate) trait Selected {
    /// The parameters, in the order in which they are documented.
    fn params() -> Vec<&'static Param>;
}

/// Parameters of the core among the keys of a section.
#[derive(Clone, Debug)]
pub(crate) struct ParamsOf<S> {
    settings: Settings,
    of: PhantomData<S>,
}

impl<S> Deref for ParamsOf<S> {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.settings
    }
}

impl<S: Selected> Keys for ParamsOf<S> {
    fn fields() -> Vec<Field> {
        S::params().into_iter().map(Field::of_param).collect()
    }

    fn read(values: &Values) -> Option<ParamsOf<S>> {
        Some(ParamsOf { settings: Settings::of(values, &S::params()), of: PhantomData })
    }
}

/// A kind of policy among which a key chooses.
pub(crate) trait Offered: NamedPolicy {
    /// The choice.
    fn shape() -> Shape;
}

/// A policy with its parameters, before the core has read them.
#[derive(Clone, Debug)]
pub(crate) struct PolicyOf<K> {
    pub record: &'static PolicyRecord,
    pub settings: Settings,
    of: PhantomData<K>,
}

impl<K> PolicyOf<K> {
    /// The policy of a table that was read by a policy's record; `None` for another table.
    pub(crate) fn read(values: &Values) -> Option<PolicyOf<K>> {
        let record = values.section.policy?;
        let settings = Settings::of(values, &record.params.iter().collect::<Vec<_>>());
        Some(PolicyOf { record, settings, of: PhantomData })
    }
}

/// The policies of a kind, as tables.
pub(crate) fn registered<K: NamedPolicy>() -> Vec<Section> {
    K::records().into_iter().map(Section::of_policy).collect()
}

impl<K: Offered> Key for PolicyOf<K> {
    fn shape() -> Shape {
        K::shape()
    }

    fn of(read: &Read) -> Option<PolicyOf<K>> {
        match read {
            Read::Table(values) => PolicyOf::read(values),
            _ => None,
        }
    }
}
