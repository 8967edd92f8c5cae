//! The memory store keeps the contract of all stores.

use std::{
    future::{Ready, ready},
    sync::Arc,
};

use nuncio_tasks::memory::MemoryStore;
use nuncio_testkit::contract::{Fixture, contract_tests};

fn memory() -> Ready<Fixture> {
    ready(Fixture::new(Arc::new(MemoryStore::new()), ()))
}

contract_tests!(memory);
