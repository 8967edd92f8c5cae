//! A process that runs the task engine, for tests to kill.

fn main() -> anyhow::Result<()> {
    nuncio_tests::node::main(std::env::args().skip(1))
}
