//! The route of the watched flow: a chain of links, several of which a packet takes one, or a
//! multicast tree.

/// A link of a route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouteLink {
    pub(crate) link: u32,
    /// Position in the route of the link before it.
    pub(crate) before: Option<usize>,
    /// Number of destinations behind it.
    pub(crate) destinations: u32,
}

/// The route of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Route {
    links: Vec<RouteLink>,
    /// Index of the hop over its first link.
    first_hop: u32,
    /// True if each packet takes one of several chains, and may pass a link on several of them.
    is_spread: bool,
}

impl Route {
    /// Returns the route over these links, whose hops begin with `first_hop`.
    pub(crate) fn new(links: Vec<RouteLink>, first_hop: u32, is_spread: bool) -> Route {
        Route { links, first_hop, is_spread }
    }

    /// Returns true if each packet takes one of several chains of links.
    pub(super) fn is_spread(&self) -> bool {
        self.is_spread
    }

    fn position(&self, link: u32) -> Option<usize> {
        self.links.iter().position(|one| one.link == link)
    }

    /// Returns true if a link is the first of the route.
    pub(super) fn starts_with(&self, link: u32) -> bool {
        self.links.first().is_some_and(|first| first.link == link)
    }

    /// Returns the link before a link; `None` for the first, and for one that is not of the route.
    pub(super) fn before(&self, link: u32) -> Option<u32> {
        self.back_from(link).nth(1)
    }

    /// Returns the links from a link back to the first; none for one that is not of the route.
    pub(super) fn back_from(&self, link: u32) -> impl Iterator<Item = u32> {
        let positions = std::iter::successors(self.position(link), |position| self.links[*position].before);
        positions.map(|position| self.links[position].link)
    }

    /// Returns the hop over a link.
    pub(super) fn hop_over(&self, link: u32) -> Option<u32> {
        self.position(link).map(|position| self.first_hop + position as u32)
    }

    /// Returns the number of destinations behind a link.
    pub(super) fn destinations_behind(&self, link: u32) -> u32 {
        self.position(link).map_or(1, |position| self.links[position].destinations)
    }

    /// Returns the number of destinations of the flow.
    pub(super) fn destinations(&self) -> u32 {
        if self.is_spread {
            return 1;
        }
        let first = self.links.iter().filter(|one| one.before.is_none());
        first.map(|one| one.destinations).sum::<u32>().max(1)
    }
}
