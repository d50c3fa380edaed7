//! Links through mailboxes: what each promises.

mod conformance;
mod flawed;
