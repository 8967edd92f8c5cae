//! A sorted list that knows the rank of everything in it.

/// How many keys are in one chunk at most.
const MOST: usize = 512;

/// Keys in ascending order, in chunks.
///
/// Lists of tasks need the number of keys in a range as often as the keys themselves, which
/// trees of the standard library can only count one by one. Here the lengths of chunks are
/// added up: a few thousand of them for a million keys.
#[derive(Debug)]
pub(super) struct Ranked<K> {
    /// Invariant: no chunk is empty, and all keys of one are less than all of the next.
    chunks: Vec<Vec<K>>,
    length: usize,
}

impl<K: Ord> Ranked<K> {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Adds a key that is not there yet.
    pub(super) fn insert(&mut self, key: K) {
        self.length += 1;
        let number = self.chunk_of(&key);
        let Some(chunk) = self.chunks.get_mut(number) else {
            // Behind everything: new tasks come in the order of time, so full chunks stay full.
            match self.chunks.last_mut() {
                Some(last) if last.len() < MOST => last.push(key),
                _ => self.chunks.push(vec![key]),
            }
            return;
        };
        let place = chunk.partition_point(|other| *other < key);
        chunk.insert(place, key);
        if chunk.len() > MOST {
            let rest = chunk.split_off(MOST / 2);
            chunk.shrink_to_fit();
            self.chunks.insert(number + 1, rest);
        }
    }

    /// Removes a key, if it is there.
    pub(super) fn remove(&mut self, key: &K) {
        let number = self.chunk_of(key);
        let Some(chunk) = self.chunks.get_mut(number) else { return };
        let Ok(place) = chunk.binary_search(key) else { return };
        chunk.remove(place);
        self.length -= 1;
        let length = chunk.len();
        if chunk.capacity() > 4 * (length + 1) {
            chunk.shrink_to(2 * length);
        }
        // Neighbours that have become small are joined, so that there are never many.
        let next = self.chunks.get(number + 1).map_or(MOST, Vec::len);
        if length == 0 {
            self.chunks.remove(number);
        } else if length + next <= MOST / 2 {
            let rest = self.chunks.remove(number + 1);
            self.chunks[number].extend(rest);
        }
    }

    /// Returns how many keys fulfil a condition that all keys before one that does fulfil too.
    pub(super) fn rank(&self, is_before: impl Fn(&K) -> bool) -> usize {
        let whole = self.chunks.partition_point(|chunk| chunk.last().is_some_and(&is_before));
        let before: usize = self.chunks[..whole].iter().map(Vec::len).sum();
        let inside = self.chunks.get(whole).map_or(0, |chunk| chunk.partition_point(&is_before));
        before + inside
    }

    /// Returns the keys before a rank, the greatest first.
    pub(super) fn down_from(&self, rank: usize) -> impl Iterator<Item = &K> {
        let mut left = rank;
        let whole = self.chunks.iter().take_while(|chunk| {
            let fits = chunk.len() <= left;
            left -= if fits { chunk.len() } else { 0 };
            fits
        });
        let whole = whole.count();
        let part = self.chunks.get(whole).map_or(&[][..], |chunk| &chunk[..left]);
        part.iter().rev().chain(self.chunks[..whole].iter().rev().flat_map(|c| c.iter().rev()))
    }

    /// Returns the first chunk that does not end before the key.
    fn chunk_of(&self, key: &K) -> usize {
        self.chunks.partition_point(|chunk| chunk.last().is_some_and(|last| last < key))
    }
}

impl<K> Default for Ranked<K> {
    fn default() -> Self {
        Self { chunks: Vec::new(), length: 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// It holds, counts and yields what an ordinary set does, however keys come and go.
        #[test]
        fn it_is_a_sorted_set_with_ranks(
            steps in prop::collection::vec((any::<bool>(), 0..3_000_u32), 0..4_000),
            probes in prop::collection::vec(0..3_100_u32, 1..20),
        ) {
            let (mut ranked, mut set) = (Ranked::default(), BTreeSet::new());
            for (insert, key) in steps {
                if insert && set.insert(key) {
                    ranked.insert(key);
                } else {
                    ranked.remove(&key);
                    set.remove(&key);
                }
            }
            prop_assert_eq!(ranked.len(), set.len());
            for probe in probes {
                let rank = ranked.rank(|key| *key < probe);
                prop_assert_eq!(rank, set.range(..probe).count());
                let down: Vec<u32> = ranked.down_from(rank).copied().collect();
                prop_assert_eq!(down, set.range(..probe).rev().copied().collect::<Vec<_>>());
            }
            prop_assert!(ranked.chunks.iter().all(|chunk| (1..=MOST).contains(&chunk.len())));
        }
    }

    #[test]
    fn keys_that_come_in_order_fill_their_chunks() {
        let mut ranked = Ranked::default();
        (0..10_000).for_each(|key| ranked.insert(key));
        assert_eq!(ranked.chunks.len(), 10_000_usize.div_ceil(MOST));
        (0..9_000).for_each(|key| ranked.remove(&key));
        assert!(ranked.chunks.len() <= 3);
        assert_eq!(ranked.down_from(1).copied().collect::<Vec<_>>(), [9_000]);
    }
}
