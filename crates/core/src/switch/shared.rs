//! A plan that many owners hold, and that is stored once.

use alloc::sync::Arc;
use core::ops::{Deref, DerefMut};

/// A shared plan. A copy costs a pointer; an owner that changes its plan gets its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared<T>(Arc<T>);

impl<T> From<T> for Shared<T> {
    fn from(plan: T) -> Shared<T> {
        Shared(Arc::new(plan))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}
