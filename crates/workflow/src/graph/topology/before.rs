//! Who comes before whom, as a table of bits: 12 MB for the largest workflow.

use super::Wire;

/// For every node, those that lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Before {
    width: usize,
    bits: Vec<u64>,
}

impl Before {
    pub(super) fn new(count: usize, order: &[usize], wires: &[Wire]) -> Self {
        let width = count.div_ceil(64);
        let mut table = Self { width, bits: vec![0; width * count] };
        let mut outgoing = vec![Vec::new(); count];
        for wire in wires {
            outgoing[wire.from].push(wire.to);
        }
        for &node in order {
            for &next in &outgoing[node] {
                table.add(node, next);
            }
        }
        table
    }

    /// Adds a node, and all that is before it, to what is before another.
    fn add(&mut self, first: usize, second: usize) {
        let (from, to) = (first * self.width, second * self.width);
        for word in 0..self.width {
            self.bits[to + word] |= self.bits[from + word];
        }
        self.bits[to + first / 64] |= 1 << (first % 64);
    }

    /// Tells whether the first comes before the second.
    pub(crate) fn contains(&self, first: usize, second: usize) -> bool {
        self.bits[second * self.width + first / 64] >> (first % 64) & 1 == 1
    }

    /// The same, or both are one.
    pub(super) fn reaches(&self, first: usize, second: usize) -> bool {
        first == second || self.contains(first, second)
    }
}

/// Nodes that nothing leads to, and how many of them lead to each node.
pub(super) struct Starts {
    is_start: Vec<bool>,
    counts: Vec<u32>,
}

impl Starts {
    pub(super) fn new(count: usize, before: &Before, wires: &[Wire]) -> Self {
        let mut is_start = vec![true; count];
        for wire in wires {
            is_start[wire.to] = false;
        }
        let mut mask = vec![0_u64; before.width];
        for (node, _) in is_start.iter().enumerate().filter(|(_, is_start)| **is_start) {
            mask[node / 64] |= 1 << (node % 64);
        }
        let counts = (0..count).map(|node| {
            let row = &before.bits[node * before.width..][..before.width];
            let shared = row.iter().zip(&mask).map(|(row, mask)| (row & mask).count_ones());
            shared.sum::<u32>() + u32::from(is_start[node])
        });
        let counts = counts.collect();
        Self { is_start, counts }
    }

    pub(super) fn is_start(&self, node: usize) -> bool {
        self.is_start[node]
    }

    /// Returns how many starts lead to a node, itself included if it is one.
    pub(super) fn count(&self, node: usize) -> u32 {
        self.counts[node]
    }
}
