//! Line tables of CPython's code objects. Source: Objects/lnotab_notes.txt and Objects/locations.md.

/// Format of a line table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineFormat {
    /// Python 3.8 and 3.9: differences of addresses and lines.
    Lnotab,
    /// Python 3.10: ranges of addresses with differences of lines.
    Ranges,
    /// Python 3.11 and later: ranges with lines and columns.
    Locations,
}

/// Returns the line of the instruction at `offset` bytes, if it has one.
pub(super) fn line_at(format: LineFormat, table: &[u8], first: u32, offset: u64) -> Option<u32> {
    let line = match format {
        LineFormat::Lnotab => Some(lnotab(table, i64::from(first), offset)),
        LineFormat::Ranges => ranges(table, i64::from(first), offset),
        LineFormat::Locations => locations(table, i64::from(first), offset),
    };
    u32::try_from(line?).ok()
}

fn lnotab(table: &[u8], mut line: i64, offset: u64) -> i64 {
    let mut address = 0;
    for pair in table.chunks_exact(2) {
        address += u64::from(pair[0]);
        if address > offset {
            break;
        }
        line += i64::from(pair[1] as i8);
    }
    line
}

fn ranges(table: &[u8], mut line: i64, offset: u64) -> Option<i64> {
    const NO_LINE: i8 = -128;
    let mut end = 0;
    for pair in table.chunks_exact(2) {
        end += u64::from(pair[0]);
        let change = pair[1] as i8;
        line += if change == NO_LINE { 0 } else { i64::from(change) };
        if offset < end {
            return (change != NO_LINE).then_some(line);
        }
    }
    None
}

fn locations(mut table: &[u8], mut line: i64, offset: u64) -> Option<i64> {
    let mut end = 0;
    while let Some((head, rest)) = table.split_first() {
        table = rest;
        end += 2 * (u64::from(head & 7) + 1);
        let kind = head >> 3 & 15;
        let change = match kind {
            13 | 14 => signed(&mut table)?,
            10..=12 => i64::from(kind - 10),
            _ => 0,
        };
        line += change;
        if offset < end {
            return (kind != 15).then_some(line);
        }
        let columns = match kind {
            0..=9 => 1,
            10..=12 => 2,
            _ => 0,
        };
        table = table.get(columns..)?;
        for _ in 0..if kind == 14 { 3 } else { 0 } {
            number(&mut table)?;
        }
    }
    None
}

fn number(table: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..60).step_by(6) {
        let (byte, rest) = table.split_first()?;
        *table = rest;
        value |= u64::from(byte & 63) << shift;
        if byte & 64 == 0 {
            return Some(value);
        }
    }
    None
}

fn signed(table: &mut &[u8]) -> Option<i64> {
    let value = number(table)?;
    let half = i64::try_from(value >> 1).ok()?;
    Some(if value & 1 == 1 { -half } else { half })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_gives_the_line_of_an_instruction() {
        assert_eq!(line_at(LineFormat::Lnotab, &[0, 1, 6, 2, 4, 255], 10, 7), Some(13));
        assert_eq!(line_at(LineFormat::Lnotab, &[0, 1, 6, 2, 4, 255], 10, 10), Some(12));
        assert_eq!(line_at(LineFormat::Ranges, &[4, 1, 4, 128, 4, 2], 10, 3), Some(11));
        assert_eq!(line_at(LineFormat::Ranges, &[4, 1, 4, 128, 4, 2], 10, 4), None);
        assert_eq!(line_at(LineFormat::Ranges, &[4, 1, 4, 128, 4, 2], 10, 8), Some(13));
        // In this table, the first two units of code belong to the second line, and the third unit has no line. The
        // fourth unit belongs to a line before the first one, and its entry has the long form.
        let table = [0x80 | 11 << 3 | 1, 0, 0, 0x80 | 15 << 3, 0x80 | 14 << 3, 5, 0, 0, 0];
        assert_eq!(line_at(LineFormat::Locations, &table, 10, 2), Some(11));
        assert_eq!(line_at(LineFormat::Locations, &table, 10, 4), None);
        assert_eq!(line_at(LineFormat::Locations, &table, 10, 6), Some(9));
        assert_eq!(line_at(LineFormat::Locations, &table, 10, 8), None);
    }

    #[test]
    fn cut_tables_of_any_bytes_end() {
        let bytes: Vec<u8> = (0..=255_u8).rev().collect();
        for format in [LineFormat::Lnotab, LineFormat::Ranges, LineFormat::Locations] {
            (0..bytes.len()).for_each(|cut| {
                assert!(line_at(format, &bytes[cut..], u32::MAX, u64::MAX).is_none_or(|line| line > 0))
            });
        }
    }
}
