//! The kinds of traffic source.

use super::{Field, OneOf, Section, Shape, defaulted, optional, rate, required, time};
use tidegate_core::params::Kind;

fn mean_rate() -> Field {
    required("rate", rate(), "Mean rate, counted in whole packets")
}

fn times() -> Field {
    defaulted(
        "times",
        Shape::Value(Kind::Number(1.0, 1000.0)),
        "1",
        "Factor on the rates of this source: above 1 it misbehaves and sends that many times its declared rate",
    )
}

/// Keys for the playback of a recording.
fn playback() -> [Field; 2] {
    [
        defaulted(
            "speed",
            Shape::Value(Kind::Number(0.001, 1000.0)),
            "1",
            "Speed of playback: at 2, gaps are half as long",
        ),
        defaulted(
            "repeat",
            Shape::Value(Kind::Integer(1, 1_000_000)),
            "1",
            "Number of times that it is played, one after another",
        ),
    ]
}

fn number(low: f64, high: f64) -> Shape {
    Shape::Value(Kind::Number(low, high))
}

/// The values that `source` takes.
pub(super) fn shape() -> Shape {
    let [speed, repeat] = playback();
    let options = vec![
        Section::new("cbr", "Constant rate", "Packets evenly spaced at the rate.", vec![mean_rate(), times()]),
        Section::new(
            "poisson",
            "Poisson",
            "Packets at the rate with independent, exponential gaps.",
            vec![mean_rate(), times()],
        ),
        Section::new(
            "on-off",
            "On-off",
            "Bursts at the peak rate, of a geometric number of packets, separated by exponential silences \
             that give the mean rate.",
            vec![
                mean_rate(),
                required("peak", rate(), "Rate within a burst, at least `rate`"),
                required("burst", number(1.0, 1e6), "Mean number of packets in a burst"),
                times(),
            ],
        )
        .citing("Pincheira 1994, section 4.1"),
        Section::new(
            "packet-train",
            "Packet train",
            "Trains of a geometric number of packets, separated by exponential gaps that give the mean rate \
             (AR).",
            vec![
                mean_rate(),
                defaulted("length", number(1.0, 1e6), "5", "Mean number of packets in a train"),
                optional("gap", time(), "Time between packets of a train; without it 1/(2·AR), half the mean spacing"),
                times(),
            ],
        )
        .citing("Zhang 1991, section 4.1.2"),
        Section::new(
            "greedy",
            "Greedy",
            "Always has packets to send: keeps a fixed number of packets in its first queue.",
            vec![defaulted("window", Shape::Value(Kind::Integer(1, 1_000_000)), "4", "Packets kept in its first queue")],
        )
        .responding(),
        Section::new(
            "trace",
            "Trace",
            "Packets at the times and with the sizes of a file: lines of a time in seconds and a size in bytes, \
             separated by blanks or a comma. Times count from the first packet, which comes at the flow's \
             `start`.",
            vec![
                required("file", Shape::File, "File to play"),
                optional(
                    "flow",
                    Shape::Value(Kind::Text),
                    "Flow of a CSV file, as its column `flow` names it; without it, all. Several become flows \
                     NAME/voice and so on",
                ),
                optional(
                    "omit",
                    Shape::OneOrMore(Kind::Text),
                    "Flows of the file that are not played, as its column `flow` names them",
                ),
                speed.clone(),
                repeat.clone(),
            ],
        ),
        Section::new(
            "video",
            "Video",
            "Frames of a video in packets of the flow's `size`, the last of a frame shorter; at the end of \
             the file it starts again. Each flow starts with a random frame at a random phase of the frame \
             interval.",
            vec![
                required(
                    "file",
                    Shape::File,
                    "Frame sizes in the order of transmission: lines of a number of bytes, or of columns of which the third is \
                     the type (I, P or B) and the fourth the bytes",
                ),
                required("fps", number(0.001, 1e6), "Frames in a second"),
                defaulted(
                    "spread",
                    Shape::Value(Kind::Word(&["frame", "peak"])),
                    "frame",
                    "Times of a frame's packets: evenly over the frame interval, or at the peak rate from \
                     its beginning",
                ),
                optional("peak", rate(), "Rate at which the packets of a frame follow each other with `spread = \"peak\"`; without it, the flow's `peak`"),
                optional(
                    "first",
                    Shape::Value(Kind::Integer(0, 1_000_000_000)),
                    "Frame with which every flow starts at its `start`, from 0; without it, frame and phase \
                     are random",
                ),
            ],
        )
        .citing("Pincheira 1994, section 1 (variable bit-rate video)"),
        Section::new(
            "capture",
            "Capture",
            "Packets at the times and with the sizes of a packet capture. Times count from its first packet, which comes \
             at the flow's `start`.",
            vec![
                required("file", Shape::File, "Capture to play"),
                optional(
                    "flow",
                    Shape::Value(Kind::Text),
                    "Flow of it, as `10.0.0.1:5004>10.0.0.2:5004/udp`, or several, with `*` for an address, \
                     a port, an end or the protocol: `10.0.0.1:80>*/tcp`; without it, all. Several become \
                     flows NAME/10.0.0.1:80>10.0.0.2:5004/tcp and so on, each with the given reservation",
                ),
                optional(
                    "omit",
                    Shape::OneOrMore(Kind::Text),
                    "Flows of it that are not played, each written as `flow`",
                ),
                optional(
                    "inside",
                    Shape::OneOrMore(Kind::Text),
                    "Addresses and prefixes of one side, as `10.0.0.0/8`: only packets in one direction are \
                     played, from one of these addresses to none of them, or the reverse; without it, all \
                     packets that `flow` selects",
                ),
                optional(
                    "direction",
                    Shape::Value(Kind::Word(&["up", "down"])),
                    "Direction of the packets that are played: `up` from the addresses of `inside`, `down` to \
                     them. On a route through a gate it is the flow's direction there",
                ),
                speed,
                repeat,
            ],
        ),
    ];
    Shape::OneOf(OneOf { what: "source", default_kind: None, options })
}
