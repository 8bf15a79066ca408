//! The queueing configuration of Linux, translated: the output of `tc` becomes a gate file.
//!
//! A file holds what `tc -j qdisc show dev IF`, `class show` or `filter show` prints. HTB, CAKE,
//! FQ-CoDel, TBF, SFQ and FIFOs are translated, as tc-htb(8), tc-cake(8), tc-fq_codel(8),
//! tc-tbf(8) and tc-sfq(8) describe them, and `u32`, `flower` and `matchall` filters. Every key
//! is read: it is carried over, is listed as a difference, or is refused because its effect is unknown.
//!
//! - Rates are bytes per second in JSON, and have their unit in text. Before version 6.2 `tc`
//!   prints classes as text only.
//! - A class of HTB is a class here, and each of its filters is a flow in it. One class above all
//!   others is the line itself.

mod cake;
mod entry;
mod files;
mod filters;
mod htb;
mod model;
mod plan;
mod policies;
mod quantities;
mod queue;
mod render;
mod side;
mod value;

use crate::error::{Complaint, FormatError, FormatErrors, Origin, Place};
use crate::units::show_rate;
use entry::At;
use plan::{Among, Side};
use std::path::PathBuf;
use tidegate_core::classifier::rules::Direction;

pub use plan::CIRCUITS;
pub use render::Line;
use render::Whole;

/// A circuit of all addresses.
const ONE_CIRCUIT: &str = "# All addresses, for flows that are fair among the hosts of both sides.\n\
                           name,addresses\nall,0.0.0.0/0 ::/0\n";

/// A translation.
#[derive(Clone, Debug)]
pub struct Import {
    /// The gate file.
    pub gate: String,
    /// The list of circuits that both files name as [`CIRCUITS`], if they do: one circuit of all
    /// addresses.
    pub circuits: Option<String>,
    /// The configuration for the simulator, or the reason why there is nothing like it.
    pub before: Result<Before, String>,
    /// Number of classes.
    pub class_count: usize,
    /// Number of flows.
    pub flow_count: usize,
    /// Differences from the files that were read.
    pub losses: Vec<FormatError>,
}

/// A gate file by which the simulator stands in for a configuration.
#[derive(Clone, Debug)]
pub struct Before {
    /// The file.
    pub file: String,
    /// Where it is not as the configuration.
    pub notes: Vec<String>,
}

/// Translates what `tc` shows of the interface that each direction leaves by, up first; no files
/// for a direction without queueing.
///
/// # Errors
/// When a file cannot be read, or holds something that is unknown or does not fit the rest.
pub fn import(files: &[Vec<PathBuf>; 2], line: &Line<'_>) -> Result<Import, FormatErrors> {
    let mut sides = [None, None];
    for (at, direction) in Direction::BOTH.into_iter().enumerate() {
        if !files[at].is_empty() {
            sides[at] = Some(side::read(files::read(&files[at])?, direction)?);
        }
    }
    let [up, down] = Direction::BOTH.map(|direction| rate(&sides[direction as usize], line, direction));
    let rates = [up?, down?];
    let mut losses = Vec::new();
    let whole = whole(&mut sides, rates, &mut losses);
    for (side, (rate, paths)) in sides.iter_mut().zip(rates.into_iter().zip(files)) {
        if let (Some(side), Some(path)) = (side, paths.first()) {
            let at = At { file: path.display().to_string().into(), name: "classes".to_owned() };
            htb::fit(side, rate, &at);
        }
    }
    let models = [0, 1]
        .map(|at| sides[at].as_ref().map_or(Ok(model::Model::default()), |side| model::of(side, rates[at])));
    let before = match models {
        [Ok(up), Ok(down)] => {
            let file = render::before(line, &sides, &whole, [&up, &down]);
            Ok(Before { file, notes: up.notes.into_iter().chain(down.notes).collect() })
        }
        [Err(why), _] | [_, Err(why)] => Err(why),
    };
    let gate = render::gate(line, &sides, &whole);
    let given = || sides.iter().flatten();
    let (class_count, flow_count) =
        (given().map(|side| side.classes.len()).sum(), given().map(|side| side.flows.len()).sum());
    let names_circuits =
        |side: &Side| side.flows.iter().any(|flow| flow.queue.among == Among::HostsOfBothSides);
    let circuits = given().any(names_circuits).then(|| ONE_CIRCUIT.to_owned());
    losses.splice(0..0, sides.iter_mut().flatten().flat_map(|side| side.losses.drain(..)));
    Ok(Import { gate, circuits, before, class_count, flow_count, losses })
}

/// The rate of a direction: that of its configuration, or the stated one.
fn rate(side: &Option<Side>, line: &Line<'_>, direction: Direction) -> Result<u64, FormatErrors> {
    let stated = line.rates[direction as usize];
    let name = direction.name();
    match (side.as_ref().and_then(|side| side.rate.as_ref()), stated) {
        (Some((found, at)), Some(stated)) if *found != stated => at.refuse_with(
            format!("its rate is {}, and --{name} states {}", show_rate(*found), show_rate(stated)),
            format!("leave out --{name}"),
        ),
        (Some((found, _)), _) => Ok(*found),
        (None, Some(stated)) => Ok(stated),
        (None, None) => {
            let complaint = Complaint::new("is needed: nothing that was read has the rate of that direction");
            Err(Origin::new(&format!("--{name}"), "", &[]).error(Place::File, complaint).into())
        }
    }
}

/// The terms that both directions share; differences are noted.
fn whole(sides: &mut [Option<Side>; 2], rates: [u64; 2], losses: &mut Vec<FormatError>) -> Whole {
    let mut differs = |what: &str| {
        let complaint =
            Complaint::new(format!("{what} of the two directions differ, and a gate has those of the first"));
        losses.push(Origin::new("both directions", "", &[]).error(Place::File, complaint));
    };
    let (framing, buffer, codel_at_port) = match sides {
        [Some(up), Some(down)] => {
            if up.framing != down.framing {
                differs("the overheads");
            }
            if up.buffer != down.buffer {
                differs("the limits of the queues");
            }
            (up.framing, up.buffer.clone().or(down.buffer.clone()), up.at_port() || down.at_port())
        }
        [Some(one), None] | [None, Some(one)] => (one.framing, one.buffer.clone(), one.at_port()),
        [None, None] => Default::default(),
    };
    let own = sides.iter().flatten().any(Side::has_own_policies);
    if codel_at_port && own {
        differs("the policies of the queues");
    }
    Whole { rates, framing, buffer, codel_at_port: codel_at_port || !own }
}
