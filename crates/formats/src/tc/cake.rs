//! CAKE, as tc-cake(8) has it.

use super::entry::Entry;
use super::plan::{Among, Framing, Queue, Side};
use super::policies;
use super::value::Value;
use crate::error::FormatErrors;
use crate::suggest::brief;
use tidegate_core::classifier::rules::Direction;

/// Bytes of an Ethernet header: CAKE adds `overhead` to a packet of IP, and a gate to its frame.
const ETHERNET: i64 = 14;
/// The round-trip time of which CoDel's times are the defaults, in µs.
const DEFAULT_RTT: u64 = 100_000;

/// A tin: its name, its codepoints and its threshold, in parts of `WHOLE`.
pub(super) struct Tin {
    pub(super) name: &'static str,
    pub(super) dscp: &'static [u8],
    pub(super) threshold: u64,
}

/// The whole rate, in parts.
pub(super) const WHOLE: u64 = 16;
/// The tin of all codepoints that no other tin has is not listed.
const DIFFSERV3: [Tin; 2] = [
    Tin { name: "voice", dscp: &[56, 48, 46, 44, 4], threshold: 4 },
    Tin { name: "bulk", dscp: &[8, 1], threshold: 1 },
];
const DIFFSERV4: [Tin; 3] = [
    Tin { name: "voice", dscp: &[56, 48, 46, 44, 40, 32], threshold: 4 },
    Tin { name: "video", dscp: &[34, 36, 38, 26, 28, 30, 24, 18, 20, 22, 16, 4], threshold: 8 },
    Tin { name: "bulk", dscp: &[8, 1], threshold: 1 },
];

/// A CAKE in the terms of a gate.
pub(super) struct Cake {
    /// In bit/s; `None` for no limit.
    pub(super) bandwidth: Option<u64>,
    pub(super) queue: Queue,
    pub(super) tins: &'static [Tin],
    /// `None` where it takes the lengths that the kernel has.
    pub(super) framing: Option<Framing>,
    /// The limit of its memory, in bytes.
    pub(super) memory: Option<u64>,
}

pub(super) fn read(options: &mut Entry, side: &mut Side, direction: Direction) -> Result<Cake, FormatErrors> {
    let at = options.at.clone();
    let bandwidth = match options.take("bandwidth") {
        None => None,
        Some(Value::Text(word)) if word == "unlimited" => None,
        Some(Value::Number(bytes)) => match super::quantities::rate_of_bytes(bytes) {
            Some(rate) => Some(rate),
            None => return at.refuse("`bandwidth` is not a rate, from 1bit to 10tbit"),
        },
        Some(_) => return at.refuse("`bandwidth` is not a rate"),
    };
    let tins: &'static [Tin] = match options.text("diffserv")?.as_deref() {
        None | Some("besteffort") => &[],
        Some("diffserv3") => &DIFFSERV3,
        Some("diffserv4") => &DIFFSERV4,
        Some(other @ ("diffserv8" | "precedence")) => {
            side.loses(&at, format!("the tins of `{other}` are left out: marks make no difference"));
            &[]
        }
        Some(other) => return at.refuse(format!("`diffserv` (`{}`) is not known here", brief(other))),
    };
    let mode = options.text("flowmode")?;
    let among = hosts(mode.as_deref().unwrap_or("triple-isolate"), direction, side, options)?;
    let wash = options.flag("wash")?;
    for (key, why) in [
        ("nat", "stand on the inside of the router, where addresses are not translated yet"),
        ("ingress", "packets that are dropped count as not sent"),
    ] {
        if options.flag(key)? {
            side.loses(&at, format!("`{key}` is left out: {why}"));
        }
    }
    if let Some(filter) = options.text("ack-filter")?.filter(|filter| filter != "disabled") {
        side.loses(&at, format!("`ack-filter` (`{}`) is left out: no ACK is dropped", brief(&filter)));
    }
    if options.has("split_gso") && !options.flag("split_gso")? {
        side.loses(&at, "`no-split-gso` is left out: super-packets are always segmented");
    }
    if let Some(rtt) = options.count("rtt")?.filter(|rtt| *rtt != DEFAULT_RTT) {
        side.loses(&at, format!("`rtt {rtt}us` is left out: CoDel's times are those of 100 ms"));
    }
    if let Some(word) = options.shown("autorate") {
        side.loses(&at, format!("`{word}` is left out: the rate stays"));
    }
    if let Some(mask) = options.text("fwmark")?.filter(|mask| mask != "0" && mask != "0x0") {
        let message = format!(
            "`fwmark {}` is left out: marks of the packet filter are not seen by a gate",
            brief(&mask)
        );
        side.loses(&at, message);
    }
    let raw = options.flag("raw")?;
    let overhead = options.whole("overhead", -1024)?.unwrap_or_default();
    let mpu = options.whole("mpu", 0)?.unwrap_or_default();
    let atm = match options.text("atm")?.as_deref() {
        None | Some("noatm") => false,
        Some("atm") => true,
        Some("ptm") => {
            side.loses(&at, "`ptm` is left out: state a rate that is lower by a 65th");
            false
        }
        Some(other) => return at.refuse(format!("`atm` (`{}`) is not known here", brief(other))),
    };
    let memory = options.size("memlimit")?;
    let framing = (!raw).then_some(Framing { overhead: overhead - ETHERNET, mpu, atm });
    let in_linux = Some(policies::HOSTS_IN_LINUX.to_owned());
    let queue = Queue { policy: None, in_linux, among, divides: true, wash, packets: None };
    Ok(Cake { bandwidth, queue, tins, framing, memory })
}

/// The counterpart of a mode of CAKE's.
fn hosts(mode: &str, direction: Direction, side: &mut Side, options: &Entry) -> Result<Among, FormatErrors> {
    let inside = match direction {
        Direction::Up => "src",
        Direction::Down => "dst",
    };
    let at = &options.at;
    Ok(match mode {
        "flows" => Among::Conversations,
        "flowblind" => Among::Nothing,
        "triple-isolate" => Among::HostsOfBothSides,
        _ if mode == format!("{inside}host") => Among::Hosts,
        _ if mode == format!("dual-{inside}host") => Among::HostsFirst,
        "srchost" | "dsthost" | "dual-srchost" | "dual-dsthost" => {
            side.loses(
                at,
                format!("`{mode}` is left out: it divides by hosts outside, and a gate by conversations"),
            );
            Among::Conversations
        }
        "hosts" => {
            side.loses(at, "`hosts` is left out: it divides by pairs of hosts, and a gate by hosts inside");
            Among::Hosts
        }
        other => return at.refuse(format!("`flowmode` (`{}`) is not known here", brief(other))),
    })
}
