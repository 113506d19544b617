use proptest::prelude::*;

use super::*;

#[test]
fn names_have_no_values_and_no_placeholders() {
    let name = statement_name("SELECT abalance FROM accounts WHERE aid = {{random 1 9}} AND word = 'hunter2'");
    assert_eq!(name, "SELECT abalance FROM accounts WHERE aid = ? AND word = ?");
    assert_eq!(statement_name(&format!("SELECT {}", "x".repeat(99))).chars().count(), MAX_NAME_CHARS + 1);
}

fn without_values(statement: &str) -> String {
    super::without_values(statement, Dialect::Postgres)
}

#[test]
fn texts_of_mariadb_may_stand_in_double_quotes() {
    let of = |statement| super::without_values(statement, Dialect::Mariadb);
    assert_eq!(of("UPDATE `t` SET a = \"hunter's\" # 7\nWHERE b = 'x''y'"), "UPDATE `t` SET a = ? WHERE b = ?");
    for hidden in ["SELECT 'a\\'hunter'", "SELECT \"a\\\" hunter\"", "SELECT E'a\\' hunter'", "SELECT \"hunter"] {
        assert!(!of(hidden).contains("hunter"), "{hidden}");
    }
}

#[test]
fn values_become_question_marks() {
    for (statement, expected) in [
        (
            "UPDATE counters SET n = n + 1, secret = 'hunter2'\n  WHERE id = 42",
            "UPDATE counters SET n = n + ?, secret = ? WHERE id = ?",
        ),
        ("select pg_sleep(0.003)", "select pg_sleep(?)"),
        ("SELECT $1, t2.a1 FROM \"My T\" t2 WHERE b=$2::int", "SELECT $1, t2.a1 FROM \"My T\" t2 WHERE b=$2::int"),
        ("INSERT INTO t VALUES (1, 'a''b', 3), (-4, 1e-9, 0xff)", "INSERT INTO t VALUES (?, …), (?, …)"),
        ("SELECT E'it\\'s', U&'d\\0061', b'01', $$body$$, $t$a $$ b$t$", "SELECT ?, …"),
        ("/* trace=1 /* nested */ */ DELETE FROM t -- user 7\nWHERE x IN (1,2,3)", "DELETE FROM t WHERE x IN (?,…)"),
        ("ALTER ROLE app PASSWORD 'hunter2'", "ALTER ROLE app PASSWORD ?"),
        ("SELECT a[1], x -1 FROM t", "SELECT a[?], x -? FROM t"),
        ("", ""),
    ] {
        assert_eq!(without_values(statement), expected);
    }
}

#[test]
fn a_text_with_an_uncertain_end_ends_the_statement() {
    // Under old settings of the server, the backslash escapes the quote after it, so the second string begins at a
    // different quote.
    assert_eq!(without_values("SELECT 'a\\', ' hunter2 '"), "SELECT ?…");
    for cut in ["SELECT 'hunter2", "SELECT $$hunter2", "SELECT /* hunter2", "SELECT \"hunter2", "SELECT E'hunter2\\"] {
        assert!(!without_values(cut).contains("hunter2"), "{cut}");
    }
}

#[test]
fn long_and_hostile_statements_are_bounded() {
    let long = without_values(&format!("SELECT {}", "column_of_a_table, ".repeat(1000)));
    assert_eq!(long.chars().count(), MAX_STATEMENT_CHARS + 1);
    assert_eq!(without_values("SELECT a\u{1b}[2J\u{202e}b"), "SELECT a [?\\u{202e}b");
}

/// Generates values and comments that contain "hunter", in various notations of SQL.
fn literal() -> impl Strategy<Value = String> {
    let plain = "[ -&(-\\[\\]-~]{0,12}";
    prop_oneof![
        plain.prop_map(|text| format!("'{text}hunter{text}'")),
        plain.prop_map(|text| format!("'{text}'' hunter'")),
        plain.prop_map(|text| format!("E'{text}\\' hunter'")),
        "[ -#%-~]{0,12}".prop_map(|text| format!("$${text}hunter$$")),
        "[ -#%-~]{0,12}".prop_map(|text| format!("$tag${text} $$ hunter$tag$")),
        "[ -)+-.0-~]{0,12}".prop_map(|text| format!("/*{text}hunter*/ 7")),
        "[ -~]{0,12}".prop_map(|text| format!("--{text}hunter\n 7")),
        Just("hunter".to_string()).prop_map(|text| format!("U&'{text}'")),
    ]
}

proptest! {
    #[test]
    fn no_value_is_left(literals in prop::collection::vec(literal(), 1..6), cut in 0_usize..200) {
        let statement = format!("UPDATE t SET a = {} WHERE b", literals.join(", c = "));
        let found = without_values(&statement);
        prop_assert!(!found.contains("hunter"), "{statement} -> {found}");
        // A database may cut a long statement at any byte.
        let part: String = statement.chars().take(cut).collect();
        prop_assert!(!without_values(&part).contains("hunter"), "{part}");
    }

    #[test]
    fn numbers_vanish(n in any::<u32>(), x in any::<f64>().prop_filter("finite", |x| x.is_finite())) {
        let found = without_values(&format!("SELECT {n}, a + {x:?}, f({n}) FROM t"));
        prop_assert!(!found.contains(|c: char| c.is_ascii_digit()), "{found}");
    }

    #[test]
    fn any_text_is_bounded_and_a_second_pass_changes_nothing(text in "\\PC{0,300}|[-'\"$/*a-z0-9 \\\\(,]{0,200}") {
        let once = without_values(&text);
        prop_assert!(once.chars().count() <= MAX_STATEMENT_CHARS + 1);
        if once.chars().count() < MAX_STATEMENT_CHARS && !once.contains('\\') {
            prop_assert_eq!(&without_values(&once), &once);
        }
    }
}
