//! Packets of the client/server protocol of MySQL and MariaDB. Source: MariaDB's manual, "Clientserver Protocol".

/// Greeting of the server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Greeting {
    pub(super) version: String,
    pub(super) nonce: Vec<u8>,
}

/// Reader of a packet. The value contains the bytes of the packet that are not yet read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// Reads a text that ends with a zero byte. Returns the text without the zero byte.
    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let text = self.take(self.0.iter().position(|byte| *byte == 0)?)?;
        self.take(1)?;
        Some(text)
    }

    /// Reads one column of a row. Returns `Some(None)` for the SQL value NULL, and `None` if the packet ends too early.
    fn value(&mut self) -> Option<Option<&'a [u8]>> {
        let length = match self.byte()? {
            0xfb => return Some(None),
            0xfc => self.number(2)?,
            0xfd => self.number(3)?,
            0xfe => self.number(8)?,
            0xff => return None,
            short => usize::from(short),
        };
        self.take(length).map(Some)
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        let mut little_endian = self.take(bytes)?.iter().rev();
        little_endian.try_fold(0_usize, |number, byte| number.checked_mul(256)?.checked_add(usize::from(*byte)))
    }
}

impl Greeting {
    /// Parses the first packet of a connection.
    pub(super) fn parse(packet: &[u8]) -> Option<Self> {
        let mut reader = Reader(packet);
        if reader.byte()? != 10 {
            return None;
        }
        let version = String::from_utf8_lossy(reader.text()?).into_owned();
        // In the greeting, the ID of the server's thread comes before the nonce.
        reader.take(4)?;
        let mut nonce = reader.take(8)?.to_vec();
        // The next bytes are a zero byte, the lower half of the capabilities, the character set, and the status. After
        // the status come the upper half of the capabilities, a length, and reserved bytes.
        reader.take(1 + 2 + 1 + 2 + 2 + 1 + 10)?;
        nonce.extend_from_slice(reader.take(12)?);
        Some(Self { version, nonce })
    }
}

/// Bits of the capabilities that this client supports: long passwords, long flags, protocol 4.1, secure connections,
/// and names of login methods.
const CAPABILITIES: u32 = 0x1 | 0x4 | 0x200 | 0x8000 | 0x8_0000;
const WITH_DATABASE: u32 = 0x8;
const MAX_PACKET_BYTES: u32 = 1 << 24;
/// Number of the character set utf8mb4_general_ci in MariaDB's protocol.
const CHARACTER_SET: u8 = 45;
/// Name of the login method that this client supports.
pub(super) const NATIVE: &str = "mysql_native_password";

/// Returns the packet with which a client logs in.
pub(super) fn login(user: &str, database: &str, proof: &[u8]) -> Vec<u8> {
    let with = if database.is_empty() { 0 } else { WITH_DATABASE };
    let mut packet = (CAPABILITIES | with).to_le_bytes().to_vec();
    packet.extend_from_slice(&MAX_PACKET_BYTES.to_le_bytes());
    packet.push(CHARACTER_SET);
    packet.extend_from_slice(&[0; 23]);
    packet.extend_from_slice(user.as_bytes());
    packet.push(0);
    packet.push(proof.len() as u8);
    packet.extend_from_slice(proof);
    if with != 0 {
        packet.extend_from_slice(database.as_bytes());
        packet.push(0);
    }
    packet.extend_from_slice(NATIVE.as_bytes());
    packet.push(0);
    packet
}

/// Returns the bytes with which a client proves that it knows a password: SHA1(password) XOR SHA1(nonce +
/// SHA1(SHA1(password))).
pub(super) fn proof(password: &str, nonce: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let sha1 = |bytes: &[u8]| ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, bytes);
    let once = sha1(password.as_bytes());
    let mixed = sha1(&[nonce, sha1(once.as_ref()).as_ref()].concat());
    once.as_ref().iter().zip(mixed.as_ref()).map(|(a, b)| a ^ b).collect()
}

/// Parses a row packet into the texts of its columns, with `None` for NULL. Returns `None` if the packet is malformed.
pub(super) fn row(packet: &[u8]) -> Option<Vec<Option<String>>> {
    let (mut reader, mut row) = (Reader(packet), Vec::new());
    while !reader.0.is_empty() {
        row.push(reader.value()?.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
    }
    Some(row)
}

/// Returns the text of an error packet. The text follows the packet's first byte, the error number and, if there is
/// one, the SQL state.
pub(super) fn error(packet: &[u8]) -> String {
    let words = packet.get(3..).unwrap_or_default();
    let words = if words.starts_with(b"#") { words.get(6..).unwrap_or_default() } else { words };
    String::from_utf8_lossy(words).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_proof_is_that_of_the_manual() {
        // The expected value was computed in Python with hashlib, by the formula in MariaDB's manual.
        let nonce: Vec<u8> = (1..=20).collect();
        let expected = [190, 44, 190, 193, 63, 210, 104, 207, 146, 23, 116, 218, 141, 222, 153, 68, 125, 105, 148, 85];
        assert_eq!(proof("hunter2", &nonce), expected);
        assert!(proof("", &nonce).is_empty());
    }

    #[test]
    fn a_row_has_its_values() {
        let packet = [&[3][..], b"abc", &[0xfb], &[0xfc, 2, 0], b"de", &[0]].concat();
        assert_eq!(row(&packet).unwrap(), [Some("abc".into()), None, Some("de".into()), Some(String::new())]);
        assert_eq!(row(&[9, 1]), None);
        assert_eq!(error(b"\xff\x15\x04#28000Access denied"), "Access denied");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = (Greeting::parse(&bytes), row(&bytes), error(&bytes));
        }
    }
}
