//! The scripts of the steps of a round, and their pipelines.

use std::path::Path;

use crate::guard::tethers::LeasedProgram;

/// The steps, in the order in which they get the lock.
pub(super) const STEPS: [&str; 3] = ["first", "second", "third"];

/// A step says that it is alive, and so does a daemon of it that left its group and cleared its environment. If it
/// `waits`, it goes on until the file `{witness}.go` is there, and fails if that takes more than a minute.
pub(super) fn script(witness: &Path, waits: bool) -> String {
    let witness = witness.display();
    let until =
        if waits { format!("test -e {witness}.go") } else { "test $count -ge 12".to_owned() };
    format!(
        r#"host=$(uname -n)/$(readlink /proc/self/ns/pid)
tell() {{ read up idle < /proc/uptime; echo "$1 $up"; echo "$1 $WINDLASS_STEP $WINDLASS_FENCE $WINDLASS_WORKER $host $up" >> {witness}; }}
tell begin; sync {witness}
(setsid env -i sh -c 'while :; do read up idle < /proc/uptime; echo "alive $0 $up" >> {witness}; sleep 0.03; done' "$WINDLASS_STEP $WINDLASS_FENCE $WINDLASS_WORKER $host" > /dev/null 2>&1 &)
count=0
until {until}; do
  tell alive; sleep 0.05; count=$((count + 1))
  test $count -lt 1200 || exit 1
done
tell end; sync {witness}"#
    )
}

/// Steps with one lock. From the step with the index `step` on, they wait for the order to end; if a program is leased,
/// the first hangs as it executes it.
pub(super) fn pipeline(witness: &Path, step: usize, leased: Option<&LeasedProgram>) -> String {
    let mut text = "name: witness\nsteps:\n".to_owned();
    for (index, name) in STEPS.iter().enumerate() {
        let priority = STEPS.len() - index;
        text.push_str(&head(name, priority));
        let leased = leased.filter(|_| index == 0);
        text.push_str(&leased.map_or_else(
            || lines(&script(witness, index >= step)),
            |leased| format!("    run: exec {}\n", leased.path().display()),
        ));
    }
    text
}

/// A run of one step with the same lock.
pub(super) fn contender(witness: &Path) -> String {
    let script = lines(&script(witness, true));
    format!("name: contender\nsteps:\n{}{script}", head("contender", 1))
}

fn head(name: &str, priority: usize) -> String {
    format!(
        "  {name}:\n    lock: prod\n    priority: {priority}\n    retry: {{ lost: 9 }}\n    kill_grace: 1s\n"
    )
}

fn lines(script: &str) -> String {
    let lines: Vec<String> = script.lines().map(|line| format!("      {line}")).collect();
    format!("    run: |\n{}\n", lines.join("\n"))
}
