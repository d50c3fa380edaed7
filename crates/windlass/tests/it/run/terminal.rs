//! An interactive run: on a terminal of its own, with keys, Ctrl-C and a window that is closed.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

const STEPS: &str = r#"
name: seen
steps:
  work: { run: "trap 'echo told >> trace; exit 1' TERM; echo ready >> trace; until test -e go; do sleep 0.02; done" }
  after-that-with-a-long-name: { needs: work, run: "echo after >> trace; echo a line that is longer than forty columns are; exit 3" }
  elsewhere: { requires: [signing-key], run: "true" }
  clean: { needs: after-that-with-a-long-name, if: always(), run: "echo clean >> trace" }
"#;

/// A terminal with the program in it.
struct TestTerminal {
    child: Child,
    keys: Option<File>,
    shown: Arc<Mutex<String>>,
    closed: Arc<AtomicBool>,
    listens: Option<JoinHandle<()>>,
}

impl TestTerminal {
    fn open(project: &ProjectFolder, line: &str, columns: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let keys = openpt(flags).expect("there are terminals");
        grantpt(&keys).and_then(|()| unlockpt(&keys)).expect("it is ours");
        let size = Winsize { ws_col: columns, ws_row: 24, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&keys, size).expect("it has a size");
        let name = ptsname(&keys, Vec::new()).expect("it has a name").into_string();
        let name = name.expect("it is text");
        let screen = OpenOptions::new().read(true).write(true).open(name).expect("it opens");
        let screens = || screen.try_clone().expect("there are descriptors");
        let mut command = project.program("setsid");
        command.args(["--ctty", env!("CARGO_BIN_EXE_windlass")]).args(line.split(' '));
        command.env("TERM", "xterm").stdin(screens()).stdout(screens()).stderr(screens());
        let child = command.spawn().expect("it starts");
        let keys = File::from(keys);
        let (shown, closed) = (Arc::default(), Arc::default());
        let listens = listen(keys.try_clone().expect("there are descriptors"), &shown, &closed);
        Self { child, keys: Some(keys), shown, closed, listens: Some(listens) }
    }

    fn shown(&self) -> String {
        self.shown.lock().expect("nobody panics").clone()
    }

    fn until_shown(&self, text: &str) {
        until(text, || self.shown().contains(text));
    }

    fn press(&mut self, keys: &[u8]) {
        self.keys.as_mut().expect("it is open").write_all(keys).expect("it is read");
    }

    /// Closes the terminal as the button of its window does.
    fn close(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        self.listens.take().map(JoinHandle::join);
        self.keys = None;
    }

    /// Waits for the end of the program. Returns the code, and everything that was shown.
    fn ended(mut self) -> (Option<i32>, String) {
        until("it has ended", || self.child.try_wait().expect("it is ours").is_some());
        let code = self.child.wait().expect("it has ended").code();
        // The listener ends when no process holds the terminal: everything has been read then.
        until("all output is read", || self.listens.as_ref().is_none_or(JoinHandle::is_finished));
        (code, self.shown())
    }
}

impl Drop for TestTerminal {
    fn drop(&mut self) {
        // They fail if it has ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Reads the output until either side closes the terminal.
fn listen(mut from: File, shown: &Arc<Mutex<String>>, closed: &Arc<AtomicBool>) -> JoinHandle<()> {
    let (shown, closed) = (Arc::clone(shown), Arc::clone(closed));
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        let moment = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        while !closed.load(Ordering::Relaxed) {
            let ready = poll(&mut [PollFd::new(&from, PollFlags::IN)], Some(&moment));
            if ready.is_ok_and(|count| count == 0) {
                continue;
            }
            let Ok(count @ 1..) = from.read(&mut bytes) else { return };
            let text = String::from_utf8_lossy(&bytes[..count]);
            shown.lock().expect("nobody panics").push_str(&text);
        }
    })
}

#[test]
fn key_press_shows_running_steps_and_the_terminal_is_restored() {
    let project = ProjectFolder::with(STEPS);
    let mut window = TestTerminal::open(&project, "run --jobs 2", 100);
    project.until_lines("trace", 1);
    window.until_shown("1 running");
    window.press(b"t");
    window.until_shown("waits for work");
    project.file("go", "");
    let (code, shown) = window.ended();
    assert_eq!(code, Some(1), "{shown}");
    let (hidden, back) = (shown.rfind("\u{1b}[?25l"), shown.rfind("\u{1b}[?25h"));
    assert!(hidden.is_some() && hidden < back, "the cursor is back: {shown:?}");
    assert!(!shown.contains("\u{1b}[?1049"), "no other screen: {shown:?}");
    assert!(shown.contains("seen failed"), "{shown}");
}

#[test]
fn ctrl_c_prints_the_effect_of_a_second_one() {
    let project = ProjectFolder::with(STEPS);
    let mut window = TestTerminal::open(&project, "run", 100);
    project.until_lines("trace", 1);
    window.press(b"\x03");
    window.until_shown("(Ctrl-C kills them)");
    let (code, shown) = window.ended();
    assert_eq!(code, Some(130), "{shown}");
    assert_eq!(sorted(&project), ["clean", "ready", "told"]);
    project.until_nothing_is_left(&[]);
}

#[test]
fn closed_terminal_ends_the_run_gracefully() {
    let project = ProjectFolder::with(STEPS);
    let mut window = TestTerminal::open(&project, "run", 100);
    project.until_lines("trace", 1);
    window.close();
    assert_eq!(window.ended().0, Some(130));
    assert_eq!(sorted(&project), ["clean", "ready", "told"]);
    project.until_nothing_is_left(&[]);
}

fn sorted(project: &ProjectFolder) -> Vec<String> {
    let mut lines = project.lines("trace");
    lines.sort();
    lines
}

/// Returns the lines without colours and control sequences.
fn text(shown: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = shown;
    while let Some((before, behind)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = behind.find(|c: char| c.is_ascii_alphabetic()).map_or(behind.len(), |at| at + 1);
        rest = &behind[end..];
    }
    plain.push_str(rest);
    plain.split(['\n', '\r']).map(str::to_owned).collect()
}

#[test]
fn output_fits_a_narrow_window() {
    let project = ProjectFolder::with(STEPS);
    let mut window = TestTerminal::open(&project, "run --jobs 2", 40);
    project.until_lines("trace", 1);
    window.press(b"t");
    window.until_shown("waits for work");
    project.file("go", "");
    let (code, shown) = window.ended();
    assert_eq!(code, Some(1), "{shown}");
    let wide: Vec<String> =
        text(&shown).into_iter().filter(|line| line.chars().count() > 40).collect();
    // Output of steps and lines for copying are not wrapped.
    let theirs = |line: &String| line.contains("longer than forty") || line.contains("windlass ");
    assert!(wide.iter().all(theirs), "{wide:#?}");
    assert!(wide.iter().any(|line| line.contains("windlass ")), "{shown}");
}

/// A step that sets the title, moves the cursor and turns its text round, and a description that does too.
const HOSTILE: &str = "name: seen
steps:
  shout:
    about: \"x\\u202ey \\x1b]0;owned\\x07\"
    run: printf '\\033]0;owned\\007\\033[2Jsafe\\n\\033[31mred\\033[0m\\n'
";

#[test]
fn control_sequences_of_files_and_steps_do_not_reach_the_terminal() {
    let project = ProjectFolder::with(HOSTILE);
    assert_eq!(project.run("run").code, Some(0));
    let raw = "\x1b]0;owned\x07\x1b[2Jsafe\n\x1b[31mred\x1b[0m\n";
    assert_eq!(project.data("logs latest shout"), raw);
    let seen = |line: &str| TestTerminal::open(&project, line, 80).ended().1;
    let logs = seen("logs latest shout");
    assert!(logs.contains("safe") && logs.contains("\x1b[31mred"), "{logs:?}");
    for line in ["logs latest shout", "plan", "graph", "expand", "steps", "show latest"] {
        let shown = seen(line);
        let obeyed = ["\x1b]0", "\x07", "\x1b[2J", "\u{202e}"];
        assert!(!obeyed.iter().any(|it| shown.contains(it)), "{line}: {shown:?}");
    }
    assert!(seen("logs latest shout --raw").contains("\x1b]0;owned"));
}
