//! Cuts a request into constant pieces and placeholders. An unknown placeholder is refused with advice.

use super::{Piece, Source};
use crate::ProtoError;
use crate::zipf::Zipf;

impl Source {
    /// Cuts a text into constant pieces and placeholders.
    pub(crate) fn cut(&self, text: &str, in_path: bool) -> Result<Vec<Piece>, ProtoError> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some(begin) = rest.find("{{").filter(|_| self.placeholders) {
            let end = rest[begin..].find("}}").map(|n| begin + n);
            let end = end.ok_or_else(|| wrong(&rest[begin..], "close it with }}"))?;
            pieces.push(Piece::Text(rest.as_bytes()[..begin].into()));
            pieces.push(self.placeholder(&rest[begin + 2..end], in_path)?);
            rest = &rest[end + 2..];
        }
        pieces.push(Piece::Text(rest.as_bytes().into()));
        pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        Ok(pieces)
    }

    fn placeholder(&self, inside: &str, in_path: bool) -> Result<Piece, ProtoError> {
        let words: Vec<&str> = inside.split_whitespace().collect();
        let number = |word: &str| word.parse::<u64>().map_err(|_| wrong(inside, "give whole numbers of 0 or more"));
        match words.as_slice() {
            ["seq"] => Ok(Piece::Seq),
            ["uuid"] => Ok(Piece::Uuid),
            ["random", low, high] => match (number(low)?, number(high)?) {
                (low, high) if low <= high => Ok(Piece::Random(low, high)),
                _ => Err(wrong(inside, "give the smaller number first")),
            },
            ["zipf", low, high, exponent] => {
                let (low, high, s) = (number(low)?, number(high)?, exponent.parse::<f64>().unwrap_or(f64::NAN));
                let zipf = Zipf::new(low, high, s);
                zipf.map(Piece::Zipf).ok_or_else(|| wrong(inside, "write it like zipf 1 1000000 0.99"))
            }
            [name] => {
                let column = self.columns.iter().position(|column| column == name);
                let captured = self.captured.iter().position(|captured| captured == name);
                let captured = captured.map(|at| Piece::Captured { at, in_path });
                let known = column.map(|at| Piece::Column { at, in_path }).or(captured);
                known.ok_or_else(|| self.unknown(name))
            }
            _ => Err(wrong(inside, "write {{NAME}}, {{seq}}, {{uuid}}, {{random A B}} or {{zipf A B S}}")),
        }
    }

    /// Returns the error for a placeholder that names no column, captured value or keyword.
    fn unknown(&self, name: &str) -> ProtoError {
        let names = self.columns.iter().chain(&self.captured).map(String::as_str);
        let near = run::nearest(name, names.chain(["seq", "uuid", "random", "zipf"]));
        let near = near.map_or(String::new(), |near| format!("; did you mean {{{{{near}}}}}?"));
        let column = match self.columns.is_empty() {
            true => format!("give values with --data FILE, in a column {name}"),
            false => format!("name a column of --data ({})", self.columns.join(", ")),
        };
        let advice = format!("{column}, or write something captured, seq, uuid, random A B or zipf A B S{near}");
        ProtoError::UnknownPlaceholder { name: name.into(), advice }
    }
}

fn wrong(inside: &str, advice: &'static str) -> ProtoError {
    ProtoError::Invalid { what: "the placeholder", value: inside.into(), advice }
}
