//! Effects of a stage on bounds.

use crate::network::Network;
use tidegate_core::bounds::network::Window;
use tidegate_core::curves::ArrivalCurve;

/// The effect of a stage on a port.
#[derive(Clone, Debug, Default)]
pub(super) struct OnPort {
    /// Traffic of the stage's cells, which go ahead of the packets of the port, the one on its way out
    /// included; `None` without any.
    pub(super) ahead: Option<ArrivalCurve>,
    /// Reason for which the port promises nothing.
    pub(super) void: Option<&'static str>,
}

/// Effects of a stage on bounds.
#[derive(Debug)]
pub(super) struct Effects {
    /// On the port of each link.
    pub(super) ports: Vec<OnPort>,
    /// Its windows.
    pub(super) windows: Vec<Window>,
}

impl Effects {
    pub(super) fn none(network: &Network) -> Effects {
        Effects { ports: vec![OnPort::default(); network.links.len()], windows: Vec::new() }
    }

    /// The effects of both, of which at most one sends cells over a link.
    pub(super) fn and(mut self, other: Effects) -> Effects {
        for (one, other) in self.ports.iter_mut().zip(other.ports) {
            one.ahead = one.ahead.take().or(other.ahead);
            one.void = one.void.or(other.void);
        }
        self.windows.extend(other.windows);
        self
    }
}
