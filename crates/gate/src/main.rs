//! `tidegate-gate`: the gate without Python.

use std::process::ExitCode;
use tidegate_gate::Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    ExitCode::from(tidegate_gate::cli(std::env::args_os()))
}
