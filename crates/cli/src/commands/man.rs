//! `loadline man DIR`: one man page per command, generated from the definitions of the flags.

use std::path::PathBuf;

use crate::{Exit, output};

/// Arguments of `man`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory for the pages
    dir: PathBuf,
}

/// Writes the man pages into the directory.
pub(crate) fn run(args: &Args, whole: clap::Command) -> anyhow::Result<Exit> {
    let to = args.dir.display();
    let fail = |why| anyhow::anyhow!("cannot write man pages to {to}: {why}; name a directory that you may write");
    std::fs::create_dir_all(&args.dir).map_err(fail)?;
    clap_mangen::generate_to(whole, &args.dir).map_err(fail)?;
    output::print(&format!("man pages are in {}\n", args.dir.display()))?;
    Ok(Exit::Done)
}
