//! The Postgres store keeps the contract of all stores.

#![cfg(feature = "postgres")]

use std::sync::Arc;

use nuncio_store::postgres::{Options, PostgresStore};
use nuncio_tasks::store::Store;
use nuncio_testkit::{
    contract::{Fixture, contract_tests},
    services,
};

async fn postgres() -> Option<Fixture> {
    let database = services::postgres().await?.database().await;
    let url = database.url();
    let open = move || open(url.clone());
    Some(Fixture::new(open().await, database).with_reopen(open))
}

async fn open(url: String) -> Arc<dyn Store> {
    Arc::new(PostgresStore::open(&Options::new(url)).await.expect("the store opens"))
}

contract_tests!(postgres);
