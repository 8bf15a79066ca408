//! The queue management that the devices of a list ask for, and what a gate has instead.

use crate::error::{Complaint, Place, Report};
use crate::keys::gate::Within;
use crate::suggest::brief;
use tidegate_core::classifier::rules::Prefix;

const CAKE: &str = "cake";
const FQ_CODEL: &str = "fq_codel";
const NONE: &str = "none";

/// The devices that ask for a queue management by its name: the first's place, and how many.
type Asked = Option<(Place, u64)>;

/// The queue management of all devices.
#[derive(Default)]
pub(super) struct Queues {
    cake: Asked,
    fq_codel: Asked,
    none: Asked,
    /// Number of devices that leave it to LibreQoS's configuration, whose own choice is CAKE.
    left_open: u64,
}

impl Queues {
    /// Reads the field of a device. Returns its place where it asks for FQ-CoDel.
    pub(super) fn read(&mut self, field: &str, place: Place, report: &mut Report) -> Option<Place> {
        let field = field.to_lowercase();
        let words: Vec<&str> = field.splitn(2, '/').map(str::trim).collect();
        for (word, asked) in [(CAKE, &mut self.cake), (FQ_CODEL, &mut self.fq_codel), (NONE, &mut self.none)]
        {
            if words.contains(&word) {
                asked.get_or_insert((place, 0)).1 += 1;
            }
        }
        self.left_open += u64::from(words.contains(&""));
        if let Some(word) = words.iter().find(|word| !["", CAKE, FQ_CODEL, NONE].contains(word)) {
            let complaint = Complaint::new(format!("`{}` is no queue management", brief(word)))
                .help("it is cake, fq_codel or none, or one for each direction as in cake/fq_codel");
            report.add(place, complaint);
        }
        words.contains(&FQ_CODEL).then_some(place)
    }

    /// The division of circuits that is nearest to what the list asks for: that of FQ-CoDel where
    /// all devices ask for it, and otherwise that of CAKE.
    pub(super) fn within(&self) -> Within {
        match (self.fq_codel, self.cake, self.left_open) {
            (Some(_), None, 0) => Within::FiveTuple,
            _ => Within::TripleIsolate,
        }
    }

    /// Devices that have another queue management in circuits that are divided in this way. A circuit is
    /// its addresses, and the place at which the first of its devices asks for FQ-CoDel.
    pub(super) fn losses<'c>(
        &self,
        within: Within,
        circuits: impl Iterator<Item = (&'c [Prefix], Option<Place>)>,
    ) -> Vec<(Place, Complaint)> {
        let told = |asked: Asked, message: &str| {
            asked.map(|(place, count)| (place, Complaint::new(format!("{message}{}", more(count)))))
        };
        if within == Within::None {
            let fair = [(self.cake, "CAKE"), (self.fq_codel, "FQ-CoDel")].into_iter();
            return fair
                .filter_map(|(asked, name)| {
                    told(asked, &format!("this device has one queue in place of {name}"))
                })
                .collect();
        }
        let by_host = matches!(within, Within::HostFiveTuple | Within::TripleIsolate);
        let cake = told(self.cake, "this device has FQ-CoDel in place of CAKE").map(|(place, complaint)| {
            let help = match within {
                Within::TripleIsolate => "fair among the hosts of both sides, but without tins",
                Within::HostFiveTuple => {
                    "fair among hosts inside, then among the conversations of each, but without tins"
                }
                Within::FiveTuple | Within::None => {
                    "fair among conversations alike, but without tins and without shares of hosts"
                }
            };
            (place, complaint.help(help))
        });
        let several = circuits.filter(|(addresses, _)| by_host && has_hosts(addresses));
        let mut several = several.filter_map(|(_, fq_codel)| fq_codel);
        let first = several.next();
        let fair = told(
            first.map(|place| (place, 1 + several.count() as u64)),
            "this device asks for FQ-CoDel, and its circuit is fair among hosts first",
        );
        let fair = fair.map(|(place, complaint)| {
            let help = "within = \"5-tuple\" of the flow is fair among conversations alike";
            (place, complaint.help(help))
        });
        let none = told(self.none, "this device has FQ-CoDel and asks for no queue management");
        cake.into_iter().chain(fair).chain(none).collect()
    }
}

/// The devices besides the first, in words.
fn more(count: u64) -> String {
    match count {
        1 => String::new(),
        2 => ", as has another".to_owned(),
        count => format!(", as have {} others", count - 1),
    }
}

/// Returns true if there may be several hosts: FQ-CoDel and its form among hosts are one for a single
/// address.
fn has_hosts(addresses: &[Prefix]) -> bool {
    let is_host = |prefix: &Prefix| prefix.length() == if prefix.address().is_ipv4() { 32 } else { 128 };
    addresses.len() > 1 || !addresses.iter().all(is_host)
}
