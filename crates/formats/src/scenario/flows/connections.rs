//! Connections: two flows each, one of data and one of the answers to them.

use super::pairs::Ends;
use super::parts::rate_of_load;
use super::{Builder, Declaration, FlowGroup, LARGEST_PACKET, WhenWarned, adaptation, life, stages};
use crate::application;
use crate::error::{Complaint, Place, Report};
use crate::keys::application::Application;
use crate::keys::connection::Connection;
use crate::keys::flow as keys;
use crate::policy::Chosen;
use crate::port::check_promise;
use crate::scenario::gate;
use crate::scenario::headers::HeadersSpec;
use crate::section::Placed;
use crate::source::Source;
use crate::stage_terms::StageTerms;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::endpoint::TransportKind;
use tidegate_core::units::Span;

/// Suffix of a connection's name in the name of its flow of answers.
pub(crate) const ANSWERS: &str = "/ack";

impl Builder<'_> {
    /// The flow of data and the flow of answers; `None` once a mistake has been reported.
    pub(super) fn connection(
        &mut self,
        stated: &Placed<Connection>,
        report: &mut Report,
    ) -> Option<Vec<FlowGroup>> {
        let keys = &**stated;
        let (name, count) = (&keys.name, *keys.count);
        let ends = Ends::read(stated, self.around.network, (self.around.seed, self.around.base_dir), report);
        let (there_keys, back_keys) = (&keys.declaration, &keys.answers.declaration);
        let (declaration, back_declaration) =
            (self.end_declaration(there_keys, report), self.end_declaration(back_keys, report));
        life::check(&keys.life, report);
        check_starts(keys, report);
        let transport = Chosen::read(Some(&*keys.transport), report);
        let size = packet_size(*keys.size, "`size` is", keys.size.place, report);
        let ends = ends?;
        let (from, to) = ends.of(0);
        if keys.route.given && !ends.are_one() {
            let complaint = Complaint::new("`route` is that of one pair, and these connections join several");
            report.add(keys.route.place, complaint.help("leave it out"));
        }
        let there = self.routes.of_flow(&keys.route, from, (ends.place, to), report)?;
        let back = self.routes.back(ends.place, &there, report)?;
        let links = &self.around.network.links;
        gate::check_connection(stated, [&there, &back], links, report);
        // The direction in which data pass a gate, or would pass it if only their answers do.
        let way = gate::crossing(&there, links);
        let way = way.or_else(|| gate::crossing(&back, links).map(Direction::opposite));
        let headers = match (keys.headers.as_ref(), way) {
            (Some(headers), Some(way)) => Some(HeadersSpec::read(headers, count, way, report)?),
            _ => None,
        };
        let transport: Chosen<TransportKind> = transport?;
        let application = application::build(&keys.data, self.around.base_dir, report);
        let answer = match transport.policy.build() {
            Ok(made) if !made.takes_data() && application.as_ref().is_some_and(|one| !one.is_endless()) => {
                let (name, what) = (transport.record().name, keys.data.about().title.to_lowercase());
                let message = format!("`{name}` sends endless data, and takes no {what}");
                report.add(keys.data.place, Complaint::new(message).help("leave `data` out"));
                None
            }
            Ok(made) => {
                let size = u64::from(made.largest_answer());
                let whose = format!("acknowledgements of this transport ({size}B) are");
                packet_size(size, &whose, keys.transport.place, report)
            }
            Err(refused) => {
                report.add(keys.transport.place, Complaint::new(refused.to_string()));
                None
            }
        };
        let aal5 = adaptation::of_connection(keys, &transport, [&there, &back], links, report);
        let first = there.first().map(|first| links[*first].rate);
        let stage_terms = stages::read(keys, aal5, first, report);
        let preparation = adaptation::preparation(&keys.preparation, aal5, report);
        let Declaration { contract, profile, weight, colour, class, ceiling } = declaration;
        let data = FlowGroup {
            name: name.to_string(),
            group: keys.group.as_ref().map(ToString::to_string),
            count,
            first: 0,
            of: count,
            from,
            to: vec![to],
            route: there,
            paths: None,
            load_rate: 1,
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
            stage_terms,
            start: *keys.life.start,
            stop: *keys.life.stop,
            every: *keys.life.every,
            lasts: *keys.life.lasts,
            hangup: None,
            warned: WhenWarned::Ignore,
            ecn: false,
            changes: Vec::new(),
            headers,
            source: Source::Sender { transport: transport.clone(), application: application? },
            envelope: None,
            place: stated.place,
            reserve_place: there_keys.contract.place_of("reserve"),
            interval_place: there_keys.contract.place_of("interval"),
            workahead_place: there_keys.contract.place_of("workahead"),
        };
        let Declaration { contract, profile, weight, colour, class, ceiling } = back_declaration;
        let answers = FlowGroup {
            name: format!("{name}{ANSWERS}"),
            group: keys.group.as_ref().map(|group| format!("{group}{ANSWERS}")),
            from: to,
            to: vec![from],
            route: back,
            contract,
            profile,
            weight,
            colour,
            class: class?,
            ceiling,
            sizes: vec![answer?],
            preparation: Span::ZERO,
            stage_terms: StageTerms::default(),
            // It answers for as long as data come.
            stop: None,
            every: None,
            lasts: None,
            headers: headers.map(HeadersSpec::reversed),
            source: Source::Receiver { transport, size: data.sizes[0] },
            reserve_place: back_keys.contract.place_of("reserve"),
            interval_place: back_keys.contract.place_of("interval"),
            workahead_place: back_keys.contract.place_of("workahead"),
            ..data.clone()
        };
        let mut parts = self.in_parts(vec![data, answers], &ends, keys.route.given, report)?;
        let load_rate = rate_of_load(&parts, &self.around.network.links);
        parts.iter_mut().for_each(|part| part.load_rate = load_rate);
        Some(parts)
    }

    /// The declaration of one of the two flows.
    fn end_declaration(&self, keys: &keys::Declaration, report: &mut Report) -> Declaration {
        let declared = self.declaration(keys, report);
        check_promise(&keys.contract, declared.contract.reserve_bits().is_some(), report);
        declared
    }
}

/// Checks that one key states when the connections of a group start.
fn check_starts(keys: &Connection, report: &mut Report) {
    if let Application::Transfers(transfers) = &*keys.data
        && *transfers.once
        && transfers.load.given
        && keys.life.every.given
    {
        let complaint = Complaint::new("`every` and the `load` of transfers both say when connections start");
        report.add(keys.life.every.place, complaint.help("leave out one of them"));
    }
}

/// The size of packets, `whose` stands before the mistake; `None` once a mistake has been reported.
fn packet_size(size: u64, whose: &str, place: Place, report: &mut Report) -> Option<u32> {
    if size > LARGEST_PACKET {
        report.add(place, Complaint::new(format!("{whose} above 1 MiB (1048576B)")));
        return None;
    }
    u32::try_from(size).ok()
}
