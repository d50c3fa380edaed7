//! Pages of a list: the link to the next one.

use axum::http::{HeaderMap, HeaderValue, Uri, header};

/// The link to the page behind a place (RFC 8288): the same query with another value of `key`.
pub(super) fn next(uri: &Uri, key: &str, place: &str) -> HeaderMap {
    let pairs = uri.query().unwrap_or_default().split('&');
    let is_other =
        |pair: &&str| !pair.is_empty() && pair.split('=').next().is_some_and(|name| name != key);
    let kept: String = pairs.filter(is_other).flat_map(|pair| [pair, "&"]).collect();
    let link = format!("<{}?{kept}{key}={place}>; rel=\"next\"", uri.path());
    let value = HeaderValue::from_str(&link).ok();
    value.into_iter().map(|value| (header::LINK, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_to_the_next_page_changes_only_the_cursor() {
        let link =
            |uri: &'static str| next(&Uri::from_static(uri), "before", "06f")[header::LINK].clone();
        assert_eq!(link("/runs"), "</runs?before=06f>; rel=\"next\"");
        assert_eq!(
            link("/runs?limit=2&before=07a&pipeline=a%26b"),
            "</runs?limit=2&pipeline=a%26b&before=06f>; rel=\"next\""
        );
    }
}
