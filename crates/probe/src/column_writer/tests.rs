use run::Window;

use super::*;

#[test]
fn a_reason_is_kept_until_its_counter_has_a_value() {
    let mut writer = ColumnWriter::default();
    let slots = writer.open(&["cpu.user"], "total");
    let mut sample = |value: Option<f64>| {
        writer.begin_series(1.0);
        writer.absent("cpu.user", "", format_args!("not yet"));
        writer.absent("cpu.user", "1", format_args!("offline"));
        writer.put_some(slots, 0, value);
        writer.take().absent.into_iter().map(|absence| absence.reason).collect::<Vec<_>>()
    };
    assert_eq!((sample(None), sample(Some(2.0))), (vec!["not yet".into(), "offline".into()], vec!["offline".into()]));
}

#[test]
fn a_recording_of_eight_hours_is_thinned_but_keeps_edges_and_its_end() {
    let mut writer = ColumnWriter::default();
    let slots = writer.open(&["cpu.user", "cpu.system"], "total");
    writer.begin(-1.0);
    writer.put(slots, 0, -1e6);
    let samples = 8 * 3600 * 2;
    for i in 0..samples {
        let t_s = f64::from(i) / 2.0;
        writer.begin_series(t_s);
        writer.put(slots, 0, t_s * 1e6);
        // An expensive source is read at every third sample.
        writer.put_some(slots, 1, (i % 3 == 0).then_some(t_s));
        if i == 1000 {
            writer.begin(t_s + 0.1);
            writer.put(slots, 0, 7.0);
        }
    }
    let r = writer.take();
    assert!(r.t_s.len() <= MAX_ROWS && r.t_s.len() > MAX_ROWS / 4, "{}", r.t_s.len());
    assert!(r.t_s.windows(2).all(|w| w[0] < w[1]) && r.t_s[0] == -1.0 && r.t_s.contains(&500.1));
    assert_eq!(r.t_s.last(), Some(&(f64::from(samples - 1) / 2.0)), "the newest is always there");
    let longest = r.t_s.windows(2).map(|w| w[1] - w[0]).fold(0.0, f64::max);
    assert!(longest <= 16.0, "evenly thinned: {longest}");
    let values = |id: &str| &r.column(id, "total").unwrap().values;
    let at_edge = r.t_s.iter().position(|t| *t == 500.1).unwrap();
    assert_eq!(values("cpu.user")[at_edge], Some(7.0));
    let exact = |(t, v): (&f64, &Option<f64>)| v.is_none_or(|v| v == t * 1e6) || *t == 500.1;
    assert!(r.t_s.iter().zip(values("cpu.user")).all(exact), "values stay with their times");
    assert!(values("cpu.system").iter().flatten().count() > r.t_s.len() / 2, "the dear source is not lost");
    writer.begin_series(9.0);
    writer.begin_series(10.0);
    assert_eq!(writer.take().t_s, [9.0, 10.0], "the next trial begins anew");
}

/// Takes two samples per second of 300 columns (gauges and counters). Each gauge has one peak, and one of the samples
/// is at the start of a phase.
#[test]
fn twelve_hours_take_no_more_than_one_and_keep_means_and_peaks() {
    let mut writer = ColumnWriter::default();
    let all: Vec<Slots> = (0..150).map(|n| writer.open(&["process.rss", "process.cpu"], &format!("app:{n}"))).collect();
    let (hour, mut sum, mut most_values) = (7200, 0.0, [0; 12]);
    writer.begin(0.0);
    all.iter().for_each(|slots| writer.put(*slots, 1, 0.0));
    for i in 0..12 * hour {
        let level = if i == 5 * hour + 77 { 4096.0 } else { f64::from(i % 7) };
        let t_s = f64::from(i) / 2.0 + 0.1;
        writer.begin_series(t_s);
        sum += level;
        for slots in &all {
            writer.put(*slots, 0, level);
            writer.put(*slots, 1, t_s * 1e6);
        }
        let most = &mut most_values[(i / hour) as usize];
        *most = writer.rows().max(*most);
    }
    assert!(
        most_values.iter().all(|rows| *rows <= most_values[0] && rows * 300 <= MAX_VALUES + 600),
        "{most_values:?}"
    );
    let r = writer.take();
    assert!(r.t_s.len() >= most_values[0] / 2 - 1, "{}", r.t_s.len());
    let peak = r.max("process.rss", "app:7", Window::ALL).value();
    assert_eq!(peak, Some(4096.0));
    let before_it = Window { begin_s: 0.0, end_s: 2.0 * 3600.0 };
    assert!(r.max("process.rss", "app:7", before_it).value().is_some_and(|most| most <= 6.0), "its time is known");
    let mean = r.reading("process.rss", "app:7", Window::ALL).value().unwrap();
    assert!((mean / (sum / f64::from(12 * hour)) - 1.0).abs() < 0.01, "{mean}");
    let column = r.column("process.cpu", "app:7").unwrap();
    let exact = |(t_s, v): (&f64, &Option<f64>)| v.is_none_or(|v| v == t_s * 1e6);
    assert!(r.t_s.iter().zip(&column.values).all(exact), "a counter keeps its newest value");
}

#[test]
fn edges_without_a_series_between_them_cannot_be_merged_and_take_no_time() {
    let mut writer = ColumnWriter::default();
    let slots = writer.open(&["process.rss"], "app:1");
    for i in 0..20_000 {
        writer.begin(f64::from(i));
        writer.begin_series(f64::from(i) + 0.5);
        writer.put(slots, 0, 1.0);
    }
    assert!(writer.thinned < 20, "{}", writer.thinned);
    assert_eq!(writer.take().t_s.len(), 40_000);
}

#[test]
fn columns_of_an_instance_that_is_gone_serve_another_one() {
    const IDS: &[&str] = &["process.cpu"];
    let mut writer = ColumnWriter::default();
    let slots = writer.open(IDS, "job:1");
    for us in [5.0, 9.0] {
        writer.begin_series(us);
        writer.put(slots, 0, us);
    }
    writer.absent("process.cpu", "job:1", format_args!("process 1 ended"));
    assert_eq!(writer.growth(slots, 0), 4.0);
    writer.close(slots, IDS);
    assert_eq!(writer.growth(slots, 0), 0.0);
    writer.reopen(slots, IDS, "job:2");
    writer.begin_series(10.0);
    writer.put(slots, 0, 1.0);
    let r = writer.take();
    assert_eq!((r.columns.len(), r.columns[0].instance.as_str(), r.absent.len()), (1, "job:2", 0));
    assert_eq!(r.columns[0].values, [None, None, Some(1.0)]);
}

#[test]
fn missing_values_are_none_and_columns_without_values_are_left_out() {
    let mut writer = ColumnWriter::default();
    let slots = writer.open(&["cpu.user", "cpu.system"], "0");
    for t in 0..4 {
        writer.begin(f64::from(t));
        if t == 1 {
            writer.put(slots, 0, 5.0);
        }
    }
    let copy = writer.copy();
    let r = writer.take();
    assert_eq!(copy, r, "a copy is what would be handed out");
    assert_eq!(r.t_s, [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(r.columns.len(), 1);
    assert_eq!(r.columns[0].values, [None, Some(5.0), None, None]);
    let newest = writer.newest(2, &["cpu.user"]);
    assert!(newest.t_s.is_empty() && newest.columns.is_empty(), "all was taken");
    writer.begin(9.0);
    writer.put(slots, 1, 7.0);
    assert_eq!(writer.take().column("cpu.system", "0").map(|c| c.values.clone()), Some(vec![Some(7.0)]));
}

#[test]
fn quiet_columns_of_zeros_are_left_out_and_reasons_are_kept_once() {
    let mut writer = ColumnWriter::default();
    let quiet = writer.open_quiet(&["interrupt.count"], "LOC");
    let loud = writer.open(&["softirq.count"], "HI");
    writer.begin(0.0);
    writer.put(quiet, 0, 0.0);
    writer.put(loud, 0, 0.0);
    writer.absent("cpu.user", "", format_args!("first"));
    writer.absent("cpu.user", "", format_args!("second"));
    let r = writer.take();
    assert_eq!(r.columns.iter().map(|c| c.instance.as_str()).collect::<Vec<_>>(), ["HI"]);
    assert_eq!(r.absent.iter().map(|a| a.reason.as_str()).collect::<Vec<_>>(), ["first"]);
}
