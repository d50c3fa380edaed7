//! Parses the text form of a requirement: `docker`, `os=linux`, `cpu>=4`, `mem>=8GiB`, `not spot`, `gpu | tpu`.

use std::ops::Range;

use super::amount::{format_amount, is_size, parse_amount};
use super::platform::unknown_platform;
use super::requirement_type::{AmountComparison, Requirement, RequirementAtom, RequirementClause};
use crate::expr::{ExprError, code};

/// Maximum bytes of one item; labels are short.
const TEXT_MAX: usize = 512;

impl Requirement {
    /// Parses one item of `requires`.
    pub fn parse(text: &str) -> Result<RequirementClause, ExprError> {
        if text.len() > TEXT_MAX {
            let what = format!(
                "a requirement can have at most {TEXT_MAX} bytes; this one has {}",
                text.len()
            );
            return Err(ExprError::new(code::REQUIREMENT, 0..text.len(), what));
        }
        let whole = RequirementText { text, at: 0 }.trimmed();
        whole.refuse_other_languages()?;
        let atoms = whole.split('|').map(|part| part.trimmed().atom());
        Ok(RequirementClause(atoms.collect::<Result<_, _>>()?))
    }
}

/// A part of the text, and its offset.
#[derive(Clone, Copy)]
struct RequirementText<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> RequirementText<'a> {
    /// Refuses the operators of other languages for `|`, lists and `not`.
    fn refuse_other_languages(self) -> Result<(), ExprError> {
        let items = |sign| {
            let words: Vec<&str> = self.text.split(sign).map(str::trim).collect();
            format!("[{}]", words.join(", "))
        };
        let choices = |sign| self.text.split(sign).map(str::trim).collect::<Vec<_>>().join(" | ");
        let signs: [(&str, &str, String); 6] = [
            ("||", "write alternatives with one `|`", choices("||")),
            (" or ", "write alternatives with `|`", choices(" or ")),
            ("&&", "write several requirements as a list", items("&&")),
            ("&", "write several requirements as a list", items("&")),
            (" and ", "write several requirements as a list", items(" and ")),
            (",", "write several requirements as a list", items(",")),
        ];
        match signs.into_iter().find(|(sign, ..)| self.text.contains(sign)) {
            Some((sign, what, write)) => Err(self.find(sign).error(what, &write)),
            None => Ok(()),
        }
    }

    fn atom(self) -> Result<RequirementAtom, ExprError> {
        if let Some(label) = self.text.strip_prefix('!') {
            return Err(self.error("`!` begins a tag in YAML", &format!("not {}", label.trim())));
        }
        let negated = self.text.strip_prefix("not").filter(|rest| rest.starts_with([' ', '\t']));
        match (negated, self.comparison()?) {
            (Some(rest), Some((_, compare, number))) => {
                let key = rest.trim_start().split(['<', '>', ' ']).next().unwrap_or_default();
                let write =
                    format!("{key}{}{}", compare.opposite().sign(), format_amount(key, number));
                Err(self.error("`not` is allowed before a label, not before a comparison", &write))
            }
            (Some(rest), None) => Ok(RequirementAtom::lacks(self.last(rest).trimmed().label()?)),
            (None, Some((key, compare, number))) => {
                Ok(RequirementAtom::Number(key.to_lowercase().into(), compare, number))
            }
            (None, None) => Ok(RequirementAtom::has(self.label()?)),
        }
    }

    /// Parses `cpu>=4`, if the text is a comparison.
    fn comparison(self) -> Result<Option<(&'a str, AmountComparison, u64)>, ExprError> {
        let Some(sign) = self.text.find(['<', '>']) else { return Ok(None) };
        let (key, rest) = self.text.split_at(sign);
        let (compare, length) = match rest.as_bytes() {
            [b'<', b'=', ..] => (AmountComparison::AtMost, 2),
            [b'>', b'=', ..] => (AmountComparison::AtLeast, 2),
            [b'<', ..] => (AmountComparison::Less, 1),
            _ => (AmountComparison::Greater, 1),
        };
        let number = self.last(&rest[length..]).trimmed();
        if key.ends_with('=') {
            let write = format!("{}{}={}", key.trim_end_matches('='), &rest[..1], number.text);
            return Err(self.error("the characters of the operator are in the wrong order", &write));
        }
        let key = key.trim_end();
        // The caller handles a `not` before it.
        let name = key.strip_prefix("not ").map_or(key, str::trim_start);
        if !name.starts_with(char::is_alphabetic) || !name.chars().all(is_label_char) {
            return Err(self.error("a comparison must begin with the name of a fact", "cpu>=4"));
        }
        let written = format!("{name}{}", compare.sign());
        number.number(name, &written).map(|number| Some((name, compare, number)))
    }

    fn number(self, key: &str, written: &str) -> Result<u64, ExprError> {
        let digits = self.text.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, unit) = self.text.split_at(digits);
        if is_size(key) && unit.is_empty() && !whole.is_empty() {
            return Err(self.error("a size requires a unit", &format!("{written}{whole}GiB")));
        }
        parse_amount(self.text).ok_or_else(|| {
            let example = if is_size(key) { "8GiB" } else { "4" };
            let first = unit.trim_start().chars().next().unwrap_or_default().to_ascii_uppercase();
            let known = parse_amount(&format!("0{unit}")).is_some();
            match first {
                _ if known && !whole.is_empty() => {
                    self.error("the number is too large", &format!("{written}{example}"))
                }
                'K' | 'M' | 'G' | 'T' if !whole.is_empty() => self.error(
                    "write a size with KiB, MiB, GiB or TiB directly after the number",
                    &format!("{written}{whole}{first}iB"),
                ),
                _ => self.error(
                    "a fact can be compared only with a whole number",
                    &format!("{written}{example}"),
                ),
            }
        })
    }

    /// Parses a label: `docker`, `os=linux`.
    fn label(self) -> Result<&'a str, ExprError> {
        let (key, value) = self.text.split_once('=').unwrap_or((self.text, "value"));
        if let Some(key) = key.strip_suffix('!') {
            let write = format!("not {}={}", key.trim(), value.trim_start_matches('=').trim());
            return Err(self.error("requirements have no `!=`", &write));
        }
        if value.starts_with('=') {
            let write = format!("{}={}", key.trim(), value.trim_start_matches('=').trim());
            return Err(self.error("write a fact with one `=`", &write));
        }
        let word = |part: &str| !part.is_empty() && part.chars().all(is_label_char);
        if word(key) && word(value) && key != "not" {
            self.platform(key, value)?;
            return Ok(self.text);
        }
        let what = match self.text {
            "" => "missing label".to_owned(),
            "not" => "missing label after `not`".to_owned(),
            text => format!("`{}` is not a label", text.escape_debug()),
        };
        Err(self.error(&what, "docker, os=linux, cpu>=4, not spot or \"gpu | tpu\""))
    }

    /// Checks that the values of `os` and `arch` are names of platforms.
    fn platform(self, key: &str, value: &str) -> Result<(), ExprError> {
        let Some(unknown) = unknown_platform(key, value) else { return Ok(()) };
        let what = format!("no worker has the {} `{value}`", unknown.what);
        if let Some(meant) = unknown.meant {
            return Err(self.error(&what, &format!("{key}={meant}")));
        }
        let known = format!("the known names are {}", unknown.known.join(", "));
        Err(ExprError::new(code::REQUIREMENT, self.range(), what).help(known))
    }

    fn trimmed(self) -> Self {
        let text = self.text.trim_start();
        Self { text: text.trim_end(), at: self.at + self.text.len() - text.len() }
    }

    /// Splits at a character.
    fn split(self, sign: char) -> impl Iterator<Item = Self> {
        let mut at = self.at;
        self.text.split(sign).map(move |text| {
            let part = Self { text, at };
            at += text.len() + sign.len_utf8();
            part
        })
    }

    /// Returns the part at the end of this one.
    fn last(self, text: &'a str) -> Self {
        Self { text, at: self.at + self.text.len() - text.len() }
    }

    /// Returns the first occurrence of an operator.
    fn find(self, sign: &'a str) -> Self {
        Self { text: sign, at: self.at + self.text.find(sign).unwrap_or(0) }.trimmed()
    }

    fn range(self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    fn error(self, what: &str, write: &str) -> ExprError {
        ExprError::new(code::REQUIREMENT, self.range(), what).help(format!("write {write}"))
    }
}

/// Whether a character is allowed in a label.
fn is_label_char(c: char) -> bool {
    c.is_alphanumeric() || "_-./:@+".contains(c)
}
