//! What a step says of itself beyond its function: the keys of a step in a pipeline file.

use serde_json::{Map, Value, json};

use super::error::Error;

/// The exit code of an error that its step wants to be tried again.
const TRY_AGAIN: &str = "exit-75";

/// The options of a step, which are the keys that a file would have; their values are checked as those of a file are, when
/// the pipeline is made. In `#[step(...)]` they have the same names.
///
/// ```
/// use windlass::{Options, Retries};
///
/// let options = Options::new()
///     .about("Puts it up")
///     .timeout("15m")
///     .retry(Retries::times(3).wait("5s..1m").elsewhere())
///     .requires(["docker", "cpu>=4"])
///     .lock("prod");
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Options {
    /// As a file has them, in the order in which they were said.
    pub(super) keys: Map<String, Value>,
    pub(super) needs: Vec<String>,
    /// The axes of its matrix: their order is that of the names of its cells.
    pub(super) axes: Vec<(String, Vec<String>)>,
    /// Which errors are tried again, if it is for the step to say.
    pub(super) decides: Option<fn(&Error) -> bool>,
}

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(self, text: impl Into<String>) -> Self {
            self.set(stringify!($name), text.into())
        }
    )*};
}

macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name<T: ToString>(self, items: impl IntoIterator<Item = T>) -> Self {
            self.add(stringify!($name), items)
        }
    )*};
}

impl Options {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    texts! {
        /// One line on what it does, shown in plan and summary. `#[step]` takes the first line of the function's
        /// documentation.
        about;
        /// The longest that one attempt may run: `90s`, `15m`.
        timeout;
        /// Where its commands run, from the root of the pipeline.
        dir;
        /// How long it waits while no worker could run it.
        wait_for_worker;
        /// How long it waits for its locks.
        wait_for_lock;
        /// From the order to end to being dropped.
        kill_grace;
        /// The key under which a success is kept: no run does it again. `./key` is this pipeline's own.
        idempotent;
    }

    lists! {
        /// What a worker must be or have: `docker`, `cpu>=4`, `gpu | tpu`, `not spot`.
        requires;
        /// What a worker had better be or have.
        prefers;
        /// Words for selecting it with `--tag`.
        tags;
        /// Secrets that it gets, by the names of variables of the worker; their values are covered in its log.
        secrets;
    }

    /// Its failure leaves the run as it is.
    pub fn ignore_failure(self) -> Self {
        self.set("ignore_failure", true)
    }

    /// Whether something is said under a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// How often it is tried: so many attempts after the first, or [`Retries`].
    pub fn retry(mut self, retries: impl Into<Retries>) -> Self {
        let Retries { keys, decides } = retries.into();
        self.decides = decides;
        self.set("retry", keys)
    }

    /// A step that must have ended before it, whose result it does not take.
    pub fn after(mut self, step: impl Into<String>) -> Self {
        self.needs.push(step.into());
        self
    }

    /// A lock that it holds while it runs; `./name` is this pipeline's own.
    pub fn lock(self, name: impl Into<String>) -> Self {
        self.add("lock", [name.into()])
    }

    /// A lock that is not first come, first served: `newest-first` or `cancel-older`.
    pub fn lock_in_order(mut self, name: impl Into<String>, order: &str) -> Self {
        self.list("lock").push(json!({ "name": name.into(), "order": order }));
        self
    }

    /// Greater goes first.
    pub fn priority(self, priority: i32) -> Self {
        self.set("priority", priority)
    }

    /// A cell for each target, which a worker must have as a label.
    pub fn matrix<T: ToString>(self, targets: impl IntoIterator<Item = T>) -> Self {
        let targets: Vec<String> = targets.into_iter().map(|target| target.to_string()).collect();
        self.set("matrix", targets)
    }

    /// An axis of its matrix: a cell for each combination. Only `os` and `arch` choose the machine by themselves.
    pub fn axis<T: ToString>(
        mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        let values = values.into_iter().map(|value| value.to_string()).collect();
        self.axes.push((name.into(), values));
        self
    }

    /// Whether it runs, as an expression: `params.channel == "stable"`. If not, it is skipped, and the expression with its
    /// values is the reason.
    pub fn when(self, condition: impl Into<String>) -> Self {
        self.set("if", condition.into())
    }

    /// It runs in any case, also when the run is being cancelled.
    pub fn always(self) -> Self {
        self.set("if", "always()")
    }

    /// It runs only if one of its needs failed.
    pub fn on_failure(self) -> Self {
        self.set("if", "failure()")
    }

    /// It runs on the leading node.
    pub fn pin(self) -> Self {
        self.set("pin", "leader")
    }

    /// The most of this step, cells included, that one worker runs at a time, over all runs of the pipeline.
    pub fn per_worker(self, cells: u32) -> Self {
        self.set("per_worker", cells)
    }

    /// The only workers that may run it, by name.
    pub fn nodes<T: ToString>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
        self.map("nodes").insert("allow".to_owned(), json!(names));
        self
    }

    /// Workers that may not run it, by name.
    pub fn not_on<T: ToString>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
        self.map("nodes").insert("deny".to_owned(), json!(names));
        self
    }

    /// A worker that has lost contact ends it, as it does with steps that hold a lock.
    pub fn stop_on_lost_contact(self) -> Self {
        self.set("on_lost_contact", "stop")
    }

    /// A variable of its commands.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.map("env").insert(name.into(), Value::String(value.into()));
        self
    }

    /// A value for the parameter [`Input`](super::Input) of this name, which may read `${{ params.x }}` and the like.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.map("with").insert(name.into(), Value::String(value.into()));
        self
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.keys.insert(key.to_owned(), value.into());
        self
    }

    fn add<T: ToString>(mut self, key: &str, items: impl IntoIterator<Item = T>) -> Self {
        let items = items.into_iter().map(|item| Value::String(item.to_string()));
        self.list(key).extend(items);
        self
    }

    fn list(&mut self, key: &str) -> &mut Vec<Value> {
        let list = self.keys.entry(key).or_insert_with(|| json!([]));
        if !list.is_array() {
            *list = json!([list.take()]);
        }
        list.as_array_mut().expect("it was made one")
    }

    fn map(&mut self, key: &str) -> &mut Map<String, Value> {
        let map = self.keys.entry(key).or_insert_with(|| json!({}));
        if !map.is_object() {
            *map = json!({});
        }
        map.as_object_mut().expect("it was made one")
    }
}

/// How often a step is tried, and after which failures.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Retries {
    keys: Map<String, Value>,
    decides: Option<fn(&Error) -> bool>,
}

impl Retries {
    /// So many attempts after the first.
    pub fn times(times: u16) -> Self {
        Self::default().set("times", times)
    }

    /// The wait before the second attempt, or from..to: it doubles.
    pub fn wait(self, wait: impl Into<String>) -> Self {
        self.set("wait", wait.into())
    }

    /// Which ends are tried again, beside errors that [`when`](Self::when) accepts: `failed`, `timed_out`.
    pub fn on<T: ToString>(mut self, ends: impl IntoIterator<Item = T>) -> Self {
        let ends = ends.into_iter().map(|end| Value::String(end.to_string()));
        let on = self.keys.entry("on").or_insert_with(|| json!([]));
        on.as_array_mut().expect("nothing else is put there").extend(ends);
        self
    }

    /// Only errors that this accepts are tried again.
    ///
    /// ```
    /// use std::io;
    ///
    /// use windlass::{Error, Retries};
    ///
    /// fn is_flaky(error: &Error) -> bool {
    ///     error.downcast_ref::<io::Error>().is_some()
    /// }
    ///
    /// let retries = Retries::times(3).when(is_flaky);
    /// ```
    pub fn when(mut self, decides: fn(&Error) -> bool) -> Self {
        self.decides = Some(decides);
        self.on([TRY_AGAIN])
    }

    /// Another worker should try, if there is one.
    pub fn elsewhere(self) -> Self {
        self.set("elsewhere", true)
    }

    /// Hand-outs after the first when workers are lost; 0: once it may have started it is never handed out again.
    pub fn lost(self, times: u16) -> Self {
        self.set("lost", times)
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.keys.insert(key.to_owned(), value.into());
        self
    }
}

impl From<u16> for Retries {
    fn from(times: u16) -> Self {
        Self::times(times)
    }
}
