//! Where spans go.

use std::fmt;

use windlass_net::http::ControllerAddress;
use windlass_net::percent_encoding::percent_decode;

/// What is behind the address of every collector.
const PATH: &str = "/v1/traces";

/// A collector, and what it is to know of who sends.
#[derive(Clone)]
pub struct TraceCollector {
    pub(super) place: ControllerAddress,
    pub(super) path: String,
    /// What it wants in the head of a request.
    pub(super) headers: Vec<(String, String)>,
    /// What this is called there.
    pub(super) service: String,
}

/// An address at which no collector can be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{address}` is no address of a collector: {why}; it looks like http://127.0.0.1:4318")]
pub struct TraceCollectorError {
    address: String,
    why: String,
}

/// Headers may be credentials.
impl fmt::Debug for TraceCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Collector({}{})", self.place, self.path)
    }
}

impl TraceCollector {
    /// The one at the address that all signals of a program go to: traces have a path below it.
    pub fn from_base_address(address: &str) -> Result<Self, TraceCollectorError> {
        let address = address.trim_end_matches('/');
        if address.ends_with(PATH) {
            Self::from_trace_address(address)
        } else {
            Self::from_trace_address(&format!("{address}{PATH}"))
        }
    }

    /// The one at the address of traces alone.
    pub fn from_trace_address(address: &str) -> Result<Self, TraceCollectorError> {
        let bad =
            |why: &str| TraceCollectorError { address: address.to_owned(), why: why.to_owned() };
        let rest = match address.split_once("://") {
            Some(("http", rest)) => rest,
            Some(("https", _)) => return Err(bad("TLS is not available for it")),
            _ => return Err(bad("only http:// is known")),
        };
        let (host, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        // As for every address of HTTP; a controller's would be another.
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let host = if has_port { host.to_owned() } else { format!("{host}:80") };
        let place: ControllerAddress =
            format!("http://{host}").parse().map_err(|_| bad("it has no host"))?;
        if path.contains(char::is_whitespace) || !path.is_ascii() {
            return Err(bad("its path cannot be sent"));
        }
        Ok(Self {
            place,
            path: path.to_owned(),
            headers: Vec::new(),
            service: "windlass".to_owned(),
        })
    }

    /// The same, with headers as a list `name=value,…` has them; values may be percent-encoded. What is none is left out.
    #[must_use]
    pub fn with_headers(mut self, list: &str) -> Self {
        let pairs = list.split(',').filter_map(|pair| pair.split_once('='));
        let fits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_graphic());
        for (name, value) in pairs {
            let (name, value) = (name.trim().to_ascii_lowercase(), percent_decode(value.trim()));
            if fits(&name) && value.bytes().all(|it| (b' '..=b'~').contains(&it)) {
                self.headers.push((name, value));
            }
        }
        self
    }

    /// The same, to whom this is known by a name.
    #[must_use]
    pub fn with_service_name(self, service: &str) -> Self {
        Self { service: service.to_owned(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(collector: Result<TraceCollector, TraceCollectorError>) -> String {
        match collector {
            Ok(it) => format!("{}{}", it.place, it.path),
            Err(error) => error.why,
        }
    }

    #[test]
    fn an_address_is_the_base_of_all_signals_or_that_of_traces() {
        let below = |text| shown(TraceCollector::from_base_address(text));
        assert_eq!(below("http://localhost:4318"), "http://localhost:4318/v1/traces");
        assert_eq!(below("http://localhost:4318/"), "http://localhost:4318/v1/traces");
        assert_eq!(below("http://[::1]/otlp"), "http://[::1]:80/otlp/v1/traces");
        assert_eq!(below("http://a:4318/v1/traces"), "http://a:4318/v1/traces");
        assert_eq!(shown(TraceCollector::from_trace_address("http://a:1")), "http://a:1/");
        assert_eq!(below("https://a"), "TLS is not available for it");
        assert_eq!(below("a:4318"), "only http:// is known");
        assert_eq!(below("http://me:secret@a:1"), "it has no host");
    }

    #[test]
    fn headers_are_read_as_their_variable_writes_them_and_never_shown() {
        let collector = TraceCollector::from_base_address("http://a:1").unwrap();
        let collector =
            collector.with_headers("api-key=hunter22, X-More=a%20b%3D,bad,=x,ö=1,z=%0d");
        let expected = [("api-key", "hunter22"), ("x-more", "a b=")];
        assert_eq!(collector.headers, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert!(!format!("{collector:?}").contains("hunter22"));
    }
}
