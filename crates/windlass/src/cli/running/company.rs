//! Other instances, before the run begins: the link is bound, and who has to be there is waited for.

use std::sync::Arc;

use super::interrupts::{Interrupts, Wish};
use super::order::Order;
use crate::cli::error::CliError;
use crate::cli::exit;
use crate::cli::instances::{Post, PostNews};
use crate::cli::output::{self, Ink};
use crate::local::{Station, Tee};

/// Whether a run begins.
pub(super) enum Company {
    /// Everybody is there who has to be; without instances that is nobody.
    Met(Option<Post>),
    /// Somebody does not want it any more: the exit code.
    CalledOff(u8),
}

/// Takes the lead of other instances, where there are any.
pub(super) async fn meet(
    order: &Order,
    station: &Station,
    logs: &Arc<Tee>,
    interrupts: &mut Interrupts,
) -> Result<Company, CliError> {
    let Some(leading) = &order.leading else { return Ok(Company::Met(None)) };
    leading.dismiss_strangers(station.handle(), order.store.as_deref()).await;
    // One whose place does not answer is tried for a while: whoever waits may give up before.
    let post = tokio::select! {
        post = Post::open(leading, station, Arc::clone(logs) as _) => post?,
        () = interrupted(interrupts) => return Ok(Company::CalledOff(exit::INTERRUPTED)),
    };
    output::talk(&order.look.paint(Ink::Quiet, &leading.greeting()));
    if post.follows_another() {
        let what = format!(
            "an earlier instance 0 has led here: locks are granted after {}",
            leading.ttl()
        );
        output::talk(&format!("{} {what}", order.look.paint(Ink::Quiet, "note:")));
    }
    Ok(Company::Met(Some(post)))
}

/// Waits for other instances, if it was told to. If it comes to nothing those who are there are told.
pub(super) async fn gather(
    order: &Order,
    station: &Station,
    post: Option<Post>,
    interrupts: &mut Interrupts,
) -> Result<Company, CliError> {
    let (Some(leading), Some(mut post)) = (&order.leading, post) else {
        return Ok(Company::Met(None));
    };
    let gathering = leading.gather(station.handle());
    tokio::pin!(gathering);
    loop {
        let code = tokio::select! {
            missing = &mut gathering => {
                if let Some(missing) = missing {
                    warn(order, &format!("{missing}; it begins all the same"));
                }
                return Ok(Company::Met(Some(post)));
            }
            news = post.next() => match news {
                PostNews::Unread(why) => {
                    warn(order, &why.to_string());
                    continue;
                }
                PostNews::Cancel(_) => exit::CANCELLED,
                PostNews::Failed(error) => return Err(error),
            },
            () = interrupted(interrupts) => exit::INTERRUPTED,
        };
        post.call_off().await;
        return Ok(Company::CalledOff(code));
    }
}

async fn interrupted(interrupts: &mut Interrupts) {
    while interrupts.next().await != Wish::End {}
}

fn warn(order: &Order, what: &str) {
    output::talk(&format!("{} {what}", order.look.paint(Ink::Warn, "warning:")));
}
