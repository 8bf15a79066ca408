//! A connection's keys.

use super::flow::{MAX_FLOWS, adaptation, headers, life, terms};
use super::{Field, Section, Shape, application, defaulted, optional, policies, required, time};
use tidegate_core::endpoint;
use tidegate_core::endpoint::abr::{self, AbrParams};
use tidegate_core::params::{Kind, Param, Parameters};

fn answers() -> Section {
    let help = "Declaration of the flow of a connection's acknowledgements to the ports on its route, as \
                for a flow.";
    Section::new("answers", "Answers", help, terms())
}

/// The VC that carries a connection's data.
fn vc() -> Field {
    let carries = |param: &&Param| !abr::OF_OWN_DATA.contains(&param.name);
    let fields = AbrParams::PARAMS.iter().filter(carries).map(Field::of_param).collect();
    let help = "A VC of the ABR service: the cells of the data wait in a queue of the VC at the sender's first port, and are sent \
                at the rate that the network allows. One cell in every `nrm` is an RM cell, which requests that rate. The \
                ports on the route need a switch algorithm, or the rate never changes.";
    let section = Section::new("vc", "VC", help, fields).citing("ATM TM 4.0, sections 5.10.2 to 5.10.5");
    let help = "ABR VC that carries the cells of the data, `{}` with all defaults; needs `adaptation`. Without it, the cells of a \
                packet reach the first port together";
    optional("vc", Shape::Table(section), help)
}

pub(super) fn connection() -> Section {
    let mut fields = vec![
        required("name", Shape::Name, "Name, unique among flows and connections"),
        defaulted(
            "count",
            Shape::Value(Kind::Integer(1, MAX_FLOWS / 2)),
            "1",
            "Number of connections like this one; above 1, their flows are called NAME/1 and NAME/ack/1, \
             NAME/2 and NAME/ack/2, and so on",
        ),
        required("from", Shape::Name, "Node that sends data"),
        required("to", Shape::Name, "Node that receives data and sends acknowledgements"),
        optional(
            "route",
            Shape::Names,
            "Nodes of the data's route, from `from` to `to`; without it, the shortest path by hops. \
             Acknowledgements take the reverse route, or the shortest one where a link has no reverse \
             direction",
        ),
        required(
            "transport",
            policies("transport", None, endpoint::RECORDS),
            "Protocol of the sender and the receiver",
        ),
        required("size", Shape::Value(Kind::Size), "Size of a packet of data, at most 1 MiB"),
        defaulted("data", application::shape(), "bulk", "Application that writes the data"),
    ];
    fields.extend(terms());
    fields.push(defaulted(
        "answers",
        Shape::Table(answers()),
        "{}",
        "Declaration of the acknowledgements' flow to the ports on its route, as the keys beside it are \
         that of the data's flow",
    ));
    fields.push(optional(
        "headers",
        Shape::Table(headers()),
        "Headers of the data for a gate on its route; acknowledgements have the same with both ends exchanged",
    ));
    fields.push(adaptation());
    fields.push(defaulted(
        "preparation",
        time(),
        "0s",
        "Time that the sending host takes for each packet before it hands the cells to its first port, once the last cell \
         of the packet before has left there; above zero it needs `adaptation`",
    ));
    fields.push(vc());
    fields.extend(life());
    let help = "A connection, or `count` equal connections: two flows, NAME for the data and NAME/ack for \
                the acknowledgements, which go in the other direction, queue there and may be lost. Each is \
                its own group in tables and plots, so the delays of acknowledgements do not mix with those \
                of data.";
    Section::new("connection", "Connection", help, fields)
}
