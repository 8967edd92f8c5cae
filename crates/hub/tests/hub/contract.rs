//! The hub in memory keeps the contract of all stores.

use std::{
    future::{Ready, ready},
    sync::Arc,
};

use nuncio_hub::memory::MemoryHub;
use nuncio_testkit::hub_contract::{Fixture, hub_contract_tests, model};

fn memory() -> Ready<Fixture> {
    ready(Fixture::hub(Arc::new(MemoryHub::default()), ()))
}

hub_contract_tests!(memory);

#[test]
fn any_sequence_of_calls_comes_out_as_the_model_says() {
    model::check(64, memory);
}
