//! The policies among which a key chooses.

use crate::record::{Field, OneOf, Section, Shape};
use crate::section::{Key, Keys, Offered, Placed, PolicyOf, Table, section};
use crate::units::show_value;
use crate::values::{Read, Values};
use std::borrow::Cow;
use tidegate_core::composite::{self, FAIR_DEFAULT};
use tidegate_core::detector::{self, DetectorKind};
use tidegate_core::dropper::DropperKind;
use tidegate_core::endpoint::TransportKind;
use tidegate_core::meter::MeterKind;
use tidegate_core::params::{NamedPolicy, PolicyRecord, Scope};
use tidegate_core::scheduler::{self, SchedulerKind};
use tidegate_core::shaper::{self, BuiltInShaper};

pub(crate) type Scheduler = PolicyOf<SchedulerKind>;
pub(crate) type Meter = PolicyOf<MeterKind>;
pub(crate) type Detector = PolicyOf<DetectorKind>;
pub(crate) type Transport = PolicyOf<TransportKind>;
pub(crate) type Shaper = PolicyOf<BuiltInShaper>;

/// A choice among policies.
pub(super) fn policies(
    what: &'static str,
    default_kind: Option<&'static str>,
    records: impl IntoIterator<Item = &'static PolicyRecord>,
) -> Shape {
    let options = records.into_iter().map(Section::of_policy).collect();
    Shape::OneOf(OneOf { what, default_kind, options })
}

/// Writes the choice among the policies of a kind, which has a name in prose; after `=` stands the
/// one that a table without `kind` means.
macro_rules! offered {
    ($($kind:ty: $what:literal $(= $default:expr)?, $records:expr;)+) => {$(
        impl $crate::section::Offered for $kind {
            fn shape() -> $crate::record::Shape {
                let default_kind: &[&str] = &[$($default)?];
                $crate::keys::policies::policies($what, default_kind.first().copied(), $records)
            }
        }
    )+};
}
pub(super) use offered;

offered! {
    SchedulerKind: "scheduler", SchedulerKind::records().into_iter().chain(composite::RECORDS);
    DropperKind: "dropper", DropperKind::records();
    MeterKind: "meter", MeterKind::records();
    DetectorKind: "detector" = detector::DEFAULT.name, DetectorKind::records();
    TransportKind: "transport", TransportKind::records();
    BuiltInShaper: "envelope" = shaper::DEFAULT.name, shaper::RECORDS;
}

section! {
    /// The key of every dropper besides its parameters.
    pub(crate) struct Guarded {
        /// Scope: the `queue` of the port or class as a whole, or the queue of each `flow` there,
        /// with its own dropper
        scope: Scope = "queue",
    }
}

/// A dropper, and the queues that it guards.
#[derive(Clone, Debug)]
pub(crate) struct Dropper {
    pub policy: PolicyOf<DropperKind>,
    pub guarded: Guarded,
}

impl Key for Dropper {
    fn shape() -> Shape {
        let Shape::OneOf(mut one_of) = DropperKind::shape() else { unreachable!() };
        one_of.options.iter_mut().for_each(|option| option.fields.extend(Guarded::fields()));
        Shape::OneOf(one_of)
    }

    fn of(read: &Read) -> Option<Dropper> {
        let Read::Table(values) = read else { return None };
        Some(Dropper { policy: PolicyOf::of(read)?, guarded: Keys::read(values)? })
    }
}

section! {
    /// A scheduler and a dropper.
    pub(crate) struct Parts = "policy", "Policy" {
        /// Scheduler
        scheduler: Option<Scheduler> = scheduler::DEFAULT.name,
        /// Dropper
        dropper: Option<Dropper>,
    }
}

/// A whole policy.
#[derive(Clone, Debug)]
pub(crate) struct Policy(pub Parts);

impl Key for Policy {
    fn shape() -> Shape {
        Shape::Policy(Parts::section())
    }

    fn of(read: &Read) -> Option<Policy> {
        Key::of(read).map(Policy)
    }
}

/// The keys that state the order and the drops at a port or a class.
#[derive(Clone, Copy)]
pub(crate) struct Policies<'k> {
    pub policy: &'k Placed<Option<Policy>>,
    pub scheduler: &'k Placed<Option<Scheduler>>,
    pub dropper: &'k Placed<Option<Dropper>>,
    pub detector: &'k Placed<Option<Detector>>,
}

/// Keys with the defaults that they have in gate files.
#[derive(Clone, Debug)]
pub(crate) struct InGate<K>(pub K);

impl<K: Keys> Keys for InGate<K> {
    fn fields() -> Vec<Field> {
        let mut fields = K::fields();
        fields.iter_mut().for_each(with_gate_defaults);
        fields
    }

    fn read(values: &Values) -> Option<InGate<K>> {
        K::read(values).map(InGate)
    }
}

/// Gives a key the scheduler that is a gate's default, and the defaults that parameters have in
/// gate files.
fn with_gate_defaults(field: &mut Field) {
    match &mut field.shape {
        Shape::Policy(parts) => {
            parts.fields.iter_mut().for_each(|part| with_gate_params(&mut part.shape));
            field.help = "Policy: a scheduler, a dropper (FIFO with it) or both, in place of `scheduler` and \
                          `dropper`; without it, as these say";
        }
        shape => with_gate_params(shape),
    }
    if field.name == "scheduler" {
        field.default = Some(Cow::Borrowed(FAIR_DEFAULT.scheduler));
    }
}

/// Gives the parameters of every kind the defaults that they have in gate files.
fn with_gate_params(shape: &mut Shape) {
    let Shape::OneOf(one_of) = shape else { return };
    for option in &mut one_of.options {
        for param in option.policy.map_or(&[][..], |record| record.params) {
            let value = (param.in_gate)();
            let key = option.fields.iter_mut().find(|key| key.name == param.name);
            if let (Some(value), Some(key)) = (value, key) {
                key.default = Some(Cow::Owned(show_value(&value)));
            }
        }
    }
}
