//! Parsers of values with units, as written on the command line: `20ms`, `0.1%`, `16KiB`, `5k`, `127.0.0.2-127.0.0.9`.

use std::net::{IpAddr, Ipv4Addr};

/// Parses a time such as `500us`, `20ms`, `3s`, `2m`, `1h` or `1m30s`, and returns seconds. The unit is required,
/// because a bare 20 could mean seconds or milliseconds. The text `0` needs no unit.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let (number, unit) = split(text);
    match (unit, positive(number, 1.0)) {
        ("", Some(0.0)) => return Ok(0.0),
        ("", Some(_)) => return Err(format!("{text:?} has no unit; write {number}ms or {number}s")),
        _ => {}
    }
    // Each part of a time must have a smaller unit than the part before, so `30s1m` is an error.
    let (mut rest, mut sum, mut last) = (text.trim(), 0.0, f64::INFINITY);
    while !rest.is_empty() {
        let (number, after) = split(rest);
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let factor = factor_of_time(after[..end].trim()).filter(|factor| *factor < last);
        let (part, factor) = factor.and_then(|f| Some((positive(number, f)?, f))).ok_or_else(|| not_a_time(text))?;
        (sum, last, rest) = (sum + part, factor, &after[end..]);
    }
    if last.is_finite() && sum.is_finite() { Ok(sum) } else { Err(not_a_time(text)) }
}

fn factor_of_time(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}

fn not_a_time(text: &str) -> String {
    format!("{text:?} is not a time; write 500us, 20ms, 3s or 1m30s")
}

/// Parses a share such as `0.1%` or `0.001`, and returns it as a number from 0 to 1. The number 1 needs a unit, because
/// it could mean 1 % or 100 %.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = split(text);
    let factor = match unit {
        "%" => 0.01,
        "" => 1.0,
        _ => return Err(format!("{text:?} is not a share; write 0.1% or 0.001")),
    };
    let value = positive(number, factor).filter(|v| *v <= 1.0);
    if unit.is_empty() && value == Some(1.0) {
        return Err(format!("{text:?} is not clear; write 1% or 100%"));
    }
    value.ok_or_else(|| format!("{text:?} is not a share from 0 to 1; write 0.1% or 0.001"))
}

/// Parses a rate such as `5000`, `5k`, `1.2M` or `5000/s`, and returns the number per second.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let bad = || format!("{text:?} is not a rate; write 5000, 5k or 1.2M (per second)");
    let (number, unit) = split(text.strip_suffix("/s").unwrap_or(text));
    positive(number, thousands(unit).ok_or_else(bad)?).filter(|v| *v > 0.0).ok_or_else(bad)
}

/// Parses a number of bytes such as `1294`, `16k`, `16KiB` or `40MB`. The prefixes `k`, `M` and `G` are powers of 1000.
/// `Ki`, `Mi` and `Gi` are powers of 1024.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let bad = || format!("{text:?} is not a size; write 1294, 16KiB or 40MB");
    let (number, unit) = split(text);
    let unit = unit.strip_suffix(['B', 'b']).unwrap_or(unit);
    let factor = match unit {
        "Ki" | "ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        other => thousands(other).ok_or_else(bad)?,
    };
    positive(number, factor).map(|v| v.round() as u64).ok_or_else(bad)
}

/// Parses the rate of a network link, such as `100mbit` or `1gbit` (decimal prefixes), and returns bits per second.
pub(crate) fn bits_per_s(text: &str) -> Result<f64, String> {
    let bad = || format!("{text:?} is not the rate of a link; write 100mbit or 1gbit");
    let (number, unit) = split(text);
    let factor = match unit.trim_end_matches("/s").to_ascii_lowercase().as_str() {
        "bit" => 1.0,
        "kbit" => 1e3,
        "mbit" => 1e6,
        "gbit" => 1e9,
        _ => return Err(bad()),
    };
    positive(number, factor).filter(|v| *v > 0.0).ok_or_else(bad)
}

/// Parses a relative change such as `-20%` or `+10%`, and returns it as a fraction above -1 (`-0.2`, `0.1`).
pub(crate) fn change(text: &str) -> Result<f64, String> {
    let bad = || format!("{text:?} is not a change; write -20% or +10%");
    let text = text.trim();
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => (-1.0, size),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let (number, unit) = split(size);
    if unit != "%" {
        let percent = if number.is_empty() { "20" } else { number };
        return Err(format!("{text:?} has no %; write {}{percent}%", if sign < 0.0 { "-" } else { "+" }));
    }
    positive(number, 0.01).map(|v| sign * v).filter(|v| *v > -1.0 && *v <= 100.0).ok_or_else(bad)
}

/// Parses a number above 0 and at most 4096, which may be a fraction: `0.5`, `4`.
pub(crate) fn many(text: &str) -> Result<f64, String> {
    let bad = || format!("{text:?} is not a number above 0 and up to 4096; write 0.5 or 4");
    text.trim().parse::<f64>().ok().filter(|v| *v > 0.0 && *v <= 4096.0).ok_or_else(bad)
}

/// Parses IP addresses: one (`127.0.0.2`), a list (`127.0.0.2,127.0.0.7`), or a range (`127.0.0.2-127.0.0.9`). Only
/// IPv4 addresses can form a range, which has at most 65,536 addresses.
pub(crate) fn addresses(text: &str) -> Result<Vec<IpAddr>, String> {
    text.split(',').map(range).collect::<Result<Vec<_>, _>>().map(|lists| lists.concat())
}

fn range(text: &str) -> Result<Vec<IpAddr>, String> {
    let bad = || format!("{text:?} is not an address or a range; write 127.0.0.2 or 127.0.0.2-127.0.0.9");
    let Some((first, last)) = text.split_once('-') else {
        return text.trim().parse().map(|a| vec![a]).map_err(|_| bad());
    };
    let number = |t: &str| t.trim().parse::<Ipv4Addr>().map(u32::from).map_err(|_| bad());
    let (first, last) = (number(first)?, number(last)?);
    if last < first || last - first > 65_535 {
        return Err(bad());
    }
    Ok((first..=last).map(|n| IpAddr::V4(n.into())).collect())
}

/// Parses a list of CPU numbers such as `0`, `0,2` or `1-3`.
pub(crate) fn cpus(text: &str) -> Result<Vec<u32>, String> {
    let bad = || format!("{text:?} is not a list of CPUs; write 0,2 or 1-3");
    let number = |t: &str| t.trim().parse::<u32>().ok().filter(|n| *n < 4096).ok_or_else(bad);
    let mut list = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if last < first {
                    return Err(bad());
                }
                list.extend(first..=last);
            }
            None => list.push(number(part)?),
        }
    }
    if list.is_empty() { Err(bad()) } else { Ok(list) }
}

/// Splits `name=value` at the first `=`.
pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text:?} has no =; write name=value"))?;
    Ok((name.trim().to_string(), value.trim().to_string()))
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

fn thousands(unit: &str) -> Option<f64> {
    match unit {
        "" => Some(1.0),
        "k" | "K" => Some(1e3),
        "M" => Some(1e6),
        "G" => Some(1e9),
        _ => None,
    }
}

fn positive(number: &str, factor: f64) -> Option<f64> {
    let value: f64 = number.replace('_', "").parse().ok()?;
    Some(value * factor).filter(|v| v.is_finite() && *v >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_shares_rates_and_sizes() {
        assert_eq!(seconds("20ms"), Ok(0.02));
        assert_eq!(seconds("0"), Ok(0.0));
        for (text, expected) in
            [("1m30s", 90.0), ("1h2m3s", 3723.0), ("1.5h", 5400.0), ("2s500ms", 2.5), ("1m 30s", 90.0)]
        {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        assert_eq!((change("-20%"), change("+12.5%"), change("20%")), (Ok(-0.2), Ok(0.125), Ok(0.2)));
        assert_eq!(share("0.1%"), Ok(0.001));
        assert_eq!(rate("5k"), Ok(5000.0));
        assert_eq!(rate("1_000/s"), Ok(1000.0));
        assert_eq!(bytes("16KiB"), Ok(16_384));
        assert_eq!(bytes("40MB"), Ok(40_000_000));
    }

    #[test]
    fn errors_on_values_say_how_to_write_one() {
        assert!(seconds("20").unwrap_err().contains("write 20ms or 20s"));
        assert!(change("20").unwrap_err().contains("+20%") && change("-0.1").is_err() && change("-100%").is_err());
        for text in ["", "-1s", "30s1m", "1m30", "1s1s", "1m-30s", "m30s", "3 parsecs", "1e400", "ms", "NaN"] {
            assert!(seconds(text).unwrap_err().contains("20ms"), "{text}");
        }
        assert!(share("101%").is_err());
        for unclear in ["1", "1.0"] {
            assert!(share(unclear).unwrap_err().contains("write 1% or 100%"));
        }
        assert_eq!((share("100%"), share("1%"), share("0")), (Ok(1.0), Ok(0.01), Ok(0.0)));
        assert!(rate("0").is_err());
        assert!(bytes("1.5XB").is_err());
    }

    #[test]
    fn address_ranges_and_processor_lists() {
        assert_eq!(addresses("127.0.0.2-127.0.0.9").unwrap().len(), 8);
        assert_eq!(addresses("127.0.0.2,::1").unwrap().len(), 2);
        assert!(addresses("127.0.0.9-127.0.0.2").is_err());
        assert_eq!(cpus("0,2-3"), Ok(vec![0, 2, 3]));
        for wrong in ["9-", "3-1", "0,3-1"] {
            assert!(cpus(wrong).is_err(), "{wrong}");
        }
    }
}
