use super::*;

fn plan(command: &str, database: u32) -> ClientPlan {
    let (command, resp3) = (command.to_owned(), database > 0);
    let (commands_file, auth_file, cluster) = (None, None, Vec::new());
    ClientPlan::new(&Protocol::Redis { command, commands_file, auth_file, database, resp3, cluster }).unwrap()
}

fn sent(session: &mut ClientSession) -> String {
    let (mut all, mut piece) = (Vec::new(), [0; 5]);
    while let n @ 1.. = session.transmit(&mut piece) {
        all.extend_from_slice(&piece[..n]);
    }
    String::from_utf8(all).unwrap()
}

#[test]
fn commands_go_out_in_turn_the_longest_first() {
    let mut session = plan("PING\nSET k v\nGET k", 0).session();
    assert!(session.ready());
    (0..4).for_each(|_| session.begin(Request::default()));
    let said = sent(&mut session);
    let order: Vec<_> = ["SET", "GET", "PING"].map(|name| said.find(name).unwrap()).into();
    assert!(order.is_sorted() && said.rfind("SET").unwrap() > order[2], "{said:?}");
    let mut ended = Vec::new();
    session.receive(b"+OK\r\n$1\r\nv\r\n-ERR no\r\n+OK\r\n", &mut |done| ended.push(done.outcome)).unwrap();
    assert_eq!(ended, [Outcome::Expected, Outcome::Expected, Outcome::Unexpected, Outcome::Expected]);
    assert!(session.receive(b"+more\r\n", &mut drop).is_err());
}

/// The password file begins with a byte order mark, as editors on Windows write it. An earlier version of loadline
/// sent this mark as a part of the password, and the server answered `WRONGPASS`.
#[test]
fn a_byte_order_mark_is_no_part_of_the_password() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "\u{feff}secret\r\n").unwrap();
    let auth_file = Some(file.path().display().to_string());
    let (command, commands_file, cluster) = ("PING".into(), None, Vec::new());
    let plan = Protocol::Redis { command, commands_file, auth_file, database: 0, resp3: false, cluster };
    let mut session = ClientPlan::new(&plan).unwrap().session();
    assert_eq!(sent(&mut session), "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n");
}

#[test]
fn an_error_is_said_in_the_words_of_the_server() {
    let mut session = plan("GET k", 0).session();
    session.begin(Request::default());
    session.receive(b"-MOVED 866 10.0.0.3:6379\r\n", &mut drop).unwrap();
    for (reply, says) in [
        ("ERR max number of clients reached", "raise its maxclients"),
        ("OOM command not allowed when used memory > 'maxmemory'.", "its memory is full"),
        ("ERR unknown command 'X'", "correct --command"),
    ] {
        assert!(advice(reply, "correct --command").contains(says), "{reply}");
    }
    assert_eq!(session.refusal_words().unwrap(), "\"-MOVED 866 10.0.0.3:6379\"");
    let said = session.explain().unwrap();
    assert!(said.contains("\"-MOVED 866 10.0.0.3:6379\"") && said.contains("cluster"), "{said}");
}

#[test]
fn a_connection_begins_with_its_setup_commands() {
    let mut session = plan("PING", 3).session();
    assert!(!session.ready());
    assert!(sent(&mut session).contains("SELECT\r\n$1\r\n3"));
    session.receive(b"%1\r\n+server\r\n+redis\r\n", &mut drop).unwrap();
    assert!(!session.ready() && session.peer_closed(&mut drop) == Err(Fault::Short));
    session.receive(b"+OK\r\n", &mut drop).unwrap();
    assert!(session.ready() && session.peer_closed(&mut drop) == Ok(Progress::CLOSE));
    session.reset();
    sent(&mut session);
    assert!(session.receive(b"-NOAUTH Authentication required.\r\n", &mut drop).is_err());
    assert!(session.explain().unwrap().contains("NOAUTH"));
}
