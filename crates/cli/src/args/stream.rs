//! Flags for answers that are streams of events.

use clap::Args;
use run::{LoadPlan, StreamFormat};

use super::units;

/// Flags of answers that are streams of events.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StreamArgs {
    /// Time the events of answers that are streams: sse, ndjson (lines), chunks, grpc or ws (messages); --timeout is
    /// then the longest wait for an event
    #[arg(long, value_name = "FORMAT", value_parser = format, help_heading = "Streams")]
    stream: Option<StreamFormat>,
    /// Text of the event that ends a stream: '[DONE]'; a stream without it is broken
    #[arg(long, value_name = "TEXT", requires = "stream", help_heading = "Streams")]
    stream_end: Option<String>,
    /// Longest time between two events; a stream with a longer gap is stalled [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = units::seconds, requires = "stream", help_heading = "Streams")]
    stall: Option<f64>,
}

impl StreamArgs {
    /// Returns true if the user gave at least one of the flags for streams.
    pub(crate) const fn any(&self) -> bool {
        // All other flags for streams require `--stream`.
        self.stream.is_some()
    }

    /// Applies the given flags to the plan. At the end of the load, open streams get at least the time limit for one
    /// event (`--timeout`) to finish.
    pub(crate) fn apply(&self, load: &mut LoadPlan) {
        if let Some(format) = self.stream {
            load.stream.get_or_insert_default().format = format;
        }
        let Some(stream) = &mut load.stream else { return };
        self.stream_end.iter().for_each(|end| stream.end.clone_from(end));
        stream.stall_s = self.stall.unwrap_or(stream.stall_s);
        load.drain_s = load.drain_s.max(load.timeout_s);
    }
}

fn format(text: &str) -> Result<StreamFormat, String> {
    let all = StreamFormat::ALL;
    all.into_iter().find(|format| format.name() == text).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|format| format.name()).collect();
        format!("there is no format {text:?}; give one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use run::StreamPlan;

    use super::*;

    #[test]
    fn an_unknown_format_is_refused_with_the_known_ones() {
        assert_eq!(format("ndjson"), Ok(StreamFormat::Ndjson));
        assert!(format("xml").unwrap_err().contains("sse, ndjson, chunks"));
    }

    #[test]
    fn flags_change_the_stream_of_a_plan_from_a_file() {
        let stream = StreamPlan { end: "x".into(), ..StreamPlan::default() };
        let mut load = LoadPlan { stream: Some(stream), ..LoadPlan::default() };
        StreamArgs { stall: Some(0.2), ..StreamArgs::default() }.apply(&mut load);
        let stream = load.stream.unwrap();
        assert_eq!((stream.end.as_str(), stream.stall_s, load.drain_s), ("x", 0.2, load.timeout_s));
        let mut plain = LoadPlan::default();
        StreamArgs::default().apply(&mut plain);
        assert_eq!(plain, LoadPlan::default());
    }
}
