//! Every section and every choice of a format, without duplicates.

use crate::record::{OneOf, Section, Shape};

/// Sections in the order in which a reader meets them, and the choices among kinds.
pub(super) struct Catalogue {
    /// The file itself first; kinds of a choice are not among them.
    pub sections: Vec<&'static Section>,
    /// Topologies, schedulers and so on, in the order in which they are met.
    pub choices: Vec<&'static OneOf>,
}

impl Catalogue {
    /// The sections and choices that can occur in a file of this kind.
    pub(super) fn new(root: &'static Section) -> Catalogue {
        let mut catalogue = Catalogue { sections: Vec::new(), choices: Vec::new() };
        catalogue.add(root);
        catalogue
    }

    fn add(&mut self, section: &'static Section) {
        if self.sections.iter().any(|known| known.name == section.name) {
            return;
        }
        self.sections.push(section);
        self.add_below(section);
    }

    fn add_below(&mut self, section: &'static Section) {
        for field in &section.fields {
            match &field.shape {
                Shape::Table(inner) | Shape::Tables(inner) => self.add(inner),
                Shape::OneOf(one_of) | Shape::ValueOrOneOf(_, one_of)
                    if self.choices.iter().all(|known| known.what != one_of.what) =>
                {
                    self.choices.push(one_of);
                    one_of.options.iter().for_each(|option| self.add_below(option));
                }
                _ => {}
            }
        }
    }
}
