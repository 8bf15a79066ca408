//! Stages that a scenario names: what their makers learn of the network.

use super::StageFactory;
use core::fmt;
use std::sync::Arc;

/// The names in a network, by the indexes of flows and links.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Names of the flows.
    pub flows: Vec<String>,
    /// Names of the links.
    pub links: Vec<String>,
}

/// Makes the plan's entries for the stages of one kind.
pub trait StageMaker: fmt::Debug + Send + Sync {
    /// Makes the factory of a stage of this name in a network.
    fn place(&self, name: &str, network: Arc<Names>) -> Arc<dyn StageFactory>;
}
