//! A gate file: read and checked, ready to be run.

mod changes;
mod circuits;
mod emulation;
mod io;
mod matching;
mod operation;
mod outline;
mod plan;
pub(crate) mod policies;
mod promises;
mod reservations;
mod shares;
mod terms;

pub use changes::Change;
pub use emulation::Emulation;
pub use io::Io;
pub use operation::{Operation, Owner};
pub use outline::GateOutline;
pub use promises::{LONGEST_FRAME, Promise};
pub use terms::{GateClass, Terms};

use crate::error::{Complaint, FormatError, FormatErrors, Origin, Place, Report};
use crate::file::{self, File};
use crate::keys;
pub use crate::keys::gate::Fail;
use crate::keys::gate::{Flow, Gate};
use crate::port::{ContractSpec, PortSpec, check_promise, classes};
use crate::section::Placed;
use crate::suggest::brief;
use emulation::Links;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tidegate_core::classifier::circuits::Circuits;
use tidegate_core::classifier::matching::Match;
use tidegate_core::classifier::rules::Each;
use tidegate_core::link::Framing;
use tidegate_core::params::Limit;
use tidegate_core::units::{Rate, Span};

/// The longest name of an interface, in bytes (IFNAMSIZ without its closing zero).
const LONGEST_INTERFACE: usize = 15;

/// A gate file that was read without a mistake: every name is resolved, every default filled in.
#[derive(Clone, Debug)]
pub struct GateFile {
    /// Its name; the file's name without its ending unless it has one of its own.
    pub name: String,
    /// Interface towards the hosts that the link serves.
    pub inside: String,
    /// Interface towards the rest of the world.
    pub outside: String,
    /// Input and output of frames.
    pub io: Io,
    /// The rate of each direction, up first; with a trace, its mean.
    pub rates: [Rate; 2],
    /// The link that is emulated in each direction, up first; `None` where a real link follows.
    pub emulated: [Option<Emulation>; 2],
    /// The length that a frame is charged.
    pub framing: Framing,
    /// The most flows that rules with `each` make in each direction.
    pub most_flows: usize,
    /// Interfaces that the gate takes although they have an IP address.
    pub addressed: Vec<String>,
    /// The treatment of traffic without the gate.
    pub fail: Fail,
    /// The memory of each direction.
    pub buffer: Limit,
    /// The output port of each direction.
    pub port: PortSpec,
    /// Classes of flows, in the order of the file.
    pub classes: Vec<GateClass>,
    /// Flows, in the order of the file: a packet belongs to the first that matches.
    pub flows: Vec<GateFlow>,
    /// Reservations of flows and classes on the link in each direction, up first, in bit/s; that of
    /// a flow with `each` counts once.
    pub reserved: [u64; 2],
    /// Operation of the gate: control socket and metrics.
    pub operation: Operation,
    effective: String,
    origin: Origin,
}

/// One `[[flow]]` of a gate.
#[derive(Clone, Debug)]
pub struct GateFlow {
    /// Its name, unique among flows.
    pub name: String,
    /// The packets that belong to it.
    pub matching: Match,
    /// The unit that has a flow of its own.
    pub each: Option<Each>,
    /// True if each of `each` is a class, in which every 5-tuple has a flow of its own.
    pub within: bool,
    /// Circuits, each of which has a flow of its own.
    pub circuits: Option<Arc<Circuits>>,
    /// Time without packets after which a flow made for one of `each` or `circuits` is removed.
    pub idle: Span,
    /// Its contract with its port, apart from the rate that it reserves there.
    pub contract: ContractSpec,
    /// Its reservation and ceiling in each direction, up first.
    pub terms: [Terms; 2],
    /// Index of the class that it belongs to.
    pub class: Option<usize>,
    /// The new DSCP of its packets; `None` leaves it unchanged.
    pub set_dscp: Option<u8>,
    /// Place of its statement in the file.
    pub place: Place,
}

impl GateFile {
    /// Reads the gate file at `path`, with overrides as in [`GateFile::parse`].
    ///
    /// # Errors
    /// When the file cannot be read, is larger than 8 MiB, or holds mistakes; every one is listed.
    pub fn load(path: &Path, sets: &[(String, String)]) -> Result<GateFile, FormatErrors> {
        let (text, file_name) = file::load(keys::gate(), path)?;
        GateFile::parse(&text, &file_name, sets)
    }

    /// Reads a gate file from its text. `file_name` is for messages and says in which folder
    /// relative paths start; `sets` are overrides, applied in order: a path such as `gate.up` and a
    /// value.
    ///
    /// # Errors
    /// When the text or the overrides hold mistakes; all that are found at once are listed, the
    /// first in the file first.
    pub fn parse(text: &str, file_name: &str, sets: &[(String, String)]) -> Result<GateFile, FormatErrors> {
        let File { origin, keys, effective, mut report } = File::read(keys::gate(), text, file_name, sets)?;
        let gate = expand(&keys, file_name, effective, &origin, &mut report);
        report.check(&origin)?;
        gate.ok_or_else(|| file::unexplained(&origin))
    }

    /// The file's text with the overrides applied, comments kept.
    pub fn to_toml(&self) -> &str {
        &self.effective
    }

    /// A mistake found only later, at a place that the file remembers.
    pub fn error_at(&self, place: Place, message: impl Into<String>) -> FormatError {
        self.origin.error(place, Complaint::new(message))
    }
}

/// Builds the gate; `None` only once a mistake has been reported.
fn expand(
    keys: &keys::gate::File,
    file_name: &str,
    effective: String,
    origin: &Origin,
    report: &mut Report,
) -> Option<GateFile> {
    check_name(&keys.name, report);
    let gate = &keys.gate;
    let Gate { inside, outside, addressed, .. } = &**gate;
    for interface in [inside, outside] {
        check_interface(interface, interface.place, report);
    }
    if **inside == **outside {
        let complaint = Complaint::new(format!("`inside` and `outside` are both {inside}"))
            .help("a gate stands between two interfaces");
        report.add(outside.place, complaint);
    }
    let neither = |name: &&String| **name != **inside && **name != **outside;
    if let Some(other) = addressed.iter().find(neither) {
        let message = format!("`{}` is neither the interface inside nor the one outside", brief(other));
        report.add(addressed.place, Complaint::new(message));
    }
    let base_dir = Path::new(file_name).parent().unwrap_or(Path::new(""));
    let links = emulation::read(gate, keys.emulate.as_ref(), base_dir, report);
    let framing = Framing::new(*gate.overhead, *gate.mpu, *gate.atm).ok()?;
    io::check(gate, report);
    let port = PortSpec::of_gate(&keys.port, report)?;
    let classes = build_classes(&keys.class, report)?;
    let mut flows = build_flows(&keys.flow, &classes, report)?;
    let listings = circuits::attach(&mut flows, &keys.flow, &classes, base_dir, report)?;
    let operation = Operation::read(&keys.control, keys.metrics.as_ref(), report);
    check_reachable(&flows, report);
    let Links { rates: [up, down], emulated } = links?;
    let reserved = reservations::check(&flows, &listings, &classes, [up, down], report);
    let gate = GateFile {
        name: name_of(keys.name.as_deref(), file_name),
        inside: inside.value.clone(),
        outside: outside.value.clone(),
        io: *gate.io,
        rates: [Rate::from_bits_per_second(up)?, Rate::from_bits_per_second(down)?],
        emulated,
        framing,
        most_flows: usize::try_from(*gate.flows).ok()?,
        addressed: addressed.to_vec(),
        fail: *gate.fail,
        buffer: *keys.switch.buffer,
        port,
        classes,
        flows,
        reserved,
        operation: operation?,
        effective,
        origin: origin.clone(),
    };
    policies::check(&gate, |place| place, report);
    Some(gate)
}

/// The name of a gate: its own, or that of its file. It stands at the beginning of each line of the
/// log, so that a letter that ends a line or changes the display is replaced by an underscore.
fn name_of(own: Option<&str>, file_name: &str) -> String {
    let stem = || Path::new(file_name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = own.map(str::to_owned).or_else(stem).unwrap_or_default();
    name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect()
}

/// Returns true if a letter is shown in its place: no control character, no end of a line or
/// paragraph, and none that changes the direction of the text after it.
fn is_plain(letter: char) -> bool {
    !letter.is_control()
        && !matches!(letter, '\u{2028}' | '\u{2029}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn check_name(stated: &Placed<Option<String>>, report: &mut Report) {
    let Some(name) = stated.as_deref() else { return };
    let complaint = match name.chars().count() {
        _ if !name.chars().all(is_plain) => Complaint::new("`name` has characters that the log cannot show"),
        1..=64 => return,
        _ => Complaint::new("`name` must have 1 to 64 characters"),
    };
    report.add(stated.place, complaint.help("it stands at the beginning of each line of the log"));
}

fn check_interface(name: &str, place: Place, report: &mut Report) {
    let odd =
        |byte: u8| byte == b'/' || byte == b':' || byte.is_ascii_whitespace() || byte.is_ascii_control();
    if name.is_empty() || name.len() > LONGEST_INTERFACE || name.bytes().any(odd) {
        let complaint = Complaint::new("this is not the name of an interface")
            .help(format!("`ip link` lists them; a name has at most {LONGEST_INTERFACE} letters"));
        report.add(place, complaint);
    }
}

fn build_classes(tables: &[Placed<keys::gate::GateClass>], report: &mut Report) -> Option<Vec<GateClass>> {
    let classes = classes::build(tables.iter().map(|table| (table.place, &table.class.0)), report)?;
    let with_terms = classes.into_iter().zip(tables).map(|(class, keys)| {
        let terms = Terms::read(&keys.directions, &class.contract, class.ceiling, report);
        GateClass { class, terms }
    });
    Some(with_terms.collect())
}

fn build_flows(tables: &[Placed<Flow>], classes: &[GateClass], report: &mut Report) -> Option<Vec<GateFlow>> {
    let by_name: BTreeMap<&str, usize> =
        classes.iter().enumerate().map(|(index, class)| (class.class.name.as_str(), index)).collect();
    let inner: Vec<usize> = classes.iter().filter_map(|class| class.class.parent).collect();
    let mut names = BTreeMap::new();
    let mut built = Vec::with_capacity(tables.len());
    for (index, table) in tables.iter().enumerate() {
        let Flow { name, each, within, circuits, idle, ceiling, .. } = &**table;
        if names.insert(name.as_str(), index).is_some() {
            report.add(name.place, Complaint::new(format!("there is already a flow `{name}`")));
        }
        let class = match table.class.as_deref() {
            None => Some(None),
            Some(name) => classes::leaf(&by_name, &inner, name, table.class.place, report).map(Some),
        };
        let contract = ContractSpec::read(&table.contract);
        classes::check_ceiling(ceiling, &contract, report);
        let terms = Terms::read(&table.directions, &contract, **ceiling, report);
        let reserves = circuits.given || terms.iter().any(|terms| terms.reserve.is_some());
        check_promise(&table.contract, reserves, report);
        if each.is_none() && !circuits.given && idle.given {
            let complaint = Complaint::new("a flow without `each` or `circuits` is never forgotten")
                .help("leave out `idle`");
            report.add(idle.place, complaint);
        }
        if each.is_some() && circuits.given {
            let complaint = Complaint::new("a flow has either `each` or `circuits`")
                .help("make it two flows: first those of circuits, then each of the others");
            report.add(each.place, complaint);
        }
        if within.given && !matches!(**each, Some(Each::Host | Each::Subscriber)) {
            let complaint = Complaint::new("`within` divides what a host or a subscriber has")
                .help("add each = \"host\" or each = \"subscriber\"");
            report.add(within.place, complaint);
        }
        if let Some(Some(class)) = class.filter(|_| within.given)
            && let Some(parent) = classes[class].class.parent
        {
            let (inner, outer) = (&classes[class].class.name, &classes[parent].class.name);
            let complaint = Complaint::new(format!("class `{inner}` in class `{outer}` has no room for classes"))
                .help("`within` makes each host a class, and classes are at most two deep: put the flow into another class");
            report.add(within.place, complaint);
        }
        if **idle == Span::ZERO {
            report.add(idle.place, Complaint::new("`idle` is zero"));
        }
        let matching = matching::read(&table.r#match, report);
        built.push(class.zip(matching).map(|(class, matching)| GateFlow {
            name: name.to_string(),
            matching,
            each: **each,
            within: within.given,
            circuits: None,
            idle: **idle,
            contract,
            terms,
            class,
            set_dscp: *table.set_dscp,
            place: table.place,
        }));
    }
    built.into_iter().collect()
}

/// Reports flows after one that matches everything: they get no packets.
fn check_reachable(flows: &[GateFlow], report: &mut Report) {
    let takes_all = |flow: &GateFlow| flow.matching == Match::default() && flow.circuits.is_none();
    let Some(at) = flows.iter().position(takes_all) else { return };
    if let Some(after) = flows.get(at + 1) {
        let message = format!(
            "`{}` never gets a packet: `{}` before it matches everything",
            after.name, flows[at].name
        );
        report.add(
            after.place,
            Complaint::new(message).help("the first flow that matches is taken: put the general ones last"),
        );
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
