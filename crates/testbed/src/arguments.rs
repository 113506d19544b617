//! Parses the text that describes a medium (a simulated network). The text has the form `NAME`, `NAME:VALUE` or
//! `NAME:key=value,key=value`. This module also parses numbers with units.

use std::collections::BTreeMap;

/// Name and arguments of a medium (a simulated network). Each caller takes out the arguments that it knows. An argument
/// that remains at the end, because no caller knows it, is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// Name of the medium.
    pub(crate) name: String,
    /// Argument without a key; `None` if there is none, or if it was already taken.
    plain: Option<String>,
    named: BTreeMap<String, String>,
}

impl Arguments {
    /// Splits the text into the medium's name and arguments.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once([':', ' ']).unwrap_or((text, ""));
        let mut arguments = Self { name: name.trim().to_ascii_lowercase(), ..Self::default() };
        for part in rest.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty()) {
            let twice = match part.split_once('=') {
                Some((key, value)) => arguments.named.insert(key.trim().into(), value.trim().into()).is_some(),
                None => arguments.plain.replace(part.into()).is_some(),
            };
            if twice {
                return Err(format!("{part:?} is given twice"));
            }
        }
        Ok(arguments)
    }

    /// Removes the argument without a key, and returns it.
    pub(crate) fn take_plain(&mut self) -> Option<String> {
        self.plain.take()
    }

    /// Removes the argument `key`, and parses its value with the function `read`. Returns `None` if there is no
    /// argument `key`.
    pub(crate) fn take<T>(&mut self, key: &str, read: fn(&str) -> Option<T>) -> Result<Option<T>, String> {
        let Some(text) = self.named.remove(key) else { return Ok(None) };
        read(&text).map(Some).ok_or_else(|| format!("{key}={text} cannot be read"))
    }

    /// Returns an error if an argument remains that nobody has taken.
    pub(crate) fn finish(self) -> Result<(), String> {
        match self.named.into_keys().next().or(self.plain) {
            Some(left) => Err(format!("it has no argument {left:?}")),
            None => Ok(()),
        }
    }
}

/// Parses a rate, such as `10M`, `1.5g`, `64kbit` or `9600`. Returns bits per second, from 1,000 to 10^12.
pub(crate) fn rate(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let text = text.strip_suffix("bit/s").or(text.strip_suffix("bit")).or(text.strip_suffix("bps")).unwrap_or(&text);
    let (digits, factor) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1e3),
        b'm' => (&text[..text.len() - 1], 1e6),
        b'g' => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    let bits = digits.parse::<f64>().ok()? * factor;
    (1000.0..=1e12).contains(&bits).then_some(bits as u64)
}

/// Parses a time of at most 60 s, such as `50ms`, `0.2s` or `10us`. A number without a unit means milliseconds. Returns
/// the time in nanoseconds.
pub(crate) fn time_ns(text: &str) -> Option<u64> {
    let (digits, factor) = [("us", 1e3), ("ms", 1e6), ("s", 1e9)]
        .iter()
        .find_map(|(unit, factor)| text.strip_suffix(unit).map(|digits| (digits, *factor)))
        .unwrap_or((text, 1e6));
    let ns = digits.trim().parse::<f64>().ok()? * factor;
    (0.0..=60e9).contains(&ns).then_some(ns as u64)
}

/// Parses a share from 0 to 1, such as `2%` or `0.02`.
pub(crate) fn share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.0..=1.0).contains(&share).then_some(share)
}

/// Parses a whole number in an argument of a medium.
pub(crate) fn whole(text: &str) -> Option<u64> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_and_unused_arguments_are_errors() {
        let mut a = Arguments::parse("wan:delay=50ms,loss=1%").unwrap();
        assert_eq!(a.name, "wan");
        assert_eq!(a.take("delay", time_ns).unwrap(), Some(50_000_000));
        assert!(a.clone().finish().is_err());
        assert_eq!(a.take("loss", share).unwrap(), Some(0.01));
        assert!(a.finish().is_ok());
        assert!(Arguments::parse("wan:loss=1%,loss=2%").is_err());
    }

    #[test]
    fn units_are_parsed() {
        assert_eq!(rate("10M"), Some(10_000_000));
        assert_eq!(rate("1.5gbit"), Some(1_500_000_000));
        assert_eq!(rate("10"), None);
        assert_eq!(time_ns("200us"), Some(200_000));
        assert_eq!(time_ns("20"), Some(20_000_000));
        assert_eq!(time_ns("-1ms"), None);
        assert_eq!(share("101%"), None);
        assert_eq!(share("x"), None);
    }
}
