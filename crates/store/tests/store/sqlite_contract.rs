//! The embedded store does what every store does.

use std::sync::Arc;

use nuncio_store::sqlite::{Options, SqliteStore};
use nuncio_tasks::store::Store;
use nuncio_testkit::contract::{Fixture, contract_tests, model};

async fn sqlite() -> Fixture {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().to_owned();
    let open = move || -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(&path, Options::default()).expect("the store can be opened"))
    };
    Fixture::new(open(), directory).with_reopen(move || {
        let store = open();
        async move { store }
    })
}

contract_tests!(sqlite);

#[test]
fn any_sequence_of_calls_comes_out_as_the_model_says() {
    model::check(64, sqlite);
}
