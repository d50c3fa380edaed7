//! Pages of a list: the way to the next one, and lists in a parameter.

use axum::http::{HeaderMap, HeaderValue, Uri, header};

use crate::api::api_error::ApiError;

/// The way to the page behind a place, as RFC 8288 has it: the same question with another `key`.
pub(super) fn next(uri: &Uri, key: &str, place: &str) -> HeaderMap {
    let pairs = uri.query().unwrap_or_default().split('&');
    let is_other =
        |pair: &&str| !pair.is_empty() && pair.split('=').next().is_some_and(|name| name != key);
    let kept: String = pairs.filter(is_other).flat_map(|pair| [pair, "&"]).collect();
    let link = format!("<{}?{kept}{key}={place}>; rel=\"next\"", uri.path());
    let value = HeaderValue::from_str(&link).ok();
    value.into_iter().map(|value| (header::LINK, value)).collect()
}

/// Words between commas, each of which has to mean something.
pub(super) fn words<T>(
    key: &str,
    text: Option<&str>,
    meaning: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, ApiError> {
    let words = text.unwrap_or_default().split(',').filter(|word| !word.is_empty());
    let read = |word| {
        meaning(word)
            .ok_or_else(|| ApiError::bad_request(format!("`{key}={word}`: there is no such {key}")))
    };
    words.map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_the_same_question_further_on() {
        let link =
            |uri: &'static str| next(&Uri::from_static(uri), "before", "06f")[header::LINK].clone();
        assert_eq!(link("/runs"), "</runs?before=06f>; rel=\"next\"");
        assert_eq!(
            link("/runs?limit=2&before=07a&pipeline=a%26b"),
            "</runs?limit=2&pipeline=a%26b&before=06f>; rel=\"next\""
        );
    }

    #[test]
    fn unknown_filter_value_is_refused() {
        let digit = |word: &str| word.parse::<u8>().ok();
        assert_eq!(words("n", Some("1,2,,3"), digit), Ok(vec![1, 2, 3]));
        assert_eq!(words("n", None, digit), Ok(Vec::new()));
        assert!(words("n", Some("1,x"), digit).is_err());
    }
}
