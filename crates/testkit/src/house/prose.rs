//! The prose of a file: its comments, its messages and, in Markdown, its text. Code and quotations are no prose.

use super::repository::RepositoryFile;
use super::rust_text::{TextKind, push_blank, segments};

/// Words that stand for a person where the name of an actor belongs, and an ordinal that English does not have.
const PERSON_WORDS: &[&str] = &[
    "who",
    "whoever",
    "whom",
    "whomever",
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "manieth",
];

/// A line with prose: its number from 1, and the line with blanks in place of all else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProseLine {
    /// The number of the line in its file.
    pub number: usize,
    /// The prose.
    pub text: String,
}

impl ProseLine {
    /// The words of the line; `it's` is one word, `read-only` is two.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let words = self.text.split(|c: char| !c.is_alphanumeric() && !"_'’".contains(c));
        words.map(|word| word.trim_matches(['\'', '’'])).filter(|word| !word.is_empty())
    }
}

/// Whether the word stands for a person in place of the name of an actor.
pub fn is_person_word(word: &str) -> bool {
    let lower = word.to_lowercase();
    let stem = lower.split(['\'', '’']).next().unwrap_or_default();
    PERSON_WORDS.contains(&stem)
}

impl RepositoryFile {
    /// The lines with prose. Of the literals in Rust, only those of production code with a space count: they are messages.
    pub fn prose(&self) -> Vec<ProseLine> {
        let text = match self.path.rsplit_once('.') {
            Some((_, "rs")) => rust_prose(&self.text, self.production().len()),
            Some((_, "md")) => markdown_prose(&self.text),
            _ => script_prose(&self.text),
        };
        let lines = text.lines().enumerate();
        let with_prose = lines.filter(|(_, line)| !line.trim().is_empty());
        with_prose.map(|(at, line)| ProseLine { number: at + 1, text: line.to_owned() }).collect()
    }
}

/// The comments of a shell script, or of TOML or YAML.
fn script_prose(text: &str) -> String {
    let comment = |line: &str| {
        let start = line.match_indices('#').map(|(start, _)| start).find(|start| {
            let before = line[..*start].chars().next_back();
            before.is_none_or(char::is_whitespace)
        });
        start.map_or("", |start| &line[start + 1..]).to_owned() + "\n"
    };
    markdown_prose(&text.lines().map(comment).collect::<String>())
}

/// Comments that follow each other are read as one text, so that a quotation may span their lines.
fn rust_prose(text: &str, production: usize) -> String {
    let mut prose = String::with_capacity(text.len());
    let mut comments = String::new();
    let mut at = 0;
    for (kind, piece) in segments(text) {
        match kind {
            TextKind::Comment => comments.push_str(&without_markers(piece)),
            TextKind::Code if piece.trim().is_empty() => comments.push_str(piece),
            TextKind::Code | TextKind::Literal => {
                prose.push_str(&markdown_prose(&std::mem::take(&mut comments)));
                let message = kind == TextKind::Literal && at < production && piece.contains(' ');
                if message {
                    prose.push_str(&message_prose(piece));
                } else {
                    push_blank(&mut prose, piece);
                }
            }
        }
        at += piece.len();
    }
    prose + &markdown_prose(&comments)
}

/// The comment with blanks in place of `///` and its like.
fn without_markers(comment: &str) -> String {
    let inner = comment.trim_start_matches(['/', '*', '!']);
    let mut text = " ".repeat(comment.len() - inner.len());
    text.push_str(inner.trim_end_matches("*/"));
    text
}

/// The message without its interpolations, escapes and quotations.
fn message_prose(literal: &str) -> String {
    let inner = literal.trim_matches(['"', '#']);
    let inner = inner.replace("\\\"", " \"").replace("\\n", "  ").replace("\\t", "  ");
    hide_between(&hide_between(&hide_between(&inner, '{', '}'), '`', '`'), '"', '"')
}

/// The Markdown without code, the targets of links, and quotations.
fn markdown_prose(text: &str) -> String {
    let mut prose = String::with_capacity(text.len());
    let mut paragraph = String::new();
    let mut fenced = false;
    for line in text.split_inclusive('\n') {
        let fence = ["```", "~~~"].iter().any(|mark| line.trim_start().starts_with(mark));
        if fence || fenced || line.trim().is_empty() {
            prose.push_str(&paragraph_prose(&std::mem::take(&mut paragraph)));
            push_blank(&mut prose, line);
        } else {
            paragraph.push_str(line);
        }
        fenced ^= fence;
    }
    prose + &paragraph_prose(&paragraph)
}

fn paragraph_prose(text: &str) -> String {
    let text = hide_code(text);
    let text = hide_links(&text);
    hide_between(&hide_between(&text, '“', '”'), '"', '"')
}

/// Blanks code between backticks, of which as many end it as began it.
fn hide_code(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        let inner = rest[start..].trim_start_matches('`');
        let mark = &rest[start..rest.len() - inner.len()];
        shown.push_str(&rest[..start]);
        let length = inner.find(mark).map_or(0, |end| end + mark.len());
        push_blank(&mut shown, &rest[start..start + mark.len() + length]);
        rest = &inner[length..];
    }
    shown + rest
}

/// Blanks the targets of links and bare addresses.
fn hide_links(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    let marks = ["](", "http://", "https://"];
    while let Some(start) = marks.iter().filter_map(|mark| rest.find(mark)).min() {
        let end = rest[start..].find([' ', '\n', ')', '>']).map_or(rest.len(), |end| start + end);
        shown.push_str(&rest[..start]);
        push_blank(&mut shown, &rest[start..end]);
        rest = &rest[end..];
    }
    shown + rest
}

/// Blanks what is between each pair of these marks; a mark without a partner hides nothing.
fn hide_between(text: &str, open: char, close: char) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inner)) = rest.split_once(open) {
        let Some((hidden, after)) = inner.split_once(close) else { break };
        shown.push_str(before);
        shown.push(' ');
        push_blank(&mut shown, hidden);
        shown.push(' ');
        rest = after;
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(path: &str, text: &str) -> Vec<(usize, String)> {
        let file = RepositoryFile { path: path.to_owned(), text: text.to_owned() };
        let lines = file.prose().into_iter();
        lines.map(|line| (line.number, line.words().collect::<Vec<_>>().join(" "))).collect()
    }

    #[test]
    fn prose_of_rust_is_its_comments_and_messages() {
        let text = "//! A \"b\n//! c\" d.\nfn e() {\n    f(\"g {h} `i` j\", \"k\"); // l's\n}\n\
            #[cfg(test)]\nmod tests {\n    // m\n    \"n o\"\n}\n";
        let expected = [(1, "A"), (2, "d"), (4, "g j l's"), (8, "m")];
        assert_eq!(words("a.rs", text), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn prose_of_markdown_is_neither_code_nor_link_nor_quotation() {
        let text = "# A\n\n```sh\nb\n```\n``c ` d`` e [f](g.md#h), https://i.j/k “l\nm” n-o\n";
        let expected = [(1, "A"), (6, "e f"), (7, "n o")];
        assert_eq!(words("a.md", text), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn prose_of_scripts_is_their_comments() {
        let text = "a ${#b} # c `d`\n# e\n";
        let expected = [(1, "c"), (2, "e")];
        assert_eq!(words("a.sh", text), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn words_for_persons_are_known_in_each_form() {
        let known = ["who", "Who's", "NOBODY", "manieth"];
        assert!(known.into_iter().all(is_person_word));
        assert!(!["whoami", "whose", "body"].into_iter().any(is_person_word));
    }
}
