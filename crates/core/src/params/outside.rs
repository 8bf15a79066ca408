//! Policies from outside this crate that have a name in files, in the order of their registration.
//!
//! The list is the process's own: a name has one meaning in every file and every plan. It only
//! grows, so that a record that was found stays valid.

use super::contract::Refused;
use super::fault::Fault;
use super::record::PolicyRecord;
use super::value::Value;
use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use once_cell::race::OnceBox;

/// Makes a policy of type `K` from the values of its parameters.
type Read<K> = Arc<dyn Fn(&[(&'static str, Value)]) -> Result<K, Fault> + Send + Sync>;

struct Registered {
    record: &'static PolicyRecord,
    /// A [`Typed`] of the role's kind of policy.
    typed: Box<dyn Any + Send + Sync>,
}

/// The part of a registration that depends on the role.
struct Typed<K> {
    read: Read<K>,
    example: K,
}

/// One policy of the list, and the rest of it.
struct Entry {
    registered: Registered,
    next: OnceBox<Entry>,
}

static FIRST: OnceBox<Entry> = OnceBox::new();

fn all() -> impl Iterator<Item = &'static Registered> {
    core::iter::successors(FIRST.get(), |entry| entry.next.get()).map(|entry| &entry.registered)
}

/// Calls `each` with every registered policy of type `K`; returns the results.
fn of_type<K: 'static, T>(each: impl Fn(&'static PolicyRecord, &Typed<K>) -> T) -> Vec<T> {
    all().filter_map(|one| Some(each(one.record, one.typed.downcast_ref()?))).collect()
}

/// The records of all registered policies.
pub(crate) fn all_records() -> Vec<&'static PolicyRecord> {
    all().map(|one| one.record).collect()
}

/// The records of the registered policies of type `K`.
pub(super) fn records<K: 'static>() -> Vec<&'static PolicyRecord> {
    of_type(|record, _: &Typed<K>| record)
}

/// An example of every registered policy of type `K`.
pub(super) fn examples<K: Clone + 'static>() -> Vec<K> {
    of_type(|_, typed: &Typed<K>| typed.example.clone())
}

/// The registered policy of type `K` with this name and these values; `None` when there is none.
pub(super) fn read<K: 'static>(name: &str, values: &[(&'static str, Value)]) -> Option<Result<K, Fault>> {
    let found = of_type(|record, typed: &Typed<K>| (record.name == name).then(|| Arc::clone(&typed.read)));
    found.into_iter().flatten().next().map(|read| read(values))
}

/// Registers a policy, with its example.
///
/// # Errors
/// When its name has been registered before.
pub(crate) fn add<K: Send + Sync + 'static>(
    record: &'static PolicyRecord,
    read: impl Fn(&[(&'static str, Value)]) -> Result<K, Fault> + Send + Sync + 'static,
    example: K,
) -> Result<(), Refused> {
    let registered = Registered { record, typed: Box::new(Typed { read: Arc::new(read), example }) };
    let mut new = Box::new(Entry { registered, next: OnceBox::new() });
    let mut end = &FIRST;
    loop {
        match end.get() {
            Some(entry) if entry.registered.record.name == record.name => {
                return Err(Refused(format!("a policy `{}` has been registered already", record.name)));
            }
            Some(entry) => end = &entry.next,
            // Another thread may have come first.
            None => match end.set(new) {
                Ok(()) => return Ok(()),
                Err(back) => new = back,
            },
        }
    }
}
