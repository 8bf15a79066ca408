//! A connection's keys.

use super::flow::{MOST_FLOWS, adaptation, life, terms};
use super::{Section, Shape, application, defaulted, optional, policies, required};
use tidegate_core::endpoint;
use tidegate_core::params::Kind;

fn answers() -> Section {
    let help = "What the flow of a connection's answers states to the ports on its way, as a flow does.";
    Section::new("answers", "Answers", help, terms())
}

pub(super) fn connection() -> Section {
    let mut fields = vec![
        required("name", Shape::Name, "Name, which no other flow or connection has"),
        defaulted(
            "count",
            Shape::Value(Kind::Integer(1, MOST_FLOWS / 2)),
            "1",
            "Number of connections like this one; above 1, their flows are called NAME/1 and NAME/ack/1, NAME/2 and NAME/ack/2, and so on",
        ),
        required("from", Shape::Name, "Node that sends data"),
        required("to", Shape::Name, "Node that receives them and answers"),
        optional(
            "route",
            Shape::Names,
            "Nodes on the data's way, from `from` to `to`; without it, the shortest path by hops. Answers go the same way back, \
             or the shortest where one of its links goes one way",
        ),
        required(
            "transport",
            policies("transport", None, endpoint::RECORDS),
            "What sends the data at one end and answers at the other",
        ),
        required("size", Shape::Value(Kind::Size), "Size of a packet of data, at most 1 MiB"),
        defaulted("data", application::shape(), "bulk", "What gives it its data"),
    ];
    fields.extend(terms());
    fields.push(defaulted(
        "answers",
        Shape::Table(answers()),
        "{}",
        "What the answers' flow states to the ports on its way, as the keys beside it are what the data's flow does",
    ));
    fields.push(adaptation());
    fields.extend(life());
    let help = "A connection, or `count` connections alike: two flows, NAME for the data and NAME/ack for the answers, which \
                go the other way, queue there and may be lost. Each is a group of its own in tables and plots, so that the \
                delays of answers do not mix with those of data.";
    Section::new("connection", "Connection", help, fields)
}
