//! Terms of stages, as plans carry them without knowing their types.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// Terms that stages state or agree on: at most one value of each type, which only its stage reads.
#[derive(Clone, Debug, Default)]
pub struct StageTerms(Vec<Arc<dyn Terms>>);

trait Terms: Any + Debug + Send + Sync {}

impl<T: Any + Debug + Send + Sync> Terms for T {}

impl StageTerms {
    /// Returns the terms of a type; `None` without any.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.iter().find_map(|terms| {
            let terms: &dyn Any = terms.as_ref();
            terms.downcast_ref()
        })
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of the types of which there are terms.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Sets the terms of a type, in place of earlier ones; `None` changes nothing.
    pub fn set<T: Any + Debug + Send + Sync>(&mut self, terms: Option<T>) {
        if let Some(terms) = terms {
            self.0.retain(|other| other.as_ref().type_id() != terms.type_id());
            self.0.push(Arc::new(terms));
        }
    }

    /// Returns these terms, and the `usual` ones of other types.
    #[must_use]
    pub fn or(&self, usual: &StageTerms) -> StageTerms {
        let is_missing = |terms: &&Arc<dyn Terms>| {
            self.0.iter().all(|own| own.as_ref().type_id() != terms.as_ref().type_id())
        };
        StageTerms(self.0.iter().chain(usual.0.iter().filter(is_missing)).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_found_by_their_type_and_own_ones_come_before_usual_ones() {
        let (mut own, mut usual) = (StageTerms::default(), StageTerms::default());
        own.set(Some(1_u8));
        own.set(Some(2_u8));
        own.set(None::<u8>);
        usual.set(Some(3_u8));
        usual.set(Some(4_u16));
        assert_eq!((own.get::<u8>(), own.get::<u16>()), (Some(&2), None));
        let both = own.or(&usual);
        assert_eq!((both.get::<u8>(), both.get::<u16>()), (Some(&2), Some(&4)));
        assert_eq!(usual.get::<u8>(), Some(&3));
        assert_eq!((own.len(), both.len()), (1, 2));
    }
}
