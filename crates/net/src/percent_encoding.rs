//! Decodes `%XX` in addresses.

/// Decodes a text. A percent sign without two digits stands for itself.
pub fn percent_decode(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes: Vec<u8> = parts.next().unwrap_or_default().into();
    for part in parts {
        let code = part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code {
            Some(code) => bytes.extend([code].iter().chain(&part.as_bytes()[2..])),
            None => bytes.extend([b'%'].iter().chain(part.as_bytes())),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_and_the_rest_is_unchanged() {
        let texts = ["", "a%20b", "%C3%BC", "100%", "%zz%41", "%2", "%%41"];
        let plain = texts.map(percent_decode);
        assert_eq!(plain, ["", "a b", "ü", "100%", "%zzA", "%2", "%A"]);
    }
}
