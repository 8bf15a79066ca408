//! Traffic matrices: how much each node sends to each other one, from a file.

use super::group::FlowGroup;
use crate::error::{Complaint, Place, Report, in_words};
use crate::input_file::file;
use crate::keys::flow::Flow;
use crate::keys::matrix::Matrix;
use crate::scenario::network::Network;
use crate::suggest::brief;
use flate2::read::MultiGzDecoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

/// The most nodes of a matrix: a million demands.
const MAX_NODES: usize = 1000;
/// The longest line, in bytes: a matrix of that many nodes with 32 characters for each number.
const LONGEST_LINE: u64 = 32 << 20;

/// A demand: the indexes of the node that sends and of the one that receives, and a number above
/// zero.
pub(super) type Demand = (usize, usize, f64);

/// The demands of a file between different nodes, at least one; `None` once a mistake has been
/// reported. A relative path starts at `base_dir`.
pub(super) fn read(
    keys: &Matrix,
    place: Place,
    network: &Network,
    base_dir: &Path,
    report: &mut Report,
) -> Option<Vec<Demand>> {
    let path = file(&keys.file, keys.file.place, base_dir, report)?;
    let parsed = lines(&path).and_then(|lines| match keys.nodes.as_ref() {
        None => listed(lines),
        Some(names) => in_rows(lines, names.len(), *keys.line as usize),
    });
    let numbers = match parsed {
        Ok(numbers) => numbers,
        Err(problem) => {
            let message = format!("{} is not a traffic matrix: {problem}", path.display());
            report.add(keys.file.place, Complaint::new(message));
            return None;
        }
    };
    let mut demands = BTreeMap::new();
    let stated: Option<Vec<usize>> = match keys.nodes.as_ref() {
        Some(names) => {
            let found = names.iter().map(|(place, name)| network.find(name, *place, report));
            Some(found.collect::<Vec<_>>().into_iter().collect::<Option<_>>()?)
        }
        None => None,
    };
    for (ends, demand) in numbers {
        let (from, to) = match (ends, &stated) {
            (Ends::Named(from, to), _) => {
                let mut end = |name: &str| network.find(name, keys.file.place, report);
                (end(&from)?, end(&to)?)
            }
            (Ends::At(from, to), Some(nodes)) => (nodes[from], nodes[to]),
            (Ends::At(..), None) => continue,
        };
        if from != to && demand > 0.0 {
            *demands.entry((from, to)).or_insert(0.0) += demand;
        }
    }
    if demands.is_empty() {
        let message = format!("{} has no demand between two nodes", path.display());
        report.add(place, Complaint::new(message));
        return None;
    }
    Some(demands.into_iter().map(|((from, to), demand)| (from, to, demand)).collect())
}

/// The demands of a flow that states a matrix; `None` once a mistake has been reported.
pub(super) fn of_flow(
    flow: &Flow,
    network: &Network,
    base_dir: &Path,
    report: &mut Report,
) -> Option<Vec<Demand>> {
    let Flow { from, to, count, route, change, matrix, .. } = flow;
    let others = [
        (from.key, from.given, from.place),
        (to.key, to.given, to.place),
        (count.key, count.given, count.place),
        (route.key, route.given, route.place),
        (change.key, change.given, change.place),
    ];
    if let Some((key, _, at)) = others.into_iter().find(|(_, given, _)| *given) {
        let complaint = Complaint::new(format!("a flow with a `matrix` has no `{key}`"));
        report.add(at, complaint.help("leave out one of them: a matrix has its own pairs of nodes"));
        return None;
    }
    read(matrix.as_ref()?, matrix.place, network, base_dir, report)
}

/// Gives each flow its share of the rate of the source, which all of them have; `None` once a mistake
/// has been reported. There is a part for each demand, in their order.
pub(super) fn divide(
    parts: &mut [FlowGroup],
    demands: &[Demand],
    flow: &Flow,
    report: &mut Report,
) -> Option<()> {
    let total: f64 = demands.iter().map(|(.., demand)| demand).sum();
    for (part, (from, to, demand)) in parts.iter_mut().zip(demands) {
        let Some(mean) = part.source.mean() else {
            let complaint = Complaint::new("a `matrix` divides the rate of a source, and this one has none");
            report.add(
                flow.source.place,
                complaint.help("as in source = { kind = \"poisson\", rate = \"1gbit\" }"),
            );
            return None;
        };
        debug_assert_eq!((part.from, part.to[0]), (*from, *to));
        let share = demand / total;
        if mean as f64 * share < 1.0 {
            let message = format!("a demand of {demand} is less than 1 bit/s of the source's rate");
            report.add(
                flow.matrix.place,
                Complaint::new(message).help("raise `rate`, or leave it out of the file"),
            );
            return None;
        }
        part.source = part.source.clone().scaled(share);
    }
    Some(())
}

/// The ends of a demand: names, or the row and the column.
#[derive(Clone, Debug, PartialEq)]
enum Ends {
    Named(String, String),
    At(usize, usize),
}

type Lines = Box<dyn Iterator<Item = Result<(usize, String), String>>>;

/// The lines of a file with something on them, and their numbers.
fn lines(path: &Path) -> Result<Lines, String> {
    let mut input = File::open(path).map_err(|error| in_words(&error))?;
    let mut head = Vec::new();
    input.by_ref().take(2).read_to_end(&mut head).map_err(|error| in_words(&error))?;
    let is_compressed = head == [0x1f, 0x8b];
    let input = Cursor::new(head).chain(input);
    Ok(match is_compressed {
        true => Box::new(numbered(BufReader::new(MultiGzDecoder::new(input)))),
        false => Box::new(numbered(BufReader::new(input))),
    })
}

fn numbered(mut input: impl BufRead) -> impl Iterator<Item = Result<(usize, String), String>> {
    let mut number = 0;
    core::iter::from_fn(move || {
        loop {
            number += 1;
            let mut line = Vec::new();
            match input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Some(Err(format!("its compressed data end in line {number}")));
                }
                Err(error) => return Some(Err(format!("line {number}: {}", in_words(&error)))),
            }
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            if !text.is_empty() {
                return Some(Ok((number, text)));
            }
        }
    })
}

/// The demands of a list with a header.
fn listed(
    mut lines: impl Iterator<Item = Result<(usize, String), String>>,
) -> Result<Vec<(Ends, f64)>, String> {
    let header = lines.next().transpose()?.map(|(_, header)| header.replace(' ', ""));
    if header.as_deref() != Some("from,to,demand") {
        let message = "its first line is not `from,to,demand`; state `nodes` if it has rows of numbers";
        return Err(message.to_owned());
    }
    let mut demands = Vec::new();
    for line in lines {
        let (number, text) = line?;
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let [from, to, demand] = parts[..] else {
            return Err(format!("line {number}: expected `from,to,demand`, found `{}`", brief(&text)));
        };
        if demands.len() == MAX_NODES * MAX_NODES {
            return Err(format!("it has more than {} demands", MAX_NODES * MAX_NODES));
        }
        demands.push((Ends::Named(from.to_owned(), to.to_owned()), number_of(demand, number)?));
    }
    Ok(demands)
}

/// The demands of rows of numbers between so many nodes: of the matrix in the lines, or of the one
/// in a line.
fn in_rows(
    mut lines: impl Iterator<Item = Result<(usize, String), String>>,
    nodes: usize,
    wanted: usize,
) -> Result<Vec<(Ends, f64)>, String> {
    if nodes > MAX_NODES {
        return Err(format!("there are more than {MAX_NODES} nodes"));
    }
    let numbers_of = |(number, text): (usize, String)| {
        let parts = text.split([',', ' ', '\t']).filter(|part| !part.is_empty());
        let numbers: Vec<f64> = parts.map(|part| number_of(part, number)).collect::<Result<_, _>>()?;
        Ok::<_, String>((number, numbers))
    };
    let first = lines.next().transpose()?.map(numbers_of).transpose()?;
    let Some((number, first)) = first else { return Err("it is empty".to_owned()) };
    let has_whole = first.len() == nodes * nodes && nodes > 1;
    let expected = if has_whole { nodes * nodes } else { nodes };
    if first.len() != expected {
        return Err(wrong_length(number, first.len(), nodes));
    }
    let mut numbers = first;
    let further = if has_whole { wanted - 1 } else { nodes - 1 };
    for done in 1..=further {
        let Some(line) = lines.next().transpose()? else {
            let what = if has_whole { "matrices, and not" } else { "rows, and not" };
            return Err(format!("it has {done} {what} {}", further + 1));
        };
        // A matrix that is not wanted is passed over.
        if has_whole && done < further {
            continue;
        }
        let (number, next) = numbers_of(line)?;
        if next.len() != expected {
            return Err(wrong_length(number, next.len(), nodes));
        }
        if has_whole { numbers = next } else { numbers.extend(next) }
    }
    if !has_whole && wanted > 1 {
        return Err("it has one matrix, and `line` chooses another".to_owned());
    }
    if !has_whole && let Some(line) = lines.next() {
        return Err(format!("line {}: there are more rows than nodes", line?.0));
    }
    Ok(numbers
        .into_iter()
        .enumerate()
        .map(|(at, demand)| (Ends::At(at / nodes, at % nodes), demand))
        .collect())
}

fn wrong_length(line: usize, found: usize, nodes: usize) -> String {
    let whole = nodes * nodes;
    format!("line {line}: it has {found} numbers, and not {nodes} (a row) or {whole} (a matrix)")
}

fn number_of(text: &str, line: usize) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.0..f64::INFINITY).contains(&number) => Ok(number),
        _ => Err(format!("line {line}: expected a number of at least 0, found `{}`", brief(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> impl Iterator<Item = Result<(usize, String), String>> {
        numbered(Cursor::new(text.as_bytes().to_vec()))
    }

    fn at(from: usize, to: usize, demand: f64) -> (Ends, f64) {
        (Ends::At(from, to), demand)
    }

    #[test]
    fn rows_and_whole_matrices_are_read() {
        let expected = [at(0, 0, 1.0), at(0, 1, 2.5), at(1, 0, 3e3), at(1, 1, 0.0)];
        for text in ["1 2.5\n3e3 0\n", "1,2.5\n\n3e3, 0", "1\t2.5 3e3 0\n", "9 9 9 9\n1 2.5 3e3 0\n"] {
            let line = if text.starts_with('9') { 2 } else { 1 };
            assert_eq!(in_rows(of(text), 2, line).unwrap(), expected, "{text}");
        }
        let named = listed(of("from, to, demand\na,b,4\nb , a, 0.5\n")).unwrap();
        let name = |from: &str, to: &str| Ends::Named(from.to_owned(), to.to_owned());
        assert_eq!(named, [(name("a", "b"), 4.0), (name("b", "a"), 0.5)]);
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, line, expected) in [
            ("", 1, "it is empty"),
            ("1 2 3\n", 1, "line 1: it has 3 numbers, and not 2 (a row) or 4 (a matrix)"),
            ("1 2\n", 1, "it has 1 rows, and not 2"),
            ("1 2\n3\n", 1, "line 2: it has 1 numbers, and not 2 (a row) or 4 (a matrix)"),
            ("1 2\n3 4\n5 6\n", 1, "line 3: there are more rows than nodes"),
            ("1 2\n3 4\n", 2, "it has one matrix, and `line` chooses another"),
            ("1 2 3 4\n", 3, "it has 1 matrices, and not 3"),
            ("1 -2\n3 4\n", 1, "line 1: expected a number of at least 0, found `-2`"),
            ("1 nan\n3 4\n", 1, "line 1: expected a number of at least 0, found `nan`"),
        ] {
            assert_eq!(in_rows(of(text), 2, line).unwrap_err(), expected, "{text}");
        }
        for (text, expected) in [
            ("1 2\n", "its first line is not `from,to,demand`; state `nodes` if it has rows of numbers"),
            ("from,to,demand\na,b\n", "line 2: expected `from,to,demand`, found `a,b`"),
            ("from,to,demand\na,b,x\n", "line 2: expected a number of at least 0, found `x`"),
        ] {
            assert_eq!(listed(of(text)).unwrap_err(), expected, "{text}");
        }
    }
}
