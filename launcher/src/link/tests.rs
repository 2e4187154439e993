//! The link against ends that answer, fall silent or take nothing, by a clock that jumps.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    time::Instant,
};
use tokio_tungstenite::tungstenite::{Error as E, protocol::Role};

use super::*;

/// What the other end does.
#[derive(Clone, Copy)]
enum Other {
    /// Answers pings.
    Answers,
    /// Reads, and says nothing.
    Silent,
    /// Does not even read.
    Stuck,
    /// Sends one byte of a large frame each second.
    Slow,
}

async fn play(other: Other, end: DuplexStream) {
    match other {
        Other::Answers => {
            let mut socket = WebSocketStream::from_raw_socket(end, Role::Server, None).await;
            while let Some(Ok(_)) = socket.next().await {}
        }
        Other::Silent => {
            let (mut end, mut chunk) = (end, [0; 1024]);
            while end.read(&mut chunk).await.is_ok_and(|read| read > 0) {}
        }
        Other::Stuck => {
            std::future::pending::<()>().await;
            drop(end);
        }
        Other::Slow => {
            let mut end = end;
            end.write_all(&[0x81, 0x7e, 0x10, 0x00])
                .await
                .expect("a head");
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                if end.write_all(b"x").await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Carries a link for at most an hour; returns how it ended, and after how many seconds.
async fn carried(
    other: Other,
    frames: Vec<Vec<u8>>,
    wake_at: Option<u64>,
) -> (Option<DoorError>, u64) {
    let (ours, theirs) = duplex(16 << 10);
    let playing = tokio::spawn(play(other, theirs));
    let pulse = Arc::new(Pulse::new());
    let measured = Measured::new(ours, Arc::clone(&pulse));
    let socket = WebSocketStream::from_raw_socket(measured, Role::Client, None).await;
    let (sender, outgoing) = mpsc::channel(OUT_FRAMES);
    let room = Arc::new(Semaphore::new(OUT_BYTES));
    for frame in frames {
        let permit = Arc::clone(&room).acquire_many_owned(1).await.expect("open");
        sender.send((frame, permit)).await.expect("room");
    }
    let (events, mut inbox) = mpsc::channel(IN_EVENTS);
    let reporter = Reporter::new(1, events);
    let began = Instant::now();
    let waking = async {
        match wake_at {
            Some(second) => tokio::time::sleep(Duration::from_secs(second)).await,
            None => std::future::pending().await,
        }
        pulse.probe();
        std::future::pending::<()>().await;
    };
    let draining = async { while inbox.recv().await.is_some() {} };
    let ended = tokio::select! {
        ended = carry(socket, outgoing, &reporter, &pulse) => Some(ended),
        () = tokio::time::sleep(Duration::from_secs(3600)) => None,
        () = waking => None,
        () = draining => None,
    };
    playing.abort();
    drop(sender);
    (ended, began.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_half_open_link_is_found_within_fifteen_seconds() {
    for frames in [Vec::new(), vec![b"hello".to_vec()]] {
        let (ended, after) = carried(Other::Silent, frames, None).await;
        assert_eq!(ended, Some(DoorError::TimedOut));
        assert_eq!(after, 15);
    }
}

#[tokio::test(start_paused = true)]
async fn after_waking_a_dead_link_is_found_within_two_seconds() {
    let (ended, after) = carried(Other::Silent, Vec::new(), Some(3)).await;
    assert_eq!((ended, after), (Some(DoorError::TimedOut), 5));
}

#[tokio::test(start_paused = true)]
async fn an_end_that_answers_is_kept_for_ever_also_after_waking() {
    let (ended, after) = carried(Other::Answers, Vec::new(), Some(7)).await;
    assert_eq!((ended, after), (None, 3600));
}

#[tokio::test(start_paused = true)]
async fn an_end_that_takes_nothing_is_left_soon() {
    let frames = vec![vec![b'x'; 1 << 20]];
    let (ended, after) = carried(Other::Stuck, frames, None).await;
    assert_eq!(ended, Some(DoorError::TimedOut));
    assert!(after <= 15, "{after} s");
}

#[tokio::test(start_paused = true)]
async fn a_frame_that_comes_slowly_is_a_sign_of_life() {
    let (ended, after) = carried(Other::Slow, Vec::new(), None).await;
    assert_eq!((ended, after), (None, 3600));
}

#[tokio::test(start_paused = true)]
async fn a_frame_waits_for_room_within_four_mebibytes() {
    let (events, mut inbox) = mpsc::channel(IN_EVENTS);
    let reporter = Reporter::new(1, events);
    let frame = || LinkHappening::Text(vec![b'x'; 3 << 20]);
    reporter.tell(frame()).await;
    let second = timeout(Duration::from_secs(60), reporter.tell(frame())).await;
    assert!(second.is_err(), "there was no room for it");
    drop(inbox.recv().await.expect("the first"));
    let third = timeout(Duration::from_secs(60), reporter.tell(frame())).await;
    assert!(third.is_ok(), "now there is");
}

#[test]
fn a_handshake_that_is_cut_off_is_tried_again_and_a_wrong_one_is_not() {
    let cut = E::Protocol(ProtocolError::HandshakeIncomplete);
    for error in [cut, E::ConnectionClosed, E::AlreadyClosed] {
        assert!(from_handshake(&error).is_transient(), "{error}");
    }
    let wrong = E::Protocol(ProtocolError::SecWebSocketAcceptKeyMismatch);
    assert_eq!(from_handshake(&wrong), DoorError::NotPorthole);
}
