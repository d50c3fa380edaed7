//! What a step takes.

use windlass_core::spec::{Callable, NeedForm, NeedOfCall};

use super::shape::Shape;
use super::step::{Matrix, Single, Step};

/// The results and values that a step takes, as it declares them.
#[derive(Clone, Debug, Default)]
pub struct Takes {
    pub(super) needs: Vec<Taken>,
    pub(super) values: Vec<(String, Demand, String)>,
    /// The type of its target, written out.
    pub(super) target: Option<String>,
}

/// A result that is taken.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) need: NeedOfCall,
    pub(super) demand: Demand,
}

/// Whether a step can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    Must,
    May,
}

impl Takes {
    /// The result of a step, which must be there.
    pub fn step<S: Single>(&mut self) {
        self.need::<S>(NeedForm::One, Demand::Must);
    }

    /// The result of a step, if it has one.
    pub fn optional<S: Single>(&mut self) {
        self.need::<S>(NeedForm::One, Demand::May);
    }

    /// The results of all cells of a step.
    pub fn cells<S: Matrix>(&mut self) {
        self.need::<S>(NeedForm::Cells, Demand::Must);
    }

    /// A value that is handed over with `with:`, or is a param of the pipeline of the same name.
    pub fn value<T: serde::de::DeserializeOwned>(&mut self, name: &str) {
        self.values.push((name.to_owned(), Demand::Must, Shape::of::<T>().to_string()));
    }

    /// A value that it can do without.
    pub fn optional_value<T: serde::de::DeserializeOwned>(&mut self, name: &str) {
        self.values.push((name.to_owned(), Demand::May, Shape::of::<T>().to_string()));
    }

    /// The target of its cell.
    pub fn target<T: serde::de::DeserializeOwned>(&mut self) {
        self.target = Some(Shape::of::<T>().to_string());
    }

    fn need<S: Step>(&mut self, form: NeedForm, demand: Demand) {
        let shape = Shape::of::<S::Output>();
        let need = NeedOfCall {
            step: S::NAME.to_owned(),
            form,
            takes: shape.to_string(),
            names: shape.fields().to_vec(),
        };
        match self.needs.iter_mut().find(|taken| taken.need.step == need.step) {
            Some(taken) if demand == Demand::Must => taken.demand = demand,
            Some(_) => {}
            None => self.needs.push(Taken { need, demand }),
        }
    }

    /// What a file that calls the step is checked by.
    pub(super) fn callable(&self, output: &Shape, signature: String) -> Callable {
        let needs = self.needs.iter().filter(|taken| taken.demand == Demand::Must);
        let values = self.values.iter();
        Callable {
            signature,
            needs: needs.map(|taken| taken.need.clone()).collect(),
            with: values.map(|(name, demand, _)| (name.clone(), *demand == Demand::May)).collect(),
            output: output.to_string(),
        }
    }

    /// What tells the types of the step apart from those of another of its name.
    pub(super) fn signature(&self, name: &str, output: &Shape) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut text = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        text("windlass step 1");
        text(name);
        text(&output.to_string());
        for taken in &self.needs {
            text(&taken.need.step);
            text(&taken.need.takes);
            text(&format!("{:?} {:?}", taken.need.form, taken.demand));
        }
        for (name, demand, shape) in &self.values {
            text(&format!("{name} {demand:?} {shape}"));
        }
        text(self.target.as_deref().unwrap_or_default());
        hasher.finalize().to_hex()[..SIGNATURE].to_owned()
    }
}

/// Digits of a signature: two builds of one step are told apart, and nobody needs to read more.
const SIGNATURE: usize = 12;
