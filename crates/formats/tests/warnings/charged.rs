//! Reservations on links with overhead.

use super::{said, silent};

const LINKS: &str = "[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n";

fn text(link: &str, reserve: &str) -> String {
    format!(
        "port = {{ scheduler = \"virtual-clock\" }}\nswitch = {{ buffer = \"100p\" }}\n{LINKS}[[link]]\nfrom = \"a\"\nto = \"b\"\n\
         rate = \"1mbit\"\n{link}\n[[flow]]\nname = \"call\"\nfrom = \"a\"\nto = \"b\"\nsize = [\"40B\", \"1500B\"]\n\
         reserve = \"{reserve}\"\nsource = {{ kind = \"cbr\", rate = \"77kbit\" }}\n"
    )
}

/// Packets of 40 and 1500 bytes take 106 and 1749 bytes of a link that sends them over ATM with 40
/// bytes each: 92.75 kbit/s.
#[test]
fn a_reservation_of_a_flows_own_bytes_is_said_to_be_short() {
    let atm = "overhead = 40\natm = true";
    said(
        &text(atm, "77kbit"),
        "packets of `call` take 92750bit of link a->b with its overhead, and 77kbit are reserved",
    );
    silent(&text(atm, "92750bit"));
    silent(&text("", "77kbit"));
    // Less than the packets' own rate was reserved anyway.
    silent(&text(atm, "50kbit"));
}

/// A flow whose own rate fits overloads the link by what it adds.
#[test]
fn an_overload_by_overhead_is_told() {
    let text = |overhead: &str| {
        format!(
            "{LINKS}[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\n{overhead}\n[[flow]]\nname = \"small\"\nfrom = \"a\"\n\
             to = \"b\"\nsize = \"100B\"\nsource = {{ kind = \"cbr\", rate = \"900kbit\" }}\n"
        )
    };
    silent(&text(""));
    said(&text("overhead = 24"), "carries 1mbit, and is offered 1116kbit");
}
