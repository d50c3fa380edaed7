//! An authority of one's own, made as the documentation says.

use std::process::{Command, Stdio};

use crate::run::arrange::RunFolder;

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

/// The files of an authority: `NAME.pem` and `NAME.key`.
pub(crate) struct CertificateAuthority<'a> {
    place: &'a RunFolder,
    name: &'a str,
}

impl<'a> CertificateAuthority<'a> {
    pub(crate) fn new(place: &'a RunFolder, name: &'a str) -> Self {
        openssl(
            place,
            &format!(
                "req -x509 {KEY} -days 3650 -keyout {name}.key -out {name}.pem -subj /CN={name} \
                 -addext keyUsage=critical,keyCertSign"
            ),
        );
        Self { place, name }
    }

    /// Vouches for a controller of these names: `FILE.pem` and `FILE.key`.
    pub(crate) fn vouch(&self, file: &str, names: &str) {
        let (place, name) = (self.place, self.name);
        openssl(
            place,
            &format!(
                "req {KEY} -keyout {file}.key -out {file}.csr -subj /CN=windlass \
                 -addext subjectAltName={names}"
            ),
        );
        openssl(
            place,
            &format!(
                "x509 -req -in {file}.csr -CA {name}.pem -CAkey {name}.key -days 365 \
                 -copy_extensions copy -out {file}.pem"
            ),
        );
    }
}

fn openssl(place: &RunFolder, line: &str) {
    let mut command = Command::new("openssl");
    command.args(line.split_whitespace()).current_dir(place.path()).stdin(Stdio::null());
    let done = command.output().expect("openssl is installed");
    assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
}
