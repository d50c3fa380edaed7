//! What is wrong with a duration, and how it is written.

use super::scalar::shortened;
use crate::problem::{Problem, ProblemCode, SourceFile, SuggestedFix};
use crate::spec::duration::DurationError;
use crate::spec::yaml::YamlNode;

/// Tells that the text behind a key is no duration.
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
            .label(format!("{text} of what?"))
            .help(UNITS)
            .fix(instead(with_unit(key, text))),
        (DurationError::Unreadable, Some(_)) => {
            bad(ProblemCode::BadDuration, format!("`{shown}` is no span of waits"))
                .help("write the shorter wait first and the longest second, as in `5s..1m`")
        }
        (DurationError::Unreadable, None) => {
            bad(ProblemCode::BadDuration, format!("`{shown}` is no duration"))
                .help(UNITS)
                .fix(with_known_unit(text).and_then(instead))
        }
        (DurationError::TooLong, _) => {
            bad(ProblemCode::BadDuration, format!("`{shown}` is longer than ten years"))
                .help("leave the key out to wait for ever")
        }
        (DurationError::Zero, Some((_, max))) => {
            bad(ProblemCode::ZeroLimit, "a wait of nothing does not grow".to_owned())
                .label("it is doubled from attempt to attempt")
                .help("`0s` alone tries again at once")
                .fix(instead(format!("1s..{}", max.trim())))
        }
        (DurationError::Zero, None) => bad(
            ProblemCode::ZeroLimit,
            format!("a `{key}` of nothing leaves no time"),
        )
        .label("nothing ends in no time")
        .help("leave the key out for no limit; over one of `defaults`, write a long one: `7d`"),
    }
}

const UNITS: &str = "durations are written `250ms`, `90s`, `15m`, `2h` or `1h30m`";

/// Minutes, as in most tools where a bare number is allowed for a time limit; small waits are seconds.
fn with_unit(key: &str, text: &str) -> String {
    let whole = text.split('.').next().unwrap_or(text);
    let small = matches!(key, "wait" | "kill_grace") || whole == "0";
    format!("{whole}{}", if small { "s" } else { "m" })
}

/// `15 min`, `2 hours`: the unit as windlass spells it.
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
