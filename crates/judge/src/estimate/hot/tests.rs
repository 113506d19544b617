//! Tests with made-up stacks.

use run::{Side, StackSum, Trial, WaitProfile};

use crate::planted::Who;

use super::*;

fn profile(cpu_samples: u64, sums: &[(&str, f64)]) -> StackProfile {
    let sum = |(stack, weight): &(&str, f64)| StackSum { stack: (*stack).into(), weight: *weight };
    StackProfile { cpu_samples, cpu: sums.iter().map(sum).collect(), ..StackProfile::default() }
}

/// Adds twenty leaf functions below the stack `below`. Each leaf function has a twentieth of the weight `weight`.
fn with_leaves(mut profile: StackProfile, below: &str, weight: f64) -> StackProfile {
    let leaf = |i| StackSum { stack: format!("{below};leaf{i}"), weight: weight / 20.0 };
    profile.cpu.extend((0..20).map(leaf));
    profile
}

/// Returns the function that explains the CPU time, and its inclusive share.
fn named(profile: StackProfile) -> Option<(String, Option<f64>)> {
    let waits = Some(Box::new(WaitProfile { rounds: 9, stacks: Some(profile), ..WaitProfile::default() }));
    let server = Some(Side { waits, ..Side::default() });
    let run = Run { trials: vec![Trial { server, ..Trial::default() }], ..Run::default() };
    let rounded = |share: f64| (share * 1e3).round() / 1e3;
    first(&crate::Facts::of(&run), &of_run(&run)).map(|hot| (hot.function.clone(), hot.inclusive.map(rounded)))
}

#[test]
fn a_function_has_the_share_of_its_own_code_in_all_stacks() {
    let sums =
        [("nginx;main;deflate", 0.5), ("nginx;main;worker;deflate", 0.12), ("nginx;main", 0.38), ("broken", f64::NAN)];
    let found = hot(&profile(100, &sums));
    assert_eq!((found[0].process.as_str(), found[0].function.as_str(), found[0].share), ("nginx", "deflate", 0.62));
    assert_eq!((found[1].function.as_str(), found.len()), ("main", 2));
    assert!(found.iter().all(|function| function.inclusive.is_none()));
    assert!(hot(&StackProfile::default()).is_empty());
}

/// In this observed case, a run had 5 samples, and the report listed five functions with 20 % of the CPU time each.
#[test]
fn a_function_that_few_samples_have_by_chance_is_not_listed() {
    let listed = |samples: u64, sums: &[(&str, f64)]| {
        let found = hot(&profile(samples, sums));
        found.iter().filter(|f| f.inclusive.is_none()).map(|f| f.function.clone()).collect::<Vec<_>>()
    };
    let each = ["app;a", "app;b", "app;c", "app;d", "app;e"].map(|stack| (stack, 0.2));
    assert!(listed(5, &each).is_empty(), "one sample each");
    assert_eq!(listed(100, &each).len(), 5, "twenty samples each");
    assert_eq!(listed(3, &[("app;a", 2.0), ("app;b", 1.0)]), ["a"], "two samples and one");
    assert_eq!(listed(100, &[("app;a", 94.0), ("app;b", 6.0)]), ["a"], "six samples of a hundred may be chance");
    assert_eq!(listed(1000, &[("app;a", 920.0), ("app;b", 80.0)]), ["a", "b"]);
}

#[test]
fn one_function_among_many_is_not_named() {
    let among = |share: f64, samples: u64, function: &str| {
        let sums = [(format!("app;main;{function}"), share)];
        let sums = sums.each_ref().map(|(stack, share)| (stack.as_str(), *share));
        named(with_leaves(profile(samples, &sums), "app;main", 1.0 - share)).map(|(function, _)| function)
    };
    assert_eq!(among(0.6, 100, "deflate").as_deref(), Some("deflate"));
    assert_eq!(among(0.15, 10_000, "deflate"), None, "a small share");
    assert_eq!(among(0.3, 20, "deflate"), None, "few samples");
    assert_eq!(among(0.6, 100, "[nginx]"), None, "a module is no function");
}

/// This test repeats a situation that was observed with PHP: 87 % of the stacks end in the loop of its interpreter.
#[test]
fn the_loop_of_an_interpreter_and_its_callers_are_not_named() {
    let php = |stack: &str| {
        let own = with_leaves(profile(1000, &[(stack, 0.75)]), "php;main;fpm_run", 0.12);
        named(with_leaves(own, "php;main;zend_execute;execute_ex;call", 0.13)).map(|(function, _)| function)
    };
    assert_eq!(php("php;main;zend_execute;execute_ex"), None);
    assert_eq!(php("php;main;zend_execute;execute_ex;zif_md5").as_deref(), Some("zif_md5"));
}

/// This test repeats a situation that was observed with Node.js: 68 % of the stacks pass V8's entry into the program,
/// and end in compiled code without names. An earlier version of loadline advised to make this entry cheaper.
#[test]
fn the_entry_of_a_runtime_into_the_program_is_not_named() {
    let below = |entry: &str| {
        let below = format!("node;uv_run;uv__stream_io;{entry}");
        let run = with_leaves(profile(1000, &[]), &below, 0.7);
        named(with_leaves(run, "node;uv_run;uv__run_timers", 0.3)).map(|(function, _)| function)
    };
    for entry in ["Builtins_JSEntryTrampoline", "JavaCalls::call_helper", "_PyEval_Vector", "rb_vm_exec", "lua_pcall"] {
        assert_eq!(below(entry), None, "{entry}");
    }
    assert_eq!(below("render").as_deref(), Some("render"), "a function of the program");
}

/// This test repeats a situation that was observed with Go: most stacks end in functions of the garbage collector. An
/// earlier version of loadline advised to make a function of the collector cheaper.
#[test]
fn no_function_of_a_garbage_collector_is_named() {
    let scan = |end: &str| format!("app;runtime.systemstack;runtime.gcAssistAlloc.func2;runtime.gcDrainN;{end}");
    let [span, object] = [scan("runtime.scanSpan;runtime.tryDeferToSpanScan"), scan("runtime.scanSpan")];
    let collects = profile(100, &[(&span, 0.4), (&object, 0.35)]);
    let found = hot(&with_leaves(collects, "app;main.main;main.serve", 0.25));
    assert!(found.iter().all(|function| function.function != "runtime.scanSpan"), "{found:?}");
    let share = found.iter().find(|function| function.function == GARBAGE_COLLECTION).map(|found| found.share);
    assert!(share.is_some_and(|share| (share - 0.75).abs() < 1e-9), "{share:?}");
    let collects = profile(100, &[(&span, 0.4), (&object, 0.35)]);
    assert_eq!(named(with_leaves(collects, "app;main.main;main.serve", 0.25)), None);
}

#[test]
fn a_function_is_named_with_all_that_it_calls() {
    let deep = |samples, weight| {
        let read = with_leaves(profile(samples, &[]), "app;start;serve;read", 0.15);
        let log = with_leaves(read, "app;start;serve;handle;log", 0.1);
        with_leaves(log, "app;start;serve;handle;marshal;value", weight)
    };
    assert_eq!(named(deep(100, 0.75)), Some(("value".into(), Some(0.75))));
    assert_eq!(named(deep(10, 0.75)), Some(("handle".into(), Some(0.85))), "too few samples for the deepest function");
    assert_eq!(named(deep(2, 0.75)), None, "too few samples");
    assert_eq!(named(deep(10_000, 0.2)), Some(("handle".into(), Some(0.667))), "most of the time is in its caller");
    let beside = |weight| named(with_leaves(deep(10_000, 0.4), "app;start;serve;other", weight));
    assert_eq!(beside(0.25), Some(("handle".into(), Some(0.556))));
    assert_eq!(beside(0.6), None, "no function has half");
    let found = hot(&deep(100, 0.75)).into_iter().find(|function| function.inclusive.is_some());
    assert_eq!(found.map(|function| function.share), Some(0.0), "its own code has no sample");
}

#[test]
fn a_loop_that_runs_everything_is_not_named() {
    assert_eq!(named(with_leaves(profile(1000, &[]), "app;start;loop", 1.0)), None, "a flat tree");
    let once = profile(1000, &[("app;start;init", 0.001)]);
    assert_eq!(named(with_leaves(once, "app;start;loop", 0.999)), None, "a flat tree and one other stack");
    let other = profile(1000, &[("app;start_thread;collect;mark", 0.15), ("app;start_thread;collect;sweep", 0.15)]);
    assert_eq!(named(with_leaves(other.clone(), "app;start;loop", 0.7)), None, "two threads with different roots");
    let below = StackProfile { cpu: [other.cpu, profile(0, &[("app;start;loop;read", 0.1)]).cpu].concat(), ..other };
    let below = with_leaves(below, "app;start;loop;render", 0.6);
    assert_eq!(named(below), Some(("render".into(), Some(0.6))), "a function below one of two roots");
}

#[test]
fn a_recursive_function_counts_once_per_stack() {
    let mut stacks = profile(1000, &[("app;start;loop;read", 0.15)]);
    for below in ["app;start;loop;walk", "app;start;loop;walk;walk", "app;start;loop;walk;step;walk;step;walk"] {
        stacks = with_leaves(stacks, below, 0.85 / 3.0);
    }
    assert_eq!(named(stacks), Some(("walk".into(), Some(0.85))));
}

#[test]
fn equal_names_in_two_processes_are_different_functions() {
    let two = with_leaves(with_leaves(profile(1000, &[]), "a;start;loop;work", 0.4), "b;start;loop;work", 0.4);
    let rest = profile(0, &[("a;start;loop;read", 0.1), ("b;start;loop;read", 0.1)]);
    assert_eq!(named(StackProfile { cpu: [two.cpu, rest.cpu].concat(), ..two }), None);
}

/// This test repeats a situation that was observed with a small server in C: `epoll_wait` was the only function with
/// user CPU time.
#[test]
fn a_function_explains_no_cpu_time_that_is_spent_in_the_kernel() {
    let told = |user: f64, system: f64| {
        let mut run = crate::planted::PlantedRun::new(100.0, 40_000.0)
            .per_s(Who::Server, "process.user", "app:100", move |p| user * p.x)
            .per_s(Who::Server, "process.system", "app:100", move |p| system * p.x)
            .run();
        let stacks = profile(1000, &[("app:100;main;epoll_wait", 1.0)]);
        for side in run.trials.iter_mut().filter_map(|trial| trial.server.as_mut()) {
            let samples = WaitProfile { rounds: 9, stacks: Some(stacks.clone()), ..WaitProfile::default() };
            side.waits = Some(Box::new(samples));
        }
        let facts = crate::Facts::of(&run);
        first(&facts, &of_run(&run)).is_some()
    };
    assert!(told(60.0, 20.0) && !told(5.0, 75.0));
}
