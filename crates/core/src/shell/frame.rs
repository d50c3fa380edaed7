//! The open quotes, brackets and here-documents at a position of a script.

use super::here_document::HereDocument;

/// An open quote, bracket or here-document.
#[derive(Debug)]
pub(super) struct ShellFrame {
    pub(super) kind: ShellFrameKind,
    /// The beginning of the current word, if any.
    pub(super) word: Option<usize>,
    /// Whether the next word is a command, so that `case` is a keyword and not an argument.
    pub(super) command: bool,
    /// Here-documents announced on the same line before this frame was opened.
    pub(super) outer: Vec<HereDocument>,
}

/// The kind of a frame.
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
    /// `case` inside brackets: until `esac`, a `)` ends a pattern, not a bracket.
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
    /// Whether it contains commands.
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

    /// The name in messages.
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
