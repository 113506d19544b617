use super::load::check_status;
use super::requests::check_requests;
use super::*;
use crate::RequestPlan;
use crate::{Protocol, RequestOrder, RequestSet};

#[test]
fn a_pool_has_at_least_one_connection() {
    let arrival = crate::Arrival::default();
    let intensity = Intensity::Open { rate: 100.0, arrival, max_connections: 0, pipeline: 1 };
    let error = LoadPlan { intensity, ..LoadPlan::default() }.check().unwrap_err().to_string();
    assert!(error.starts_with("--max-connections is 0"), "{error}");
}

#[test]
fn an_order_in_rounds_needs_whole_weights() {
    let check = |weights: &[f64], order| {
        let of = |weight: &f64| RequestPlan { weight: *weight, ..RequestPlan::default() };
        let set = RequestSet { requests: weights.iter().map(of).collect(), order, ..RequestSet::default() };
        check_requests(&set).map_err(|error| error.to_string())
    };
    for order in [RequestOrder::Sequence, RequestOrder::Shuffle] {
        assert!(check(&[3.0, 1.0, 0.0], order).is_ok() && check(&[0.5, 0.25], order).is_ok());
        let error = check(&[1.5, 1.0], order).unwrap_err();
        assert!(error.contains("leave --order") && error.contains("whole numbers"), "{error}");
        assert!(check(&[1e12, 1.0], order).is_err(), "a round would be too long");
    }
    assert!(check(&[1.5, 1.0], RequestOrder::Weighted).is_ok());
}

#[test]
fn stages_of_a_file_say_the_rate_and_the_length() {
    let stages =
        "[[load.stages]]\nseconds = 20\nfrom = 0\nto = 100\n[[load.stages]]\nseconds = 5\nfrom = 50\nto = 50\n";
    let plan = |head: &str| Plan::from_toml("stages.toml", &format!("{head}{stages}"));
    let load = plan("").unwrap().load;
    assert!(matches!(load.intensity, Intensity::Open { rate, .. } if rate == 50.0), "{:?}", load.intensity);
    assert_eq!((load.duration_s, load.warmup_s), (25.0, 0.0));
    let longer = plan("[load]\nduration_s = 60\n").unwrap().load;
    assert_eq!((longer.duration_s, longer.warmup_s), (60.0, 2.0));
    let even = "[load.intensity]\nloop = \"open\"\nrate = 1\narrival.name = \"constant\"\n";
    let even = plan(even).unwrap().load.intensity;
    assert!(matches!(even, Intensity::Open { rate: 50.0, arrival: Arrival::Constant, .. }), "{even:?}");
    let closed = plan("[load.intensity]\nloop = \"closed\"\nconnections = 7\n").unwrap_err();
    assert!(closed.to_string().contains("no open loop"), "{closed}");
}

#[test]
fn connects_at_a_rate_belong_to_a_closed_loop_that_keeps_its_connections() {
    let of = |connect_rate: f64, new_connections: bool, intensity: Intensity| {
        LoadPlan { connect_rate, new_connections, intensity, ..LoadPlan::default() }.check()
    };
    let closed = Intensity::default;
    assert!(of(0.0, true, closed()).is_ok() && of(20_000.0, false, closed()).is_ok());
    let open = Intensity::Open { rate: 1.0, arrival: Arrival::Constant, max_connections: 1, pipeline: 1 };
    for refused in
        [of(5.0, true, closed()), of(5.0, false, open), of(-1.0, false, closed()), of(f64::NAN, false, closed())]
    {
        assert!(refused.unwrap_err().to_string().contains("--connect-rate is"));
    }
}

#[test]
fn early_data_needs_http_3_and_resumption() {
    let of = |protocol: Protocol, resume: f64| {
        let tls = Some(crate::TlsPlan { resume, early_data: true, ..crate::TlsPlan::default() });
        LoadPlan { protocol, tls, ..LoadPlan::default() }.check().map_err(|e| e.to_string())
    };
    let http3 = || Protocol::Http3(crate::HttpPlan::default());
    assert_eq!(of(http3(), 0.5), Ok(()));
    assert!(of(http3(), 0.0).unwrap_err().contains("give --resume, too"));
    let over_tcp = of(Protocol::Http2(crate::HttpPlan::default()), 1.0).unwrap_err();
    assert!(over_tcp.starts_with("--early-data is on: only HTTP/3"), "{over_tcp}");
}

/// An earlier version silently ignored a pipeline together with one connection per request: only one request was in
/// flight.
#[test]
fn one_connection_per_request_has_no_pipeline() {
    let checked = |new_connections, pipeline| {
        let intensity = Intensity::Closed { connections: 1, pipeline, think: Default::default() };
        LoadPlan { new_connections, intensity, ..LoadPlan::default() }.check().map_err(|e| e.to_string())
    };
    let error = checked(true, 4).unwrap_err();
    assert!(error.starts_with("--pipeline is 4: leave it out, or --new-connections"), "{error}");
    assert_eq!((checked(true, 1), checked(false, 4)), (Ok(()), Ok(())));
    let file = "[load]\nnew_connections = true\n[load.intensity]\nloop = \"closed\"\nconnections = 1\npipeline = 4\n";
    let error = Plan::from_toml("p.toml", file).unwrap_err().to_string();
    assert!(error.starts_with("p.toml: pipeline is 4"), "{error}");
}

#[test]
fn a_wrong_value_is_named_as_the_user_wrote_it() {
    let plan = |text: &str| Plan::from_toml("plan.toml", text).unwrap_err().to_string();
    assert_eq!(plan("[load]\nduration_s = 0\n"), "plan.toml: load.duration_s is 0: give 1 ms to 366 days");
    let flag = |load: LoadPlan| load.check().unwrap_err().to_string();
    let none = LoadPlan { duration_s: 0.0, ..LoadPlan::default() };
    assert_eq!(flag(none), "--duration is 0 s: give 1 ms to 366 days");
    let many = LoadPlan {
        intensity: Intensity::Closed { connections: 0, pipeline: 1, think: Default::default() },
        ..LoadPlan::default()
    };
    assert_eq!(flag(many), "--connections is 0: give 1 to 1,000,000");
}

#[test]
fn only_a_status_that_can_come_is_expected() {
    let http = |status| Protocol::Http1(crate::HttpPlan { expect_status: Some(status), ..crate::HttpPlan::default() });
    for status in [0, 99, 100, 600, 999] {
        let error = check_status(&http(status)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--expect-status is {status}")), "{error}");
    }
    assert!([200, 404, 599].into_iter().all(|status| check_status(&http(status)).is_ok()));
    assert!(check_status(&Protocol::default()).is_ok());
}

#[test]
fn sets_that_cannot_be_made_are_refused() {
    let of = |weights: &[f64]| {
        let requests = weights.iter().map(|&weight| RequestPlan { weight, ..RequestPlan::default() }).collect();
        check_requests(&RequestSet { requests, ..RequestSet::default() }).is_ok()
    };
    assert!(of(&[1.0]) && of(&[0.0, 2.0]));
    assert!(!of(&[]) && !of(&[0.0]) && !of(&[1.0, -1.0]) && !of(&[f64::NAN]));
}
