//! Slots of keys in a Redis cluster. Source: the Redis cluster specification, "Key distribution model" and "Hash tags".

use run::CLUSTER_SLOTS;

/// Names of the Redis commands that have no key.
const WITHOUT_KEY: &[&str] = &[
    "ACL",
    "AUTH",
    "BGSAVE",
    "CLIENT",
    "CLUSTER",
    "COMMAND",
    "CONFIG",
    "DBSIZE",
    "DISCARD",
    "ECHO",
    "EXEC",
    "FLUSHALL",
    "FLUSHDB",
    "FUNCTION",
    "HELLO",
    "INFO",
    "KEYS",
    "LASTSAVE",
    "LATENCY",
    "LOLWUT",
    "MODULE",
    "MULTI",
    "PING",
    "PUBLISH",
    "RANDOMKEY",
    "ROLE",
    "SAVE",
    "SCAN",
    "SCRIPT",
    "SELECT",
    "SLOWLOG",
    "TIME",
    "UNWATCH",
    "WAIT",
];
/// Commands whose first key is the word after their subcommand or operation.
const KEY_AFTER_SUBCOMMAND: &[&str] = &["BITOP", "MEMORY", "OBJECT", "XGROUP", "XINFO"];
/// Commands whose keys follow a script or function name and the number of keys.
const KEY_AFTER_COUNT: &[&str] = &["EVAL", "EVALSHA", "EVALSHA_RO", "EVAL_RO", "FCALL", "FCALL_RO"];
/// Commands whose keys follow the word STREAMS.
const KEY_AFTER_STREAMS: &[&str] = &["XREAD", "XREADGROUP"];

/// Returns the hash slot of an encoded command; `None` if the command has no key. A command with several keys belongs
/// to the hash slot of its first key.
pub(super) fn slot_of(command: &[u8]) -> Option<u16> {
    let words = words(command);
    let name = words.first()?.to_ascii_uppercase();
    let is_of = |names: &[&str]| names.iter().any(|known| known.as_bytes() == name);
    let key = match () {
        () if is_of(WITHOUT_KEY) => None,
        () if is_of(KEY_AFTER_SUBCOMMAND) => words.get(2),
        () if is_of(KEY_AFTER_COUNT) => words.get(3).filter(|_| words.get(2).is_some_and(|count| *count != b"0")),
        () if is_of(KEY_AFTER_STREAMS) => {
            let streams = words.iter().position(|word| word.eq_ignore_ascii_case(b"STREAMS"));
            streams.and_then(|at| words.get(at + 1))
        }
        () => words.get(1),
    };
    key.map(|key| crc16(hashed(key)) % CLUSTER_SLOTS)
}

/// Returns the words of a command in RESP.
fn words(command: &[u8]) -> Vec<&[u8]> {
    let (mut words, mut rest) = (Vec::new(), line(command).1);
    while let (Some(length), after) = line(rest) {
        let digits = std::str::from_utf8(length).ok().and_then(|text| text.strip_prefix('$')?.parse::<usize>().ok());
        let Some((word, end)) = digits.and_then(|length| after.split_at_checked(length)) else { break };
        words.push(word);
        rest = end.strip_prefix(b"\r\n").unwrap_or_default();
    }
    words
}

/// Splits a text into its first line and the text after this line. Without a line end, returns `None` and an empty
/// text.
fn line(text: &[u8]) -> (Option<&[u8]>, &[u8]) {
    match text.windows(2).position(|pair| pair == b"\r\n") {
        Some(at) => (Some(&text[..at]), &text[at + 2..]),
        None => (None, &[]),
    }
}

/// Returns the part of a key that is hashed: the text between the first `{` and the next `}`. If there is no text
/// between a `{` and the next `}`, returns the whole key.
fn hashed(key: &[u8]) -> &[u8] {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|begin| {
        let rest = &key[begin + 1..];
        let end = rest.iter().position(|byte| *byte == b'}')?;
        Some(&rest[..end])
    });
    tag.filter(|tag| !tag.is_empty()).unwrap_or(key)
}

/// Returns the CRC16 of a text (XMODEM: polynomial 0x1021, initial value 0).
fn crc16(text: &[u8]) -> u16 {
    text.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| if crc & 0x8000 > 0 { crc << 1 ^ 0x1021 } else { crc << 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::command::array;

    fn slot(line: &str) -> Option<u16> {
        slot_of(&array(&line.split(' ').collect::<Vec<_>>()))
    }

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!((slot("GET a"), slot("get b"), slot("GET c")), (Some(15_495), Some(3300), Some(7365)));
        assert_eq!(slot("SET foo bar"), Some(12_182));
        assert_eq!(slot("GET {user1000}.following"), slot("GET {user1000}.followers"));
        assert_eq!(slot("GET foo{{bar}}zap"), slot("GET {bar"));
        assert_ne!(slot("GET foo{}{bar}"), slot("GET bar"));
    }

    #[test]
    fn the_key_of_each_command_is_found() {
        assert_eq!((slot("PING"), slot("info all"), slot("EVAL x 0")), (None, None, None));
        let foo = slot("GET foo");
        for line in
            ["OBJECT ENCODING foo", "EVAL x 1 foo y", "XREAD COUNT 2 streams foo 0", "MGET foo bar", "BITOP AND foo a"]
        {
            assert_eq!(slot(line), foo, "{line}");
        }
        for damaged in [&b""[..], b"*1\r\n", b"*1\r\n$9\r\nGET\r\n", b"*2\r\n$3\r\nGET\r\n$x\r\n", b"GET a"] {
            assert_eq!(slot_of(damaged), None);
        }
    }
}
