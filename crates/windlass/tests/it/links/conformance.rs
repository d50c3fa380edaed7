//! Links through mailboxes keep their promises, and the checks find one that does not.

use windlass::conformance;
use windlass::conformance::{LINK_CHECKS, shared_mailboxes};
use windlass_link::mailbox::{MailboxAddress, MemoryMailboxes};

use super::dir_link::open;
use super::flawed::{FlawedMailboxes, MailboxFlaw};

#[test]
fn memory_conforms() {
    conformance::check_link("memory", || shared_mailboxes(MemoryMailboxes::new()));
}

/// The mailboxes without a flaw must pass; otherwise the failures of the flawed ones prove nothing.
#[test]
fn a_place_without_a_flaw_conforms() {
    conformance::check_link("without a flaw", || shared_mailboxes(FlawedMailboxes::new(None)));
}

#[test]
fn each_flaw_is_found_by_its_check() {
    // The checks mostly wait.
    std::thread::scope(|threads| {
        for flaw in MailboxFlaw::ALL {
            threads.spawn(move || is_found(flaw));
        }
    });
}

fn is_found(flaw: MailboxFlaw) {
    let check = flaw.found_by();
    assert!(LINK_CHECKS.iter().any(|known| known.name == check), "there is no check {check}");
    let report = conformance::examine_link_checks("flawed", &[check], || {
        shared_mailboxes(FlawedMailboxes::new(Some(flaw)))
    });
    assert!(report.has_failed(check), "{flaw:?} was not found by {check}\n{report}");
}

#[test]
fn failure_names_the_link_the_check_and_the_difference() {
    let check = "mailbox_binding::second_bind_is_refused_with_the_holder";
    let report = conformance::examine_link_checks("leaky", &[check], || {
        shared_mailboxes(FlawedMailboxes::new(Some(MailboxFlaw::BindsEverybody)))
    });
    let text = report.to_string();
    let line = text.lines().find(|line| line.contains(check)).expect("it failed");
    assert!(line.contains("leaky") && line.contains("promised Err(AlreadyLed"), "{line}");
}

#[test]
fn the_folder_of_the_example_conforms() {
    conformance::check_link("folder", || {
        let folder = tempfile::tempdir().expect("a folder");
        move || {
            let url = format!("dir:{}", folder.path().display());
            open(&MailboxAddress { url, run: "run".to_owned(), ca: None })
                .expect("it is an address")
        }
    });
}
