//! A process that serves an agent, for tests to stop.

fn main() -> anyhow::Result<()> {
    nuncio_tests::served::main(std::env::args().skip(1))
}
