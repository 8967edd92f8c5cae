//! Chance that can be repeated.

use std::env;

/// A generator whose seed a failing test shows. `NUNCIO_SEED=<seed>` repeats the run.
#[derive(Debug)]
pub struct Random {
    seed: u64,
    generator: fastrand::Rng,
}

impl Random {
    /// Takes the seed from the environment, else a new one, and prints it; the test harness
    /// shows that if the test fails.
    ///
    /// # Panics
    /// If `NUNCIO_SEED` is not a number.
    #[expect(clippy::print_stdout, reason = "the harness keeps it for the report of a failure")]
    #[expect(clippy::new_without_default, reason = "it prints and differs each time")]
    pub fn new() -> Self {
        let given = env::var("NUNCIO_SEED").ok();
        let seed = given.map(|text| text.trim().parse().expect("NUNCIO_SEED is a number"));
        let seed = seed.unwrap_or_else(|| fastrand::u64(..));
        println!("NUNCIO_SEED={seed}");
        Self::with_seed(seed)
    }

    /// A generator that yields the same for the same seed.
    pub fn with_seed(seed: u64) -> Self {
        Self { seed, generator: fastrand::Rng::with_seed(seed) }
    }

    /// The seed it began with.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// A number from 0 to `end`, which is excluded.
    ///
    /// # Panics
    /// If `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.generator.u64(..end)
    }

    /// True once in `times`, on average.
    ///
    /// # Panics
    /// If `times` is 0.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of the items.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        self.generator.choice(items).expect("there is an item to pick")
    }

    /// Puts the items into any order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        self.generator.shuffle(items);
    }

    /// Another generator that depends on this one alone, for a task beside.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::with_seed(self.generator.u64(..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(random: &mut Random) -> (Vec<u64>, Vec<u64>, char, bool) {
        let numbers = (0..8).map(|_| random.below(1000)).collect();
        let mut order: Vec<u64> = (0..8).collect();
        random.shuffle(&mut order);
        let forked = random.fork().below(1000);
        (numbers, [order, vec![forked]].concat(), *random.pick(&['a', 'b', 'c']), random.once_in(2))
    }

    #[test]
    fn the_same_seed_yields_the_same() {
        let mut first = Random::new();
        let mut again = Random::with_seed(first.seed());
        assert_eq!(draw(&mut first), draw(&mut again));
        let mut other = Random::with_seed(first.seed().wrapping_add(1));
        assert_ne!(draw(&mut Random::with_seed(first.seed())), draw(&mut other));
    }
}
