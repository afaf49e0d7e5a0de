//! The hash for keys and ETags: 64-bit FNV-1a. It is the same on every target and in every build, which the hashers of `std` do
//! not promise. <http://www.isthe.com/chongo/tech/comp/fnv/>

use std::hash::{Hash, Hasher};

/// 64-bit FNV-1a.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    // `derive(Hash)` writes lengths and variants in the word size of the target. Here they always have 64 bits.
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_i64(number as i64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Returns the FNV-1a hash of bytes.
#[must_use]
pub fn of_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = Fnv::default();
    hasher.write(bytes);
    hasher.finish()
}

/// Returns a hash of many bytes. It is not FNV: it takes eight bytes in a step, and only this filter reads it.
#[must_use]
pub fn of_words(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(padded, byte)| *padded = *byte);
    let mix = |hash: u64, word: u64| {
        // A product spreads bits upwards only. The shifts spread them downwards.
        let folded = hash ^ word;
        let spread = (folded ^ (folded >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        spread ^ (spread >> 29)
    };
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    mix(words.fold(0, mix), bytes.len() as u64)
}

/// Returns the FNV-1a hash of a value.
#[must_use]
pub fn of(value: &impl Hash) -> u64 {
    let mut hasher = Fnv::default();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_vectors_hold() {
        for (text, hash) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            assert_eq!(super::of_bytes(text.as_bytes()), hash, "{text:?}");
        }
    }

    #[test]
    fn every_bit_of_many_bytes_counts_and_so_does_their_number() {
        for length in [0, 1, 7, 8, 9, 40] {
            let bytes = vec![0; length];
            let mut seen = std::collections::BTreeSet::from([super::of_words(&bytes)]);
            for bit in 0..length * 8 {
                // Two of them too, as far apart as the words are.
                for second in [None, Some(bit + 64), Some(bit + 8)] {
                    let mut changed = bytes.clone();
                    for bit in [Some(bit), second.filter(|bit| *bit < length * 8)]
                        .into_iter()
                        .flatten()
                    {
                        changed[bit / 8] ^= 1 << (bit % 8);
                    }
                    seen.insert(super::of_words(&changed));
                }
            }
            let apart = |distance| (length * 8usize).saturating_sub(distance);
            assert_eq!(seen.len(), 1 + length * 8 + apart(64) + apart(8), "{length} bytes");
            assert_ne!(super::of_words(&bytes), super::of_words(&vec![0; length + 1]));
        }
    }

    #[test]
    fn lengths_and_variants_have_64_bits() {
        let length = [&3u64.to_le_bytes()[..], b"abc"].concat();
        assert_eq!(super::of(&b"abc".to_vec()), super::of_bytes(&length));
        let variant = [&1i64.to_le_bytes()[..], b"a"].concat();
        assert_eq!(super::of(&Some(b'a')), super::of_bytes(&variant));
    }
}
