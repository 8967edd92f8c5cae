//! The memory store does what a naive model does, whatever is asked of it.

use std::{
    future::{Ready, ready},
    sync::Arc,
};

use nuncio_tasks::memory::MemoryStore;
use nuncio_testkit::contract::{Fixture, model};

fn memory() -> Ready<Fixture> {
    ready(Fixture::new(Arc::new(MemoryStore::new()), ()))
}

#[test]
fn any_sequence_of_calls_comes_out_as_the_model_says() {
    model::check(512, memory);
}
