//! ABR connections without control of their rates.

use crate::{connection, dumbbell, said, silent};

#[test]
fn abr_without_rate_control_is_warned_of() {
    let text = |port: &str| {
        format!("{}{port}{}", dumbbell("100mbit", "1ms"), connection("\"abr\"", "").replace("1500B", "53B"))
    };
    said(&text(""), "no port on the way of `c` controls its rate");
    silent(&text("port = { rate_control = \"erica\" }\n"));
    silent(&format!("{}{}", dumbbell("100mbit", "1ms"), connection("\"tcp\"", "")));
}
