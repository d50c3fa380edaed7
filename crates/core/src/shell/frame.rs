//! What is open at a place in a script: quotes, brackets, here-documents.

use super::here_document::HereDocument;

/// Something open.
#[derive(Debug)]
pub(super) struct ShellFrame {
    pub(super) kind: ShellFrameKind,
    /// Where the word begins that is being read, if one is.
    pub(super) word: Option<usize>,
    /// Whether the next word would be a command, so that `case` is a keyword and not an argument.
    pub(super) command: bool,
    /// Here-documents that were announced before this was opened, on the same line.
    pub(super) outer: Vec<HereDocument>,
}

/// A kind of open thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShellFrameKind {
    /// The script itself.
    Script,
    /// `$(`
    Substitution,
    /// `(`
    Subshell,
    /// `((`: arithmetic in bash, two subshells in dash. Two of these are opened.
    DoubleParen,
    /// `case` inside brackets: until `esac`, a `)` ends a pattern and no bracket.
    Case,
    /// `"`
    DoubleQuotes,
    /// `${`
    Parameter,
    /// `$((`, with the brackets open inside it.
    Arithmetic(usize),
    /// The body of a here-document.
    HereDocument,
}

impl ShellFrameKind {
    /// Whether commands stand in it.
    pub(super) fn has_commands(self) -> bool {
        match self {
            Self::Script | Self::Substitution | Self::Subshell | Self::DoubleParen | Self::Case => {
                true
            }
            Self::DoubleQuotes | Self::Parameter | Self::Arithmetic(_) | Self::HereDocument => {
                false
            }
        }
    }

    /// Its name in a message.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Script => "the script",
            Self::Substitution => "`$(`",
            Self::Subshell => "`(`",
            Self::DoubleParen => "`((`",
            Self::Case => "`case`",
            Self::DoubleQuotes => "a double quote",
            Self::Parameter => "`${`",
            Self::Arithmetic(_) => "`$((`",
            Self::HereDocument => "a here-document",
        }
    }
}

impl ShellFrame {
    pub(super) fn new(kind: ShellFrameKind) -> Self {
        let command = kind.has_commands() && kind != ShellFrameKind::Case;
        Self { kind, word: None, command, outer: Vec::new() }
    }
}
