//! Messages that a client sends for each statement. Source: PostgreSQL's manual, "Message Formats".

/// Appends a message: its type, its length, and the content that `content` appends.
fn message(kind: u8, out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let begin = out.len();
    out.extend_from_slice(&[0; 4]);
    content(out);
    let length = (out.len() - begin) as u32;
    out[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a Query message. The function `text` writes the SQL statement into the message.
pub(super) fn query(out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
    message(b'Q', out, |out| {
        text(out);
        out.push(0);
    });
}

/// Appends the messages that run a prepared statement: Bind, Execute and Sync. The function `value` gets the index of a
/// parameter, counted from 0, and appends the value of this parameter.
pub(super) fn execute(out: &mut Vec<u8>, name: &str, parameters: u16, mut value: impl FnMut(u16, &mut Vec<u8>)) {
    message(b'B', out, |out| {
        out.push(0);
        out.extend_from_slice(name.as_bytes());
        // The message has no format codes, which means that all parameters are texts.
        out.extend_from_slice(&[0, 0, 0]);
        out.extend_from_slice(&parameters.to_be_bytes());
        for at in 0..parameters {
            let begin = out.len();
            out.extend_from_slice(&[0; 4]);
            value(at, out);
            let length = (out.len() - begin - 4) as u32;
            out[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
        }
        out.extend_from_slice(&[0, 0]);
    });
    message(b'E', out, |out| out.extend_from_slice(&[0; 5]));
    message(b'S', out, |_| {});
}
