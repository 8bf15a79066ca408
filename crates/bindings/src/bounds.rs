//! The bounds of a network, and the contracts that they stand on, as JSON. Times are in seconds,
//! sizes in bytes.

use serde_json::{Value as Json, json};
use tidegate_core::bounds::analysis::FlowBound;
use tidegate_core::curves::{ArrivalCurve, Exact, nearest};
use tidegate_sim::bounds::{NetworkBounds, bounds, contracts};
use tidegate_sim::network::{FlowSetup, Network};

/// Bounds of all flows and ports, in the order of the network.
pub fn json(network: &Network) -> Json {
    let NetworkBounds { flows, ports } = bounds(network);
    let flow = |(flow, bound): (&FlowSetup, Result<FlowBound, String>)| {
        let mut one = match bound {
            Ok(bound) => bound_json(network, flow, &bound),
            Err(why) => json!({"delay": null, "method": null, "hops": [], "reason": why}),
        };
        one["flow"] = json!(flow.name);
        one["group"] = json!(network.groups[flow.group]);
        one
    };
    let link = |(ix, bytes): (usize, &Option<Exact>)| json!({"link": network.links[ix].name, "backlog": bytes.as_ref().map(whole)});
    json!({
        "flows": network.flows.iter().zip(flows).map(flow).collect::<Vec<_>>(),
        "links": ports.iter().enumerate().map(link).collect::<Vec<_>>(),
    })
}

/// The contract of each flow: the token buckets whose least bounds its traffic, exactly, and the
/// sizes of its packets.
pub fn contracts_json(network: &Network) -> Json {
    let one = |(flow, contract): (&FlowSetup, Result<ArrivalCurve, &str>)| {
        let sizes = flow.traffic.sizes();
        let buckets = contract.as_ref().map_or(&[][..], ArrivalCurve::buckets);
        json!({
            "flow": flow.name,
            "group": network.groups[flow.group],
            "buckets": buckets.iter().map(|bucket| {
                json!({"burst": bucket.burst.to_string(), "rate": bucket.rate.to_string()})
            }).collect::<Vec<_>>(),
            "smallest": sizes.map(|sizes| sizes.smallest),
            "largest": sizes.map(|sizes| sizes.largest),
            "reason": contract.err(),
        })
    };
    network.flows.iter().zip(contracts(network)).map(one).collect()
}

fn bound_json(network: &Network, flow: &FlowSetup, bound: &FlowBound) -> Json {
    let hops = flow.route.iter().zip(&bound.hops).map(|(link, hop)| {
        json!({
            "link": network.links[*link].name,
            "delay": nearest(&hop.delay),
            "backlog": whole(&hop.backlog),
            "source": hop.source,
        })
    });
    json!({
        "delay": nearest(&bound.delay),
        "method": bound.method.to_string(),
        "hops": hops.collect::<Vec<_>>(),
        "reason": null,
    })
}

/// Packets are whole bytes, so that a bound on them may be rounded down.
fn whole(bytes: &Exact) -> u64 {
    nearest(&bytes.floor()) as u64
}
