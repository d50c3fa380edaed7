//! Files of steps at controllers that share a database: they need a folder that is shared, too.

use std::net::SocketAddr;

use windlass_store::objects::{BLOCK, ObjectError, ObjectStore as _};

use crate::api::object_clients::{client_of, object};
use crate::support::controller_fleet::ControllerFleet;
use crate::support::waiting::block_on;

fn address(fleet: &ControllerFleet, member: usize) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], fleet.members[member].port))
}

#[test]
fn standby_with_the_folder_answers_as_the_leader_does() {
    let fleet = ControllerFleet::start_with(2, "--no-exec --objects files");
    let leader = fleet.leader();
    let (at_leader, at_standby) =
        (client_of(&[address(&fleet, leader)]), client_of(&[address(&fleet, 1 - leader)]));
    let (small, (large, bytes)) = (object(1, 10), object(2, 2 * BLOCK));
    block_on(async {
        at_standby.put_batch(vec![small.clone()]).await.expect("it is stored");
        assert_eq!(at_leader.get_batch(vec![small.0]).await, Ok(vec![small.1]));
        at_leader.append(large, 0, bytes[..BLOCK].to_vec()).await.expect("it begins");
        // Refusals are those of the store, and not that another controller leads.
        let missing = at_standby.read(large, 0..1).await;
        assert!(matches!(missing, Err(ObjectError::Missing { .. })), "{missing:?}");
        let gap = at_standby.append(large, 2 * BLOCK as u64, vec![0]).await;
        let expected = BLOCK as u64;
        assert_eq!(gap, Err(ObjectError::Offset { id: large, at: 2 * expected, expected }));
        at_standby.append(large, expected, bytes[BLOCK..].to_vec()).await.expect("it continues");
        at_standby.finish(large, 2 * expected).await.expect("the bytes are right");
        assert_eq!(at_leader.missing(vec![large]).await, Ok(Vec::new()));
    });
}

#[test]
fn controllers_without_a_shared_folder_say_so() {
    let fleet = ControllerFleet::start(1);
    let said = fleet.members[0].running.said();
    assert!(
        said.contains("files of steps (workspaces, artifacts, caches) are unavailable"),
        "{said}"
    );
    let refused = block_on(client_of(&[address(&fleet, 0)]).missing(vec![object(1, 1).0]));
    let refused = refused.expect_err("there is no folder").to_string();
    assert!(refused.contains("--objects FOLDER"), "{refused}");
}
