use super::thread::{SHOWN_ROWS, moment_in};
use super::*;
use crate::Scope;

fn sampler(interval_ms: u64, origin: Origin) -> Sampler {
    let probe = Probe::new(Scope { sources: Some(vec!["cpu", "observer"]), ..Scope::default() });
    Sampler::start(probe, ProcessWatch::default(), Duration::from_millis(interval_ms), origin).unwrap()
}

#[test]
fn edges_are_samples_at_times_between_call_and_return() {
    let origin = Origin::after(Duration::ZERO);
    let sampler = sampler(10_000, origin);
    let before = origin.now_s();
    let edges = [sampler.edge(), sampler.edge()];
    let after = origin.now_s();
    assert!(before <= edges[0] && edges[0] < edges[1] && edges[1] <= after, "{before} {edges:?} {after}");
    let recording = sampler.finish();
    assert!(edges.iter().all(|t| recording.t_s.contains(t)), "{:?}", recording.t_s);
    let column = recording.column("cpu.online", "").unwrap();
    assert!(column.values.iter().all(Option::is_some));
}

/// A sample of many processes may take a tenth of a second. CPU times that are read after the sample belong to a later
/// time.
#[test]
fn cpu_times_after_a_sample_have_their_own_time() {
    let origin = Origin::after(Duration::ZERO);
    let probe = Probe::new(Scope { sources: Some(vec!["cpu", "process"]), ..Scope::default() });
    let sampler = Sampler::start(probe, ProcessWatch::default(), Duration::from_secs(10), origin).unwrap();
    let edges = [sampler.edge(), sampler.edge()];
    let cpu_use = sampler.finish_keeping().unwrap().cpu_use;
    let after = |edge: f64| cpu_use.t_s.iter().any(|t_s| *t_s > edge);
    assert!(edges.iter().all(|edge| after(*edge) && !cpu_use.t_s.contains(edge)), "{edges:?} {:?}", cpu_use.t_s);
}

#[test]
fn the_series_continues_without_requests_and_counts_its_samples() {
    let sampler = sampler(5, Origin::after(Duration::ZERO));
    let two = |all: &run::Recording| all.t_s.len() >= 2;
    let so_far = testkit::eventually(|| Some(sampler.so_far().unwrap().recording).filter(two));
    let r = sampler.finish();
    assert!(!so_far.t_s.is_empty() && r.t_s.starts_with(&so_far.t_s), "{:?} {:?}", so_far.t_s, r.t_s);
    assert!(r.t_s.len() >= 2 && r.t_s.windows(2).all(|w| w[0] < w[1]), "{:?}", r.t_s);
    // A sample leaves out a source if the previous reading of this source took long.
    let samples = r.column("probe.samples", "").unwrap().values.iter().zip(1..);
    let last = samples.filter_map(|(count, row)| count.map(|count| (count, row))).last();
    assert!(last.is_some_and(|(count, row)| count == f64::from(row)), "{last:?}");
}

#[test]
fn a_live_view_gets_the_newest_samples_without_disturbing_them() {
    let sampler = sampler(60_000, Origin::after(Duration::ZERO));
    assert_eq!(sampler.glance(), None, "nobody looked yet, so nothing was copied");
    (0..6).for_each(|_| assert!(sampler.edge() >= 0.0));
    // `edge` may return before the sampler's thread has published the samples.
    let full = |shown: &Glance| shown.recording.t_s.len() == SHOWN_ROWS;
    let shown = testkit::eventually(|| sampler.glance().filter(full)).recording;
    let recording = sampler.finish();
    assert!(shown.t_s.iter().all(|t| recording.t_s.contains(t)), "{shown:?}");
    assert!(shown.column("cpu.idle", "total").unwrap().values.iter().all(Option::is_some));
}

#[test]
fn missed_samples_are_counted_and_do_not_delay_the_next() {
    let probe = Probe::new(Scope { sources: Some(vec!["observer"]), ..Scope::default() });
    let now = sys::clock::monotonic_ns();
    let (life, queue, origin) = (ProcessWatch::default(), Arc::default(), Origin::at_ns(now));
    let mut thread = SamplerThread { probe, life, queue, interval_ns: 10_000_000_000, origin };
    // The sample was due 2.7 intervals ago, so two samples were missed, and this sample is late.
    let due = now - 27_000_000_000;
    assert_eq!(thread.series(due, due), due + 30_000_000_000);
    assert_eq!(thread.probe.effort().late, 3);
}

/// An earlier version of loadline took a sample exactly every 500 ms. With fixed intervals, a server that accepts
/// connections every 50 ms always seemed to be in the same state.
#[test]
fn moments_are_not_in_step_with_a_periodic_server() {
    let (interval_ns, period_ns) = (500_000_000, 50_000_000);
    let seen = (0..1000).map(|k| moment_in(k * interval_ns, interval_ns) % period_ns);
    let early = seen.filter(|phase| *phase < period_ns / 2).count();
    assert!((400..=600).contains(&early), "{early} of 1000 in the first half of the period");
}
