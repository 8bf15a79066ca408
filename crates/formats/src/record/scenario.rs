//! The scenario file's own sections, except for flows and topologies.

use super::{
    Field, Section, Shape, connection, defaulted, detector, dropper, flow, meter, optional, rate,
    rate_control, required, scheduler, time, topology, vsvd,
};
use std::sync::LazyLock;
use tidegate_core::credit::params::CreditParams;
use tidegate_core::params::{CONTRACT, Kind, Param, Parameter, Parameters, PolicyRecord};
use tidegate_core::switch::plan::PushOut;

/// The version of the scenario format that is read.
pub(crate) const VERSION: i64 = 1;

static SCENARIO: LazyLock<Section> = LazyLock::new(|| {
    let fields = vec![
        version("Version of the scenario format"),
        optional(
            "name",
            Shape::Value(Kind::Text),
            "Name of the scenario; without it, the file's name without its ending",
        ),
        defaulted(
            "seed",
            Shape::Value(Kind::Integer(0, i64::MAX)),
            "1",
            "Seed of every random stream; the same seed gives the same outcome",
        ),
        required("duration", time(), "Simulated time, above zero"),
        defaulted(
            "warmup",
            time(),
            "0s",
            "Time before measuring starts, shorter than `duration`: packets sent before it are carried but \
             not measured",
        ),
        optional(
            "sample",
            time(),
            "Spacing of the series of queues, utilisation and throughput, above zero; without it, a 600th \
             of `duration`",
        ),
        defaulted(
            "topology",
            topology::shape(),
            "nodes",
            "Nodes and links to start from; `[[node]]` and `[[link]]` are added to them",
        ),
        defaulted(
            "port",
            Shape::Table(switch_port()),
            "{}",
            "Output ports of switches; a link may override it",
        ),
        defaulted("host", Shape::Table(host()), "{}", "Output ports of hosts; a link may override it"),
        defaulted("switch", Shape::Table(switch()), "{}", "Switches; a node may override it"),
        optional(
            "admission",
            Shape::Table(admission()),
            "Set-up of flows with reservations, link by link, before they send; without it, all flows are \
             set up from the start",
        ),
        optional("node", Shape::Tables(node()), "Nodes added to the topology"),
        optional("link", Shape::Tables(link()), "Links added to the topology"),
        optional("class", Shape::Tables(class()), "Classes of flows, on every switch port"),
        optional("profile", Shape::Tables(profile()), "Contracts that several flows share"),
        optional("flow", Shape::Tables(flow::flow()), "Flows: traffic from one node to others"),
        optional(
            "connection",
            Shape::Tables(connection::connection()),
            "Connections: traffic from one node to another, with acknowledgements",
        ),
    ];
    let help = "A network, the policies of its switches, and the flows that cross it.";
    Section::new("scenario", "Scenario", help, fields)
});

/// The record of a whole scenario file.
pub fn scenario() -> &'static Section {
    &SCENARIO
}

/// The first key of every file.
pub(super) fn version(help: &'static str) -> Field {
    let shape = Shape::Value(Kind::Integer(VERSION, VERSION));
    Field { default: Some("1".into()), ..required("version", shape, help) }
}

/// Purpose of a detector.
const DETECTOR: &str = "Detector of flows that do not respond to the drops of `dropper`; without it, none";

/// Purpose of a switch algorithm.
const RATE_CONTROL: &str = "Switch algorithm that assigns rates to ABR connections; without it, none";

/// Purpose of VS/VD.
const VSVD: &str = "Virtual source and destination: the port ends the control loops of ABR connections and \
                    starts new ones, which needs `rate_control`; without it, loops pass through";

/// A key for a whole policy, in place of `scheduler` and `dropper`.
pub(super) fn policy(help: &'static str) -> Field {
    let parts = vec![
        defaulted("scheduler", scheduler(), tidegate_core::scheduler::DEFAULT.name, "Scheduler"),
        optional("dropper", dropper(), "Dropper"),
    ];
    optional(
        "policy",
        Shape::Policy(Section::new("policy", "Policy", "A scheduler and a dropper.", parts)),
        help,
    )
}

const POLICY: &str = "Policy: a scheduler, a dropper (FIFO with it) or both, in place of `scheduler` and `dropper`; without \
                      it, as these say";

pub(super) fn port() -> Section {
    let fields = vec![
        policy(POLICY),
        defaulted(
            "scheduler",
            scheduler(),
            tidegate_core::scheduler::DEFAULT.name,
            "Scheduler: which flow is served next",
        ),
        defaulted(
            "meter",
            meter(),
            tidegate_core::meter::DEFAULT.name,
            "Meter: whether flows conform to their contracts; the default ignores flows without `interval`",
        ),
        optional("dropper", dropper(), "Dropper: which packets are dropped or marked; without it, none"),
        optional("detector", detector(), DETECTOR),
    ];
    let help = "Every output port of a switch; a link may override it. `host` describes the ports of hosts.";
    Section::new("port", "Port", help, fields)
}

/// A port with the keys that apply to switches and not to gates.
fn switch_port() -> Section {
    let mut section = port();
    section.fields.push(optional("rate_control", rate_control(), RATE_CONTROL));
    section.fields.push(optional("vsvd", vsvd(), VSVD));
    section.fields.push(credit());
    section
}

fn host() -> Section {
    let mut fields = vec![
        policy(POLICY),
        defaulted(
            "scheduler",
            scheduler(),
            tidegate_core::scheduler::DEFAULT.name,
            "Scheduler: which flow is served next",
        ),
        optional("meter", meter(), "Meter: whether flows conform to their contracts; without it, none"),
        optional("dropper", dropper(), "Dropper: which packets are dropped or marked; without it, none"),
        optional("detector", detector(), DETECTOR),
    ];
    fields.push(credit());
    let help = "Every output port of a host; a link may override it.";
    Section::new("host", "Host", help, fields)
}

fn profile() -> Section {
    let mut fields = vec![required("name", Shape::Name, "Unique name of the profile")];
    fields.extend(read_by(tidegate_core::meter::RECORDS));
    let help = "A contract that several flows share: at meters, the packets of all flows that name the \
                profile count against it together. Each flow's declaration to schedulers stays its own.";
    Section::new("profile", "Profile", help, fields)
        .citing("RFC 2475, section 2.3.3.1 (traffic profiles of aggregates)")
}

fn switch() -> Section {
    let buffer = optional(
        "buffer",
        Shape::Value(Kind::Limit),
        "Pool of each switch, shared by its ports with push-out; without it, unlimited",
    );
    let push_out = defaulted(
        "push_out",
        Shape::Value(PushOut::KIND),
        "shares",
        "Packet that is dropped when the pool is exhausted: of the port that exceeds its share by most, and \
         there first of packets that wait for a shaper, a ceiling or credit when they are more than a third \
         of the others; or of the longest queue by packets, whether they may be sent or not (Zhang 1991, \
         section 3.1)",
    );
    Section::new("switch", "Switch", "Every switch; a node may override it.", vec![buffer, push_out])
}

fn admission() -> Section {
    let fields = vec![
        defaulted(
            "datagrams",
            Shape::Value(Kind::Number(0.0, 1.0)),
            "0",
            "Share of every link that is kept for datagrams and cannot be reserved",
        ),
        optional(
            "interval",
            time(),
            "Longest average interval (AI) that a flow may request; without it, any",
        ),
    ];
    let help = "The Flow Network: at its `start` a flow with a reservation sends a request along its route. \
                Every link checks and books it, the confirmation returns on the same route, and only then \
                does the source send. A refusal names the link that lacks capacity. Requests, answers and \
                warnings take the links' propagation delays and no capacity.";
    Section::new("admission", "Admission", help, fields).citing("Zhang 1991, section 2.2")
}

fn node() -> Section {
    let fields = vec![
        required("name", Shape::Name, "Unique name of the node"),
        defaulted(
            "kind",
            Shape::Value(Kind::Word(&["switch", "host"])),
            "switch",
            "Whether it forwards (switch) or only sends and receives (host)",
        ),
        optional(
            "buffer",
            Shape::Value(Kind::Limit),
            "Shared pool of this switch; without it, that of `switch`",
        ),
    ];
    Section::new("node", "Node", "One node added to the topology.", fields)
}

fn link() -> Section {
    let fields = vec![
        required("from", Shape::Name, "Node at which it starts"),
        required("to", Shape::Name, "Node at which it ends"),
        optional("rate", rate(), "Rate of each direction; a link has this or a `trace`"),
        trace(),
        defaulted("delay", time(), "0s", "Propagation delay of each direction"),
        loss(),
        reorder(),
        reorder_delay(),
        defaulted("duplex", Shape::Flag, "true", "Whether there is an equal link in the other direction"),
        policy(
            "Policy of its ports, in place of `scheduler` and `dropper`: a scheduler, a dropper (FIFO with it) or both; \
             without it, as these say",
        ),
        optional("scheduler", scheduler(), "Scheduler of its ports; without it, that of `port`"),
        optional("meter", meter(), "Meter of its ports; without it, that of `port`"),
        optional(
            "profile",
            Shape::Name,
            "Profile of every packet that is metered at its ports, whatever the profile of its flow: the \
             aggregate profile of a boundary; without it, each flow's",
        ),
        optional("dropper", dropper(), "Dropper of its ports; without it, that of `port`"),
        optional("detector", detector(), "Detector of its ports; without it, that of `port`"),
        optional("rate_control", rate_control(), "Switch algorithm of its ports; without it, that of `port`"),
        optional("vsvd", vsvd(), "Coupling of control loops at its ports; without it, that of `port`"),
        optional("ceiling", rate(), "Rate that its ports never exceed; without it, the link's rate"),
        credit(),
    ];
    Section::new("link", "Link", "One link added to the topology.", fields)
}

/// Key for credit-based flow control of links.
fn credit() -> Field {
    let to = optional(
        "to",
        Shape::Name,
        "Node with the receiver's memory, further along the route of every flow on the link: a virtual link over \
         switches without credit; without it, the node at the link's end",
    );
    let fields = [to].into_iter().chain(CreditParams::PARAMS.iter().map(Field::of_param)).collect();
    let help = "Credit-based flow control of a link: a packet is sent only when the node at the link's end \
                has a place for it. Packets without credit wait, hop by hop back to the hosts. Every packet \
                takes one place. The reverse link carries the credit cells, ahead of its queue.";
    let section = Section::new("credit", "Credit", help, fields)
        .citing("Kung 1997, section \"Credit-based flow control\"");
    let help = "Credit-based flow control from the port to the node at the link's end, `{}` with all defaults; without it, \
                none";
    optional("credit", Shape::Table(section), help)
}

/// Key for a link whose rate was recorded.
pub(super) fn trace() -> Field {
    optional(
        "trace",
        Shape::File,
        "File of delivery opportunities in place of a rate: one line with the millisecond of each, plain or \
         gzip, in the format of mahimahi. Each delivers up to 1500 bytes; after the last one the file \
         starts again",
    )
}

/// Key for a link that loses packets.
pub(super) fn loss() -> Field {
    defaulted(
        "loss",
        Shape::Value(Kind::Number(0.0, 1.0)),
        "0",
        "Probability that a packet is lost after it was sent, independently of others",
    )
}

/// Key for a link that reorders packets.
pub(super) fn reorder() -> Field {
    defaulted(
        "reorder",
        Shape::Value(Kind::Number(0.0, 1.0)),
        "0",
        "Probability that a packet takes `reorder_delay` longer, so that packets behind it overtake it",
    )
}

pub(super) fn reorder_delay() -> Field {
    optional("reorder_delay", time(), "Extra delay of a packet that is overtaken; required with `reorder`")
}

pub(super) fn class() -> Section {
    let mut fields = vec![
        required("name", Shape::Name, "Unique name of the class"),
        optional(
            "parent",
            Shape::Name,
            "Class that contains it; without it, the class is directly under the port's scheduler",
        ),
        policy(
            "Policy: a scheduler, a dropper (FIFO with it) or both, in place of `scheduler` and `dropper`; without it, \
             `scheduler` is required",
        ),
        optional(
            "scheduler",
            scheduler(),
            "Scheduler of its flows, or of the classes in it; without it, that of `policy`",
        ),
    ];
    fields.extend(read_by(tidegate_core::scheduler::RECORDS));
    fields.extend([
        optional("ceiling", rate(), "Rate that the class never exceeds at a port; without it, no ceiling"),
        optional(
            "meter",
            meter(),
            "Meter: whether its flows conform to their contracts; without it, that of the port",
        ),
        optional(
            "dropper",
            dropper(),
            "Dropper: which of its packets are dropped or marked; without it, that of the port",
        ),
        optional("detector", detector(), DETECTOR),
    ]);
    let help = "A class of flows. Classes form a tree of schedulers on every switch port, at most three deep \
                with the port's own scheduler as its root. The keys of a contract are the class's declaration to the scheduler above it.";
    Section::new("class", "Class", help, fields)
}

/// The keys of a contract that at least one of these policies reads.
fn read_by(records: &'static [PolicyRecord]) -> impl Iterator<Item = Field> {
    let is_read = |param: &&Param| records.iter().any(|record| record.reads.contains(&param.name));
    CONTRACT.iter().filter(is_read).map(Field::of_param)
}
