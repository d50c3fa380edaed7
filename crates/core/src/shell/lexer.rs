//! Reads a script as far as needed to know its quoting.
//!
//! It is not a full parser of sh. It tracks opening and closing syntax. Where dash and bash differ, or the syntax is too
//! complex, it refuses the next `${{ }}` instead of guessing. It works on bytes: all relevant bytes are ASCII, which never
//! occur inside other characters.

use super::frame::{ShellFrame, ShellFrameKind};
use super::here_document::HereDocument;
use super::interpolation::ScriptInterpolation;
use super::refusal::InterpolationRefusal;
use crate::expr::ExprError;

/// Maximum nesting depth: scripts rarely exceed five, and here-documents are read recursively.
const DEPTH_MAX: usize = 50;
/// Words after which another command begins.
const BEFORE_COMMAND: [&str; 10] =
    ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"];

/// Returns every `${{ }}` of a script, with the quoting of its reference.
pub(super) fn interpolations(script: &str) -> Result<Vec<ScriptInterpolation>, ExprError> {
    if !script.contains("${{") {
        return Ok(Vec::new());
    }
    let mut lexer = ShellLexer {
        script,
        at: 0,
        end: script.len(),
        frames: vec![ShellFrame::new(ShellFrameKind::Script)],
        announced: Vec::new(),
        ambiguity: None,
        interpolations: Vec::new(),
    };
    lexer.run()?;
    lexer.finish()
}

pub(super) struct ShellLexer<'a> {
    pub(super) script: &'a str,
    /// The current position.
    pub(super) at: usize,
    /// The end of the script or the here-document.
    end: usize,
    /// The open frames, innermost last; never empty.
    pub(super) frames: Vec<ShellFrame>,
    /// Here-documents whose bodies begin on the next line.
    announced: Vec<HereDocument>,
    /// Why the quoting is uncertain from here on.
    pub(super) ambiguity: Option<InterpolationRefusal>,
    pub(super) interpolations: Vec<ScriptInterpolation>,
}

impl<'a> ShellLexer<'a> {
    fn run(&mut self) -> Result<(), ExprError> {
        while self.at < self.end {
            match self.top().kind {
                ShellFrameKind::Parameter => self.parameter_byte()?,
                ShellFrameKind::Arithmetic(brackets) => self.arithmetic_byte(brackets)?,
                ShellFrameKind::DoubleQuotes | ShellFrameKind::HereDocument => {
                    self.quoted_byte()?;
                }
                ShellFrameKind::Script
                | ShellFrameKind::Substitution
                | ShellFrameKind::Subshell
                | ShellFrameKind::DoubleParen
                | ShellFrameKind::Case => self.command_byte()?,
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<ScriptInterpolation>, ExprError> {
        self.end_word();
        let open = self.top().kind;
        match self.interpolations.first() {
            Some(hole) if self.frames.len() > 1 => Err(InterpolationRefusal::Unclosed(open.name())
                .error(hole.range.clone(), &hole.expression)),
            _ => Ok(self.interpolations),
        }
    }

    /// Reads one token in command context.
    fn command_byte(&mut self) -> Result<(), ExprError> {
        let byte = self.byte();
        match byte {
            b' ' | b'\t' => {
                self.end_word();
                self.at += 1;
            }
            b'\n' => self.newline()?,
            b';' | b'&' | b'|' => self.separator(),
            b'(' => self.open_bracket()?,
            b')' => self.close_bracket(),
            b'<' | b'>' => self.redirection()?,
            b'#' if self.top().word.is_none() => self.comment(),
            b'\\' if self.rest().starts_with("\\\n") => self.continuation(),
            _ => {
                let at = self.at;
                self.top().word.get_or_insert(at);
                self.word_byte(byte)?;
            }
        }
        Ok(())
    }

    /// Reads a backslash at the end of a line: sh continues with the next line, and no word begins.
    fn continuation(&mut self) {
        if self.script[..self.at].ends_with(['$', '<']) {
            self.ambiguity
                .get_or_insert(InterpolationRefusal::Ambiguous("a line ending in `$\\` or `<\\`"));
        }
        self.at += 2;
    }

    fn word_byte(&mut self, byte: u8) -> Result<(), ExprError> {
        match byte {
            b'\'' => self.single_quotes(1, InterpolationRefusal::SingleQuotes),
            b'"' => self.open(ShellFrameKind::DoubleQuotes, 1),
            b'$' if self.rest().starts_with("$'") => self.dollar_quotes(),
            _ => self.common_byte(byte),
        }
    }

    /// Reads one token between double quotes or in a here-document.
    fn quoted_byte(&mut self) -> Result<(), ExprError> {
        match self.byte() {
            b'"' if self.top().kind == ShellFrameKind::DoubleQuotes => self.close(1),
            byte => return self.common_byte(byte),
        }
        Ok(())
    }

    /// Reads one token inside `${ }`.
    fn parameter_byte(&mut self) -> Result<(), ExprError> {
        let kinds = self.frames.iter().rev().map(|frame| frame.kind);
        let around = kinds.into_iter().find(|kind| *kind != ShellFrameKind::Parameter);
        let bare = around.is_some_and(ShellFrameKind::has_commands);
        match self.byte() {
            b'}' => self.close(1),
            b'\'' if !bare => self.mark_ambiguous("a quote inside ${ } inside quotes"),
            b'"' if around == Some(ShellFrameKind::HereDocument) => {
                self.mark_ambiguous("a quote inside ${ } in here-documents");
            }
            b'"' => return self.open(ShellFrameKind::DoubleQuotes, 1),
            byte if bare => return self.word_byte(byte),
            byte => return self.common_byte(byte),
        }
        Ok(())
    }

    /// Reads one token inside `$(( ))`.
    fn arithmetic_byte(&mut self, brackets: usize) -> Result<(), ExprError> {
        match self.byte() {
            b'(' => self.brackets(brackets + 1),
            b')' if brackets > 0 => self.brackets(brackets - 1),
            b')' if self.rest().starts_with("))") => self.close(2),
            b')' => {
                self.mark_ambiguous("`$((` without `))`");
                self.close(0);
            }
            b'\'' => self.mark_ambiguous("a quote inside $(( ))"),
            b'"' => return self.open(ShellFrameKind::DoubleQuotes, 1),
            byte => return self.common_byte(byte),
        }
        Ok(())
    }

    fn brackets(&mut self, brackets: usize) {
        self.top().kind = ShellFrameKind::Arithmetic(brackets);
        self.at += 1;
    }

    /// Reads a token that means the same everywhere except between single quotes.
    fn common_byte(&mut self, byte: u8) -> Result<(), ExprError> {
        match byte {
            b'\\' => self.at = (self.at + 2).min(self.end),
            b'`' => return self.backticks(),
            b'$' => return self.dollar(),
            _ => self.at += 1,
        }
        Ok(())
    }

    fn dollar(&mut self) -> Result<(), ExprError> {
        let rest = self.rest();
        if rest.starts_with("${{") {
            self.interpolate()
        } else if rest.starts_with("$${{") {
            self.at += 1;
            self.refuse(InterpolationRefusal::Dollar)
        } else if rest.starts_with("$((") {
            self.open(ShellFrameKind::Arithmetic(0), 3)
        } else if rest.starts_with("$(") {
            self.open(ShellFrameKind::Substitution, 2)
        } else if rest.starts_with("${") {
            self.open(ShellFrameKind::Parameter, 2)
        } else if rest.starts_with("$[") {
            self.mark_ambiguous("`$[`");
            Ok(())
        } else {
            // `$#` and `$$` are complete; nothing is special after any other `$`.
            let whole = rest.starts_with("$#") || rest.starts_with("$$");
            self.at += if whole { 2 } else { 1 };
            Ok(())
        }
    }

    fn single_quotes(
        &mut self,
        opening: usize,
        refusal: InterpolationRefusal,
    ) -> Result<(), ExprError> {
        let inner = self.at + opening;
        let length = self.script[inner..self.end].find('\'');
        self.literal(length.map_or(self.end, |length| inner + length + 1), refusal)
    }

    /// Reads `$'…'`: only bash allows `\'` inside it.
    fn dollar_quotes(&mut self) -> Result<(), ExprError> {
        let inner = &self.script[self.at + 2..self.end];
        let escaped = inner.find("\\'").is_some_and(|escape| inner[..=escape].find('\'').is_none());
        if escaped {
            self.ambiguity.get_or_insert(InterpolationRefusal::Ambiguous("\\' between $' and '"));
        }
        self.single_quotes(2, InterpolationRefusal::DollarQuotes)
    }

    fn backticks(&mut self) -> Result<(), ExprError> {
        let bytes = &self.script.as_bytes()[..self.end];
        let mut end = self.at + 1;
        while end < bytes.len() && bytes[end] != b'`' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        self.literal((end + 1).min(self.end), InterpolationRefusal::Backticks)
    }

    fn comment(&mut self) {
        if self.top().kind == ShellFrameKind::DoubleParen {
            self.ambiguity.get_or_insert(InterpolationRefusal::Ambiguous("# between (( and ))"));
        }
        let length = self.rest().find('\n');
        self.at = length.map_or(self.end, |length| self.at + length);
    }

    fn separator(&mut self) {
        self.end_word();
        self.top().command = true;
        self.at += 1;
    }

    fn redirection(&mut self) -> Result<(), ExprError> {
        self.end_word();
        if self.rest().starts_with("<<<") {
            self.at += 3;
        } else if !self.rest().starts_with("<<") {
            self.at += 1;
        } else if self.top().kind == ShellFrameKind::DoubleParen {
            self.mark_ambiguous("<< between (( and ))");
        } else {
            self.at += 2;
            return self.announce_here_document();
        }
        Ok(())
    }

    fn announce_here_document(&mut self) -> Result<(), ExprError> {
        let Some((document, length)) = HereDocument::announced(self.rest()) else { return Ok(()) };
        let end_word = &self.rest()[..length];
        if end_word.contains(['$', '`', '\n']) || end_word.contains('"') && end_word.contains('\\')
        {
            self.ambiguity
                .get_or_insert(InterpolationRefusal::Ambiguous("the delimiter of a here-document"));
        }
        self.literal(self.at + length, InterpolationRefusal::EndWord)?;
        self.announced.push(document);
        Ok(())
    }

    /// Reads a line end, and then the bodies of the here-documents announced on the line.
    fn newline(&mut self) -> Result<(), ExprError> {
        self.separator();
        if self.frames.iter().any(|frame| !frame.outer.is_empty()) {
            self.ambiguity.get_or_insert(InterpolationRefusal::Ambiguous(
                "a line end between << and its body",
            ));
        }
        for document in std::mem::take(&mut self.announced) {
            let (body, next) = document.body(&self.script[..self.end], self.at);
            if document.literal {
                self.literal(body.end, InterpolationRefusal::QuotedDocument)?;
            } else {
                self.body(body.end)?;
            }
            self.at = next;
        }
        Ok(())
    }

    /// Reads the body of a here-document with expansion.
    fn body(&mut self, end: usize) -> Result<(), ExprError> {
        let (depth, outer_end) = (self.frames.len(), std::mem::replace(&mut self.end, end));
        self.open(ShellFrameKind::HereDocument, 0)?;
        self.run()?;
        self.end = outer_end;
        if self.frames.len() != depth + 1 {
            let what = "unclosed syntax at the end of a here-document";
            self.ambiguity.get_or_insert(InterpolationRefusal::Ambiguous(what));
        }
        self.frames.truncate(depth);
        self.announced.clear();
        Ok(())
    }

    fn open_bracket(&mut self) -> Result<(), ExprError> {
        self.end_word();
        if self.rest().starts_with("((") {
            self.open(ShellFrameKind::DoubleParen, 1)?;
            return self.open(ShellFrameKind::DoubleParen, 1);
        }
        self.open(ShellFrameKind::Subshell, 1)
    }

    fn close_bracket(&mut self) {
        self.end_word();
        if matches!(
            self.top().kind,
            ShellFrameKind::Substitution | ShellFrameKind::Subshell | ShellFrameKind::DoubleParen
        ) {
            self.close(1);
        } else {
            self.at += 1;
        }
        // A command follows the pattern of a `case`; after other brackets it would be a script error.
        self.top().command = true;
    }

    fn open(&mut self, kind: ShellFrameKind, length: usize) -> Result<(), ExprError> {
        if self.frames.len() >= DEPTH_MAX {
            let here = self.script[self.at..].find("${{").map(|found| self.at + found);
            let Some(hole) = here.or_else(|| self.script.find("${{")) else { return Ok(()) };
            self.at = hole;
            return self.refuse(InterpolationRefusal::Depth);
        }
        let mut frame = ShellFrame::new(kind);
        if kind == ShellFrameKind::Substitution {
            frame.outer = std::mem::take(&mut self.announced);
        }
        self.frames.push(frame);
        self.at += length;
        Ok(())
    }

    fn close(&mut self, length: usize) {
        let frame = self.frames.pop().expect("every closed frame was opened");
        if frame.kind == ShellFrameKind::Substitution {
            if !self.announced.is_empty() {
                self.ambiguity
                    .get_or_insert(InterpolationRefusal::Ambiguous("`$( )` with << and no body"));
            }
            self.announced = frame.outer;
        }
        self.at += length;
    }

    /// Completes the current word: tracks `case` and `esac`, and whether a command follows.
    fn end_word(&mut self) {
        let inside = self.frames.len() > 1;
        let at = self.at;
        let frame = self.top();
        let (Some(start), command) = (frame.word.take(), frame.command) else { return };
        let kind = frame.kind;
        let word = &self.script[start..at];
        self.top().command = command && BEFORE_COMMAND.contains(&word);
        if command && word == "esac" && kind == ShellFrameKind::Case {
            self.close(0);
            self.top().command = false;
        } else if command && word == "case" && inside && kind.has_commands() {
            self.frames.push(ShellFrame::new(ShellFrameKind::Case));
        } else if word == "=~" && inside {
            // A pattern may contain brackets without syntactic meaning.
            self.ambiguity.get_or_insert(InterpolationRefusal::Ambiguous("`=~` in brackets"));
        }
    }

    /// Marks the rest as ambiguous: the shells differ about `what`, which begins here.
    fn mark_ambiguous(&mut self, what: &'static str) {
        self.ambiguity.get_or_insert(InterpolationRefusal::Ambiguous(what));
        self.at += 1;
    }

    pub(super) fn top(&mut self) -> &mut ShellFrame {
        self.frames.last_mut().expect("the script itself stays open")
    }

    fn byte(&self) -> u8 {
        self.script.as_bytes()[self.at]
    }

    /// The unread rest. Skipped bytes are ASCII or whole characters.
    fn rest(&self) -> &'a str {
        &self.script[self.at..self.end]
    }
}
