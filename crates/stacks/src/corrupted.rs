//! Reads randomly changed copies of executables: no file may cause a panic or an endless loop.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::image::Image;
use crate::memory::Memory;
use crate::reading_cost::ReadingCost;
use crate::registers::{self, Registers};
use crate::rules::Rules;

/// Number of corrupted copies of each executable to read.
const TRIES: u64 = 300;

/// Simulated stack memory that covers all addresses. Each read returns random bytes, and about half of the reads fail.
struct AnyStack(fastrand::Rng);

impl Memory for AnyStack {
    fn fill(&mut self, _address: u64, buffer: &mut [u8]) -> bool {
        self.0.fill(buffer);
        self.0.bool()
    }
}

fn program(dir: &Path, compiler: &str, arguments: &[&str], source: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    let program = dir.join(compiler);
    let mut command = Command::new(compiler);
    command.args(arguments).arg("-o").arg(&program).arg(source).env("GO111MODULE", "off");
    command.status().is_ok_and(|status| status.success()).then_some(program)
}

/// Corrupts an executable: changes single bytes or whole words, mostly in the headers, or cuts the end off.
fn corrupt(bytes: &mut Vec<u8>, random: &mut fastrand::Rng) {
    let sections = bytes.len().saturating_sub(4096);
    for _ in 0..random.usize(1..40) {
        let from = [0, 0, sections][random.usize(0..3)];
        let within = [64, 4096, bytes.len()][random.usize(0..3)];
        let at = from + random.usize(0..within.min(bytes.len() - from));
        let word = [u64::MAX, 0, 1 << 63, 1 << 31, random.u64(0..1 << 20), random.u64(..)][random.usize(0..6)];
        let width = [1, 4, 8][random.usize(0..3)].min(bytes.len() - at);
        if at >= 8 || random.u8(..) == 0 {
            bytes[at..at + width].copy_from_slice(&word.to_le_bytes()[..width]);
        }
    }
    if random.u8(..) < 20 {
        bytes.truncate(random.usize(0..bytes.len()));
    }
}

fn use_all(image: &Image, random: &mut fastrand::Rng) {
    let segments = &image.segments;
    for _ in 0..100 {
        let base = segments.get(random.usize(0..segments.len().max(1))).map_or(0, |s| s.address);
        let address = base.wrapping_add(random.u64(0..1 << 17));
        let frames = image.frames(address);
        let frame = &frames[0];
        assert!(frame.label().chars().count() <= 161 + frame.module.len());
        let _ = (image.global(address), image.function_start(address));
        if let Some(sections) = &image.unwind
            && let Some(rules) = Rules::find(sections, address)
        {
            let mut values = [0; registers::COUNT];
            values.iter_mut().for_each(|value| *value = random.u64(..));
            rules.step(sections, &Registers::running(&values), &mut AnyStack(random.fork()));
        }
    }
}

fn try_program(dir: &Path, program: &Path) {
    let original = fs::read(program).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut readable = 0;
    for _ in 0..TRIES {
        let (mut bytes, changed) = (original.clone(), dir.join("changed"));
        corrupt(&mut bytes, &mut random);
        fs::write(&changed, &bytes).unwrap();
        let image = Image::read(File::open(&changed).unwrap(), &changed, Path::new("/"), &ReadingCost::default());
        readable += u64::from(image.is_some());
        image.iter().for_each(|image| use_all(image, &mut random));
    }
    assert!(readable > TRIES / 4, "only {readable} of {TRIES} changed files were read");
}

#[test]
fn changed_files_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    let c = program(dir.path(), "gcc", &["-g", "-pthread"], "threads.c");
    let go = program(dir.path(), "go", &["build", "-ldflags", "-s -w"], "threads.go");
    c.iter().chain(&go).for_each(|program| try_program(dir.path(), program));
}
