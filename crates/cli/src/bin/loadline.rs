//! The `loadline` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    loadline::main()
}
