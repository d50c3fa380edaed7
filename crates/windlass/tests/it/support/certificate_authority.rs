//! A private certificate authority, created as the documentation says.

use std::process::{Command, Stdio};

use super::project_folder::ProjectFolder;

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

/// The files of an authority: `NAME.pem` and `NAME.key`.
pub(crate) struct CertificateAuthority<'a> {
    project: &'a ProjectFolder,
    name: &'a str,
}

impl<'a> CertificateAuthority<'a> {
    pub(crate) fn new(project: &'a ProjectFolder, name: &'a str) -> Self {
        openssl(
            project,
            &format!(
                "req -x509 {KEY} -days 3650 -keyout {name}.key -out {name}.pem -subj /CN={name} \
                 -addext keyUsage=critical,keyCertSign"
            ),
        );
        Self { project, name }
    }

    /// Signs a certificate for a controller with these names: `FILE.pem` and `FILE.key`.
    pub(crate) fn vouch(&self, file: &str, names: &str) {
        let (project, name) = (self.project, self.name);
        openssl(
            project,
            &format!(
                "req {KEY} -keyout {file}.key -out {file}.csr -subj /CN=windlass \
                 -addext subjectAltName={names}"
            ),
        );
        openssl(
            project,
            &format!(
                "x509 -req -in {file}.csr -CA {name}.pem -CAkey {name}.key -days 365 \
                 -copy_extensions copy -out {file}.pem"
            ),
        );
    }
}

fn openssl(project: &ProjectFolder, line: &str) {
    let mut command = Command::new("openssl");
    command.args(line.split_whitespace()).current_dir(project.path()).stdin(Stdio::null());
    let done = command.output().expect("openssl is installed");
    assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
}
