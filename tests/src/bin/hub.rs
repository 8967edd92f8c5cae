//! A process that writes what a hub knows, for tests to kill.

fn main() -> anyhow::Result<()> {
    nuncio_tests::hub::main(std::env::args().skip(1))
}
