//! A scenario that was once drawn, and in which the model was right.

use crate::case;
use crate::generate::Drawn;

/// Packets of 1,500 bytes that have waited for the link longer than for their ceiling were counted as
/// held by it, and their flow lost to WF²Q+ what it was behind.
#[test]
fn a_packet_that_waited_for_the_link_was_not_held() {
    let text = r#"version = 1
duration = "250ms"
topology = { kind = "chain", switches = 4, rate = "333333bit", delay = "0s" }
port = { scheduler = { kind = "wf2q-plus", unreserved = "10kbit" }, dropper = { kind = "drop-tail", limit = "30p", marked = "4kB" } }
[[profile]]
name = "p"
reserve = "50kbit"
interval = "1s"
[[flow]]
name = "bursts"
count = 2
from = "s1"
to = "s4"
source = { kind = "on-off", rate = "250kbit", peak = "5mbit", burst = 4 }
size = "1500B"
reserve = "50kbit"
ceiling = "600kbit"
profile = "p"
start = "2ms"
[[flow]]
name = "video"
from = "s2"
to = "s3"
source = { kind = "video", file = "video.txt", fps = 60, spread = "peak", peak = "2mbit", first = 19 }
size = "250B"
reserve = "50kbit"
ceiling = "600kbit"
start = "1ms"
"#;
    let frames =
        [0, 60, 60, 0, 3000, 3000, 400, 60, 400, 1500, 60, 3000, 3000, 1500, 400, 400, 0, 400, 3000, 2000];
    let frames = frames.map(|frame| format!("{frame}\n")).concat();
    let drawn = Drawn { text: text.to_owned(), files: vec![("video.txt".to_owned(), frames)] };
    assert!(case::check(&drawn).unwrap_or_else(|what| panic!("{what}")).is_some());
}
