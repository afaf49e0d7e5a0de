//! One hash for keys, ETags and marks: 64-bit FNV-1a, the same on every target and in every build, which
//! `std`'s hashers do not promise. <http://www.isthe.com/chongo/tech/comp/fnv/>

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

    // What `derive(Hash)` writes for a length and for a variant has the target's word size; here all have 64 bits.
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

/// The hash of some bytes.
#[must_use]
pub fn of_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = Fnv::default();
    hasher.write(bytes);
    hasher.finish()
}

/// The hash of a value.
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
    fn lengths_and_variants_have_64_bits() {
        let length = [&3u64.to_le_bytes()[..], b"abc"].concat();
        assert_eq!(super::of(&b"abc".to_vec()), super::of_bytes(&length));
        let variant = [&1i64.to_le_bytes()[..], b"a"].concat();
        assert_eq!(super::of(&Some(b'a')), super::of_bytes(&variant));
    }
}
