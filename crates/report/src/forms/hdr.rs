//! HdrHistogram log: one line per histogram, tagged with the trial and the histogram's name. The times in the
//! histograms are in nanoseconds. The histograms use the compressed V2 encoding, because all programs that read
//! HdrHistogram logs accept this encoding. The time on a line is the total length of the measured windows of all
//! earlier trials, in seconds.
//!
//! Format: the interval log of HdrHistogram, written by the `hdrhistogram` crate.

use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use run::Run;

use crate::{Doc, ReportError, Style};

pub(super) fn make(_: &Doc, run: &Run, _: &Style) -> Result<String, ReportError> {
    let broken = |message: String| ReportError::Broken { form: "hdr", message };
    let (mut bytes, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment("[Histogram log format version 1.3]");
    builder.add_comment(&format!("[Logged with loadline {}, run of {}]", word(&run.version), word(&run.started)));
    builder.add_comment("[Values in nanoseconds, Interval_Max in milliseconds]");
    builder.with_max_value_divisor(1e6);
    {
        let log = builder.begin_log_with(&mut bytes, &mut serializer);
        let mut log = log.map_err(|e| broken(e.to_string()))?;
        let mut at = Duration::ZERO;
        for (i, trial) in run.trials.iter().enumerate() {
            let length = Duration::try_from_secs_f64(trial.measured.length_s.min(1e9)).unwrap_or_default();
            for (name, hist) in &trial.histograms {
                let tag = format!("{}-{}-{}", i + 1, word(&trial.label), word(name));
                log.write_histogram(hist.histogram(), at, length, Tag::new(&tag)).map_err(|e| broken(e.to_string()))?;
            }
            at = at.saturating_add(length);
        }
    }
    String::from_utf8(bytes).map_err(|e| broken(e.to_string()))
}

/// Replaces each character that could end a tag or a comment by `_`.
fn word(text: &str) -> String {
    let kept = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | ':' | '-' | '+') { c } else { '_' };
    text.chars().map(kept).collect()
}
