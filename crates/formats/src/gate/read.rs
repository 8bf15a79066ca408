//! Reading a gate file: its keys become a gate whose parts fit each other.

use super::emulation::Links;
use super::lists::Lists;
use super::names::{check_interface, check_name, name_of};
use super::terms::{DirectionTerms, GateClass};
use super::{GateFile, Operation, circuits, emulation, flows, io, lists, policies, reservations};
use crate::error::{Complaint, FormatErrors, Origin, Report};
use crate::file::{self, File};
use crate::keys;
use crate::keys::gate::Gate;
use crate::port::{PortSpec, classes};
use crate::section::Placed;
use crate::suggest::brief;
use std::path::Path;
use tidegate_core::units::Rate;

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
        let File { origin, keys, effective, mut report, .. } =
            File::read(keys::gate(), text, file_name, sets)?;
        let gate = expand(&keys, file_name, effective, &origin, &mut report);
        report.check(&origin)?;
        gate.ok_or_else(|| file::unexplained(&origin))
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
    let framing = gate.framing.framing()?;
    io::check(gate, report);
    let port = PortSpec::of_gate(&keys.port, report)?;
    let Links { rates: [up, down], emulated } = links?;
    let Lists { lists, classes, losses } =
        lists::read(&keys.flow, keys.class.len(), [up, down], base_dir, report)?;
    let classes = build_classes(keys.class.iter().chain(&classes), report)?;
    let mut flows = flows::build(&keys.flow, &lists, &classes, report)?;
    let listings = circuits::attach(&mut flows, lists, &classes, report)?;
    let operation = Operation::read(&keys.control, keys.metrics.as_ref(), report);
    flows::check_reachable(&flows, report);
    let reserved = reservations::check(&flows, &listings, &classes, [up, down], report);
    let gate = GateFile {
        name: name_of(keys.name.as_deref(), file_name),
        inside: inside.value.clone(),
        outside: outside.value.clone(),
        io: *gate.io,
        rates: [Rate::from_bits_per_second(up)?, Rate::from_bits_per_second(down)?],
        emulated,
        emulation_seed: keys.emulate.as_ref().map_or(1, |emulate| *emulate.seed),
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
        losses,
        effective,
        origin: origin.clone(),
    };
    policies::check(&gate, |place| place, report);
    Some(gate)
}

fn build_classes<'c>(
    tables: impl Iterator<Item = &'c Placed<keys::gate::GateClass>>,
    report: &mut Report,
) -> Option<Vec<GateClass>> {
    let tables: Vec<_> = tables.collect();
    let classes = classes::build(tables.iter().map(|table| (table.place, &table.class.0)), report)?;
    let with_terms = classes.into_iter().zip(tables).map(|(class, keys)| {
        let terms = DirectionTerms::read(&keys.directions, &class.contract, class.ceiling, report);
        classes::check_burst(&keys.class.0, terms.iter().any(|terms| terms.ceiling.is_some()), report);
        GateClass { class, terms }
    });
    Some(with_terms.collect())
}
