//! The results and values that a step takes.

use windlass_core::spec::{CallableNeed, CallableNeedForm, CallableStep};

use super::shape::TypeShape;
use super::step::{Matrix, Single, Step};

/// The results and values that a step takes, as it declares them.
#[derive(Clone, Debug, Default)]
pub struct Takes {
    pub(super) needs: Vec<TakenNeed>,
    pub(super) values: Vec<(String, NeedDemand, String)>,
    /// The type of the target as text.
    pub(super) target: Option<String>,
}

/// A result that a step takes.
#[derive(Clone, Debug)]
pub(super) struct TakenNeed {
    pub(super) need: CallableNeed,
    pub(super) demand: NeedDemand,
}

/// Whether a parameter is optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NeedDemand {
    Required,
    Optional,
}

impl Takes {
    /// Declares a required result.
    pub fn step<S: Single>(&mut self) {
        self.need::<S>(CallableNeedForm::One, NeedDemand::Required);
    }

    /// Declares an optional result.
    pub fn optional<S: Single>(&mut self) {
        self.need::<S>(CallableNeedForm::One, NeedDemand::Optional);
    }

    /// Declares the results of all cells of a step.
    pub fn cells<S: Matrix>(&mut self) {
        self.need::<S>(CallableNeedForm::Cells, NeedDemand::Required);
    }

    /// Declares a value that is passed with `with:`, or is the param of the pipeline with the same name.
    pub fn value<T: serde::de::DeserializeOwned>(&mut self, name: &str) {
        self.values.push((name.to_owned(), NeedDemand::Required, TypeShape::of::<T>().to_string()));
    }

    /// Declares an optional value.
    pub fn optional_value<T: serde::de::DeserializeOwned>(&mut self, name: &str) {
        self.values.push((name.to_owned(), NeedDemand::Optional, TypeShape::of::<T>().to_string()));
    }

    /// Declares the target of the cell.
    pub fn target<T: serde::de::DeserializeOwned>(&mut self) {
        self.target = Some(TypeShape::of::<T>().to_string());
    }

    fn need<S: Step>(&mut self, form: CallableNeedForm, demand: NeedDemand) {
        let shape = TypeShape::of::<S::Output>();
        let need = CallableNeed {
            step: S::NAME.to_owned(),
            form,
            takes: shape.to_string(),
            names: shape.fields().to_vec(),
        };
        match self.needs.iter_mut().find(|taken| taken.need.step == need.step) {
            Some(taken) if demand == NeedDemand::Required => taken.demand = demand,
            Some(_) => {}
            None => self.needs.push(TakenNeed { need, demand }),
        }
    }

    /// The declaration against which calls of the step in files are checked.
    pub(super) fn callable(&self, output: &TypeShape, signature: String) -> CallableStep {
        let needs = self.needs.iter().filter(|taken| taken.demand == NeedDemand::Required);
        let values = self.values.iter();
        CallableStep {
            signature,
            needs: needs.map(|taken| taken.need.clone()).collect(),
            with: values
                .map(|(name, demand, _)| (name.clone(), *demand == NeedDemand::Optional))
                .collect(),
            output: output.to_string(),
        }
    }

    /// The signature, which distinguishes the types of the step from those of another step with the same name.
    pub(super) fn signature(&self, name: &str, output: &TypeShape) -> String {
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

/// The digits of a signature: enough to distinguish builds of one step, and short enough to read.
const SIGNATURE: usize = 12;
