//! Every exit code of the program.

/// What was asked for was done.
pub(super) const SUCCESS: u8 = 0;

/// The output could not be written.
pub(super) const OUTPUT: u8 = 1;

/// The arguments make no request that this version can serve.
pub(super) const USAGE: u8 = 2;
