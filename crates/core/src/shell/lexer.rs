//! Reads a script as far as needed to know what is quoted where.
//!
//! It is no parser of sh. It follows what opens and closes, and where it cannot be sure, because dash and bash differ or
//! because it would take more of a shell, it says so at the next `${{ }}` instead of guessing. Bytes are enough: every
//! byte that matters is ASCII, and those never occur inside other characters.

use super::document::Document;
use super::frame::{Frame, Open};
use super::hole::Hole;
use super::refusal::Refusal;
use crate::expr::ExprError;

/// Things open inside each other: people stop at five, and here-documents are read by recursion.
const DEPTH_MAX: usize = 50;
/// After these words another command begins.
const BEFORE_COMMAND: [&str; 10] =
    ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"];

/// Every `${{ }}` of a script, each with the way to write a reference there.
pub(super) fn holes(script: &str) -> Result<Vec<Hole>, ExprError> {
    if !script.contains("${{") {
        return Ok(Vec::new());
    }
    let mut lexer = Lexer {
        script,
        at: 0,
        end: script.len(),
        frames: vec![Frame::new(Open::Script)],
        announced: Vec::new(),
        unsure: None,
        holes: Vec::new(),
    };
    lexer.run()?;
    lexer.finish()
}

pub(super) struct Lexer<'a> {
    pub(super) script: &'a str,
    /// What is to be read next.
    pub(super) at: usize,
    /// Where to stop: the end of the script or of the here-document.
    end: usize,
    /// What is open, innermost last; never empty.
    pub(super) frames: Vec<Frame>,
    /// Here-documents that begin at the next line.
    announced: Vec<Document>,
    /// Why nothing is sure from here on.
    pub(super) unsure: Option<Refusal>,
    pub(super) holes: Vec<Hole>,
}

impl<'a> Lexer<'a> {
    fn run(&mut self) -> Result<(), ExprError> {
        while self.at < self.end {
            match self.top().kind {
                Open::Parameter => self.parameter_byte()?,
                Open::Arithmetic(brackets) => self.arithmetic_byte(brackets)?,
                Open::Double | Open::Body => self.quoted_byte()?,
                Open::Script
                | Open::Substitution
                | Open::Subshell
                | Open::DoubleParen
                | Open::Case => self.command_byte()?,
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Hole>, ExprError> {
        self.end_word();
        let open = self.top().kind;
        match self.holes.first() {
            Some(hole) if self.frames.len() > 1 => {
                Err(Refusal::Unclosed(open.name()).error(hole.range.clone(), &hole.expression))
            }
            _ => Ok(self.holes),
        }
    }

    /// One byte, or one thing that begins with it, where commands stand.
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

    /// A backslash at the end of a line: to sh the next line goes on here, and no word begins by it.
    fn continuation(&mut self) {
        if self.script[..self.at].ends_with(['$', '<']) {
            self.unsure.get_or_insert(Refusal::Ambiguous("a line that ends in `$\\` or `<\\`"));
        }
        self.at += 2;
    }

    fn word_byte(&mut self, byte: u8) -> Result<(), ExprError> {
        match byte {
            b'\'' => self.single_quotes(1, Refusal::SingleQuotes),
            b'"' => self.open(Open::Double, 1),
            b'$' if self.rest().starts_with("$'") => self.dollar_quotes(),
            _ => self.common_byte(byte),
        }
    }

    /// Between double quotes, or in a here-document.
    fn quoted_byte(&mut self) -> Result<(), ExprError> {
        match self.byte() {
            b'"' if self.top().kind == Open::Double => self.close(1),
            byte => return self.common_byte(byte),
        }
        Ok(())
    }

    /// Inside `${ }`.
    fn parameter_byte(&mut self) -> Result<(), ExprError> {
        let kinds = self.frames.iter().rev().map(|frame| frame.kind);
        let around = kinds.into_iter().find(|kind| *kind != Open::Parameter);
        let bare = around.is_some_and(Open::has_commands);
        match self.byte() {
            b'}' => self.close(1),
            b'\'' if !bare => self.doubt("a quote inside ${ } inside quotes"),
            b'"' if around == Some(Open::Body) => {
                self.doubt("a quote inside ${ } in here-documents");
            }
            b'"' => return self.open(Open::Double, 1),
            byte if bare => return self.word_byte(byte),
            byte => return self.common_byte(byte),
        }
        Ok(())
    }

    /// Inside `$(( ))`.
    fn arithmetic_byte(&mut self, brackets: usize) -> Result<(), ExprError> {
        match self.byte() {
            b'(' => self.brackets(brackets + 1),
            b')' if brackets > 0 => self.brackets(brackets - 1),
            b')' if self.rest().starts_with("))") => self.close(2),
            b')' => {
                self.doubt("`$((` without `))`");
                self.close(0);
            }
            b'\'' => self.doubt("a quote inside $(( ))"),
            b'"' => return self.open(Open::Double, 1),
            byte => return self.common_byte(byte),
        }
        Ok(())
    }

    fn brackets(&mut self, brackets: usize) {
        self.top().kind = Open::Arithmetic(brackets);
        self.at += 1;
    }

    /// What means the same everywhere but between single quotes.
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
            self.hole()
        } else if rest.starts_with("$${{") {
            self.at += 1;
            self.refuse(Refusal::Dollar)
        } else if rest.starts_with("$((") {
            self.open(Open::Arithmetic(0), 3)
        } else if rest.starts_with("$(") {
            self.open(Open::Substitution, 2)
        } else if rest.starts_with("${") {
            self.open(Open::Parameter, 2)
        } else if rest.starts_with("$[") {
            self.doubt("`$[`");
            Ok(())
        } else {
            // `$#` and `$$` are whole; behind any other `$` nothing is special.
            let whole = rest.starts_with("$#") || rest.starts_with("$$");
            self.at += if whole { 2 } else { 1 };
            Ok(())
        }
    }

    fn single_quotes(&mut self, opening: usize, refusal: Refusal) -> Result<(), ExprError> {
        let inner = self.at + opening;
        let length = self.script[inner..self.end].find('\'');
        self.literal(length.map_or(self.end, |length| inner + length + 1), refusal)
    }

    /// `$'…'`: only bash lets `\'` stand inside it.
    fn dollar_quotes(&mut self) -> Result<(), ExprError> {
        let inner = &self.script[self.at + 2..self.end];
        let escaped = inner.find("\\'").is_some_and(|escape| inner[..=escape].find('\'').is_none());
        if escaped {
            self.unsure.get_or_insert(Refusal::Ambiguous("\\' between $' and '"));
        }
        self.single_quotes(2, Refusal::DollarQuotes)
    }

    fn backticks(&mut self) -> Result<(), ExprError> {
        let bytes = &self.script.as_bytes()[..self.end];
        let mut end = self.at + 1;
        while end < bytes.len() && bytes[end] != b'`' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        self.literal((end + 1).min(self.end), Refusal::Backticks)
    }

    fn comment(&mut self) {
        if self.top().kind == Open::DoubleParen {
            self.unsure.get_or_insert(Refusal::Ambiguous("# between (( and ))"));
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
        } else if self.top().kind == Open::DoubleParen {
            self.doubt("<< between (( and ))");
        } else {
            self.at += 2;
            return self.announce();
        }
        Ok(())
    }

    fn announce(&mut self) -> Result<(), ExprError> {
        let Some((document, length)) = Document::announced(self.rest()) else { return Ok(()) };
        let end_word = &self.rest()[..length];
        if end_word.contains(['$', '`', '\n']) || end_word.contains('"') && end_word.contains('\\')
        {
            self.unsure.get_or_insert(Refusal::Ambiguous("the end word of a here-document"));
        }
        self.literal(self.at + length, Refusal::EndWord)?;
        self.announced.push(document);
        Ok(())
    }

    /// The end of a line; the bodies of the here-documents that were announced on it follow.
    fn newline(&mut self) -> Result<(), ExprError> {
        self.separator();
        if self.frames.iter().any(|frame| !frame.outer.is_empty()) {
            self.unsure.get_or_insert(Refusal::Ambiguous("a line end between << and its body"));
        }
        for document in std::mem::take(&mut self.announced) {
            let (body, next) = document.body(&self.script[..self.end], self.at);
            if document.literal {
                self.literal(body.end, Refusal::QuotedDocument)?;
            } else {
                self.body(body.end)?;
            }
            self.at = next;
        }
        Ok(())
    }

    /// Reads the body of a here-document in which values are expanded.
    fn body(&mut self, end: usize) -> Result<(), ExprError> {
        let (depth, outer_end) = (self.frames.len(), std::mem::replace(&mut self.end, end));
        self.open(Open::Body, 0)?;
        self.run()?;
        self.end = outer_end;
        if self.frames.len() != depth + 1 {
            let what = "something open at the end of a here-document";
            self.unsure.get_or_insert(Refusal::Ambiguous(what));
        }
        self.frames.truncate(depth);
        self.announced.clear();
        Ok(())
    }

    fn open_bracket(&mut self) -> Result<(), ExprError> {
        self.end_word();
        if self.rest().starts_with("((") {
            self.open(Open::DoubleParen, 1)?;
            return self.open(Open::DoubleParen, 1);
        }
        self.open(Open::Subshell, 1)
    }

    fn close_bracket(&mut self) {
        self.end_word();
        if matches!(self.top().kind, Open::Substitution | Open::Subshell | Open::DoubleParen) {
            self.close(1);
        } else {
            self.at += 1;
        }
        // Behind the pattern of a `case` a command follows; behind other brackets it would be an error of the script.
        self.top().command = true;
    }

    fn open(&mut self, kind: Open, length: usize) -> Result<(), ExprError> {
        if self.frames.len() >= DEPTH_MAX {
            let here = self.script[self.at..].find("${{").map(|found| self.at + found);
            let Some(hole) = here.or_else(|| self.script.find("${{")) else { return Ok(()) };
            self.at = hole;
            return self.refuse(Refusal::Depth);
        }
        let mut frame = Frame::new(kind);
        if kind == Open::Substitution {
            frame.outer = std::mem::take(&mut self.announced);
        }
        self.frames.push(frame);
        self.at += length;
        Ok(())
    }

    fn close(&mut self, length: usize) {
        let frame = self.frames.pop().expect("what closes was opened");
        if frame.kind == Open::Substitution {
            if !self.announced.is_empty() {
                self.unsure.get_or_insert(Refusal::Ambiguous("`$( )` with << and no body"));
            }
            self.announced = frame.outer;
        }
        self.at += length;
    }

    /// The word that was being read is complete: is it `case` or `esac`, and what may follow?
    fn end_word(&mut self) {
        let inside = self.frames.len() > 1;
        let at = self.at;
        let frame = self.top();
        let (Some(start), command) = (frame.word.take(), frame.command) else { return };
        let kind = frame.kind;
        let word = &self.script[start..at];
        self.top().command = command && BEFORE_COMMAND.contains(&word);
        if command && word == "esac" && kind == Open::Case {
            self.close(0);
            self.top().command = false;
        } else if command && word == "case" && inside && kind.has_commands() {
            self.frames.push(Frame::new(Open::Case));
        } else if word == "=~" && inside {
            // A pattern may hold brackets that are none.
            self.unsure.get_or_insert(Refusal::Ambiguous("`=~` in brackets"));
        }
    }

    /// From here on nothing is sure: the shells differ about `what`, whose first byte is here.
    fn doubt(&mut self, what: &'static str) {
        self.unsure.get_or_insert(Refusal::Ambiguous(what));
        self.at += 1;
    }

    pub(super) fn top(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("the script itself stays open")
    }

    fn byte(&self) -> u8 {
        self.script.as_bytes()[self.at]
    }

    /// What is left to read. A byte that is skipped is ASCII or comes with its whole character.
    fn rest(&self) -> &'a str {
        &self.script[self.at..self.end]
    }
}
