//! A list of URLs in CSV. The first line names the columns.

use run::RequestPlan;

use crate::error::{ReadError, shown};
use crate::found::{Found, Imported, Source, checked_weight};
use crate::row::FormatSpec;
use crate::unreadable::Unreadable;
use crate::url;

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "csv",
    help: "a first line that names the columns: url (or path), and possibly method, weight, name, class",
    matches: |text| columns(text).is_some(),
    read,
};

/// Accepted names of the column with URLs or paths, in lower case.
const URL: &[&str] = &["url", "path", "uri"];
/// Accepted names of the column with methods, in lower case.
const METHOD: &[&str] = &["method"];
/// Accepted names of the column with weights, in lower case.
const WEIGHT: &[&str] = &["weight", "count"];
/// Accepted names of the column with the names of requests, in lower case.
const NAME: &[&str] = &["name"];
/// Accepted names of the column with the classes of requests, in lower case.
const CLASS: &[&str] = &["class"];

/// Separator and names of the columns.
struct Columns {
    separator: u8,
    names: Vec<String>,
}

impl Columns {
    /// Returns the index of the first column whose name is in `names`.
    fn find(&self, names: &[&str]) -> Option<usize> {
        self.names.iter().position(|name| names.contains(&name.as_str()))
    }

    /// Returns a remark with the names of the CSV columns that loadline does not use; `None` if loadline uses all
    /// columns.
    fn unused(&self) -> Option<String> {
        let known = [URL, METHOD, WEIGHT, NAME, CLASS].concat();
        let unused: Vec<&str> =
            self.names.iter().map(String::as_str).filter(|name| !known.contains(name) && !name.is_empty()).collect();
        (!unused.is_empty()).then(|| format!("columns that are not used: {}", shown(&unused.join(", "))))
    }
}

/// Reads the names of the columns from the first line that is neither empty nor a comment. Returns `None` if no column
/// has URLs.
fn columns(text: &str) -> Option<Columns> {
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let separator = *first.as_bytes().iter().find(|byte| b",;\t".contains(byte)).unwrap_or(&b',');
    let name = |name: &str| name.trim().trim_matches('"').to_ascii_lowercase();
    let columns = Columns { separator, names: first.split(char::from(separator)).map(name).collect() };
    columns.find(URL).is_some().then_some(columns)
}

fn read(source: &Source<'_>) -> Result<Imported, ReadError> {
    let wrong = |place, message| ReadError { file: source.file.into(), place, message };
    let missing = || "its first line names no column url; write url,weight or the like".to_owned();
    let columns = columns(source.text).ok_or_else(|| wrong(None, missing()))?;
    let (mut all, mut unreadable) = (Imported::default(), Unreadable::default());
    let mut rows = ::csv::ReaderBuilder::new();
    let rows = rows.delimiter(columns.separator).comment(Some(b'#')).flexible(true).trim(::csv::Trim::All);
    for row in rows.from_reader(source.text.as_bytes()).records() {
        let row = row.map_err(|e| wrong(e.position().map(|at| (at.line() as usize, 1)), e.to_string()))?;
        let place = row.position().map(|at| (at.line() as usize, 1));
        all.found.extend(unreadable.unless_read(found(&row, &columns).map_err(|why| wrong(place, why))));
    }
    all.remarks.extend(columns.unused());
    unreadable.leave_out_of(all)
}

/// Returns the request of a row.
fn found(row: &::csv::StringRecord, columns: &Columns) -> Result<Found, String> {
    let value = |names| columns.find(names).and_then(|at| row.get(at)).unwrap_or_default();
    let or = |value: &str, default: &str| if value.is_empty() { default.to_owned() } else { value.to_owned() };
    let target = value(URL);
    if !target.starts_with('/') && run::UrlParts::parse(target).scheme.is_none() {
        return Err(format!("{} is not a URL: begin it with http://, https:// or /", shown(target)));
    }
    let weight = or(value(WEIGHT), "1");
    let number =
        weight.parse().map_err(|_| format!("{} is not a weight: write a number, such as 3", shown(&weight)))?;
    let request = RequestPlan {
        name: value(NAME).to_owned(),
        class: value(CLASS).to_owned(),
        weight: checked_weight(number)?,
        method: or(value(METHOD), "GET"),
        ..RequestPlan::default()
    };
    Ok(Found::new(request, url::split(target)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Imported, ReadError> {
        (FORMAT.read)(&Source { file: "u.csv", text, folder: std::path::Path::new(".") })
    }

    #[test]
    fn a_file_without_a_request_that_can_be_sent_is_refused() {
        let text = "url,method\n/a,FETCH IT\n";
        let error = crate::read_text("u.csv", text, std::path::Path::new("."), None).unwrap_err().to_string();
        assert!(
            error.contains("no request of it can be sent (requests left out: 1 whose method is not one word"),
            "{error}"
        );
    }

    /// Returns method, path and weight of each request.
    fn requests(text: &str) -> Vec<(String, String, f64)> {
        let each = |found: Found| (found.request.method, found.request.path, found.request.weight);
        read(text).unwrap().found.into_iter().map(each).collect()
    }

    /// An earlier version of loadline sent the weight of a request as part of the path.
    #[test]
    fn weights_are_columns() {
        let of = |method: &str, path: &str, weight| (method.to_owned(), path.to_owned(), weight);
        for text in [
            "url,weight\nhttp://h/c1,3\nhttp://h/c2,1\n",
            "# mix\n\n\"URL\"; Weight\nhttp://h/c1; 3\nhttp://h/c2;\n",
            "count\tpath\r\n3\t/c1\r\n1\t/c2\r\n",
        ] {
            assert!((FORMAT.matches)(text), "{text}");
            assert_eq!(requests(text), [of("GET", "/c1", 3.0), of("GET", "/c2", 1.0)], "{text}");
        }
        let text = "method,name,path\nPOST,\"a, b\",\"/x?a,b\"\n";
        assert_eq!(
            (requests(text), &*read(text).unwrap().found[0].request.name),
            (vec![of("POST", "/x?a,b", 1.0)], "a, b")
        );
    }

    #[test]
    fn columns_and_rows_that_are_not_used_are_named() {
        let all = read("url,weight,wheel\n/a,3,1\n/b,x,1\n/c,1,1\n").unwrap();
        let said = all.left_out_words().unwrap();
        assert!(said.contains("1 that cannot be read (line 3, column 1: \"x\" is not a weight"), "{said}");
        assert!(said.ends_with("columns that are not used: \"wheel\""), "{said}");
        for (row, says) in
            [("/a,-1", "a weight of -1"), ("a,1", "is not a URL"), ("htp://h/,1", "did you mean http://")]
        {
            let error = read(&format!("url,weight\n{row}\n")).unwrap_err().to_string();
            assert!(error.starts_with("u.csv: line 2, column 1: ") && error.contains(says), "{error}");
        }
        assert!(read("a,b\n").unwrap_err().to_string().contains("names no column url"));
    }

    #[test]
    fn a_list_without_names_of_columns_is_none() {
        for text in ["/a,3\n", "http://h/url,3\n", "id,name\n/a,b\n", "GET /url\n", ""] {
            assert!(!(FORMAT.matches)(text), "{text}");
        }
    }
}
