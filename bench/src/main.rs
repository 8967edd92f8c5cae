//! Prints how fast our JSON is, side by side with the other ways to read and write it.

use nuncio_bench::{contenders, report};

fn main() {
    report::run(&contenders());
}
