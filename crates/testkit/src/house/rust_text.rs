//! Splits Rust into code, comments and string literals.

/// What a piece of Rust text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    Code,
    /// A comment with its marker, to the end of its line or to its closing marker.
    Comment,
    /// A string literal with its quotation marks.
    Literal,
}

/// The pieces of the text in order; joined, they are the text.
pub(super) fn segments(text: &str) -> Vec<(TextKind, &str)> {
    let mut segments = Vec::new();
    let (mut code, mut at) = (0, 0);
    while let Some(found) = text[at..].find(['"', '\'', '/']) {
        let start = at + found;
        let (kind, length) = token(&text[..start], &text[start..]);
        at = start + length;
        if kind != TextKind::Code {
            segments.push((TextKind::Code, &text[code..start]));
            segments.push((kind, &text[start..at]));
            code = at;
        }
    }
    segments.push((TextKind::Code, &text[code..]));
    segments
}

/// The code alone, with blanks in place of comments and literals; lines stay where they are.
pub(super) fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    for (kind, piece) in segments(text) {
        if kind == TextKind::Code {
            code.push_str(piece);
        } else {
            push_blank(&mut code, piece);
        }
    }
    code
}

/// Appends a blank for each character, and the ends of lines.
pub(super) fn push_blank(text: &mut String, hidden: &str) {
    text.extend(hidden.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
}

/// What begins at the start of `rest`, and its length.
fn token(before: &str, rest: &str) -> (TextKind, usize) {
    if rest.starts_with("//") {
        return (TextKind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (TextKind::Comment, rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    if rest.starts_with('"') {
        return (TextKind::Literal, literal_length(before, rest));
    }
    (TextKind::Code, character_length(rest))
}

/// The length of a string literal; a raw one ends with as many `#` as it began with.
fn literal_length(before: &str, rest: &str) -> usize {
    let unmarked = before.trim_end_matches('#');
    if unmarked.ends_with('r') {
        let end = format!("\"{}", &before[unmarked.len()..]);
        return rest[1..].find(&end).map_or(rest.len(), |found| 1 + found + end.len());
    }
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let closes = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        closes
    });
    end.map_or(rest.len(), |(at, _)| at + 1)
}

/// The length of a character literal such as `'"'`; one for a slash and for the mark of a lifetime.
fn character_length(rest: &str) -> usize {
    let Some(inner) = rest.strip_prefix('\'') else { return 1 };
    if let Some(escaped) = inner.strip_prefix('\\') {
        let end = escaped.char_indices().skip(1).find(|(_, c)| *c == '\'');
        return end.map_or(1, |(at, _)| at + 3);
    }
    let mut characters = inner.char_indices().skip(1);
    match characters.next() {
        Some((at, '\'')) => at + 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_neither_comments_nor_literals() {
        let text =
            "a('\"', '\\'', 'b'); // c\nlet x: &'d str = \"e\\\" // f\"; /* g\n*/ r#\"h\"i\"# / j";
        let code = code_of(text);
        let words: Vec<&str> = code.split_whitespace().collect();
        let expected = "a('\"', '\\'', 'b'); let x: &'d str = ; r# / j";
        assert_eq!(words.join(" "), expected);
        assert_eq!(code.lines().count(), text.lines().count());
    }

    #[test]
    fn segments_are_the_whole_text() {
        let text = "//! a\nfn b() -> u8 { '\\\\'; \"c\" }\n/* d";
        let joined: String = segments(text).into_iter().map(|(_, piece)| piece).collect();
        assert_eq!(joined, text);
    }
}
