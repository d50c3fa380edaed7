//! The submodules of a worktree. Their objects are in the worktree's part of the mirror, and are removed with it.

use windlass_core::files::{GitAddress, GitAddressProblem};

use super::git_checkout::GitCheckout;
use crate::workspaces::workspace_error::WorkspaceError;

/// Checks out the submodules of a submodule.
const NESTED: &str = "git submodule --quiet update --init --recursive --checkout";

impl GitCheckout<'_> {
    /// Checks out submodules, and those in them. Addresses of the first level are checked here, which explains a refusal; git
    /// checks all of them, and allows known protocols only.
    ///
    /// `git submodule init` would write addresses to settings that all worktrees of the mirror share. Here each worktree has
    /// its own.
    pub(super) async fn update_submodules(&self) -> Result<(), WorkspaceError> {
        let has_file = self.command()?.args(["cat-file", "-e", "HEAD:.gitmodules"]).run();
        if has_file.await.is_err() {
            return Ok(());
        }
        // The file of the commit, not that of the folder, which could be a link.
        let list = ["config", "-z", "--blob", "HEAD:.gitmodules", "--list"];
        let listed = self.command()?.args(list).run().await?;
        for (name, address) in addresses(&String::from_utf8_lossy(&listed)) {
            let resolved = resolve(&self.remote.address, address);
            let resolved = resolved
                .map_err(|problem| WorkspaceError::Submodule { name: name.to_owned(), problem })?;
            self.configure(&format!("submodule.{name}.url"), resolved.as_str()).await?;
            self.configure(&format!("submodule.{name}.active"), "true").await?;
        }
        let update = ["submodule", "--quiet", "update", "--checkout"];
        self.command()?.with_remote(&self.remote).args(update).run().await?;
        let nested = ["submodule", "--quiet", "foreach", NESTED];
        self.command()?.with_remote(&self.remote).args(nested).run().await?;
        Ok(())
    }

    async fn configure(&self, key: &str, value: &str) -> Result<(), WorkspaceError> {
        let set = ["config", "--worktree", "--replace-all", key, value];
        self.command()?.args(set).run().await?;
        Ok(())
    }
}

/// Returns the settings `submodule.NAME.url` of a list that `git config -z` prints.
fn addresses(listed: &str) -> impl Iterator<Item = (&str, &str)> {
    listed.split('\0').filter_map(|setting| {
        let (name, value) = setting.split_once('\n').unwrap_or((setting, ""));
        let name = name.strip_prefix("submodule.")?.strip_suffix(".url")?;
        Some((name, value))
    })
}

/// Returns the address of a submodule, which can be relative to that of the repository: `../other.git`.
fn resolve(base: &GitAddress, address: &str) -> Result<GitAddress, GitAddressProblem> {
    if !address.starts_with("./") && !address.starts_with("../") {
        return GitAddress::parse(address);
    }
    let outside = || GitAddressProblem::Form(address.to_owned());
    let base = base.as_str().trim_end_matches('/');
    // The host, or the root of the file system, and the path below it.
    let path_at = match base.split_once("://") {
        Some((protocol, rest)) => rest.find('/').map(|at| protocol.len() + "://".len() + at + 1),
        None => base.find(['/', ':']).map(|at| at + 1),
    };
    let (host, path) = base.split_at(path_at.ok_or_else(outside)?);
    let mut names: Vec<&str> = path.split('/').collect();
    for name in address.split('/') {
        match name {
            "." => {}
            ".." => drop(names.pop().ok_or_else(outside)?),
            "" => return Err(outside()),
            name => names.push(name),
        }
    }
    GitAddress::parse(&format!("{host}{}", names.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_from_a_list_of_settings() {
        let listed = "submodule.a.path\na\0submodule.a b.url\n-u./x\0submodule.c.url\n../c\0";
        let found: Vec<_> = addresses(listed).collect();
        assert_eq!(found, [("a b", "-u./x"), ("c", "../c")]);
    }

    #[test]
    fn relative_addresses_are_resolved_as_git_does() {
        for (base, address, expected) in [
            ("https://a.example/x/y.git", "../z.git", "https://a.example/x/z.git"),
            ("https://a.example/x/y.git/", "../../z", "https://a.example/z"),
            ("https://a.example/x", "./y", "https://a.example/x/y"),
            ("git@a.example:x/y", "../z", "git@a.example:x/z"),
            ("git@a.example:x", "../z", "git@a.example:z"),
            ("/srv/größe/x", "../y z", "/srv/größe/y z"),
            ("/srv/x", "https://a.example/b", "https://a.example/b"),
        ] {
            let base = GitAddress::parse(base).unwrap();
            assert_eq!(resolve(&base, address).map(|it| it.to_string()), Ok(expected.to_owned()));
        }
    }

    #[test]
    fn hostile_addresses_are_refused() {
        let base = GitAddress::parse("https://a.example/x").unwrap();
        for address in [
            "-u./x",
            "--upload-pack=x",
            "ext::sh -c x",
            "fd::7",
            "../a\nb",
            "",
            "a",
            "../../../../x",
            "../../-oProxyCommand=x/y",
            "../../u:p@b.example/x",
        ] {
            assert!(resolve(&base, address).is_err(), "{address}");
        }
    }
}
