//! `loadline man DIR`: one man page per command, generated from the types of the flags.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::{Exit, output};

/// Arguments of `man`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory for the pages
    dir: PathBuf,
}

/// Writes the pages.
pub(crate) fn run(args: &Args, whole: clap::Command) -> anyhow::Result<Exit> {
    let advice = || format!("cannot write man pages to {}; name a directory that you may write", args.dir.display());
    std::fs::create_dir_all(&args.dir).with_context(advice)?;
    clap_mangen::generate_to(whole, &args.dir).with_context(advice)?;
    output::print(&format!("man pages are in {}\n", args.dir.display()))?;
    Ok(Exit::Done)
}
