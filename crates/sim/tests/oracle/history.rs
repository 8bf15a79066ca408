//! The history of each packet at each link of its way according to a log, and properties that hold
//! under any policy.

use crate::model::links_before;
use std::collections::BTreeMap;
use tidegate_core::context::Reason;
use tidegate_core::units::{Span, Time};
use tidegate_sim::network::Network;
use tidegate_sim::packet_log::{Entry, PacketEvent, PacketId};

/// A packet at one link.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    pub packet: PacketId,
    pub link: usize,
    pub len: u32,
    pub arrived: Time,
    /// Time at which it joined the queue, of a packet that has started.
    pub queued: Option<Time>,
    pub started: Option<Time>,
    pub departed: Option<Time>,
    pub dropped: Option<(Time, Reason)>,
    pub lost: Option<Time>,
    pub received: Option<Time>,
    /// The places in the log of its arrival and of its leaving, sent or dropped.
    pub places: (usize, Option<usize>),
}

/// Every visit.
pub struct History<'n> {
    pub network: &'n Network,
    /// In order of arrival.
    pub visits: Vec<Visit>,
    index: BTreeMap<(PacketId, usize), usize>,
    /// The visits of each link, in the order in which they started.
    pub started: Vec<Vec<usize>>,
}

impl<'n> History<'n> {
    /// Reads a log.
    ///
    /// # Errors
    /// An impossible entry: time that goes back, an event that happens twice, or one before its
    /// cause.
    pub fn new(network: &'n Network, log: &[Entry]) -> Result<History<'n>, String> {
        let mut history = History {
            network,
            visits: Vec::new(),
            index: BTreeMap::new(),
            started: vec![Vec::new(); network.links.len()],
        };
        let mut before = Time::ORIGIN;
        for (place, entry) in log.iter().enumerate() {
            if entry.at < before {
                return Err(format!("time goes back from {before:?}: {entry:?}"));
            }
            before = entry.at;
            history.note(place, entry).map_err(|what| format!("{what}: {entry:?}"))?;
        }
        Ok(history)
    }

    fn note(&mut self, place: usize, &Entry { at, link, what }: &Entry) -> Result<(), String> {
        let link = link as usize;
        let ix = |packet: PacketId| {
            self.index.get(&(packet, link)).copied().ok_or_else(|| "it has not arrived there".to_owned())
        };
        match what {
            PacketEvent::Arrived { packet, len } => {
                let visit = Visit {
                    packet,
                    link,
                    len,
                    arrived: at,
                    queued: None,
                    started: None,
                    departed: None,
                    dropped: None,
                    lost: None,
                    received: None,
                    places: (place, None),
                };
                if self.index.insert((packet, link), self.visits.len()).is_some() {
                    return Err("it arrives for the second time".into());
                }
                self.visits.push(visit);
            }
            PacketEvent::Started { packet, queued, .. } => {
                let ix = ix(packet)?;
                once(&mut self.visits[ix].started, at)?;
                self.visits[ix].queued = Some(queued);
                self.started[link].push(ix);
            }
            PacketEvent::Departed(packet) => {
                let ix = ix(packet)?;
                self.visits[ix].started.ok_or("it has not started")?;
                once(&mut self.visits[ix].departed, at)?;
                self.visits[ix].places.1 = Some(place);
            }
            PacketEvent::Dropped(packet, reason) => {
                let ix = ix(packet)?;
                if self.visits[ix].started.is_some() {
                    return Err("it was being sent".into());
                }
                once(&mut self.visits[ix].dropped, (at, reason))?;
                self.visits[ix].places.1 = Some(place);
            }
            PacketEvent::Lost(packet) => {
                let ix = ix(packet)?;
                once(&mut self.visits[ix].lost, at)?;
            }
            PacketEvent::Received(packet) => {
                let ix = ix(packet)?;
                once(&mut self.visits[ix].received, at)?;
            }
            PacketEvent::Released(_)
            | PacketEvent::Absorbed(_)
            | PacketEvent::Woken
            | PacketEvent::Opened(_)
            | PacketEvent::Amended(..)
            | PacketEvent::Closed(_) => {}
        }
        Ok(())
    }

    pub fn at(&self, packet: PacketId, link: usize) -> Option<&Visit> {
        self.index.get(&(packet, link)).map(|ix| &self.visits[*ix])
    }

    /// The visits of a link that were sent, in their order.
    pub fn sent(&self, link: usize) -> impl Iterator<Item = &Visit> {
        self.started[link].iter().map(|ix| &self.visits[*ix])
    }

    fn until(&self) -> Time {
        Time::ORIGIN + self.network.duration
    }

    /// The next links on a flow's route after a link; none where the route ends.
    fn behind(&self, flow: u32, link: usize) -> Vec<usize> {
        let setup = &self.network.flows[flow as usize];
        let before = links_before(&setup.route, &setup.depths);
        let next = setup.route.iter().zip(before).filter(|(_, before)| *before == Some(link));
        next.map(|(link, _)| *link).collect()
    }

    /// The links on which a flow's packets begin.
    pub fn begins(&self, flow: u32) -> Vec<usize> {
        let setup = &self.network.flows[flow as usize];
        let before = links_before(&setup.route, &setup.depths);
        setup.route.iter().zip(before).filter(|(_, before)| before.is_none()).map(|(link, _)| *link).collect()
    }

    /// Checks that every packet is somewhere: a packet that departs is lost, or is at the end of
    /// the link after its delay and goes on there.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check_ways(&self) -> Result<(), String> {
        for visit in &self.visits {
            let delay = self.network.links[visit.link].delay;
            let behind = self.behind(visit.packet.flow, visit.link);
            let due = visit.departed.filter(|_| visit.lost.is_none()).map(|at| at + delay);
            let due = due.filter(|at| *at <= self.until());
            let arrivals = behind.iter().map(|next| self.at(visit.packet, *next).map(|next| next.arrived));
            let expected_received = due.filter(|_| behind.is_empty());
            if visit.received != expected_received {
                return Err(format!("it is not received at {expected_received:?}: {visit:?}"));
            }
            for at in arrivals {
                if at != due {
                    return Err(format!("it arrives at the next link at {at:?}, not at {due:?}: {visit:?}"));
                }
            }
            if visit.lost.is_some_and(|at| visit.departed != Some(at)) {
                return Err(format!("it is lost at another time than it departs: {visit:?}"));
            }
            if visit.lost.is_some() && !self.network.links[visit.link].loss.happens() {
                return Err(format!("a link without loss loses it: {visit:?}"));
            }
        }
        Ok(())
    }

    /// A link sends one packet at a time, each for as long as its rate says; a flow's packets in
    /// their order.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check_links(&self) -> Result<(), String> {
        for (ix, link) in self.network.links.iter().enumerate() {
            let mut free_at = Time::ORIGIN;
            let mut latest: BTreeMap<u32, u64> = BTreeMap::new();
            for visit in self.sent(ix) {
                let started = visit.started.unwrap_or(Time::NEVER);
                if started < free_at || started < visit.arrived {
                    return Err(format!(
                        "it starts while {} is busy, or before it is there: {visit:?}",
                        link.name
                    ));
                }
                let takes = link.rate.time_for(visit.len).max(Span::TICK);
                free_at = visit.departed.unwrap_or(Time::NEVER);
                if link.pace.is_steady() {
                    let out = started + takes;
                    let expected = Some(out).filter(|at| *at <= self.until());
                    if visit.departed != expected {
                        return Err(format!("its last bit is not out at {expected:?}: {visit:?}"));
                    }
                }
                let before = latest.insert(visit.packet.flow, visit.packet.sequence);
                if before.is_some_and(|before| before >= visit.packet.sequence) {
                    return Err(format!("it overtakes a packet of its flow: {visit:?}"));
                }
            }
        }
        Ok(())
    }

    /// Checks that no packet is faster than light: a received packet took at least its
    /// transmissions and propagations.
    ///
    /// # Errors
    /// The first that is.
    pub fn check_delays(&self) -> Result<(), String> {
        for last in self.visits.iter().filter(|visit| visit.received.is_some()) {
            let way = self.way_to(last);
            let least = way.iter().fold(Span::ZERO, |sum, visit| {
                let link = &self.network.links[visit.link];
                let sending = if link.pace.is_steady() { link.rate.time_for(visit.len) } else { Span::ZERO };
                sum + sending + link.delay
            });
            let first = way.last().map_or(Time::NEVER, |first| first.arrived);
            let took = last.received.unwrap_or(Time::ORIGIN).ticks() as i128 - i128::from(first.ticks());
            if took < i128::from(least.ticks()) {
                return Err(format!("it took {took} ticks, less than {}: {last:?}", least.ticks()));
            }
        }
        Ok(())
    }

    /// The visits of a packet from one link back to the first on its way.
    pub fn way_to(&self, last: &Visit) -> Vec<Visit> {
        let setup = &self.network.flows[last.packet.flow as usize];
        let before = links_before(&setup.route, &setup.depths);
        let mut way = vec![*last];
        while let Some(place) = setup.route.iter().position(|link| *link == way[way.len() - 1].link)
            && let Some(link) = before[place]
            && let Some(visit) = self.at(last.packet, link)
        {
            way.push(*visit);
        }
        way
    }
}

fn once<T>(place: &mut Option<T>, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err("it happens twice".into()),
    }
}
