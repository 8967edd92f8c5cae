//! The contract of all stores.

use nuncio_testkit::{
    contract::{Fixture, contract_tests, model},
    services,
};

use crate::postgres::story::open;

async fn postgres() -> Option<Fixture> {
    let database = services::postgres().await?.database().await;
    let url = database.url();
    let open = move || open(url.clone());
    Some(Fixture::new(open().await, database).with_reopen(open))
}

contract_tests!(postgres);

#[test]
fn any_sequence_of_calls_comes_out_as_the_model_says() {
    model::check(16, postgres);
}
