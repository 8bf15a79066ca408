//! The promises of a gate file to its flows, in words.

use tidegate_core::classifier::rules::{Direction, Each};
use tidegate_core::units::Span;
use tidegate_formats::units::show_rate;
use tidegate_formats::{GateFile, LONGEST_FRAME, Promise};

/// A line about each promise.
pub(crate) fn lines(file: &GateFile) -> Vec<String> {
    let of = |direction: Direction| file.promises(direction).into_iter().map(move |one| (direction, one));
    Direction::BOTH.into_iter().flat_map(of).map(|(direction, one)| line(file, direction, &one)).collect()
}

fn line(file: &GateFile, direction: Direction, promise: &Promise) -> String {
    let direction = direction.name();
    match *promise {
        Promise::Named { flow, reserve, behind } => {
            let (name, reserve) = (&file.flows[flow].name, show_rate(reserve));
            format!(
                "{name} {direction}: as long as it sends no more than its {reserve}, nothing is lost to others, and a frame \
                 leaves at most {} after a line of its own with {reserve} would have sent it (frames of up to \
                 {LONGEST_FRAME} bytes)",
                millis(behind)
            )
        }
        Promise::Shared { flow, class, rate, each, queues } => {
            let flow = &file.flows[flow];
            let place = class
                .map_or_else(String::new, |class| format!(" in class {}", file.classes[class].class.name));
            let (name, all) = (&flow.name, show_rate(rate));
            let who = match (&flow.circuits, flow.each) {
                (Some(_), _) => "circuits without a reservation",
                (None, Some(Each::FiveTuple)) => "5-tuples",
                (None, Some(Each::Subscriber)) => "subscribers",
                (None, _) => "hosts",
            };
            let parts = match each {
                Some(each) => {
                    let (full, each) = (rate / each.max(1), show_rate(each));
                    format!("{full} {who} at a time get their {each} in full, more divide {all} equally")
                }
                None => format!("all {who} divide {all} equally"),
            };
            let limit = match flow.circuits {
                Some(_) => String::new(),
                None => format!("; {queues} have queues of their own, and further ones share one"),
            };
            format!("{name} {direction}{place}: {parts}{limit}")
        }
    }
}

/// A bound in milliseconds, rounded up.
fn millis(bound: Span) -> String {
    format!("{:.2} ms", (bound.as_secs_f64() * 1e5).ceil() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rest: &str) -> Vec<String> {
        let text = format!(
            "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"10mbit\", down = \"100mbit\" }}\n{rest}"
        );
        lines(&GateFile::parse(&text, "g.toml", &[]).unwrap())
    }

    const CALL: &str = "[[flow]]\nname = \"call\"\nmatch = { dscp = \"ef\" }\nreserve = \"1mbit\"\n";
    const HOSTS: &str = "[[flow]]\nname = \"hosts\"\neach = \"host\"\nreserve = \"100kbit\"\n";

    /// 10 Mbit/s less 1 Mbit/s and two hundredths for unmatched packets are 8.8 Mbit/s; a frame of
    /// 1514 bytes takes 1211.2 us. At 100 Mbit/s the queues are as many as 97 Mbit/s have 10 kbit/s.
    #[test]
    fn members_in_full_and_bounds_are_told() {
        let told = told(&format!("{CALL}{HOSTS}"));
        assert_eq!(
            told[..2],
            [
                "call up: as long as it sends no more than its 1mbit, nothing is lost to others, and a frame leaves at most \
                 1.22 ms after a line of its own with 1mbit would have sent it (frames of up to 1514 bytes)",
                "hosts up: 88 hosts at a time get their 100kbit in full, more divide 8800kbit equally; 1024 have queues of their \
                 own, and further ones share one",
            ]
        );
        assert!(told[2].starts_with("call down") && told[2].contains("0.13 ms"), "{}", told[2]);
        assert!(told[3].contains("970 hosts") && told[3].contains("9700 have queues"), "{}", told[3]);
    }

    /// The example of CAKE's tins, as the page has it: 9500 kbit/s less 2300, 4700 and 10, and two
    /// hundredths, are 2300 kbit/s.
    #[test]
    fn the_hosts_of_the_page_on_cake_share_what_its_tins_leave() {
        let page =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gate-from-tc.md"))
                .unwrap();
        let tins = page.split("### diffserv4").nth(1).unwrap();
        let block = tins.split("```toml").nth(1).unwrap().split("```").next().unwrap();
        let told = lines(&GateFile::parse(block, "tins.toml", &[]).unwrap());
        let of = |start: &str| told.iter().find(|line| line.starts_with(start)).unwrap();
        assert!(of("best-effort up").contains("23 hosts at a time get their 100kbit in full"), "{told:?}");
        assert!(of("voice up in class voice").contains("all hosts divide 2300kbit"), "{told:?}");
    }

    /// No promise is reported for a scheduler that does not serve by reservations, and no bound
    /// where something else may void it.
    #[test]
    fn what_is_not_promised_is_not_told() {
        assert_eq!(told(&format!("port = {{ scheduler = \"fifo\" }}\n{CALL}{HOSTS}")), [""; 0]);
        for port in ["drr", "sfq"] {
            let told = told(&format!("port = {{ scheduler = \"{port}\" }}\n{CALL}{HOSTS}"));
            assert!(told.len() == 2 && told.iter().all(|line| line.starts_with("hosts")), "{told:?}");
        }
        let port = "port = { scheduler = \"virtual-clock\" }\n";
        let capped = told(&format!("{port}{CALL}{HOSTS}ceiling = \"5mbit\"\n"));
        assert!(capped.len() == 2 && capped.iter().all(|line| line.starts_with("hosts")), "{capped:?}");
        let one_way = told(&format!("{CALL}up = {{ ceiling = \"5mbit\" }}\n"));
        assert!(one_way.len() == 1 && one_way[0].starts_with("call down"), "{one_way:?}");
        // Under VirtualClock a flow without a reservation takes nothing from one that reserves.
        let datagrams =
            told("port = { scheduler = \"virtual-clock\" }\n[[flow]]\nname = \"all\"\neach = \"host\"\n");
        assert_eq!(datagrams, [""; 0]);
    }
}
