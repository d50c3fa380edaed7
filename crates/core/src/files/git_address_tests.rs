//! Addresses, refs and commits that are accepted, and those that are refused.

use super::git_address::{check_commit, check_ref, is_commit};
use super::{GitAddress, GitAddressProblem, GitProtocol};

fn problem(text: &str) -> GitAddressProblem {
    GitAddress::parse(text).expect_err(text)
}

#[test]
fn known_forms_are_accepted() {
    for (text, protocol) in [
        ("https://example.com/a/b.git", GitProtocol::Https),
        ("https://example.com:8443/größe", GitProtocol::Https),
        ("https://[::1]:8443/a", GitProtocol::Https),
        ("ssh://git@example.com:22/a", GitProtocol::Ssh),
        ("ssh://example.com/~me/a", GitProtocol::Ssh),
        ("git@example.com:a/b.git", GitProtocol::Ssh),
        ("/srv/git/my repository 日本", GitProtocol::File),
        ("file:///srv/git/a", GitProtocol::File),
    ] {
        let address = GitAddress::parse(text).expect(text);
        assert_eq!((address.protocol(), address.as_str()), (protocol, text));
    }
}

#[test]
fn credentials_go_to_the_origin_of_the_address_only() {
    let origin =
        |text: &str| GitAddress::parse(text).expect(text).https_origin().map(str::to_owned);
    assert_eq!(origin("https://a.example:8443/x/y").as_deref(), Some("https://a.example:8443"));
    assert_eq!(origin("ssh://git@a.example/x"), None);
    assert_eq!(origin("/srv/git/a"), None);
}

#[test]
fn options_and_helpers_are_refused() {
    for text in ["--upload-pack=touch /tmp/x", "-u./x", "-"] {
        assert_eq!(problem(text), GitAddressProblem::Option(text.to_owned()));
    }
    for text in ["ext::sh -c touch% /tmp/x", "fd::17", "https::https://a/b", "::x", "a.b::c"] {
        assert_eq!(problem(text), GitAddressProblem::Helper(text.to_owned()));
    }
}

#[test]
fn other_forms_are_refused() {
    for text in [
        "a",
        "../a",
        "./a",
        "~/a",
        "http://a/b",
        "git://a/b",
        "ftp://a/b",
        "file://host/a",
        "file:a/b c",
        "https://example.com",
        "https:///a",
        "https://-a/b",
        "https://a:b/c",
        "https://a b/c",
        "https://a/b c",
        "ssh://-oProxyCommand=x/a",
        "ssh://-l@host/a",
        "-oProxyCommand=x:a/b c",
        "git@-oProxyCommand:a",
        "git@host:-a",
        "git@host:",
        "C:\\a b",
        "a;b:c",
        "$(x):y",
    ] {
        let refused = problem(text);
        let known = matches!(refused, GitAddressProblem::Form(_) | GitAddressProblem::Option(_));
        assert!(known, "{text}: {refused:?}");
    }
    assert_eq!(problem(""), GitAddressProblem::Length);
    assert_eq!(problem(&"/a".repeat(2000)), GitAddressProblem::Length);
    for text in ["https://a/b\n", "https://a/\0", "/a\u{7f}", "/a\u{85}b", "\u{1b}[31m"] {
        assert_eq!(problem(text), GitAddressProblem::ControlCharacter);
    }
}

#[test]
fn credentials_are_refused_and_not_shown() {
    for text in [
        "https://me:pass-1234@a.example/b",
        "https://pass-1234@a.example/b",
        "https://a.example/b?token=pass-1234",
        "https://a.example/b#pass-1234",
        "ssh://me:pass-1234@a.example/b",
        "http://me:pass-1234@a.example/b",
    ] {
        let refused = problem(text);
        assert!(matches!(&refused, GitAddressProblem::Credentials(host) if host == "a.example"));
        assert!(!refused.to_string().contains("pass-1234"));
    }
}

#[test]
fn refs_follow_the_rules_of_git() {
    for text in
        ["main", "HEAD", "v1.0", "feature/größe", "refs/heads/a-b_c", "a@b", "dependabot/x-1.2"]
    {
        assert_eq!(check_ref(text), Ok(()), "{text}");
    }
    for text in [
        "-b",
        "a..b",
        "../a",
        "a/../b",
        "a b",
        "a~1",
        "a^{}",
        "a:b",
        "a?",
        "a*",
        "a[b",
        "a\\b",
        "@",
        "a@{1}",
        "/a",
        "a/",
        "a//b",
        ".a",
        "a/.b",
        "a.lock",
        "a.lock/b",
        "a.",
        "a/-b",
        "$(a)",
        "a;b",
        "",
        "--upload-pack=x",
        "a\nb",
    ] {
        assert!(check_ref(text).is_err(), "{text}");
    }
}

#[test]
fn commits_are_whole_hashes() {
    assert!(is_commit(&"0a".repeat(20)));
    assert!(is_commit(&"0a".repeat(32)));
    for text in ["", "main", "0a0a0a0", &"0A".repeat(20), &"0g".repeat(20), &"0".repeat(41)] {
        assert!(check_commit(text).is_err(), "{text}");
    }
}
