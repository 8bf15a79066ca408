//! Connections: two flows each, one of data and one of the answers to them.

use super::{Builder, FlowGroup, LARGEST_PACKET, Terms, WhenWarned, adaptation, life};
use crate::application;
use crate::error::{Complaint, Report};
use crate::policy::Chosen;
use crate::port::check_promise;
use crate::scenario::gate;
use crate::scenario::headers::HeadersSpec;
use crate::source::Source;
use crate::values::Values;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::endpoint::{BuiltInTransport, TransportKind};
use tidegate_core::units::Span;

/// Suffix of a connection's name in the name of its flow of answers.
pub(crate) const ANSWERS: &str = "/ack";

impl Builder<'_> {
    /// The flow of data and the flow of answers; `None` once a mistake has been reported.
    pub(super) fn connection(&mut self, values: &Values, report: &mut Report) -> Option<Vec<FlowGroup>> {
        let name = values.text("name")?;
        let count = u32::try_from(values.integer("count")?).ok()?;
        let (from, to) = (self.end(values, "from", report), self.end(values, "to", report));
        let answers = values.table("answers")?;
        let (terms, back_terms) = (self.end_terms(values, report), self.end_terms(answers, report));
        let (start, stop) = life::start_and_stop(values, report)?;
        life::check_comings_and_goings(values, report);
        let transport = Chosen::read(values, "transport", report);
        let size = packet_size("size", values.size("size"), values, report);
        let there = self.routes.of_flow(values, from?, to?, report)?;
        let back = self.routes.back(values, &there, report)?;
        let links = &self.around.network.links;
        gate::check_connection(values, [&there, &back], links, report);
        // The direction in which data pass a gate, or would pass it if only their answers do.
        let way = gate::crossing(&there, links);
        let way = way.or_else(|| gate::crossing(&back, links).map(Direction::opposite));
        let headers = match (values.table("headers"), way) {
            (Some(headers), Some(way)) => Some(HeadersSpec::read(headers, count, way, report)?),
            _ => None,
        };
        let transport: Chosen<BuiltInTransport> = transport?;
        let data = values.table("data")?;
        let application = application::build(data, self.around.base_dir, report);
        let answer = match TransportKind::BuiltIn(transport.policy.clone()).build() {
            Ok(made) if !made.takes_data() && application.as_ref().is_some_and(|one| !one.is_endless()) => {
                let (name, what) = (transport.record().name, data.section.title.to_lowercase());
                let message = format!("`{name}` sends endless data, and takes no {what}");
                report.add(values.place_of("data"), Complaint::new(message).help("leave `data` out"));
                None
            }
            Ok(made) => packet_size("transport", Some(u64::from(made.largest_answer())), values, report),
            Err(refused) => {
                report.add(values.place_of("transport"), Complaint::new(refused.to_string()));
                None
            }
        };
        let aal5 = adaptation::of_connection(values, &transport, [&there, &back], links, report);
        let first = there.first().map(|first| links[*first].rate);
        let vc = first.and_then(|first| adaptation::vc(values, aal5, first, report));
        let preparation = adaptation::preparation(values, aal5, report);
        let Terms { contract, profile, weight, colour, class, ceiling } = terms;
        let data = FlowGroup {
            name: name.to_owned(),
            count,
            from: from?,
            to: vec![to?],
            route: there,
            depths: Vec::new(),
            contract,
            profile,
            weight,
            colour,
            class: class?,
            ceiling,
            sizes: vec![size?],
            aal5,
            preparation,
            vc,
            start,
            stop,
            every: values.time("every"),
            lasts: values.time("lasts"),
            hangup: None,
            warned: WhenWarned::Ignore,
            ecn: false,
            changes: Vec::new(),
            headers,
            source: Source::Sender { transport: transport.clone(), application: application? },
            envelope: None,
            place: values.place,
            reserve_place: values.place_of("reserve"),
            interval_place: values.place_of("interval"),
            workahead_place: values.place_of("workahead"),
        };
        let Terms { contract, profile, weight, colour, class, ceiling } = back_terms;
        let answers = FlowGroup {
            name: format!("{name}{ANSWERS}"),
            from: to?,
            to: vec![from?],
            route: back,
            contract,
            profile,
            weight,
            colour,
            class: class?,
            ceiling,
            sizes: vec![answer?],
            preparation: Span::ZERO,
            vc: None,
            // It answers for as long as data come.
            stop: None,
            every: None,
            lasts: None,
            headers: headers.map(HeadersSpec::reversed),
            source: Source::Receiver { transport },
            reserve_place: answers.place_of("reserve"),
            interval_place: answers.place_of("interval"),
            workahead_place: answers.place_of("workahead"),
            ..data.clone()
        };
        Some(vec![data, answers])
    }

    /// The declaration of one of the two flows.
    fn end_terms(&self, values: &Values, report: &mut Report) -> Terms {
        let terms = self.terms(values, report);
        check_promise(values, terms.contract.reserve_bits().is_some(), report);
        terms
    }
}

/// The packet size under a key; `None` once a mistake has been reported.
fn packet_size(key: &str, size: Option<u64>, values: &Values, report: &mut Report) -> Option<u32> {
    let size = size?;
    if size > LARGEST_PACKET {
        let message = match key {
            "size" => "`size` is above 1 MiB (1048576B)".to_owned(),
            _ => format!("acknowledgements of this {key} ({size}B) are above 1 MiB (1048576B)"),
        };
        report.add(values.place_of(key), Complaint::new(message));
        return None;
    }
    u32::try_from(size).ok()
}
