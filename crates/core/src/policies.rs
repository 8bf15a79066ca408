//! Which policies are known by name?
//!
//! The built-in ones, and those that a crate outside this one registers: a scheduler, a dropper, a
//! detector, a meter, a transport, a source or a stage with its parameters. A file then names it as any other. A
//! name belongs to one policy of any role, and keeps it until the process ends.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::policies::built_in;
//!
//! let names: Vec<&str> = built_in().map(|record| record.name).collect();
//! assert!(["virtual-clock", "red", "fq-codel", "tcp"].iter().all(|name| names.contains(name)));
//! ```

#[cfg(feature = "atm")]
use crate::abr;
use crate::composite;
use crate::contract::Refused;
use crate::detector::{self, Detector, DetectorKind};
use crate::dropper::{self, Dropper, DropperKind};
use crate::endpoint::open_loop::SourceKind;
#[cfg(feature = "tcp")]
use crate::endpoint::tcp::congestion::{self, CongestionControl, CongestionControlKind};
use crate::endpoint::{self, Transport, TransportKind};
use crate::meter::{self, Meter, MeterKind};
use crate::params::{
    CONTRACT, Fault, NamedPolicy, NoBuiltIn, PolicyKind, PolicyParams, PolicyRecord, Role, Value, outside,
};
use crate::scheduler::{self, Scheduler, SchedulerKind};
use crate::shaper;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;

/// Kind of a stage, as a scenario names it. This crate has no stages: the simulator knows the type of
/// its makers.
pub type StageKind = PolicyKind<NoBuiltIn, dyn Any + Send + Sync>;

impl StageKind {
    /// Makes the maker of stages of this kind.
    ///
    /// # Errors
    /// When a value is beyond its range.
    pub fn build(&self) -> Result<Box<dyn Any + Send + Sync>, Refused> {
        self.make_with(|none| match *none {}, |maker| maker)
    }
}

/// The records of all built-in policies.
pub fn built_in() -> impl Iterator<Item = &'static PolicyRecord> {
    let roles = [
        composite::RECORDS,
        scheduler::RECORDS,
        dropper::RECORDS,
        meter::RECORDS,
        detector::RECORDS,
        shaper::RECORDS,
        endpoint::RECORDS,
        #[cfg(feature = "tcp")]
        congestion::RECORDS,
        #[cfg(feature = "atm")]
        abr::RECORDS,
        #[cfg(feature = "atm")]
        abr::coupling::RECORDS,
    ];
    roles.into_iter().flatten()
}

/// The records of the policies that were registered, in the order of their registration.
pub fn registered() -> Vec<&'static PolicyRecord> {
    outside::all_records()
}

/// Registers a scheduler, which files then name.
///
/// # Errors
/// When its name is taken or cannot be written in a file, when its record does not fit a scheduler,
/// or when its example is not allowed.
pub fn register_scheduler<T>() -> Result<(), Refused>
where
    T: PolicyParams<Policy: Scheduler + Send + 'static>,
{
    let fits = matches!(T::RECORD.role, Role::Scheduler { .. });
    register::<T, _, _>("scheduler", fits, &["kind"], SchedulerKind::outside)
}

/// Registers a scheduler whose record exists at run time only, as that of one written in another
/// language does. `read` makes it from the values that a file states.
///
/// # Errors
/// As [`register_scheduler`]; the example is the scheduler without any values.
pub fn register_scheduler_at_run_time(
    record: &'static PolicyRecord,
    read: impl Fn(&[(&'static str, Value)]) -> Result<SchedulerKind, Fault> + Send + Sync + 'static,
) -> Result<(), Refused> {
    let fits = matches!(record.role, Role::Scheduler { .. });
    check_record(record, "scheduler", fits, &["kind"])?;
    add_at_run_time(record, read)
}

/// Registers a dropper whose record exists at run time only; see
/// [`register_scheduler_at_run_time`].
///
/// # Errors
/// As [`register_scheduler_at_run_time`].
pub fn register_dropper_at_run_time(
    record: &'static PolicyRecord,
    read: impl Fn(&[(&'static str, Value)]) -> Result<DropperKind, Fault> + Send + Sync + 'static,
) -> Result<(), Refused> {
    check_record(record, "dropper", record.role == Role::Dropper, &["kind", "scope"])?;
    add_at_run_time(record, read)
}

/// Registers a detector whose record exists at run time only; see
/// [`register_scheduler_at_run_time`].
///
/// # Errors
/// As [`register_scheduler_at_run_time`].
pub fn register_detector_at_run_time(
    record: &'static PolicyRecord,
    read: impl Fn(&[(&'static str, Value)]) -> Result<DetectorKind, Fault> + Send + Sync + 'static,
) -> Result<(), Refused> {
    check_record(record, "detector", record.role == Role::Detector, &["kind"])?;
    add_at_run_time(record, read)
}

/// Registers a meter whose record exists at run time only; see
/// [`register_scheduler_at_run_time`].
///
/// # Errors
/// As [`register_scheduler_at_run_time`].
pub fn register_meter_at_run_time(
    record: &'static PolicyRecord,
    read: impl Fn(&[(&'static str, Value)]) -> Result<MeterKind, Fault> + Send + Sync + 'static,
) -> Result<(), Refused> {
    check_record(record, "meter", matches!(record.role, Role::Meter { .. }), &["kind"])?;
    add_at_run_time(record, read)
}

/// Registers a source whose record exists at run time only; see
/// [`register_scheduler_at_run_time`]. `taken` are the names of the sources that files know
/// already.
///
/// # Errors
/// As [`register_scheduler_at_run_time`].
pub fn register_source_at_run_time(
    record: &'static PolicyRecord,
    taken: &[&str],
    read: impl Fn(&[(&'static str, Value)]) -> Result<SourceKind, Fault> + Send + Sync + 'static,
) -> Result<(), Refused> {
    if taken.contains(&record.name) {
        return Err(Refused(format!("there is a built-in source `{}`: choose another name", record.name)));
    }
    check_record(record, "source", record.role == Role::Source, &["kind"])?;
    add_at_run_time(record, read)
}

/// Registers a stage whose record exists at run time only; see
/// [`register_scheduler_at_run_time`].
///
/// # Errors
/// As [`register_scheduler_at_run_time`].
pub fn register_stage_at_run_time(
    record: &'static PolicyRecord,
    read: impl Fn(&[(&'static str, Value)]) -> Result<StageKind, Fault> + Send + Sync + 'static,
) -> Result<(), Refused> {
    check_record(record, "stage", record.role == Role::Stage, &["kind"])?;
    add_at_run_time(record, read)
}

/// Registers a policy, with the one that has no values as its example.
fn add_at_run_time<K: Send + Sync + 'static>(
    record: &'static PolicyRecord,
    read: impl Fn(&[(&'static str, Value)]) -> Result<K, Fault> + Send + Sync + 'static,
) -> Result<(), Refused> {
    let example = read(&[]).map_err(|fault| not_allowed(record, &fault))?;
    outside::add(record, read, example)
}

/// Registers a dropper, which files then name.
///
/// # Errors
/// As [`register_scheduler`].
pub fn register_dropper<T>() -> Result<(), Refused>
where
    T: PolicyParams<Policy: Dropper + Send + 'static>,
{
    let fits = T::RECORD.role == Role::Dropper;
    register::<T, _, _>("dropper", fits, &["kind", "scope"], DropperKind::outside)
}

/// Registers a detector, which files then name.
///
/// # Errors
/// As [`register_scheduler`].
pub fn register_detector<T>() -> Result<(), Refused>
where
    T: PolicyParams<Policy: Detector + Send + 'static>,
{
    let fits = T::RECORD.role == Role::Detector;
    register::<T, _, _>("detector", fits, &["kind"], DetectorKind::outside)
}

/// Registers a meter, which files then name.
///
/// # Errors
/// As [`register_scheduler`].
pub fn register_meter<T>() -> Result<(), Refused>
where
    T: PolicyParams<Policy: Meter + Send + 'static>,
{
    let fits = matches!(T::RECORD.role, Role::Meter { .. });
    register::<T, _, _>("meter", fits, &["kind"], MeterKind::outside)
}

/// Registers a congestion control, which files then name.
///
/// # Errors
/// As [`register_scheduler`].
#[cfg(feature = "tcp")]
pub fn register_congestion_control<T>() -> Result<(), Refused>
where
    T: PolicyParams<Policy: CongestionControl + 'static>,
{
    let fits = T::RECORD.role == Role::CongestionControl;
    register::<T, _, _>("congestion control", fits, &["kind"], CongestionControlKind::outside)
}

/// Registers a congestion control whose record exists at run time only; see
/// [`register_scheduler_at_run_time`].
///
/// # Errors
/// As [`register_scheduler_at_run_time`].
#[cfg(feature = "tcp")]
pub fn register_congestion_control_at_run_time(
    record: &'static PolicyRecord,
    read: impl Fn(&[(&'static str, Value)]) -> Result<CongestionControlKind, Fault> + Send + Sync + 'static,
) -> Result<(), Refused> {
    check_record(record, "congestion control", record.role == Role::CongestionControl, &["kind"])?;
    add_at_run_time(record, read)
}

/// Registers a transport, which files then name.
///
/// # Errors
/// As [`register_scheduler`].
pub fn register_transport<T>() -> Result<(), Refused>
where
    T: PolicyParams<Policy: Transport + Send + Sync + 'static>,
{
    let fits = matches!(T::RECORD.role, Role::Transport { .. });
    register::<T, _, _>("transport", fits, &["kind"], TransportKind::outside)
}

/// Registers a policy of the role `what`, whose tables in files have the keys `taken` besides its
/// parameters.
fn register<T, B, P>(
    what: &str,
    fits: bool,
    taken: &[&str],
    kind: fn(T) -> PolicyKind<B, P>,
) -> Result<(), Refused>
where
    T: PolicyParams,
    B: NamedPolicy + Send + Sync + 'static,
    P: ?Sized + 'static,
{
    let record: &'static PolicyRecord = const { &T::RECORD };
    check_record(record, what, fits, taken)?;
    let example = T::example();
    PolicyParams::check(&example).map_err(|fault| not_allowed(record, &fault))?;
    outside::add(record, move |values| T::of_values(values).map(kind), kind(example))
}

fn not_allowed(record: &PolicyRecord, fault: &Fault) -> Refused {
    Refused(format!("the example of `{}` is not allowed: {}", record.name, fault.message))
}

/// Checks that files can name a policy of the role `what`, whose record fits it or does not, and
/// whose tables have the keys `taken` besides its parameters.
fn check_record(record: &PolicyRecord, what: &str, fits: bool, taken: &[&str]) -> Result<(), Refused> {
    let name = record.name;
    let refused = |wrong: String| Err(Refused(wrong));
    if !is_name(name) {
        return refused(format!("`{name}` is not a name of lower-case letters, digits and `-`"));
    }
    if built_in().any(|other| other.name == name) {
        return refused(format!("there is a built-in policy `{name}`: choose another name"));
    }
    if !fits {
        return refused(format!("`{name}` is registered as a {what}, and its record has another role"));
    }
    if let Some(param) = record.params.iter().find(|param| taken.contains(&param.name)) {
        return refused(format!("`{name}` has a parameter `{}`, a key of every {what}", param.name));
    }
    let is_unknown = |key: &&&str| CONTRACT.iter().all(|param| param.name != **key);
    if let Some(key) = record.reads.iter().find(is_unknown) {
        return refused(format!("`{name}` reads `{key}`, which is not a key of a contract"));
    }
    if let Some(key) = record.needs.filter(|key| !record.reads.contains(key)) {
        return refused(format!("`{name}` needs `{key}`, which it does not read"));
    }
    Ok(())
}

/// Returns true for a name that an expression in a file can hold, and that differs from others in
/// more than its case and its separators.
fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(fits)
}
