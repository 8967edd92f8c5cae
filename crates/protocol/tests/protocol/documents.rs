//! The reference pages say what the code does.

use nuncio_protocol::error::{ErrorKind, ErrorTable};

#[test]
fn the_page_of_errors_has_every_error_with_its_codes() {
    const PAGE: &str = include_str!("../../../../docs/reference/errors.md");
    let (_, section) = PAGE.split_once("\n## A2A\n").expect("a section about A2A");
    let section = section.split("\n## ").next().expect("it ends");
    let documented: Vec<String> = section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').take(5).map(str::trim).collect::<Vec<_>>().join("|"))
        .collect();
    let both = |new: String, old: String| if new == old { new } else { format!("{new} / {old}") };
    let expected: Vec<String> = ErrorKind::ALL
        .iter()
        .map(|kind| {
            let http = |table| kind.http_status(table).to_string();
            let grpc = |table| kind.grpc_code(table).name().to_owned();
            format!(
                "|`{}`|{}|{}|{}",
                kind.reason(),
                kind.jsonrpc_code(),
                both(http(ErrorTable::V1_0_1), http(ErrorTable::V1_0_0)),
                both(grpc(ErrorTable::V1_0_1), grpc(ErrorTable::V1_0_0)),
            )
        })
        .collect();
    assert_eq!(documented, expected);
}
