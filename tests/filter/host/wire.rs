//! The ABI's encoding of a header map: a count, the sizes of each pair, then the pairs with a NUL after each string.
//! All numbers are little-endian `u32`.

use super::message::Headers;

pub(super) fn pack(headers: &Headers) -> Vec<u8> {
    let mut bytes = number(headers.len()).to_vec();
    for (name, value) in headers.iter() {
        bytes.extend(number(name.len()));
        bytes.extend(number(value.len()));
    }
    for part in headers.iter().flat_map(|(name, value)| [name.as_bytes(), value]) {
        bytes.extend(part);
        bytes.push(0);
    }
    bytes
}

fn number(n: usize) -> [u8; 4] {
    u32::try_from(n).expect("the ABI counts in 32 bits").to_le_bytes()
}

/// Returns an empty map if the bytes are not a valid map, as the real host does.
pub(super) fn unpack(bytes: &[u8]) -> Headers {
    Cursor(bytes).headers().unwrap_or_default()
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(head)
    }

    fn size(&mut self) -> Option<usize> {
        let bytes = self.take(4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    }

    fn string(&mut self, size: usize) -> Option<&'a [u8]> {
        let string = self.take(size)?;
        self.take(1)?;
        Some(string)
    }

    fn headers(&mut self) -> Option<Headers> {
        let count = self.size()?;
        let sizes = (0..count)
            .map(|_| Some((self.size()?, self.size()?)))
            .collect::<Option<Vec<_>>>()?;
        let mut headers = Headers::default();
        for (name, value) in sizes {
            let name = String::from_utf8_lossy(self.string(name)?).into_owned();
            headers.add(&name, self.string(value)?);
        }
        Some(headers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_map_survives_a_round_trip() {
        let mut headers = Headers::default();
        headers.add("x-empty", "");
        headers.add("user-agent", b"\xff\xfe");
        headers.add("user-agent", "second");
        assert_eq!(unpack(&pack(&headers)), headers);
    }

    #[test]
    fn a_truncated_header_map_is_refused() {
        let mut headers = Headers::default();
        headers.add("a", "b");
        let bytes = pack(&headers);
        for end in 0..bytes.len() {
            assert_eq!(unpack(&bytes[..end]), Headers::default(), "{end} bytes");
        }
    }
}
