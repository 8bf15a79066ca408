//! Construction of a world from a network, with the events known from the start.

use super::fabric_setup::fabric;
use super::flow_setup::flow;
use super::host_events::HostEvents;
use super::lives::lives;
use super::measuring::measures;
use super::pending::Pending;
use super::routes::{add_forks, add_route, add_spreads, open_lanes, reserve, stage_sets};
use super::stages::{Placed, Sets, StageSetup, stages};
use super::{Event, World};
use crate::event_queue::EventQueue;
use crate::fabric::Fabric;
use crate::flow::Flow;
use crate::host::{Outbox, Source};
use crate::network::Network;
use crate::packets::Packets;
use crate::probe::Probes;
use crate::stage::StageCx;
use tidegate_core::contract::Refused;
use tidegate_core::units::{Span, Time};

impl<Q: EventQueue> World<Q> {
    /// Builds the network; every component's random stream comes from `seed` and its name.
    ///
    /// # Errors
    /// When a scheduler refuses a plan.
    pub fn new(network: &Network, seed: u64, probes: &Probes) -> Result<World<Q>, Refused> {
        let (ports, first_hops) = (network.ports(), network.first_hops());
        let lives: Vec<(Time, Time)> = lives(network, seed).collect();
        let born = lives.iter().zip(&first_hops).enumerate();
        let mut flows: Vec<Flow> =
            born.map(|(ix, (life, first_hop))| flow(network, ix, seed, *life, *first_hop)).collect();
        let mut fabric = fabric(network, seed, &ports)?;
        add_forks(network, &first_hops, &mut fabric);
        add_spreads(network, seed, &mut fabric);
        let stages = stages(&mut StageSetup {
            network,
            seed,
            probes,
            flows: &flows,
            ports: &ports,
            first_hops: &first_hops,
            fabric: &mut fabric,
        })?;
        open_lanes(&stages, &mut fabric);
        let mut sets = Sets::new(&stages);
        let of_hops = stage_sets(network, &first_hops, &mut sets)?;
        (fabric.stage_sets, fabric.observers) = (sets.all, sets.observers.into_iter().collect());
        let mut events: Pending<Q> = Pending::new(network, stages.len());
        reserve(network, &mut fabric);
        let is_sampled = probes.sample.is_some() || network.assurance.is_some();
        for (ix, (flow, setup)) in flows.iter_mut().zip(&network.flows).enumerate() {
            add_route(network, setup, &of_hops[flow.range()], &mut fabric, is_sampled)?;
            let begins = begin(flow, lives[ix].0, &fabric);
            if begins < flow.stop {
                events.set(Event::Source(ix as u32), begins);
                flow.wakes_at = begins;
            }
        }
        for (ix, Placed { stage, .. }) in (0..).zip(&stages) {
            events.stages.set(ix, stage.begin());
        }
        let mut world = World {
            events,
            // An event at infinity never occurs, even in an unbounded run.
            until: (Time::ORIGIN + network.duration).min(Time::NEVER.before(Span::TICK)),
            next_housekeeping: Time::NEVER,
            next_pause: Time::NEVER,
            stages,
            starts: Vec::new(),
            host_events: HostEvents::default(),
            overflow: None,
            cx: StageCx {
                now: Time::ORIGIN,
                fabric,
                flows,
                packets: Packets::default(),
                measures: measures(network, &lives, probes),
                outbox: Outbox::default(),
                wake_at: None,
            },
        };
        world.count_in_traffic();
        world.schedule_housekeeping();
        Ok(world)
    }
}

/// Prepares the source of a flow that starts at `start`; returns the time of its first event.
fn begin(flow: &mut Flow, start: Time, fabric: &Fabric) -> Time {
    match &mut flow.source {
        Source::Endpoint(_) => {
            let first = &fabric.hops[flow.first_hop as usize];
            let switch = &fabric.nodes[first.node as usize].switch;
            flow.tells_round_trip = switch.follows_round_trips(first.leg.port);
            start
        }
        Source::OpenLoop(emission) => {
            let first = emission.next_packet();
            flow.pending = first.map_or(0, |(_, len)| len);
            first.map_or(Time::NEVER, |(gap, _)| start + gap)
        }
    }
}
