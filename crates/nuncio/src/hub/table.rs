//! Rows of short texts under each other.

use std::io;

use crate::output::Output;

/// Rows of short texts under each other.
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(head: [&'static str; N]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, row: [String; N]) {
        self.rows.push(Vec::from(row));
    }

    pub(crate) fn write(&self, output: &mut Output) -> io::Result<()> {
        let width = |column: usize| {
            let head = self.head.get(column).map_or(0, |text| text.chars().count());
            let rows = self.rows.iter().filter_map(|row| row.get(column));
            rows.map(|text| text.chars().count()).chain([head]).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.head.len()).map(width).collect();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let cells = cells.zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        output.line(&line(&mut self.head.iter().copied()))?;
        for row in &self.rows {
            output.line(&line(&mut row.iter().map(String::as_str)))?;
        }
        Ok(())
    }
}
