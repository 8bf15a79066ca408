//! The classes of a gate for the nodes of a network, and for their circuits.

use super::devices::Devices;
use super::names::Names;
use super::network::Node;
use crate::error::{Complaint, FormatErrors};
use crate::port::MAX_CLASS_LEVELS;
use crate::suggest::brief;
use std::collections::BTreeMap;

/// Ending of the name of the class for the circuits of a node that has other nodes in it.
const OWN: &str = "-circuits";

/// A class of the gate.
pub(super) struct Class {
    /// Its name in the gate file, where names have fewer characters than those of nodes.
    pub(super) name: String,
    /// The node's own name.
    pub(super) node: String,
    pub(super) parent: Option<usize>,
    /// Up first, in bit/s; `None` for a class that only holds the circuits of a node.
    pub(super) ceilings: Option<[u64; 2]>,
}

/// The real nodes as classes.
pub(super) struct Tree {
    classes: Vec<Class>,
    names: Names,
    /// The class of each node: its own, or that of the nearest real node above.
    class_of: Vec<Option<usize>>,
}

impl Tree {
    pub(super) fn new(nodes: &[Node]) -> Tree {
        let class_of = Vec::with_capacity(nodes.len());
        let mut tree = Tree { classes: Vec::new(), names: Names::default(), class_of };
        for node in nodes {
            let above = node.parent.and_then(|parent| tree.class_of[parent]);
            tree.class_of.push(match node.is_virtual {
                true => above,
                false => {
                    let ceilings = Some(node.carries);
                    let name = tree.names.valid(&node.name);
                    tree.classes.push(Class { name, node: node.name.clone(), parent: above, ceilings });
                    Some(tree.classes.len() - 1)
                }
            });
        }
        tree
    }

    /// A gate's tree has a limit to its depth, of which one level may be needed for circuits.
    pub(super) fn check_depth(&self, devices: &Devices) -> Result<(), FormatErrors> {
        let levels =
            |class: usize| std::iter::successors(Some(class), |class| self.classes[*class].parent).count();
        let Some(deep) = (0..self.classes.len()).find(|class| levels(*class) >= MAX_CLASS_LEVELS) else {
            return Ok(());
        };
        let message = format!(
            "node `{}` has {} nodes above it, and a gate has room for {}",
            brief(&self.classes[deep].node),
            levels(deep) - 1,
            MAX_CLASS_LEVELS - 2
        );
        Err(devices.error(Complaint::new(message)).into())
    }

    /// The classes, with one more in each that has both circuits and classes in it, and the class of
    /// each circuit, whose nodes are `parents`.
    pub(super) fn with_circuits(self, parents: &[Option<usize>]) -> (Vec<Class>, Vec<Option<usize>>) {
        let Tree { mut classes, mut names, class_of } = self;
        let inner: Vec<bool> =
            (0..classes.len()).map(|at| classes.iter().any(|class| class.parent == Some(at))).collect();
        let mut own: BTreeMap<usize, usize> = BTreeMap::new();
        let mut places = Vec::with_capacity(parents.len());
        for parent in parents {
            let class = parent.and_then(|node| class_of[node]);
            places.push(class.map(|class| match inner[class] {
                false => class,
                true => *own.entry(class).or_insert_with(|| {
                    let node = classes[class].node.clone();
                    let name = names.valid(&format!("{node}{OWN}"));
                    classes.push(Class { name, node, parent: Some(class), ceilings: None });
                    classes.len() - 1
                }),
            }));
        }
        (classes, places)
    }
}
