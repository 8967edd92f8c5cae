//! Holds `docs/reference/egress.md` to the code.

use std::fmt::Write as _;

use nuncio_net::{
    Code,
    egress::{METADATA, RANGES},
};

const PAGE: &str = include_str!("../../../../docs/reference/egress.md");

#[track_caller]
fn holds(head: &str, rows: &str) {
    let start = PAGE.find(head).unwrap_or_else(|| panic!("no table `{head}`")) + head.len();
    let table: String = PAGE[start..]
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .fold(String::new(), |mut table, line| {
            writeln!(table, "{line}").expect("a string takes all");
            table
        });
    assert_eq!(table, rows, "the table `{head}` is to be:\n{rows}");
}

#[test]
fn the_page_lists_every_range() {
    let rows = RANGES.iter().fold(String::new(), |mut rows, range| {
        writeln!(rows, "| `{}` | {} | {} |", range.net, range.name, range.standing).unwrap();
        rows
    });
    holds("| Range | What it is | Reached |", &rows);
}

#[test]
fn the_page_lists_every_metadata_address() {
    let rows = METADATA.iter().fold(String::new(), |mut rows, range| {
        let address = range.net.to_string();
        let single = address.strip_suffix("/32").filter(|_| range.net.addr().is_ipv4());
        let single = single.or_else(|| address.strip_suffix("/128")).unwrap_or(&address);
        writeln!(rows, "| `{single}` | {} |", range.name).unwrap();
        rows
    });
    holds("| Address | Cloud |", &rows);
}

#[test]
fn the_page_lists_every_code() {
    let rows = Code::ALL.iter().fold(String::new(), |mut rows, code| {
        let mut fix = code.fix().to_owned();
        fix[..1].make_ascii_uppercase();
        writeln!(rows, "| `{code}` | {} | {fix}. |", code.cause()).unwrap();
        rows
    });
    holds("| Code | Cause | Remedy |", &rows);
}
