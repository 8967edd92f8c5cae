//! The same for what people write about peers and what peers show of themselves.
//!
//! Apart from the others, so that the tests of `nuncio-client` can replay its corpus.

use nuncio_client::{
    discover::Source,
    peers::{Peers, read_harbor},
};
use nuncio_net::{Guard, Policy};

/// Every reader by the name of its fuzz target and corpus folder.
pub const READERS: &[(&str, fn(&[u8]))] = &[("peer_file", peer_file), ("card_source", card_source)];

/// Runs one reader, known by name.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, reader) = READERS.iter().find(|(known, _)| *known == name).expect("a known reader");
    reader(bytes);
}

/// A list of peers: what is read can be put into a table, or is refused by it; what the table
/// takes is found there again.
fn peer_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(peers) = read_harbor(text) else { return };
    let table = Peers::new(Guard::new(Policy::default()));
    for peer in peers {
        let url = peer.url().to_owned();
        if table.add(peer).is_ok() {
            assert!(table.allowed(&url).is_ok(), "{url}");
            assert!((1..=5).contains(&table.resolve("").expect("a route")[0].trust));
        }
    }
}

/// Where a card is to be looked for: what is shown of it reads as the same.
fn card_source(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(source) = Source::parse(text) else { return };
    assert!(source.as_url().is_some() != source.as_file().is_some());
    let is_whole = |url: &str| {
        url.len() <= 300
            && url.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte))
    };
    if source.as_url().is_some_and(is_whole) {
        assert_eq!(Source::parse(&source.to_string()).as_ref(), Ok(&source));
    }
}
