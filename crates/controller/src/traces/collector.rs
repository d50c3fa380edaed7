//! The address of a trace collector.

use std::fmt;

use windlass_net::http::ControllerAddress;
use windlass_net::percent_encoding::percent_decode;

/// The path below the address of every collector.
const PATH: &str = "/v1/traces";

/// A collector, and the name under which this program reports to it.
#[derive(Clone)]
pub struct TraceCollector {
    pub(super) endpoint: ControllerAddress,
    pub(super) path: String,
    /// Headers that the collector requires.
    pub(super) headers: Vec<(String, String)>,
    /// The name of this program at the collector.
    pub(super) service: String,
}

/// An address that cannot be that of a collector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{address}` is no address of a collector: {why}; it looks like http://127.0.0.1:4318")]
pub struct TraceCollectorError {
    address: String,
    why: String,
}

/// Headers may be credentials.
impl fmt::Debug for TraceCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Collector({}{})", self.endpoint, self.path)
    }
}

impl TraceCollector {
    /// Returns the collector at the base address of all signals. Traces have a path below it.
    pub fn from_base_address(address: &str) -> Result<Self, TraceCollectorError> {
        let address = address.trim_end_matches('/');
        if address.ends_with(PATH) {
            Self::from_trace_address(address)
        } else {
            Self::from_trace_address(&format!("{address}{PATH}"))
        }
    }

    /// Returns the collector at an address for traces alone.
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
        // The default port is that of HTTP, not that of a controller.
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let host = if has_port { host.to_owned() } else { format!("{host}:80") };
        let place: ControllerAddress =
            format!("http://{host}").parse().map_err(|_| bad("it has no host"))?;
        if path.contains(char::is_whitespace) || !path.is_ascii() {
            return Err(bad("its path cannot be sent"));
        }
        Ok(Self {
            endpoint: place,
            path: path.to_owned(),
            headers: Vec::new(),
            service: "windlass".to_owned(),
        })
    }

    /// Adds headers from a list `name=value,…`, whose values may be percent-encoded. Malformed entries are ignored.
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

    /// Sets the name of this program at the collector.
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
            Ok(it) => format!("{}{}", it.endpoint, it.path),
            Err(error) => error.why,
        }
    }

    #[test]
    fn address_is_the_base_of_all_signals_or_that_of_traces() {
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
    fn headers_are_read_from_the_variable_and_never_shown() {
        let collector = TraceCollector::from_base_address("http://a:1").unwrap();
        let collector =
            collector.with_headers("api-key=hunter22, X-More=a%20b%3D,bad,=x,ö=1,z=%0d");
        let expected = [("api-key", "hunter22"), ("x-more", "a b=")];
        assert_eq!(collector.headers, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert!(!format!("{collector:?}").contains("hunter22"));
    }
}
