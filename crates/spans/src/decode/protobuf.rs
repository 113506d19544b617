//! Decodes spans from protobuf. Reads only the fields that loadline needs, and copies no text that is valid UTF-8.

use std::borrow::Cow;

use super::{NoSpans, pass_on};
use crate::ReceivedSpan;

/// Decodes a request in protobuf (`ExportTraceServiceRequest`), and passes each valid span to `each`.
pub fn protobuf(body: &[u8], each: &mut dyn FnMut(ReceivedSpan<'_>)) -> Result<(), NoSpans> {
    messages(body, 1, |group| {
        let mut service = "";
        messages(group, 1, |resource| messages(resource, 1, |attribute| read_service(attribute, &mut service)))?;
        messages(group, 2, |scope| messages(scope, 2, |span| read_span(span, service, each)))
    })
}

/// Calls `each` with every submessage in the field `number` of a message.
fn messages<'a>(
    message: &'a [u8],
    number: u64,
    mut each: impl FnMut(&'a [u8]) -> Result<(), NoSpans>,
) -> Result<(), NoSpans> {
    fields(message, |field, value| match value {
        Value::Bytes(bytes) if field == number => each(bytes),
        _ => Ok(()),
    })
}

/// Reads the name of the service from an attribute (`KeyValue`) if its key is `service.name`.
fn read_service<'a>(attribute: &'a [u8], service: &mut &'a str) -> Result<(), NoSpans> {
    let (mut key, mut text) = (&[][..], &[][..]);
    messages(attribute, 1, |bytes| {
        key = bytes;
        Ok(())
    })?;
    messages(attribute, 2, |value| {
        messages(value, 1, |bytes| {
            text = bytes;
            Ok(())
        })
    })?;
    if key == b"service.name" {
        *service = std::str::from_utf8(text).unwrap_or_default();
    }
    Ok(())
}

fn read_span(message: &[u8], service: &str, each: &mut dyn FnMut(ReceivedSpan<'_>)) -> Result<(), NoSpans> {
    let (service, name) = (Cow::Borrowed(service), Cow::Borrowed(""));
    let mut span = ReceivedSpan { trace: 0, id: 0, parent: 0, begin_ns: 0, end_ns: 0, service, name };
    fields(message, |field, value| {
        match (field, value) {
            (1, Value::Bytes(bytes)) => span.trace = bytes.try_into().map_or(0, u128::from_be_bytes),
            (2, Value::Bytes(bytes)) => span.id = bytes.try_into().map_or(0, u64::from_be_bytes),
            (4, Value::Bytes(bytes)) => span.parent = bytes.try_into().map_or(0, u64::from_be_bytes),
            (5, Value::Bytes(bytes)) => span.name = String::from_utf8_lossy(bytes),
            (7, Value::Fixed(ns)) => span.begin_ns = ns,
            (8, Value::Fixed(ns)) => span.end_ns = ns,
            _ => {}
        }
        Ok(())
    })?;
    pass_on(span, each);
    Ok(())
}

/// Value of a field of a message.
enum Value<'a> {
    /// A number of variable length or of 4 bytes, whose value is not stored, because loadline does not use it.
    Other,
    /// A number of 8 bytes.
    Fixed(u64),
    Bytes(&'a [u8]),
}

/// Calls `each` with the number and the value of every field of a message.
fn fields<'a>(message: &'a [u8], mut each: impl FnMut(u64, Value<'a>) -> Result<(), NoSpans>) -> Result<(), NoSpans> {
    let mut rest = message;
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        let value = match tag & 7 {
            0 => varint(&mut rest).map(|_| Value::Other)?,
            1 => Value::Fixed(u64::from_le_bytes(take(&mut rest, 8)?.try_into().unwrap_or_default())),
            2 => {
                let length = varint(&mut rest)?;
                Value::Bytes(take(&mut rest, length)?)
            }
            5 => take(&mut rest, 4).map(|_| Value::Other)?,
            _ => return Err(NoSpans("a field of an unknown kind".into())),
        };
        each(tag >> 3, value)?;
    }
    Ok(())
}

fn take<'a>(rest: &mut &'a [u8], length: u64) -> Result<&'a [u8], NoSpans> {
    let cut = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
    let (bytes, left) = cut.ok_or_else(|| NoSpans("a field beyond the end of its message".into()))?;
    *rest = left;
    Ok(bytes)
}

/// Reads a number of variable length (at most 10 bytes).
fn varint(rest: &mut &[u8]) -> Result<u64, NoSpans> {
    let mut number = 0;
    for at in 0..10 {
        let byte = take(rest, 1)?[0];
        number |= u64::from(byte & 0x7f).checked_shl(7 * at).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(NoSpans("a number of more than 10 bytes".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
    }

    fn request(trace: &[u8]) -> Vec<u8> {
        let value = field(2, &field(1, b"shop"));
        let attribute = [field(1, b"service.name"), value].concat();
        let resource = field(1, &field(1, &attribute));
        let numbers = [&[7 << 3 | 1][..], &5_u64.to_le_bytes(), &[8 << 3 | 1], &9_u64.to_le_bytes()].concat();
        let ids = [field(1, trace), field(2, &[1; 8]), field(4, &[2; 8])].concat();
        let skipped = [&[6 << 3, 0x80, 1][..], &[15 << 3 | 5, 1, 2, 3, 4]].concat();
        let span = [ids, field(5, b"GET /"), skipped, numbers].concat();
        field(1, &[resource, field(2, &field(2, &span))].concat())
    }

    #[test]
    fn a_span_is_read_with_its_service() {
        let mut all = Vec::new();
        protobuf(&request(&[3; 16]), &mut |span| {
            all.push((span.name.into_owned(), span.service.into_owned(), span.parent, span.end_ns))
        })
        .unwrap();
        assert_eq!(all, [("GET /".to_owned(), "shop".to_owned(), u64::from_be_bytes([2; 8]), 9)]);
        let mut none = 0;
        protobuf(&request(&[3; 15]), &mut |_| none += 1).unwrap();
        assert_eq!(none, 0, "a trace ID has 16 bytes");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0_usize..80) {
            let _ = protobuf(&bytes, &mut |_| ());
            let whole = request(&[3; 16]);
            let _ = protobuf(&[&whole[..cut.min(whole.len())], &bytes].concat(), &mut |_| ());
        }
    }
}
