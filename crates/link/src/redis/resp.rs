//! The Redis protocol: a command is a list of byte strings, a reply is one of five types.

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RespValue {
    /// Bytes, or a word such as `OK`.
    Bytes(Vec<u8>),
    /// A number.
    Number(i64),
    /// A list of replies.
    List(Vec<RespValue>),
    /// Null.
    Nothing,
    /// An error: a code in capitals, and a message.
    Error(String),
}

impl RespValue {
    /// Returns a string or a number as text.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Self::Number(number) => Some(number.to_string()),
            Self::List(_) | Self::Nothing | Self::Error(_) => None,
        }
    }
}

/// The bytes are not a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MalformedResp;

/// Maximum length of a string in a reply: more than any value that windlass stores.
const BYTES_MAX: usize = 16 << 20;

/// Maximum length of a list: more than any command returns.
const LIST_MAX: usize = 4_096;

/// Maximum nesting of lists.
const DEPTH_MAX: usize = 4;

/// Appends a command to the send buffer.
pub(super) fn write(out: &mut Vec<u8>, request: &[&[u8]]) {
    out.extend_from_slice(format!("*{}\r\n", request.len()).as_bytes());
    for part in request {
        out.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
}

/// Parses a reply at the start of the received bytes and returns its length; `None` if more bytes are needed.
pub(super) fn read(bytes: &[u8]) -> Result<Option<(RespValue, usize)>, MalformedResp> {
    let mut reader = RespReader { bytes, at: 0 };
    Ok(reader.value(0)?.map(|value| (value, reader.at)))
}

struct RespReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> RespReader<'a> {
    fn value(&mut self, depth: usize) -> Result<Option<RespValue>, MalformedResp> {
        let Some(line) = self.line() else { return Ok(None) };
        let (kind, rest) = line.split_first().ok_or(MalformedResp)?;
        match kind {
            b'+' => Ok(Some(RespValue::Bytes(rest.to_vec()))),
            b'-' => Ok(Some(RespValue::Error(String::from_utf8_lossy(rest).into_owned()))),
            b':' => Ok(Some(RespValue::Number(number(rest)?))),
            b'$' => self.string(length(rest, BYTES_MAX)?),
            b'*' if depth < DEPTH_MAX => self.list(length(rest, LIST_MAX)?, depth),
            _ => Err(MalformedResp),
        }
    }

    fn string(&mut self, length: Option<usize>) -> Result<Option<RespValue>, MalformedResp> {
        let Some(length) = length else { return Ok(Some(RespValue::Nothing)) };
        let Some(found) = self.bytes.get(self.at..self.at + length + 2) else { return Ok(None) };
        let bytes = found.strip_suffix(b"\r\n").ok_or(MalformedResp)?;
        self.at += length + 2;
        Ok(Some(RespValue::Bytes(bytes.to_vec())))
    }

    fn list(
        &mut self,
        length: Option<usize>,
        depth: usize,
    ) -> Result<Option<RespValue>, MalformedResp> {
        let Some(length) = length else { return Ok(Some(RespValue::Nothing)) };
        let mut values = Vec::new();
        for _ in 0..length {
            let Some(value) = self.value(depth + 1)? else { return Ok(None) };
            values.push(value);
        }
        Ok(Some(RespValue::List(values)))
    }

    fn line(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
        self.at += end + 2;
        Some(&rest[..end])
    }
}

fn number(text: &[u8]) -> Result<i64, MalformedResp> {
    str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(MalformedResp)
}

/// Checks a length; -1 is that of null.
fn length(text: &[u8], most: usize) -> Result<Option<usize>, MalformedResp> {
    match number(text)? {
        -1 => Ok(None),
        length => {
            usize::try_from(length).ok().filter(|it| *it <= most).map(Some).ok_or(MalformedResp)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> RespValue {
        RespValue::Bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn a_request_is_written_as_the_protocol_has_it() {
        let mut out = Vec::new();
        write(&mut out, &[b"LPOP", b"a\r\nb", b""]);
        assert_eq!(out, b"*3\r\n$4\r\nLPOP\r\n$4\r\na\r\nb\r\n$0\r\n\r\n");
    }

    #[test]
    fn every_type_of_reply_is_parsed_from_any_fragments() {
        let list = RespValue::List(vec![bytes("a\r\n"), RespValue::Nothing, RespValue::Number(-7)]);
        let error = RespValue::Error("OOM no room".to_owned());
        let cases = [
            ("+OK\r\n", bytes("OK")),
            ("-OOM no room\r\n", error),
            (":42\r\n", RespValue::Number(42)),
            ("$0\r\n\r\n", bytes("")),
            ("$-1\r\n", RespValue::Nothing),
            ("*-1\r\n", RespValue::Nothing),
            ("*0\r\n", RespValue::List(Vec::new())),
            ("*3\r\n$3\r\na\r\n\r\n$-1\r\n:-7\r\n", list),
        ];
        for (text, value) in cases {
            let text = text.as_bytes();
            for cut in 0..text.len() {
                assert_eq!(read(&text[..cut]), Ok(None), "{text:?} {cut}");
            }
            let more = [text, b"+NEXT\r\n"].concat();
            assert_eq!(read(&more), Ok(Some((value, text.len()))));
        }
    }

    #[test]
    fn malformed_reply_is_refused_without_allocating() {
        let deep = "*1\r\n".repeat(DEPTH_MAX + 1);
        for text in [
            "HTTP/1.1 400\r\n",
            "$-2\r\n",
            "$99999999999\r\n",
            "*99999999\r\n",
            ":x\r\n",
            "\r\n",
            "$1\r\nabc",
            &deep,
        ] {
            assert_eq!(read(text.as_bytes()), Err(MalformedResp), "{text:?}");
        }
    }
}
