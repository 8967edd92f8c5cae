//! Figures that tests print.

use std::time::Duration;

/// Returns the value below which `percent` of all are, or zero if there are none.
pub fn percentile(values: &mut [Duration], percent: usize) -> Duration {
    values.sort_unstable();
    let index = (values.len() * percent).div_ceil(100).saturating_sub(1);
    values.get(index).copied().unwrap_or_default()
}

/// Writes a number with commas.
pub fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Prints a line of figures where it is seen also if the test passes.
pub fn print(line: &str) {
    use std::io::Write as _;
    // A closed standard error is no reason to fail. The harness swallows only what is printed
    // by the macros.
    writeln!(std::io::stderr(), "{line}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas_at_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let mut values: Vec<Duration> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&mut values, 99), Duration::from_millis(198));
        assert_eq!(percentile(&mut values, 50), Duration::from_millis(100));
        assert_eq!(percentile(&mut [], 99), Duration::ZERO);
    }
}
