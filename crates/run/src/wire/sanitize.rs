//! Sanitizes untrusted text from agents on other hosts. loadline sanitizes text when it arrives, so all later code can
//! show the text unchanged.

use crate::{
    AgentReport, CpuUse, FailureKind, HostInfo, Incident, LoadPart, Observed, Recording, TracedRequest, visible,
};

/// Maximum length of an untrusted text, characters.
const MAX_TEXT_CHARS: usize = 4096;

/// Makes a text safe to show and limits its length.
fn clean(text: &mut String) {
    if text.len() > MAX_TEXT_CHARS {
        *text = text.chars().take(MAX_TEXT_CHARS).collect();
    }
    *text = visible(text).into_owned();
}

/// Returns true if a name is short, and is safe to show without changes.
fn is_plain(name: &str) -> bool {
    name.len() < MAX_NAME_BYTES && visible(name) == name
}

/// Maximum length of a counter's or histogram's name, bytes.
const MAX_NAME_BYTES: usize = 100;

fn clean_incidents(incidents: &mut [Incident]) {
    incidents.iter_mut().for_each(|incident| clean(&mut incident.text));
}

/// Maximum number of pauses per host.
const MAX_PAUSES: usize = 10_000;

/// Maximum number of readings of CPU times per host.
const MAX_CPU_READINGS: usize = 100_000;

fn clean_observed(seen: &mut Observed) {
    seen.processes.iter_mut().for_each(clean);
    clean(&mut seen.machine);
    for behind in &mut seen.behind {
        [&mut behind.address, &mut behind.from].into_iter().chain(&mut behind.processes).for_each(clean);
    }
    seen.waits.iter_mut().for_each(|waits| waits.each_text(clean));
    clean_incidents(&mut seen.incidents);
    seen.pauses.truncate(MAX_PAUSES);
    if !seen.cpu_use.is_whole() || seen.cpu_use.t_s.len() > MAX_CPU_READINGS {
        seen.cpu_use = CpuUse::default();
    }
    clean_recording(&mut seen.recording);
}

fn clean_recording(recording: &mut Recording) {
    // If a column had more or fewer values than there are samples, a merge could take unlimited memory.
    let samples = recording.t_s.len();
    recording.columns.retain(|column| column.values.len() == samples && column.counter.as_str().len() < MAX_NAME_BYTES);
    for column in &mut recording.columns {
        clean(&mut column.instance);
        clean(column.counter.0.to_mut());
    }
    for absence in &mut recording.absent {
        clean(&mut absence.instance);
        clean(&mut absence.reason);
    }
    recording.peaks.retain(|peak| peak.counter.as_str().len() < MAX_NAME_BYTES);
    for peak in &mut recording.peaks {
        clean(&mut peak.instance);
        clean(peak.counter.0.to_mut());
    }
}

fn clean_part(part: &mut LoadPart) {
    part.notes.iter_mut().for_each(clean);
    part.histograms.retain(|name, _| is_plain(name));
    for failure in &mut part.first_failures {
        if let FailureKind::Status(status) = &mut failure.kind {
            clean(status);
        }
        clean(&mut failure.reason);
    }
    part.classes.iter_mut().for_each(|class| clean(&mut class.name));
    part.addresses.iter_mut().for_each(|part| clean(&mut part.requests.name));
    part.slowest_traces.iter_mut().flat_map(TracedRequest::texts_mut).for_each(clean);
}

fn clean_host(host: &mut HostInfo) {
    [&mut host.name, &mut host.role, &mut host.kernel, &mut host.cpu_model].into_iter().for_each(clean);
    let cleaned = |(mut name, mut fact): (String, String)| {
        clean(&mut name);
        clean(&mut fact);
        (name, fact)
    };
    host.facts = std::mem::take(&mut host.facts).into_iter().map(cleaned).collect();
}

impl AgentReport {
    /// Returns the report after all of its texts were made safe to show.
    #[must_use]
    pub fn cleaned(mut self) -> Self {
        match &mut self {
            Self::Ready { io, notes, .. } => {
                clean(io);
                notes.iter_mut().for_each(clean);
            }
            Self::Hello(hello) => [&mut hello.version, &mut hello.machine].into_iter().for_each(clean),
            Self::Part(part) => clean_part(part),
            Self::Counts { failures, counts, .. } => {
                failures.iter_mut().for_each(clean);
                counts.retain(|name, _| is_plain(name));
            }
            Self::Failed { error: words } | Self::Wants { system: words } => clean(words),
            Self::Incidents { incidents } => clean_incidents(incidents),
            Self::Observed(seen) | Self::Latest(seen) => clean_observed(seen),
            Self::Rows(rows) => clean_recording(rows),
            Self::Watching(found) => {
                clean_host(&mut found.host);
                found.missing.iter_mut().for_each(clean);
            }
            Self::Heartbeat | Self::Pong { .. } | Self::Edge { .. } | Self::Tick(_) => {}
            Self::Server(answer) => answer.texts_mut().for_each(clean),
            Self::LeverWorks(found) => found.resources.iter_mut().for_each(clean),
            Self::Lever(_) | Self::Held(_) => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_of_a_stranger_reaches_a_terminal_as_a_command() {
        let evil = "a\u{1b}]0;x\u{7}b\u{202e}".to_string();
        let mut seen = Observed { processes: vec![evil.clone()], ..Observed::default() };
        let text = evil.clone();
        let kind = crate::IncidentKind::ServerEnded;
        seen.incidents = vec![Incident { kind, begin_s: 0.0, end_s: None, text }];
        let failure = crate::FirstFailure { kind: FailureKind::Status(evil.clone()), at_s: 0.0, reason: evil.clone() };
        let part =
            crate::LoadPart { notes: vec![evil.clone()], first_failures: vec![failure], ..crate::LoadPart::default() };
        for report in [
            AgentReport::Failed { error: evil.clone() },
            AgentReport::Ready { pid: 1, listening: None, io: evil.clone(), notes: vec![evil.clone()] },
            AgentReport::Observed(Box::new(seen)),
            AgentReport::Part(Box::new(part)),
        ] {
            let told = format!("{:?}", serde_json::to_value(report.cleaned()).unwrap());
            assert!(!told.contains("\\u{1b}") && !told.contains("\\u001b") && !told.contains("\\u{7}"), "{told}");
        }
        let AgentReport::Failed { error } = (AgentReport::Failed { error: "x".repeat(9000) }).cleaned() else {
            panic!()
        };
        assert_eq!(error.len(), MAX_TEXT_CHARS);
    }
}
