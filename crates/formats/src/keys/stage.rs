//! The keys of stages beside nodes. A file has them while a stage is registered: there is no built-in
//! one to name.

use super::policies::offered;
use crate::record::Field;
use crate::section::{Keys, Name, Placed, PolicyOf, section};
use crate::values::Values;
use tidegate_core::params::NamedPolicy;
use tidegate_core::policies::StageKind;

offered! {
    StageKind: "stage", StageKind::records();
}

section! {
    /// A stage beside a node, which sees the packets that pass it.
    pub(crate) struct Stage = "stage", "Stage" {
        /// Unique name of it; also names its random stream
        name: Name,
        /// Node beside which it stands
        node: Name,
        /// Policy that it is
        policy: PolicyOf<StageKind>,
    }
}

section! {
    /// The list of stages.
    pub(crate) struct List {
        /// Stages beside nodes, in the order in which packets pass them
        stage: Vec<Placed<Stage>>,
    }
}

/// The stages of a file.
#[derive(Clone, Debug)]
pub(crate) struct Stages(pub Vec<Placed<Stage>>);

impl Keys for Stages {
    fn fields() -> Vec<Field> {
        if StageKind::records().is_empty() { Vec::new() } else { List::fields() }
    }

    fn read(values: &Values) -> Option<Stages> {
        if StageKind::records().is_empty() {
            return Some(Stages(Vec::new()));
        }
        List::read(values).map(|list| Stages(list.stage.value))
    }
}
