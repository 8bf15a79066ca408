//! The kind of a policy, as held in a plan: the way to make it.

use super::contract::Refused;
use super::{
    Fault, Guarantee, KeepsRates, Marking, Member, NodeContext, PolicyRecord, ReceiverWindow, Value,
};
use core::fmt;
use std::sync::Arc;

/// A way to make a policy: a built-in one of a role with its parameters, or one written outside
/// this crate.
pub enum PolicyKind<B, P: ?Sized> {
    /// A built-in one.
    BuiltIn(B),
    /// One written outside this crate, which knows its parameters.
    Custom(Arc<dyn Factory<P>>),
}

/// Makes policies of one kind. A closure is one, and its captures are the parameters.
pub trait Factory<P: ?Sized>: Send + Sync {
    /// A new policy, without flows.
    fn make(&self) -> Box<P>;

    /// Returns true if one flow's promise may leave too little for another
    /// ([`PolicyRecord::divides`]).
    fn divides(&self) -> bool {
        false
    }
}

impl<P: ?Sized, F: Fn() -> Box<P> + Send + Sync> Factory<P> for F {
    fn make(&self) -> Box<P> {
        self()
    }
}

/// The built-in policies of a role, each with its parameters; written by `registry!`.
pub trait BuiltIn: Clone + PartialEq + fmt::Debug + Sized {
    /// One record per policy, in the order of the registry.
    const RECORDS: &'static [PolicyRecord];

    /// The policy of this name with these values; `None` when there is none.
    fn read(name: &str, values: &[(&'static str, Value)]) -> Option<Result<Self, Fault>>;

    /// Every policy with values that are allowed together.
    fn examples() -> Vec<Self>;

    /// Returns its record.
    fn record(&self) -> &'static PolicyRecord;

    /// Returns its values, including the defaults of those that were not set.
    fn values(&self) -> Vec<(&'static str, Value)>;

    /// [`PolicyParams::marking`](super::PolicyParams::marking).
    fn marking(&self) -> Marking;

    /// [`PolicyParams::keeps_rates`](super::PolicyParams::keeps_rates).
    fn keeps_rates(&self) -> Option<KeepsRates>;

    /// [`PolicyParams::follows_round_trips`](super::PolicyParams::follows_round_trips).
    fn follows_round_trips(&self) -> Option<&'static str>;

    /// [`PolicyParams::reads_colours`](super::PolicyParams::reads_colours).
    fn reads_colours(&self) -> bool;

    /// [`PolicyParams::receiver_window`](super::PolicyParams::receiver_window).
    fn receiver_window(&self, size: u32) -> Option<ReceiverWindow>;

    /// [`PolicyParams::target_utilisation`](super::PolicyParams::target_utilisation).
    fn target_utilisation(&self) -> Option<f64>;

    /// [`PolicyParams::waits_for_ties`](super::PolicyParams::waits_for_ties).
    fn waits_for_ties(&self) -> bool;

    /// [`PolicyParams::guarantee`](super::PolicyParams::guarantee).
    fn guarantee(&self, server: Guarantee, members: &[Member], index: usize) -> Option<Guarantee>;

    /// [`PolicyParams::check`](super::PolicyParams::check).
    ///
    /// # Errors
    /// When parameters contradict each other.
    fn check(&self) -> Result<(), Fault>;

    /// [`PolicyParams::check_at`](super::PolicyParams::check_at).
    ///
    /// # Errors
    /// When the requested values do not fit.
    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault>;
}

impl<B: BuiltIn, P: ?Sized> PolicyKind<B, P> {
    /// The built-in policy of this name with default parameters; `None` when there is none, or when
    /// it has a parameter that must be given.
    pub fn named(name: &str) -> Option<PolicyKind<B, P>> {
        B::read(name, &[])?.ok().map(PolicyKind::BuiltIn)
    }

    /// A policy written outside this crate, made by a closure that holds its parameters.
    pub fn custom(make: impl Fn() -> Box<P> + Send + Sync + 'static) -> PolicyKind<B, P> {
        PolicyKind::Custom(Arc::new(make))
    }

    /// Its record; `None` for a policy written outside this crate.
    pub fn record(&self) -> Option<&'static PolicyRecord> {
        match self {
            PolicyKind::BuiltIn(policy) => Some(policy.record()),
            PolicyKind::Custom(_) => None,
        }
    }

    /// Returns true if one flow's promise may leave too little for another
    /// ([`PolicyRecord::divides`]).
    pub fn divides(&self) -> bool {
        match self {
            PolicyKind::BuiltIn(policy) => policy.record().divides,
            PolicyKind::Custom(factory) => factory.divides(),
        }
    }

    /// Returns true if an idle port waits for all packets of an instant. Assumed false for a policy
    /// written outside this crate.
    pub fn waits_for_ties(&self) -> bool {
        match self {
            PolicyKind::BuiltIn(policy) => policy.waits_for_ties(),
            PolicyKind::Custom(_) => false,
        }
    }

    /// Returns true if it starts packets at the beginning of slots only. Assumed false for a policy
    /// written outside this crate.
    pub fn is_slotted(&self) -> bool {
        self.record().is_some_and(PolicyRecord::is_slotted)
    }

    /// Makes the policy by one of the two functions.
    pub(crate) fn make_with<T>(
        &self,
        built_in: impl FnOnce(&B) -> Result<T, Refused>,
        custom: impl FnOnce(Box<P>) -> T,
    ) -> Result<T, Refused> {
        match self {
            PolicyKind::BuiltIn(policy) => built_in(policy),
            PolicyKind::Custom(factory) => Ok(custom(factory.make())),
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
            PolicyKind::Custom(_) => f.write_str("Custom"),
        }
    }
}

/// Built-in policies are equal when their parameters are, others when they come from one factory.
impl<B: PartialEq, P: ?Sized> PartialEq for PolicyKind<B, P> {
    fn eq(&self, other: &PolicyKind<B, P>) -> bool {
        match (self, other) {
            (PolicyKind::BuiltIn(a), PolicyKind::BuiltIn(b)) => a == b,
            (PolicyKind::Custom(a), PolicyKind::Custom(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// Writes the built-in policies of a role: an enum with the parameters of each, their records, and
/// [`BuiltIn`] by the parameters' [`PolicyParams`](super::PolicyParams).
macro_rules! registry {
    ($(#[$about:meta])* pub enum $name:ident { $($variant:ident($params:path),)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name {
            $(#[doc = concat!("[`", stringify!($params), "`]")] $variant($params),)+
        }

        /// The record of every built-in policy of this role.
        pub const RECORDS: &[$crate::params::PolicyRecord] =
            &[$(<$params as $crate::params::PolicyParams>::RECORD),+];

        impl $crate::params::BuiltIn for $name {
            const RECORDS: &'static [$crate::params::PolicyRecord] = RECORDS;

            fn read(
                name: &str,
                values: &[(&'static str, $crate::params::Value)],
            ) -> Option<Result<$name, $crate::params::Fault>> {
                $(if name == <$params as $crate::params::PolicyParams>::RECORD.name {
                    let params = <$params as $crate::params::Parameters>::read(values);
                    return Some(params.map($name::$variant));
                })+
                None
            }

            fn examples() -> Vec<$name> {
                vec![$($name::$variant(<$params as $crate::params::PolicyParams>::example())),+]
            }

            fn record(&self) -> &'static $crate::params::PolicyRecord {
                match self {
                    $($name::$variant(_) => const { &<$params as $crate::params::PolicyParams>::RECORD },)+
                }
            }

            fn values(&self) -> Vec<(&'static str, $crate::params::Value)> {
                match self {
                    $($name::$variant(params) => $crate::params::Parameters::values(params),)+
                }
            }

            fn marking(&self) -> $crate::params::Marking {
                match self {
                    $($name::$variant(params) => $crate::params::PolicyParams::marking(params),)+
                }
            }

            fn keeps_rates(&self) -> Option<$crate::params::KeepsRates> {
                match self {
                    $($name::$variant(params) => $crate::params::PolicyParams::keeps_rates(params),)+
                }
            }

            fn follows_round_trips(&self) -> Option<&'static str> {
                match self {
                    $($name::$variant(params) => $crate::params::PolicyParams::follows_round_trips(params),)+
                }
            }

            fn reads_colours(&self) -> bool {
                match self {
                    $($name::$variant(params) => $crate::params::PolicyParams::reads_colours(params),)+
                }
            }

            fn receiver_window(&self, size: u32) -> Option<$crate::params::ReceiverWindow> {
                match self {
                    $($name::$variant(params) => $crate::params::PolicyParams::receiver_window(params, size),)+
                }
            }

            fn target_utilisation(&self) -> Option<f64> {
                match self {
                    $($name::$variant(params) => $crate::params::PolicyParams::target_utilisation(params),)+
                }
            }

            fn waits_for_ties(&self) -> bool {
                match self {
                    $($name::$variant(params) => $crate::params::PolicyParams::waits_for_ties(params),)+
                }
            }

            fn guarantee(
                &self,
                server: $crate::params::Guarantee,
                members: &[$crate::params::Member],
                index: usize,
            ) -> Option<$crate::params::Guarantee> {
                match self {
                    $($name::$variant(params) => {
                        $crate::params::PolicyParams::guarantee(params, server, members, index)
                    })+
                }
            }

            fn check(&self) -> Result<(), $crate::params::Fault> {
                match self {
                    $($name::$variant(params) => $crate::params::PolicyParams::check(params),)+
                }
            }

            fn check_at(&self, node: &$crate::params::NodeContext<'_>) -> Result<(), $crate::params::Fault> {
                match self {
                    $($name::$variant(params) => $crate::params::PolicyParams::check_at(params, node),)+
                }
            }
        }
    };
}

pub(crate) use registry;
