/// Returns how many leading bytes can stand in a JSON string as they are: everything before
/// the first quote, backslash or control character.
///
/// Eight bytes at a time, because this is where most of the time of reading and writing goes.
pub(super) fn plain_prefix(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let stops = stops_in(u64::from_le_bytes(*word));
        if stops != 0 {
            return index * 8 + stops.trailing_zeros() as usize / 8;
        }
    }
    // What is left is looked at together with some of what was.
    if let Some(last) = bytes.last_chunk::<8>()
        && stops_in(u64::from_le_bytes(*last)) == 0
    {
        return bytes.len();
    }
    let stops = |byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20);
    words.len() * 8 + rest.iter().position(stops).unwrap_or(rest.len())
}

/// Sets the highest bit of the first byte that is a quote, a backslash or a control character;
/// bits above it mean nothing.
fn stops_in(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    // A byte borrows from its highest bit if it is below the bound and had that bit clear. The
    // first byte that does is exact, since nothing below it has borrowed.
    let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\')) & (ONES << 7)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_prefix_ends_before_the_first_byte_that_must_be_escaped(
            bytes in prop::collection::vec(prop_oneof![9 => 0x20..=0xffu8, 1 => 0..0x60u8], 0..64),
        ) {
            let slow = bytes.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\');
            prop_assert_eq!(plain_prefix(&bytes), slow.unwrap_or(bytes.len()));
        }
    }
}
