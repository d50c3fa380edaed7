//! The requirement of a step: clauses of atoms.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::amount::format_amount;
use super::labels::Labels;

/// A comparison operator for the number of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AmountComparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `>`
    Greater,
}

impl AmountComparison {
    /// The operator as text.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Greater => ">",
        }
    }

    /// The negated operator.
    pub(super) const fn opposite(self) -> Self {
        match self {
            Self::Less => Self::AtLeast,
            Self::AtMost => Self::Greater,
            Self::AtLeast => Self::Less,
            Self::Greater => Self::AtMost,
        }
    }
}

/// One condition of a requirement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RequirementAtom {
    /// The worker has this label.
    Has(Box<str>),
    /// The worker does not have this label.
    Lacks(Box<str>),
    /// The worker's fact matches the comparison; a worker without the fact does not match.
    Number(Box<str>, AmountComparison, u64),
}

impl RequirementAtom {
    /// The worker has `label`.
    pub fn has(label: &str) -> Self {
        Self::Has(label.to_lowercase().into())
    }

    /// The worker lacks `label`.
    pub fn lacks(label: &str) -> Self {
        Self::Lacks(label.to_lowercase().into())
    }

    /// Whether a worker with these labels satisfies it.
    pub fn matches(&self, labels: &Labels) -> bool {
        match self {
            Self::Has(label) => labels.has(label),
            Self::Lacks(label) => !labels.has(label),
            Self::Number(key, compare, bound) => {
                labels.number(key).is_some_and(|n| match compare {
                    AmountComparison::Less => n < *bound,
                    AmountComparison::AtMost => n <= *bound,
                    AmountComparison::AtLeast => n >= *bound,
                    AmountComparison::Greater => n > *bound,
                })
            }
        }
    }
}

impl fmt::Display for RequirementAtom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Has(label) => f.write_str(label),
            Self::Lacks(label) => write!(f, "not {label}"),
            Self::Number(key, compare, n) => {
                write!(f, "{key}{}{}", compare.sign(), format_amount(key, *n))
            }
        }
    }
}

/// Atoms of which one must match: `gpu | tpu`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequirementClause(pub Vec<RequirementAtom>);

impl RequirementClause {
    /// Whether a worker with these labels satisfies one of its atoms.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().any(|atom| atom.matches(labels))
    }

    /// Returns its size in memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let text = |atom: &RequirementAtom| match atom {
            RequirementAtom::Has(label)
            | RequirementAtom::Lacks(label)
            | RequirementAtom::Number(label, ..) => label.len(),
        };
        let atoms = self.0.iter().map(|atom| size_of::<RequirementAtom>() + text(atom));
        size_of::<Self>() + atoms.sum::<usize>()
    }
}

impl fmt::Display for RequirementClause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let atoms: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&atoms.join(" | "))
    }
}

/// The requirement of a step: every clause must match. Every worker satisfies the empty requirement.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Requirement(pub Vec<RequirementClause>);

impl Requirement {
    /// Requires all of these labels.
    pub fn all<I: IntoIterator<Item = S>, S: AsRef<str>>(labels: I) -> Self {
        Self(
            labels
                .into_iter()
                .map(|label| RequirementClause(vec![RequirementAtom::has(label.as_ref())]))
                .collect(),
        )
    }

    /// Whether a worker with these labels satisfies it.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|clause| clause.matches(labels))
    }

    /// Returns the clauses that a worker with these labels does not satisfy.
    pub fn unmet_clauses<'a>(
        &'a self,
        labels: &'a Labels,
    ) -> impl Iterator<Item = &'a RequirementClause> {
        self.0.iter().filter(|clause| !clause.matches(labels))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clauses: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&clauses.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_match_by_word_number_and_absence() {
        let labels = Labels::new(["Docker", "os=linux", "cpu=8"]);
        let need = |atoms: Vec<RequirementAtom>| {
            Requirement(vec![RequirementClause(atoms)]).matches(&labels)
        };
        assert!(need(vec![RequirementAtom::has("docker")]));
        assert!(
            need(vec![RequirementAtom::has("gpu"), RequirementAtom::has("OS=Linux")]),
            "one of two"
        );
        assert!(need(vec![RequirementAtom::lacks("spot")]));
        assert!(!need(vec![RequirementAtom::lacks("docker")]));
        assert!(need(vec![RequirementAtom::Number("cpu".into(), AmountComparison::AtLeast, 8)]));
        assert!(!need(vec![RequirementAtom::Number("cpu".into(), AmountComparison::Greater, 8)]));
        assert!(
            !need(vec![RequirementAtom::Number("mem".into(), AmountComparison::AtLeast, 0)]),
            "no such fact"
        );
    }
}
