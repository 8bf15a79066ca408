//! The kind of a policy, as held in a plan: the way to make it.

use super::contract::Refused;
use super::facts::PolicyFacts;
use super::policy::PolicyParams;
use super::{Fault, PolicyRecord, Value, outside};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

/// A way to make a policy: a built-in one of a role with its parameters, or one written outside
/// this crate.
pub enum PolicyKind<B, P: ?Sized> {
    /// A built-in one.
    BuiltIn(B),
    /// One written outside this crate, with its parameters.
    Custom(Arc<dyn Factory<P>>),
}

/// Makes policies of one kind.
pub trait Factory<P: ?Sized>: Send + Sync {
    /// A new policy, without flows.
    ///
    /// # Errors
    /// When a value is beyond the range of the policy.
    fn make(&self) -> Result<Box<P>, Refused>;

    /// Returns the facts about the policy, its record among them.
    fn facts(&self) -> &(dyn PolicyFacts + 'static);
}

/// A factory of a policy with the facts about `F`.
struct Made<F, M> {
    facts: F,
    make: M,
}

impl<F, P, M> Factory<P> for Made<F, M>
where
    F: Deref<Target = dyn PolicyFacts> + Send + Sync,
    P: ?Sized,
    M: Fn() -> Result<Box<P>, Refused> + Send + Sync,
{
    fn make(&self) -> Result<Box<P>, Refused> {
        (self.make)()
    }

    fn facts(&self) -> &(dyn PolicyFacts + 'static) {
        &*self.facts
    }
}

/// A policy of a role, by its name and its values. It dereferences to the facts about it.
pub trait NamedPolicy: Clone + PartialEq + fmt::Debug + Deref<Target = dyn PolicyFacts> {
    /// One record per policy: the built-in ones in the order of the registry, then those that were
    /// registered.
    fn records() -> Vec<&'static PolicyRecord>;

    /// The policy of this name with these values; `None` when there is none.
    fn read(name: &str, values: &[(&'static str, Value)]) -> Option<Result<Self, Fault>>;

    /// Every policy with values that are allowed together, in the order of the records.
    fn examples() -> Vec<Self>;
}

/// The built-in policies of a role that has none here: only others have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBuiltIn {}

impl Deref for NoBuiltIn {
    type Target = dyn PolicyFacts;

    fn deref(&self) -> &(dyn PolicyFacts + 'static) {
        match *self {}
    }
}

impl NamedPolicy for NoBuiltIn {
    fn records() -> Vec<&'static PolicyRecord> {
        Vec::new()
    }

    fn read(_: &str, _: &[(&'static str, Value)]) -> Option<Result<NoBuiltIn, Fault>> {
        None
    }

    fn examples() -> Vec<NoBuiltIn> {
        Vec::new()
    }
}

impl<B: NamedPolicy + 'static, P: ?Sized + 'static> NamedPolicy for PolicyKind<B, P> {
    fn records() -> Vec<&'static PolicyRecord> {
        [B::records(), outside::records::<Self>()].concat()
    }

    fn read(name: &str, values: &[(&'static str, Value)]) -> Option<Result<Self, Fault>> {
        let built_in = B::read(name, values).map(|read| read.map(PolicyKind::BuiltIn));
        built_in.or_else(|| outside::read(name, values))
    }

    fn examples() -> Vec<Self> {
        let built_in = B::examples().into_iter().map(PolicyKind::BuiltIn);
        built_in.chain(outside::examples()).collect()
    }
}

impl<B: Deref<Target = dyn PolicyFacts>, P: ?Sized> Deref for PolicyKind<B, P> {
    type Target = dyn PolicyFacts;

    fn deref(&self) -> &(dyn PolicyFacts + 'static) {
        match self {
            PolicyKind::BuiltIn(policy) => &**policy,
            PolicyKind::Custom(factory) => factory.facts(),
        }
    }
}

impl<B: NamedPolicy + 'static, P: ?Sized + 'static> PolicyKind<B, P> {
    /// The policy of this name with default parameters; `None` when there is none, or when it has a
    /// parameter that must be given.
    pub fn named(name: &str) -> Option<PolicyKind<B, P>> {
        Self::read(name, &[])?.ok()
    }

    /// A policy with the record and the values of this one, made by a closure: one that watches the
    /// policy, or shares state with its maker. For plans only; it is equal to this one.
    pub fn made_by(&self, make: impl Fn() -> Box<P> + Send + Sync + 'static) -> PolicyKind<B, P>
    where
        B: Send + Sync,
    {
        PolicyKind::Custom(Arc::new(Made { facts: self.clone(), make: move || Ok(make()) }))
    }
}

impl<B, P: ?Sized + 'static> PolicyKind<B, P> {
    /// A policy with these facts, made by a closure: one whose record exists at run time only.
    pub fn of_facts(
        facts: Arc<dyn PolicyFacts>,
        make: impl Fn() -> Result<Box<P>, Refused> + Send + Sync + 'static,
    ) -> PolicyKind<B, P> {
        PolicyKind::Custom(Arc::new(Made { facts, make }))
    }

    /// A policy written outside this crate.
    pub(crate) fn declared<T: PolicyParams>(params: T, boxed: fn(T::Policy) -> Box<P>) -> PolicyKind<B, P> {
        PolicyKind::of_facts(Arc::new(params.clone()), move || params.make().map(boxed))
    }

    /// Makes the policy by one of the two functions.
    pub(crate) fn make_with<T>(
        &self,
        built_in: impl FnOnce(&B) -> Result<T, Refused>,
        custom: impl FnOnce(Box<P>) -> T,
    ) -> Result<T, Refused> {
        match self {
            PolicyKind::BuiltIn(policy) => built_in(policy),
            PolicyKind::Custom(factory) => factory.make().map(custom),
        }
    }
}

impl<B: Clone, P: ?Sized> Clone for PolicyKind<B, P> {
    fn clone(&self) -> PolicyKind<B, P> {
        match self {
            PolicyKind::BuiltIn(policy) => PolicyKind::BuiltIn(policy.clone()),
            PolicyKind::Custom(factory) => PolicyKind::Custom(Arc::clone(factory)),
        }
    }
}

impl<B: fmt::Debug, P: ?Sized> fmt::Debug for PolicyKind<B, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyKind::BuiltIn(policy) => policy.fmt(f),
            PolicyKind::Custom(factory) => factory.facts().fmt(f),
        }
    }
}

/// Policies are equal when their names and their values are.
impl<B: PartialEq, P: ?Sized> PartialEq for PolicyKind<B, P> {
    fn eq(&self, other: &PolicyKind<B, P>) -> bool {
        match (self, other) {
            (PolicyKind::BuiltIn(a), PolicyKind::BuiltIn(b)) => a == b,
            (PolicyKind::Custom(a), PolicyKind::Custom(b)) => {
                let (a, b) = (a.facts(), b.facts());
                a.record().name == b.record().name && a.values() == b.values()
            }
            _ => false,
        }
    }
}

/// Writes the built-in policies of a role: an enum with the parameters of each, their records, and
/// [`NamedPolicy`] by the parameters' [`PolicyParams`].
macro_rules! registry {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$only:meta])* $variant:ident($params:path),)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name {
            $(#[doc = concat!("[`", stringify!($params), "`]")] $(#[$only])* $variant($params),)+
        }

        /// The record of every built-in policy of this role.
        pub const RECORDS: &[$crate::params::PolicyRecord] =
            &[$($(#[$only])* <$params as $crate::params::PolicyParams>::RECORD),+];

        impl core::ops::Deref for $name {
            type Target = dyn $crate::params::PolicyFacts;

            fn deref(&self) -> &Self::Target {
                match self {
                    $($(#[$only])* $name::$variant(params) => params,)+
                }
            }
        }

        impl $crate::params::NamedPolicy for $name {
            fn records() -> $crate::alloc::vec::Vec<&'static $crate::params::PolicyRecord> {
                RECORDS.iter().collect()
            }

            fn read(
                name: &str,
                values: &[(&'static str, $crate::params::Value)],
            ) -> Option<Result<$name, $crate::params::Fault>> {
                $($(#[$only])* if name == <$params as $crate::params::PolicyParams>::RECORD.name {
                    let params = <$params as $crate::params::PolicyParams>::of_values(values);
                    return Some(params.map($name::$variant));
                })+
                None
            }

            fn examples() -> $crate::alloc::vec::Vec<$name> {
                [$($(#[$only])* $name::$variant(<$params as $crate::params::PolicyParams>::example())),+].into()
            }
        }
    };
}

pub(crate) use registry;
