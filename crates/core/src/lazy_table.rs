//! Values by flow index that are nearly always the default: memory is allocated only when one is not.

use crate::packet::FlowIx;

/// A table of values by flow index, as long as the last one that was ever written.
#[derive(Clone, Debug, Default)]
pub struct LazyTable<T>(Vec<T>);

impl<T: Copy + Default + PartialEq> LazyTable<T> {
    /// The flow's value.
    #[inline]
    pub fn get(&self, flow: FlowIx) -> T {
        self.0.get(flow.ix()).copied().unwrap_or_default()
    }

    /// The flow's value, to be written.
    pub fn get_mut(&mut self, flow: FlowIx) -> &mut T {
        if self.0.len() <= flow.ix() {
            self.0.resize(flow.ix() + 1, T::default());
        }
        &mut self.0[flow.ix()]
    }

    /// Writes the flow's value; takes no memory for a value that has always been the default.
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
