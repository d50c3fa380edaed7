//! The cluster's token, from its file.

use std::path::Path;

use crate::cli::error::CliError;
use crate::controller::api::Token;

/// The most bytes of a token file: a file that is larger is another one.
const FILE_MAX: usize = 4_096;

/// Reads a token from a file that holds it and nothing else.
pub(crate) fn read(file: &Path) -> Result<String, CliError> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| {
        CliError::usage(format!("the token file {shown} cannot be read: {error}"))
    })?;
    let token = text.trim().to_owned();
    if text.len() > FILE_MAX {
        return Err(CliError::usage(format!("{shown} is too large to be a token file")));
    }
    match Token::new(&token) {
        Ok(_) => Ok(token),
        Err(why) => Err(CliError::usage(format!("{shown} holds no token: {why}"))),
    }
}
