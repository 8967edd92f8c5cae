//! What was found, in figures and against the goals.

#![expect(clippy::print_stdout, reason = "the report is what the program is for")]

use std::fmt;

use super::load::Sample;

/// What one suite found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The figures of each point of load.
    pub tables: Vec<Table>,
    /// How ours does against the goals.
    pub verdicts: Vec<Verdict>,
}

/// One point of load, and everybody who was put under it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Table {
    /// What was measured.
    pub title: String,
    /// What is counted: requests, events.
    pub unit: &'static str,
    /// Everybody, the reference first.
    pub lines: Vec<Line>,
}

/// The samples of one server, round by round.
#[derive(Clone, Debug)]
pub struct Line {
    /// Who it is.
    pub name: String,
    samples: Vec<Sample>,
    /// Why there are no more samples, if it could not go on.
    pub failure: Option<String>,
}

/// A figure and what it is to be.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verdict {
    /// What was measured.
    pub what: String,
    /// What was found, round by round.
    pub figures: Vec<f64>,
    /// What follows the figure.
    pub unit: &'static str,
    /// What it is to be. `None`: it is told for comparison.
    pub goal: Option<Goal>,
}

/// What a figure is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// As large, or larger. The second is what we would like.
    AtLeast(f64, f64),
    /// As small, or smaller. The second is what we would like.
    AtMost(f64, f64),
}

impl Report {
    pub(crate) fn print_tables(&self) {
        for table in &self.tables {
            println!("{table}");
        }
    }

    pub(crate) fn print_verdicts(&self) {
        for verdict in &self.verdicts {
            println!("{verdict}");
        }
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.tables.extend(other.tables);
        self.verdicts.extend(other.verdicts);
    }
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, unit: &'static str) -> Self {
        Self { title: title.into(), unit, lines: Vec::new() }
    }

    pub(crate) fn line(&self, name: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.name == name)
    }

    /// How fast one is as a part of another, round by round. `None` if one was not there.
    pub(crate) fn ratio(&self, name: &str, reference: &str) -> Option<Vec<f64>> {
        self.compare(name, reference, Sample::per_second)
    }

    /// How many times as long one takes as another, round by round.
    pub(crate) fn latency_ratio(&self, name: &str, reference: &str) -> Option<Vec<f64>> {
        self.compare(name, reference, |sample| sample.latency.as_secs_f64())
    }

    fn compare(&self, name: &str, reference: &str, of: fn(&Sample) -> f64) -> Option<Vec<f64>> {
        let (one, other) = (self.line(name)?, self.line(reference)?);
        if one.failure.is_some() || other.failure.is_some() {
            return None;
        }
        let pairs = one.samples.iter().zip(&other.samples);
        Some(pairs.map(|(one, other)| of(one) / of(other)).collect())
    }
}

impl Line {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), samples: Vec::new(), failure: None }
    }

    pub(crate) fn push(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    /// How many requests or events there were, in each round.
    pub fn counts(&self) -> Vec<u64> {
        self.samples.iter().map(|sample| sample.count).collect()
    }

    pub(crate) fn median(&self, of: impl Fn(&Sample) -> f64) -> f64 {
        spread(&self.samples.iter().map(of).collect::<Vec<f64>>()).0
    }

    pub(crate) fn processor_micros(&self) -> Vec<f64> {
        self.samples.iter().map(Sample::processor_micros).collect()
    }
}

impl Goal {
    /// Whether a figure is what it is to be.
    pub fn is_met(self, figure: f64) -> bool {
        match self {
            Self::AtLeast(least, _) => figure >= least,
            Self::AtMost(most, _) => figure <= most,
        }
    }
}

/// The median, the least and the largest.
pub(crate) fn spread(figures: &[f64]) -> (f64, f64, f64) {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    (at(sorted.len() / 2), at(0), at(sorted.len().saturating_sub(1)))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["per second", "µs CPU", "p50 µs", "ratio"];
        let [rate, processor, latency, ratio] = head;
        write!(f, "{:<44} {rate:>11} {processor:>8} {latency:>8} {ratio:>7}   ", self.title)?;
        writeln!(f, "least – most, {}", self.unit)?;
        for line in &self.lines {
            let rate = line.median(Sample::per_second);
            let processor = line.median(Sample::processor_micros);
            let latency = line.median(|sample| sample.latency.as_secs_f64() * 1e6);
            let latency = if latency > 0.0 { format!("{latency:.0}") } else { "–".to_owned() };
            if let Some(failure) = &line.failure {
                writeln!(f, "  {:<42} could not: {failure}", line.name)?;
                continue;
            }
            let ratios = self.ratio(&line.name, &self.lines[0].name).unwrap_or_default();
            let (ratio, least, most) = spread(&ratios);
            write!(f, "  {:<42} {rate:>11.0} {processor:>8.1} {latency:>8} ", line.name)?;
            writeln!(f, "{ratio:>7.3}   {least:.3} – {most:.3}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, figures, unit, goal } = self;
        if figures.is_empty() {
            return write!(f, "     {what}: could not");
        }
        let (figure, least, most) = spread(figures);
        let met = match goal {
            Some(goal) if goal.is_met(figure) => "ok  ",
            Some(_) => "MISS",
            None => "    ",
        };
        write!(f, "{met} {what}: {figure:.2}{unit} ({least:.2} – {most:.2})")?;
        let (sign, bound, aim) = match goal {
            Some(Goal::AtLeast(bound, aim)) => ("≥", bound, aim),
            Some(Goal::AtMost(bound, aim)) => ("≤", bound, aim),
            None => return Ok(()),
        };
        write!(f, ", goal {sign} {bound}{unit}")?;
        if (bound - aim).abs() > f64::EPSILON { write!(f, ", aim {aim}{unit}") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn line(name: &str, counts: &[u64]) -> Line {
        let sample = |count| Sample { count, elapsed: Duration::from_secs(1), ..Sample::default() };
        Line { samples: counts.iter().copied().map(sample).collect(), ..Line::new(name) }
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let mut table = Table::new("points", "requests");
        table.lines = vec![line("typed", &[100, 1000, 10]), line("ours", &[50, 800, 1])];
        assert_eq!(table.ratio("ours", "typed").unwrap(), [0.5, 0.8, 0.1]);
        assert_eq!(table.ratio("theirs", "typed"), None);
        assert_eq!(spread(&[0.5, 0.8, 0.1]), (0.5, 0.1, 0.8));
    }

    #[test]
    fn a_verdict_is_on_the_median() {
        let verdict = |goal| {
            let figures = vec![0.9, 0.5, 0.1];
            Verdict { what: "it".to_owned(), figures, unit: "", goal }.to_string()
        };
        assert_eq!(
            verdict(Some(Goal::AtLeast(0.5, 0.9))),
            "ok   it: 0.50 (0.10 – 0.90), goal ≥ 0.5, aim 0.9"
        );
        let missed = verdict(Some(Goal::AtMost(0.4, 0.4)));
        assert_eq!(missed, "MISS it: 0.50 (0.10 – 0.90), goal ≤ 0.4");
        assert_eq!(verdict(None), "     it: 0.50 (0.10 – 0.90)");
    }
}
