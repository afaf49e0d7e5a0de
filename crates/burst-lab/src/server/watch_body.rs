//! The body of an open watch: each event as soon as it happens, bookmarks, and the faults of a stream.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::{Instant, sleep_until};

use super::body::{Body, Disconnected, Sender};
use super::faulty_stream::Connection;
use crate::api::{StreamFault, Watch};

/// A real server sends a bookmark this long before it ends a watch.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// Initial events are sent in chunks of about this size.
const CHUNK: usize = 64 * 1024;

/// The body of a watch, which lasts until the timeout of the watch.
pub(super) fn of(watch: Watch, connection: &Connection) -> Body {
    Body::from_task(None, connection, |sender| async move {
        let fault = watch.initial_fault();
        let stream = Stream {
            sender,
            fault,
            sent: Sent::default(),
        };
        stream.run(watch).await
    })
}

/// A stream of events, and its fault.
struct Stream {
    sender: Sender,
    fault: Option<StreamFault>,
    sent: Sent,
}

/// The amounts sent since the fault was set.
#[derive(Default)]
struct Sent {
    events: usize,
    bytes: usize,
}

/// Whether the stream continues.
enum Progress {
    Continues,
    Ended,
}

impl Stream {
    async fn run(mut self, mut watch: Watch) -> Result<(), Disconnected> {
        let opened = Instant::now();
        let deadline = opened + watch.timeout();
        let mut bookmark = next_bookmark(&watch, opened, deadline);
        loop {
            if let Progress::Ended = self.send_news(&mut watch).await? {
                return Ok(());
            }
            tokio::select! {
                () = sleep_until(deadline) => return Ok(()),
                () = sleep_until(bookmark.unwrap_or(deadline)) => {
                    if let Progress::Ended = self.send_news(&mut watch).await? {
                        return Ok(());
                    }
                    let news = vec![watch.bookmark()];
                    if let Progress::Ended = self.send_events(&watch, news).await? {
                        return Ok(());
                    }
                    bookmark = next_bookmark(&watch, Instant::now(), deadline);
                }
                fault = watch.wait() => fault.into_iter().for_each(|fault| self.set_fault(fault)),
                gone = self.sender.disconnected() => return gone,
            }
        }
    }

    fn set_fault(&mut self, fault: StreamFault) {
        self.fault = Some(fault);
        self.sent = Sent::default();
    }

    /// Sends the events since the last call. A fault comes before the changes that were made after it.
    async fn send_news(&mut self, watch: &mut Watch) -> Result<Progress, Disconnected> {
        while let Some(fault) = watch.pending_fault() {
            self.set_fault(fault);
        }
        let events = watch.next_events();
        match self.send_events(watch, events).await? {
            Progress::Continues if watch.has_ended() => Ok(Progress::Ended),
            progress => Ok(progress),
        }
    }

    /// Sends events one by one while there is a fault, and several in a chunk otherwise.
    async fn send_events(&mut self, watch: &Watch, events: Vec<Bytes>) -> Result<Progress, Disconnected> {
        let mut chunk = BytesMut::new();
        for event in events {
            if self.fault.is_none() {
                chunk.extend_from_slice(&event);
                if chunk.len() >= CHUNK {
                    self.sender.send(chunk.split().freeze()).await?;
                }
                continue;
            }
            if let Progress::Ended = self.apply_fault(watch).await? {
                return Ok(Progress::Ended);
            }
            if let Progress::Ended = self.send_event(event).await? {
                return Ok(Progress::Ended);
            }
        }
        if !chunk.is_empty() {
            self.sender.send(chunk.freeze()).await?;
        }
        self.apply_fault(watch).await
    }

    async fn send_event(&mut self, event: Bytes) -> Result<Progress, Disconnected> {
        self.sent.events += 1;
        match self.fault {
            Some(StreamFault::Cut { bytes }) if self.sent.bytes + event.len() > bytes => {
                self.sender.send(event.slice(..bytes - self.sent.bytes)).await?;
                self.sender.cut().await?;
                return Ok(Progress::Ended);
            }
            Some(StreamFault::Drip { milliseconds }) => {
                for byte in event.chunks(1) {
                    self.sender.pause(Duration::from_millis(milliseconds)).await?;
                    self.sender.send(Bytes::copy_from_slice(byte)).await?;
                }
            }
            _ => {
                self.sent.bytes += event.len();
                self.sender.send(event).await?;
            }
        }
        Ok(Progress::Continues)
    }

    /// Carries out a fault whose time has come.
    async fn apply_fault(&mut self, watch: &Watch) -> Result<Progress, Disconnected> {
        let events = self.sent.events;
        match self.fault {
            Some(StreamFault::Cut { bytes }) if self.sent.bytes >= bytes => {
                self.sender.cut().await?;
                Ok(Progress::Ended)
            }
            Some(StreamFault::End { after }) if events >= after => Ok(Progress::Ended),
            Some(StreamFault::Expired { after }) if events >= after => {
                self.sender.send(watch.expired()).await?;
                Ok(Progress::Ended)
            }
            Some(StreamFault::Silent { after }) if events >= after => {
                self.sender.disconnected().await?;
                Ok(Progress::Ended)
            }
            Some(StreamFault::SilentConnection { after }) if events >= after => {
                self.sender.silence_connection().await?;
                Ok(Progress::Ended)
            }
            Some(StreamFault::LongName { characters }) => {
                self.fault = None;
                self.sender.send(watch.long_name(characters)).await?;
                Ok(Progress::Continues)
            }
            _ => Ok(Progress::Continues),
        }
    }
}

/// The time of the next bookmark: one period later, or shortly before the end of the watch.
fn next_bookmark(watch: &Watch, now: Instant, deadline: Instant) -> Option<Instant> {
    let period = watch.bookmark_period()?;
    let last = deadline.checked_sub(LAST_BOOKMARK).filter(|last| *last > now);
    Some(last.map_or(now + period, |last| last.min(now + period)))
}
