//! The report as a page of the documentation.

use std::fmt::Write as _;

use super::{
    load::Sample,
    report::{Goal, Line, Report, Table, Verdict, spread},
};

const HEAD: &str = "\
# Benchmarks

`make bench` has written this page. Everything on it is of one run on one machine, in which servers
took turns under the same load; the load shared the cores with them. A figure is the median of the
rounds, with the least and the most behind it, and means nothing beside a figure of another run:
look at the ratios. Each answer was judged; who answers wrongly has no figure.

Echo agents on other SDKs are in `bench/peers`; what the references `bare`, `typed`, `durable`,
`postgres`, `grpc-bare` and `proxy` do, and how to measure some of this alone, says
[bench/README.md](../bench/README.md).

";

impl Report {
    /// Returns the report as Markdown. `others`: how many cores other programs kept busy.
    pub(crate) fn markdown(&self, others: f64) -> String {
        let mut page = HEAD.to_owned();
        for table in &self.tables {
            // Writing to a text cannot fail.
            table.write_markdown(&mut page).ok();
        }
        page.push_str("## Against the goals\n\n");
        page.push_str("| what | figure | least – most | goal |\n|---|---:|---:|---|\n");
        for verdict in self.verdicts.iter().filter(|verdict| !verdict.figures.is_empty()) {
            verdict.write_markdown(&mut page).ok();
        }
        let noted = format!("\nOther programs kept {others:.1} cores busy meanwhile.\n");
        page + &noted
    }
}

impl Table {
    fn write_markdown(&self, page: &mut String) -> std::fmt::Result {
        writeln!(page, "## {}\n", self.title)?;
        let reference = self.lines.first().map(|line| &*line.name).unwrap_or_default();
        writeln!(
            page,
            "| server | {} a second | µs of CPU each | p50 µs | against {reference} | \
            least – most |",
            self.unit
        )?;
        writeln!(page, "|---|---:|---:|---:|---:|---:|")?;
        for line in &self.lines {
            self.write_line(line, reference, page)?;
        }
        writeln!(page)
    }

    fn write_line(&self, line: &Line, reference: &str, page: &mut String) -> std::fmt::Result {
        if let Some(failure) = &line.failure {
            return writeln!(page, "| {} | could not: {} | | | | |", line.name, plain(failure));
        }
        let rate = line.median(Sample::per_second);
        let processor = line.median(Sample::processor_micros);
        let latency = line.median(|sample| sample.latency.as_secs_f64() * 1e6);
        let latency = if latency > 0.0 { format!("{latency:.0}") } else { "–".to_owned() };
        let (ratio, least, most) = spread(&self.ratio(&line.name, reference).unwrap_or_default());
        writeln!(
            page,
            "| {} | {rate:.0} | {processor:.1} | {latency} | {ratio:.3} | {least:.3} – {most:.3} |",
            line.name
        )
    }
}

impl Verdict {
    fn write_markdown(&self, page: &mut String) -> std::fmt::Result {
        let Self { what, figures, unit, goal } = self;
        let (figure, least, most) = spread(figures);
        let goal = match goal {
            None => String::new(),
            Some(goal) => {
                let word = if goal.is_met(figure) { "met" } else { "**missed**" };
                let (sign, bound) = match goal {
                    Goal::AtLeast(bound, _) => ("≥", bound),
                    Goal::AtMost(bound, _) => ("≤", bound),
                };
                format!("{sign} {bound}{unit}, {word}")
            }
        };
        writeln!(page, "| {what} | {figure:.2}{unit} | {least:.2} – {most:.2} | {goal} |")
    }
}

/// Returns a text as it may stand in a cell.
fn plain(text: &str) -> String {
    let line: String = text.chars().take(120).collect();
    line.replace(['|', '\n', '<', '`'], " ")
}
