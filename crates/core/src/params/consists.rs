//! A policy that consists of several under one name.

use super::words;
use core::fmt;

words! {
    /// The queues that a dropper guards.
    #[derive(Default, PartialOrd, Ord)]
    pub enum Scope {
        /// The queue of its port or class as a whole.
        #[default]
        Node = "queue",
        /// Each flow's own queue there, with a dropper of its own.
        Flow = "flow",
    }
}

/// A scheduler and a dropper, by the names of their records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Consists {
    /// The scheduler.
    pub scheduler: &'static str,
    /// The dropper.
    pub dropper: &'static str,
    /// The queues that the dropper guards.
    pub scope: Scope,
    /// Parameters of the dropper that differ from its defaults, with their values as in a file.
    pub sets: &'static [(&'static str, &'static str)],
}

impl fmt::Display for Consists {
    /// Writes the equivalent policy expression of a file: `drr++ + codel(scope=flow)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} + {}", self.scheduler, self.dropper)?;
        let scope = (self.scope == Scope::Flow).then_some(("scope", "flow"));
        let mut before = "(";
        for (name, value) in scope.iter().chain(self.sets) {
            write!(f, "{before}{name}={value}")?;
            before = ", ";
        }
        f.write_str(if before == "(" { "" } else { ")" })
    }
}
