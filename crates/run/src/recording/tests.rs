use super::*;

fn recording(id: &'static str, values: &[Option<f64>]) -> Recording {
    Recording {
        t_s: (0..values.len()).map(|i| i as f64).collect(),
        columns: vec![Column { counter: CounterId::new(id), instance: "x".into(), values: values.to_vec() }],
        ..Recording::default()
    }
}

const ALL: Window = Window { begin_s: 0.0, end_s: 9.0 };

#[test]
fn cumulative_counters_give_their_growth_and_gauges_their_mean() {
    let r = recording("tcp.listen_overflows", &[Some(3.0), None, Some(10.0)]);
    assert_eq!(r.reading("tcp.listen_overflows", "x", ALL), Reading::Value(7.0));
    let r = recording("process.rss", &[Some(3.0), Some(5.0)]);
    assert_eq!(r.reading("process.rss", "x", ALL), Reading::Value(4.0));
}

#[test]
fn unknown_is_absent_and_never_zero() {
    let r = recording("tcp.listen_overflows", &[Some(3.0)]);
    assert_eq!(r.reading("tcp.listen_overflows", "x", ALL).value(), None);
    assert_eq!(r.sum("tcp.retrans_segs", ALL, |_| true).value(), None);
}

#[test]
fn whole_values_are_written_short_and_read_back() {
    let r = recording("cpu.user", &[Some(3.0), None, Some(2.5), Some(1e300), Some(-7.0)]);
    let text = serde_json::to_string(&r).unwrap();
    assert!(text.contains("[3,null,2.5,1e300,-7]") || text.contains("[3,null,2.5,1e+300,-7]"), "{text}");
    assert_eq!(serde_json::from_str::<Recording>(&text).unwrap(), r);
}

#[test]
fn merged_recordings_keep_their_own_times() {
    let mut r = recording("tcp.listen_overflows", &[Some(3.0), Some(5.0)]);
    let mut other = recording("medium.bytes", &[Some(1.0), Some(2.0), Some(9.0)]);
    other.t_s = vec![-0.5, 1.0, 2.5];
    r.merge(other);
    assert_eq!(r.t_s, [-0.5, 0.0, 1.0, 2.5]);
    assert_eq!(r.columns[0].values, [None, Some(3.0), Some(5.0), None]);
    assert_eq!(r.columns[1].values, [Some(1.0), None, Some(2.0), Some(9.0)]);
    assert_eq!(r.reading("medium.bytes", "x", Window::ALL), Reading::Value(8.0));
}

#[test]
fn a_recording_in_pieces_is_whole_again() {
    let mut whole = recording("tcp.listen_overflows", &[Some(3.0), None, Some(5.0), Some(6.0), Some(9.0)]);
    let all = whole.clone();
    let mut pieces = Recording::default();
    while let Some(first) = whole.split_first(4) {
        assert_eq!(first.t_s.len(), 2);
        assert!(pieces.append(first));
    }
    assert_eq!(whole.t_s, [4.0]);
    assert!(pieces.append(whole));
    assert_eq!((&pieces, pieces.values()), (&all, 10));
    assert!(!pieces.append(recording("process.rss", &[Some(1.0)])) && pieces == all, "of other columns");
}

#[test]
fn a_counter_that_goes_backwards_is_absent() {
    let r = recording("tcp.listen_overflows", &[Some(3.0), Some(1.0)]);
    assert!(matches!(r.reading("tcp.listen_overflows", "x", ALL), Reading::Absent { .. }));
}
