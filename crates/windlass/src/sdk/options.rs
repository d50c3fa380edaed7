//! Options of a step: the keys of a step in a pipeline file.

use serde_json::{Map, Value, json};

use super::error::Error;
use super::retries::Retries;

/// The options of a step. They are the keys of a step in a pipeline file, with the same checks, which run when the pipeline
/// is planned. In `#[step(...)]` they have the same names.
///
/// ```
/// use windlass::{Options, Retries};
///
/// let options = Options::new()
///     .about("Deploys the site")
///     .timeout("15m")
///     .retry(Retries::times(3).wait("5s..1m").elsewhere())
///     .requires(["docker", "cpu>=4"])
///     .lock("prod");
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Options {
    /// The keys as in a file, in the order in which they were set.
    pub(super) keys: Map<String, Value>,
    pub(super) needs: Vec<String>,
    /// The axes of the matrix, in the order in which names of cells list them.
    pub(super) axes: Vec<(String, Vec<String>)>,
    /// The function that decides whether an error is retried.
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
    /// No options.
    pub fn new() -> Self {
        Self::default()
    }

    texts! {
        /// Sets the description, one line, shown in plan and summary. `#[step]` takes the first line of the function's
        /// documentation.
        about;
        /// Sets the timeout of one attempt: `90s`, `15m`.
        timeout;
        /// Sets the working directory of commands, relative to the root of the pipeline.
        dir;
        /// Sets how long the step waits while no worker can run it.
        wait_for_worker;
        /// Sets how long the step waits for its locks.
        wait_for_lock;
        /// Sets the time between the request to end and being dropped.
        kill_grace;
        /// Sets the idempotency key: after a success, no run repeats the step. `./key` belongs to this pipeline.
        idempotent;
    }

    lists! {
        /// Adds requirements on workers: `docker`, `cpu>=4`, `gpu | tpu`, `not spot`.
        requires;
        /// Adds preferences among workers.
        prefers;
        /// Adds tags, which `--tag` selects.
        tags;
        /// Adds secrets, by the names of variables of the worker. Their values are masked in the log.
        secrets;
    }

    /// Lets the run succeed even if this step fails.
    pub fn ignore_failure(self) -> Self {
        self.set("ignore_failure", true)
    }

    /// Whether a key is set.
    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// Sets the retries: a number of attempts after the first, or [`Retries`].
    pub fn retry(mut self, retries: impl Into<Retries>) -> Self {
        let Retries { keys, decides } = retries.into();
        self.decides = decides;
        self.set("retry", keys)
    }

    /// Adds a need whose result the step does not take.
    pub fn after(mut self, step: impl Into<String>) -> Self {
        self.needs.push(step.into());
        self
    }

    /// Adds a lock that the step holds while it runs. `./name` belongs to this pipeline.
    pub fn lock(self, name: impl Into<String>) -> Self {
        self.add("lock", [name.into()])
    }

    /// Adds a lock with another order than first come, first served: `newest-first` or `cancel-older`.
    pub fn lock_in_order(mut self, name: impl Into<String>, order: &str) -> Self {
        self.list("lock").push(json!({ "name": name.into(), "order": order }));
        self
    }

    /// Sets the priority. Steps with a greater one go first.
    pub fn priority(self, priority: i32) -> Self {
        self.set("priority", priority)
    }

    /// Sets a matrix of targets: a cell for each, whose worker must have the target as a label.
    pub fn matrix<T: ToString>(self, targets: impl IntoIterator<Item = T>) -> Self {
        let targets: Vec<String> = targets.into_iter().map(|target| target.to_string()).collect();
        self.set("matrix", targets)
    }

    /// Adds an axis to the matrix: a cell for each combination. Only the axes `os` and `arch` select workers by themselves.
    pub fn axis<T: ToString>(
        mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        let values = values.into_iter().map(|value| value.to_string()).collect();
        self.axes.push((name.into(), values));
        self
    }

    /// Sets the condition, an expression such as `params.channel == "stable"`. If it is false, the step is skipped, and the
    /// reason shows the expression with its values.
    pub fn when(self, condition: impl Into<String>) -> Self {
        self.set("if", condition.into())
    }

    /// Runs the step in any case, even if the run is cancelled.
    pub fn always(self) -> Self {
        self.set("if", "always()")
    }

    /// Runs the step only if one of its needs failed.
    pub fn on_failure(self) -> Self {
        self.set("if", "failure()")
    }

    /// Runs the step on the leader.
    pub fn pin(self) -> Self {
        self.set("pin", "leader")
    }

    /// Limits the attempts of this step, cells included, that one worker runs at a time, over all runs of the pipeline.
    pub fn per_worker(self, cells: u32) -> Self {
        self.set("per_worker", cells)
    }

    /// Allows only these workers, by name.
    pub fn nodes<T: ToString>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
        self.map("nodes").insert("allow".to_owned(), json!(names));
        self
    }

    /// Excludes these workers, by name.
    pub fn not_on<T: ToString>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
        self.map("nodes").insert("deny".to_owned(), json!(names));
        self
    }

    /// Lets a worker that has lost contact end the step, as it does with steps that hold a lock.
    pub fn stop_on_lost_contact(self) -> Self {
        self.set("on_lost_contact", "stop")
    }

    /// Sets a variable of commands.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.map("env").insert(name.into(), Value::String(value.into()));
        self
    }

    /// Passes a value to the parameter [`Input`](super::Input) of this name. It can contain `${{ params.x }}`.
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
