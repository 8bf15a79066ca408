//! A graph as a file states it.

use std::collections::BTreeMap;

/// Nodes by their identifiers, and edges between these.
#[derive(Default)]
pub(super) struct Stated {
    pub(super) is_directed: bool,
    pub(super) nodes: Vec<(String, Attributes)>,
    pub(super) edges: Vec<(String, String, Attributes)>,
}

/// Attributes by their names, as text.
pub(super) type Attributes = BTreeMap<String, String>;
