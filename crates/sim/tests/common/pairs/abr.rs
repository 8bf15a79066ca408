//! Explicit-rate control of the ABR service.

use super::Draw;

pub const KEY: &str = "rate_control";
pub const RATE_CONTROL: &str = "rate-control";
pub const VSVD: &str = "vsvd";

fn is_controlled(draw: &Draw<'_>) -> bool {
    draw.has(RATE_CONTROL) || draw.has(VSVD)
}

pub fn add(draw: &mut Draw<'_>, keys: &mut Vec<String>) {
    if is_controlled(draw) {
        keys.push(format!("rate_control = {}", draw.one(&["\"erica\"", "\"eprca\"", "\"efci\""])));
    }
    if draw.has(VSVD) {
        keys.push("vsvd = {}".into());
    }
}

/// The transport of a connection whose rate is controlled.
pub fn transport(draw: &Draw<'_>) -> Option<&'static str> {
    let transport = match draw.has("aal5") {
        false => "size = \"53B\"\ntransport = { kind = \"abr\", icr = \"100kbit\" }\n",
        true => "size = \"1500B\"\nadaptation = \"aal5\"\nvc = { icr = \"100kbit\" }\ntransport = \"tcp\"\n",
    };
    is_controlled(draw).then_some(transport)
}
