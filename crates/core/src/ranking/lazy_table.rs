//! Table of per-flow values that are nearly always the default: memory is allocated only for
//! others.

use crate::packet::FlowIx;
use alloc::vec::Vec;

/// A table of values by flow index; its length is set by the highest index written.
#[derive(Clone, Debug, Default)]
pub struct LazyTable<T>(Vec<T>);

impl<T: Copy + Default + PartialEq> LazyTable<T> {
    /// The flow's value.
    #[inline]
    pub fn get(&self, flow: FlowIx) -> T {
        self.0.get(flow.ix()).copied().unwrap_or_default()
    }

    /// Mutable access to the flow's value.
    pub fn get_mut(&mut self, flow: FlowIx) -> &mut T {
        if self.0.len() <= flow.ix() {
            self.0.resize(flow.ix() + 1, T::default());
        }
        &mut self.0[flow.ix()]
    }

    /// Sets the flow's value; allocates no memory for a default value past the end of the table.
    pub fn set(&mut self, flow: FlowIx, value: T) {
        if value != self.get(flow) {
            *self.get_mut(flow) = value;
        }
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.0.capacity() * size_of::<T>()
    }
}
