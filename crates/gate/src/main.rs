//! `tidegate-gate`: the gate without Python.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(tidegate_gate::cli(std::env::args_os()))
}
