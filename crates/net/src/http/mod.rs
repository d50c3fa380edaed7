//! An HTTP client for controllers: timeouts, redirects to the leader, tokens.

mod client;
mod controller_address;
mod dialer;
mod headers;
mod loopback;

pub use client::{ClientCredentials, HttpCallError, HttpClient, HttpRequest, HttpResponse};
pub use controller_address::{
    ControllerAddress, ControllerAddressError, ControllerAddresses, may_redirect,
};
pub use dialer::{ConnectionStream, DialFuture, Dialer, TcpDialer, UnixSocketDialer, dialer};
pub use headers::{
    LEADER_HEADER, ObjectProblem, PROTOCOL, PROTOCOL_HEADER, ProblemDetails, WORKER_HEADER,
};
pub use loopback::make_loopback_token;
