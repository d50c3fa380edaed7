//! Notifications of the server. They are hints: they may get lost, and a pooler does not pass them on.

use std::future::poll_fn;
use std::task::Poll;

use tokio_postgres::{AsyncMessage, Error};

use super::address::PgAddress;

/// Receives the notifications of a channel on a connection of its own, until the connection fails.
pub async fn listen(
    address: &PgAddress,
    channel: &str,
    mut heard: impl FnMut(&str),
) -> Result<(), Error> {
    let (client, mut connection) = address.config.connect(address.security.clone()).await?;
    let listening = poll_fn(|context| {
        loop {
            match connection.poll_message(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(AsyncMessage::Notification(notification)))) => {
                    heard(notification.payload());
                }
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
            }
        }
    });
    tokio::pin!(listening);
    let listen = format!("LISTEN {channel}");
    tokio::select! {
        () = &mut listening => return Ok(()),
        listens = client.batch_execute(&listen) => listens?,
    }
    listening.await;
    Ok(())
}
