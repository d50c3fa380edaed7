//! Problems with durations, and suggested fixes.

use super::scalar::shortened;
use crate::problem::{Problem, ProblemCode, SourceFile, SuggestedFix};
use crate::spec::duration::DurationError;
use crate::spec::yaml::YamlNode;

/// Builds the problem of an invalid duration.
pub(super) fn bad_duration(
    source: &SourceFile,
    node: &YamlNode<'_>,
    key: &str,
    text: &str,
    error: DurationError,
) -> Problem {
    let bad = |code: ProblemCode, title: String| Problem::new(code, node.span.clone(), title);
    let instead = |text: String| SuggestedFix::replace(source, &node.span, &text);
    let shown = shortened(text);
    match (error, text.split_once("..")) {
        (DurationError::Bare, _) => bad(ProblemCode::BareNumber, format!("`{key}` needs a unit"))
            .label("a number without a unit")
            .help(UNITS)
            .fix(instead(with_unit(key, text))),
        (DurationError::Unreadable, Some(_)) => {
            bad(ProblemCode::BadDuration, format!("`{shown}` is not a valid range of waits"))
                .help("write the shortest wait first and the longest second, as in `5s..1m`")
        }
        (DurationError::Unreadable, None) => {
            bad(ProblemCode::BadDuration, format!("`{shown}` is not a valid duration"))
                .help(UNITS)
                .fix(with_known_unit(text).and_then(instead))
        }
        (DurationError::TooLong, _) => {
            bad(ProblemCode::BadDuration, format!("`{shown}` is longer than ten years"))
                .help("remove the key for no limit")
        }
        (DurationError::Zero, Some((_, max))) => {
            bad(ProblemCode::ZeroLimit, "a range of waits cannot begin with zero".to_owned())
                .label("the wait doubles from attempt to attempt")
                .help("`0s` alone retries at once")
                .fix(instead(format!("1s..{}", max.trim())))
        }
        (DurationError::Zero, None) => {
            bad(ProblemCode::ZeroLimit, format!("`{key}` is zero, which leaves no time"))
                .label("must be greater than zero")
                .help("remove the key for no limit; to override `defaults`, write a long one: `7d`")
        }
    }
}

const UNITS: &str = "write a duration as `250ms`, `90s`, `15m`, `2h` or `1h30m`";

/// Adds a unit: minutes, as most tools read a bare time limit; seconds for short waits.
fn with_unit(key: &str, text: &str) -> String {
    let whole = text.split('.').next().unwrap_or(text);
    let small = matches!(key, "wait" | "kill_grace") || whole == "0";
    format!("{whole}{}", if small { "s" } else { "m" })
}

/// Rewrites `15 min` or `2 hours` with the unit that windlass uses.
fn with_known_unit(text: &str) -> Option<String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = match text[digits..].trim().to_lowercase().as_str() {
        "ms" | "msec" | "millis" | "milliseconds" => "ms",
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "m" | "min" | "mins" | "minute" | "minutes" => "m",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        "d" | "day" | "days" => "d",
        _ => return None,
    };
    (digits > 0).then(|| format!("{}{unit}", &text[..digits]))
}
