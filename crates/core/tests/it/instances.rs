//! The role of a process, by a table.

use windlass_core::instance::{
    CiVariables, InstanceGroup, InstanceOptions, InstanceRendezvous, InstanceRoleError,
    SharedRunRole,
};

fn options(
    instance: Option<i64>,
    total: Option<i64>,
    link: Option<&'static str>,
) -> InstanceOptions<'static> {
    InstanceOptions { instance, total, link, run_id: Some("r1"), ..InstanceOptions::default() }
}

fn shared(total: u32) -> InstanceGroup {
    let meeting = InstanceRendezvous { name: "r1".to_owned(), attempt: 1, earlier: None };
    InstanceGroup { total, link: "redis://r".to_owned(), rendezvous: meeting }
}

#[test]
fn role_follows_from_the_options() {
    const AT: Option<&str> = Some("redis://r");
    let not_among = |instance, total| Err(InstanceRoleError::NotAmong { instance, total });
    let table = [
        (options(None, None, None), Ok(SharedRunRole::Standalone)),
        (options(Some(0), Some(1), None), Ok(SharedRunRole::Standalone)),
        (options(Some(0), Some(1), AT), Ok(SharedRunRole::Standalone)),
        (options(Some(0), Some(4), None), Ok(SharedRunRole::RunsAll { total: 4 })),
        (options(Some(0), Some(4), AT), Ok(SharedRunRole::Leader(shared(4)))),
        (
            options(Some(1), Some(4), AT),
            Ok(SharedRunRole::Worker { instance: 1, shared: shared(4) }),
        ),
        (
            options(Some(3), Some(4), AT),
            Ok(SharedRunRole::Worker { instance: 3, shared: shared(4) }),
        ),
        (options(Some(1), Some(4), None), Err(InstanceRoleError::NoLink { instance: 1, total: 4 })),
        (options(Some(4), Some(4), AT), not_among(4, 4)),
        (options(Some(5), Some(4), None), not_among(5, 4)),
        (options(Some(-1), Some(4), AT), not_among(-1, 4)),
        (options(Some(1), Some(1), AT), not_among(1, 1)),
        (options(Some(i64::MAX), Some(4), AT), not_among(i64::MAX, 4)),
        (options(Some(0), Some(0), AT), Err(InstanceRoleError::BadTotal(0))),
        (options(Some(0), Some(-4), AT), Err(InstanceRoleError::BadTotal(-4))),
        (options(Some(0), Some(1_025), AT), Err(InstanceRoleError::BadTotal(1_025))),
        (options(Some(2), None, AT), Err(InstanceRoleError::NoTotal(2))),
        (options(None, Some(4), AT), Err(InstanceRoleError::NoInstance(4))),
        (options(None, None, AT), Err(InstanceRoleError::OnlyLink)),
    ];
    for (options, role) in table {
        assert_eq!(SharedRunRole::of(options), role, "{options:?}");
    }
}

#[test]
fn instances_share_the_given_name_or_that_of_the_service() {
    let github =
        CiVariables { github_run: Some("77"), github_attempt: Some("1"), ..CiVariables::default() };
    let again = CiVariables { github_attempt: Some("3"), ..github };
    let gitlab = CiVariables { gitlab_pipeline: Some("9"), ..CiVariables::default() };
    let met = |run_id, ci| {
        let options =
            InstanceOptions { run_id, ci, ..options(Some(0), Some(2), Some("redis://r")) };
        let SharedRunRole::Leader(shared) = SharedRunRole::of(options)? else { panic!("it leads") };
        let InstanceRendezvous { name, attempt, earlier } = shared.rendezvous;
        Ok((name, attempt, earlier))
    };
    let named = |name: &str, attempt, earlier: Option<&str>| {
        Ok((name.to_owned(), attempt, earlier.map(str::to_owned)))
    };
    assert_eq!(met(None, github), named("github-77-1", 1, None));
    assert_eq!(met(None, again), named("github-77-3", 3, Some("github-77-2")));
    assert_eq!(met(None, gitlab), named("gitlab-9", 1, None));
    assert_eq!(met(Some("mine"), again), named("mine", 3, None), "the given name counts");
    assert_eq!(met(None, CiVariables::default()), Err(InstanceRoleError::NoName));
    for bad in ["", "a b", "../x", ".x", "a/b", &"x".repeat(129)] {
        assert_eq!(met(Some(bad), github), Err(InstanceRoleError::BadName(bad.to_owned())));
    }
}
