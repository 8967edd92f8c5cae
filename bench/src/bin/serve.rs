//! Prints how fast A2A servers are, side by side with references that do the least.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    nuncio_bench::serve::main(&arguments)
}
