//! The span collector, from the command line or the standard OpenTelemetry variables.

use windlass_controller::traces::TraceCollector;

use super::{environment, output};

/// The named collector, or else that of the environment. An error in the environment only prints a warning: the
/// variables may be meant for other programs.
pub(crate) fn collector(named: Option<&TraceCollector>) -> Option<TraceCollector> {
    let known = named.cloned().or_else(|| from_variables(&environment::otel))?;
    let headers = environment::otel("EXPORTER_OTLP_HEADERS").unwrap_or_default();
    let collector = known.with_headers(&headers);
    Some(match environment::otel("SERVICE_NAME") {
        Some(service) => collector.with_service_name(&service),
        None => collector,
    })
}

fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Option<TraceCollector> {
    let is_off = variable("SDK_DISABLED").is_some_and(|it| it.eq_ignore_ascii_case("true"))
        || variable("TRACES_EXPORTER").is_some_and(|it| it == "none");
    if is_off {
        return None;
    }
    let of_traces = || {
        variable("EXPORTER_OTLP_TRACES_ENDPOINT").map(|it| TraceCollector::from_trace_address(&it))
    };
    let of_all =
        || variable("EXPORTER_OTLP_ENDPOINT").map(|it| TraceCollector::from_base_address(&it));
    match of_traces().or_else(of_all)? {
        Ok(collector) => Some(collector),
        Err(error) => {
            output::print_message(&format!("warning: no spans are sent: {error}"));
            None
        }
    }
}

/// Parses a collector address of the command line.
pub(crate) fn named(address: &str) -> Result<TraceCollector, String> {
    TraceCollector::from_base_address(address).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings_of(variables: &[(&str, &str)]) -> String {
        let find = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        from_variables(&find).map(|it| format!("{it:?}")).unwrap_or_default()
    }

    #[test]
    fn trace_endpoint_variable_overrides_the_general_one() {
        let all = ("EXPORTER_OTLP_ENDPOINT", "http://a:4318");
        let traces = ("EXPORTER_OTLP_TRACES_ENDPOINT", "http://b:9/in");
        assert_eq!(settings_of(&[]), "");
        assert_eq!(settings_of(&[all]), "Collector(http://a:4318/v1/traces)");
        assert_eq!(settings_of(&[all, traces]), "Collector(http://b:9/in)");
        assert_eq!(settings_of(&[all, ("SDK_DISABLED", "TRUE")]), "");
        assert_eq!(settings_of(&[all, ("TRACES_EXPORTER", "none")]), "");
    }
}
