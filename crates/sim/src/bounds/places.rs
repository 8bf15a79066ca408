//! Places of flows at the ports of a network: the port of each link, and behind it those of its classes.

use super::effects::OnPort;
use super::voids::void;
use crate::network::{FlowSetup, Network};
use std::borrow::Cow;
use std::ops::Range;
use tidegate_core::bounds::network::{ClassPlace, Port};
use tidegate_core::shaper::Ceiling;
use tidegate_core::switch::plan::FlowPlan;

/// Index of the place of each link's port; its classes follow it.
pub(super) struct Places(Vec<usize>);

impl Places {
    pub(super) fn of(network: &Network) -> Places {
        let mut next = 0;
        let ends = network.links.iter().map(|link| {
            next += 1 + link.port.classes.len();
            next
        });
        Places(std::iter::once(0).chain(ends).collect())
    }

    /// The places of a link.
    pub(super) fn of_link(&self, link: usize) -> Range<usize> {
        self.0[link]..self.0[link + 1]
    }

    /// The places on a flow's way.
    pub(super) fn route(&self, flow: &FlowSetup) -> Vec<usize> {
        let place = |(link, plan): (&usize, &FlowPlan)| {
            self.0[*link] + plan.class.map_or(0, |class| usize::from(class) + 1)
        };
        flow.route.iter().zip(&flow.plans).map(place).collect()
    }

    /// All ports and classes, with the effects of stages on the port of each link.
    pub(super) fn ports<'n>(&self, network: &'n Network, effects: Option<&'n [OnPort]>) -> Vec<Port<'n>> {
        let mut ports = Vec::new();
        for (ix, link) in network.links.iter().enumerate() {
            let effect = effects.and_then(|effects| effects.get(ix));
            let unknown = effect.is_none().then_some("stages are on the way");
            let void = unknown.or_else(|| void(network, ix)).or_else(|| effect?.void);
            let port = Port {
                scheduler: &*link.port.scheduler,
                link: link.rate,
                ceiling: link.port.ceiling,
                ahead: effect.and_then(|effect| effect.ahead.as_ref()),
                delay: link.delay,
                void,
                class: None,
            };
            ports.push(port);
            ports.extend(link.port.classes.iter().map(|class| {
                let parent = self.0[ix] + class.parent.map_or(0, |parent| usize::from(parent) + 1);
                let ceiling = class.ceiling.map(|rate| Ceiling::new(rate).with_burst(class.ceiling_burst));
                let place = ClassPlace { parent, contract: class.contract, ceiling };
                Port { scheduler: &*class.scheduler, class: Some(place), ..port }
            }));
        }
        ports
    }

    /// The name of a place.
    pub(super) fn name<'n>(&self, network: &'n Network, place: usize) -> Cow<'n, str> {
        let link = self.0.partition_point(|first| *first <= place) - 1;
        let name = &network.links[link].name;
        match place - self.0[link] {
            0 => Cow::Borrowed(name),
            class => Cow::Owned(format!("class {} on {name}", network.classes[class - 1])),
        }
    }
}
