//! The settings of TCP with which tests run: keys of a transport.

#![allow(dead_code)]

pub const RENO_1990: &str = r#"congestion = "reno", recovery = "reno-1990""#;
pub const NEW_RENO: &str = r#"congestion = "reno", recovery = "newreno""#;
pub const SACK: &str = r#"congestion = "reno", recovery = "sack""#;
pub const RACK: &str = r#"congestion = "reno", recovery = "rack""#;
pub const CUBIC: &str = r#"congestion = "cubic", recovery = "sack""#;
pub const CUBIC_RACK: &str = r#"congestion = "cubic", recovery = "rack""#;
pub const ALL: [&str; 6] = [RENO_1990, NEW_RENO, SACK, RACK, CUBIC, CUBIC_RACK];
