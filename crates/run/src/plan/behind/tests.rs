use super::*;

fn parse(text: &str) -> Behind {
    text.parse().unwrap()
}

#[test]
fn a_password_is_in_no_text() {
    let found = parse("postgres://app:hunter%402@db.example:5433/shop?application_name=x");
    assert_eq!(found.password.reveal(), Some("hunter@2"));
    assert_eq!(found.to_string(), "postgres://app@db.example:5433/shop");
    assert_eq!(found.place(), "db.example:5433/shop");
    assert!(!format!("{found:?}").contains("hunter"));
    assert!(!serde_json::to_string(&found).unwrap().contains("hunter"));
    let pairs = parse("host=127.0.0.1 user=app password=hunter2 dbname=shop");
    assert_eq!((pairs.password.reveal(), pairs.to_string().contains("hunter")), (Some("hunter2"), false));
}

#[test]
fn unix_sockets_are_named_by_their_directory() {
    for text in [
        "host=/run/pg port=7955 user=app dbname=shop",
        "postgres://app@/shop?host=/run/pg&port=7955",
        "postgresql://app@%2Frun%2Fpg:7955/shop",
    ] {
        let found = parse(text);
        assert_eq!(found.socket(), Some("/run/pg/.s.PGSQL.7955".into()), "{text}");
        assert_eq!((found.user.as_str(), found.database.as_str()), ("app", "shop"));
    }
    assert_eq!(parse("redis+unix:///run/redis.sock").socket(), Some("/run/redis.sock".into()));
}

#[test]
fn the_printed_url_parses_to_the_same_database() {
    for text in [
        "postgres://app@[::1]:5432/shop",
        "postgres://localhost",
        "host=/run/pg dbname=a%b user=x@y",
        "redis://10.0.0.2:6380/3",
        "redis+unix:///run/redis.sock",
        "mariadb://app@h/shop",
        "mariadb://app@/shop?host=/run/mysqld/mysqld.sock",
    ] {
        let found = parse(text);
        assert_eq!(parse(&found.to_string()), found, "{text}");
    }
}

#[test]
fn parameters_of_drivers_are_ignored_and_misspelt_ones_refused() {
    let more = "application_name=x&sslmode=prefer&connect_timeout=3&charset=utf8mb4&pool_size=5&keepalives_idle=9";
    assert_eq!(parse(&format!("postgres://app@h/shop?{more}")), parse("postgres://app@h/shop"));
    for (wrong, right) in [("dbnam=shop", "dbname"), ("prot=5433", "port"), ("username=app", "user")] {
        let why = format!("host=h {wrong}").parse::<Behind>().unwrap_err();
        assert_eq!(why, format!("a parameter is unknown; did you mean {right}?"));
    }
}

#[test]
fn only_a_target_may_use_tls() {
    for text in ["postgres://app@h:1/shop?sslmode=require", "postgres+tls://app@h:1/shop"] {
        let found = Behind::of_target(text).unwrap();
        assert_eq!((found.tls, found.to_string().as_str()), (true, "postgres+tls://app@h:1/shop"), "{text}");
        assert!(text.parse::<Behind>().unwrap_err().contains("without TLS"), "{text}");
    }
    assert!(!Behind::of_target("postgres://h?sslmode=prefer").unwrap().tls);
    assert!(Behind::of_target("postgres://h?sslmode=on").unwrap_err().contains("give disable"));
}

#[test]
fn errors_on_database_urls_hide_the_password() {
    let bad = [
        "oracle://app:hunter2@h/db",
        "rediss://:hunter2@h",
        "postgres://app:hunter2@h/db?sslmode=verify-full",
        "postgres://app:hunter2%4@h/db",
        "redis://:hunter2@h/shop",
        "postgres://app:hunter2@h/db?dbnam=shop",
        "host=h usr=hunter2",
        "hunter2",
    ];
    for text in bad {
        let why = text.parse::<Behind>().unwrap_err();
        assert!(!why.contains("hunter2"), "{why}");
    }
}
