//! Sorts a set of proto files by their imports, and detects cycles of imports.

use std::collections::{BTreeMap, BTreeSet};

use prost_types::FileDescriptorProto;

use crate::error::{TypesError, words};

/// Descriptors of proto files, by the name of the file.
pub(crate) type Files = BTreeMap<String, FileDescriptorProto>;

/// Returns the names of the files, so that each file comes after the files that it imports. Fails if files import each
/// other in a cycle, or if a file is missing.
pub(crate) fn in_order(files: &Files) -> Result<Vec<String>, TypesError> {
    let missing = |name: &str, by: &str| {
        TypesError::Unusable(format!("{:?}, which {:?} imports, is missing", words(name), words(by)))
    };
    let (mut done, mut order) = (BTreeSet::new(), Vec::new());
    for root in files.keys() {
        // Each entry of `open` is a file whose imports are being visited, with the index of its next import. A
        // recursive function could use up the program's stack.
        let (mut open, mut path) = (vec![(root.as_str(), 0)], BTreeSet::from([root.as_str()]));
        if done.contains(root.as_str()) {
            continue;
        }
        while let Some((name, next)) = open.last_mut() {
            let imports = files.get(*name).map_or(&[][..], |file| &file.dependency);
            let Some(import) = imports.get(*next) else {
                path.remove(*name);
                if done.insert(*name) {
                    order.push((*name).to_owned());
                }
                open.pop();
                continue;
            };
            *next += 1;
            if path.contains(import.as_str()) {
                let why = format!("{:?} and {:?} import each other in a cycle", words(name), words(import));
                return Err(TypesError::Unusable(why));
            }
            if !done.contains(import.as_str()) {
                let (import, _) = files.get_key_value(import).ok_or_else(|| missing(import, name))?;
                path.insert(import);
                open.push((import, 0));
            }
        }
    }
    Ok(order)
}

/// Returns the names of the files whose types `file` may use: the files that it imports, and the files that an imported
/// file imports publicly.
pub(crate) fn visible(files: &Files, file: &FileDescriptorProto) -> Vec<String> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut left: Vec<&str> = file.dependency.iter().map(String::as_str).collect();
    while let Some(name) = left.pop() {
        if found.insert(name)
            && let Some(imported) = files.get(name)
        {
            let public = imported.public_dependency.iter();
            let public = public.filter_map(|at| imported.dependency.get(usize::try_from(*at).ok()?));
            left.extend(public.map(String::as_str));
        }
    }
    found.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(imports: &[(&str, &[&str])]) -> Files {
        let file = |(name, imports): &(&str, &[&str])| {
            let dependency: Vec<String> = imports.iter().map(|name| (*name).to_owned()).collect();
            let public_dependency = (0..dependency.len() as i32).collect();
            let name = (*name).to_owned();
            let file = FileDescriptorProto { dependency, public_dependency, ..FileDescriptorProto::default() };
            (name.clone(), FileDescriptorProto { name: Some(name), ..file })
        };
        imports.iter().map(file).collect()
    }

    #[test]
    fn imports_come_first_and_cycles_are_named() {
        let order = in_order(&files(&[("a", &["c", "b"]), ("b", &["c"]), ("c", &[]), ("d", &["a"])])).unwrap();
        assert_eq!(order, ["c", "b", "a", "d"]);
        for (cycle, says) in [
            (files(&[("a", &["a"])]), "cycle"),
            (files(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])]), "cycle"),
            (files(&[("a", &["b"])]), "\"b\", which \"a\" imports, is missing"),
        ] {
            let error = in_order(&cycle).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    /// Each level has two files, which both import the two files of the next level publicly. The number of paths
    /// therefore doubles with each level.
    #[test]
    fn many_paths_to_one_file_take_no_time() {
        let names: Vec<[String; 2]> = (0..60).map(|level| [format!("l{level}"), format!("r{level}")]).collect();
        let mut all = Files::new();
        for (level, pair) in names.iter().enumerate() {
            let next: Vec<&str> = names.get(level + 1).into_iter().flatten().map(String::as_str).collect();
            pair.iter().for_each(|name| all.extend(files(&[(name, &next)])));
        }
        assert_eq!(in_order(&all).unwrap().len(), 120);
        assert_eq!(visible(&all, &all["l0"]).len(), 118);
    }
}
