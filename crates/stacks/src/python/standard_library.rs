//! Modules of Python's standard library, recognized by the place of their source files.

/// Folders that contain other packages, although they lie in the folder of the standard library.
const OTHER_PACKAGES: [&str; 2] = ["site-packages", "dist-packages"];

/// Returns the module of the standard library that a source file belongs to: `threading` for
/// `/usr/lib/python3.11/threading.py`. Returns `None` for a file of the program, or of an installed package.
pub(super) fn module_of(file: &str) -> Option<String> {
    // The interpreter contains some modules in compiled form, such as `<frozen runpy>`.
    if let Some(frozen) = file.strip_prefix("<frozen ") {
        return Some(frozen.trim_end_matches('>').into());
    }
    let path = inside_library(file)?.strip_suffix(".py")?;
    let package = path.split('/').next().unwrap_or_default();
    let module = path.strip_suffix("/__init__").unwrap_or(path);
    (!OTHER_PACKAGES.contains(&package)).then(|| module.replace('/', "."))
}

/// Returns the part of a path below the folder `lib/python3.N`.
fn inside_library(file: &str) -> Option<&str> {
    ["/lib/python3.", "/lib64/python3."].iter().find_map(|folder| {
        let (_, rest) = file.rsplit_once(folder)?;
        let (minor, path) = rest.split_once('/')?;
        minor.bytes().all(|byte| byte.is_ascii_digit()).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_file_tells_the_standard_library_from_other_code() {
        for (file, module) in [
            ("/usr/lib/python3.11/threading.py", Some("threading")),
            (
                "/root/.pyenv/versions/3.13.0/lib/python3.13/concurrent/futures/thread.py",
                Some("concurrent.futures.thread"),
            ),
            ("/usr/lib64/python3.12/asyncio/__init__.py", Some("asyncio")),
            ("<frozen importlib._bootstrap>", Some("importlib._bootstrap")),
            ("/usr/lib/python3.11/site-packages/pool.py", None),
            ("/usr/lib/python3/dist-packages/gunicorn/util.py", None),
            ("/srv/venv/lib/python3.11/site-packages/queue.py", None),
            ("/srv/app/queue.py", None),
            ("<string>", None),
        ] {
            assert_eq!(module_of(file).as_deref(), module, "{file}");
        }
    }
}
