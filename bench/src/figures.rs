//! How figures of single measures are put together and written.

#![expect(clippy::print_stdout, reason = "the table is what the programs are for")]

/// The middle of some figures, and the least and largest.
pub fn spread(mut figures: Vec<f64>) -> (f64, f64, f64) {
    figures.sort_by(f64::total_cmp);
    (figures[figures.len() / 2], figures[0], figures[figures.len() - 1])
}

/// Says a figure and what it is to be.
pub fn say(what: &str, figure: &str, goal: &str, met: bool) {
    println!("{} {what}: {figure} (goal: {goal})", if met { "ok  " } else { "MISS" });
}
