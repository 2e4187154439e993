//! A bare broadcast over WebSockets: so many watchers get so many frames of the present time. The reference for what the
//! server costs; it checks nothing, keeps nothing and bounds nothing.

use std::time::Duration;

use anyhow::Context;
use futures_util::SinkExt;
use porthole_tests::bench::load::clock_us;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::broadcast,
};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let mut next = move || anyhow::Ok(numbers.next().context("usage: WATCHERS FRAMES RATE")??);
    let (watchers, frames, rate) = (next()?, next()?, next()?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let (sender, _) = broadcast::channel(1_024);
    let mut tasks = Vec::new();
    for _ in 0..watchers {
        let (stream, _) = listener.accept().await?;
        tasks.push(tokio::spawn(serve(stream, sender.subscribe())));
    }
    // All handshakes are over before the first frame.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut tick = tokio::time::interval(Duration::from_secs(1) / rate);
    for seq in 0..frames {
        tick.tick().await;
        let frame = format!(
            r#"{{"delta":{{"topic":{{"conversation":{{"session":"k3v9x2abcdef","conversation":1}}}},"epoch":1,"seq":{seq},"delta":{{"conversation":{{"grow":{{"turn":1,"attempt":1,"thinking_at":0,"text_at":0,"text":"said:{} "}}}}}}}}}}"#,
            clock_us()
        );
        sender.send(Utf8Bytes::from(frame)).ok();
    }
    drop(sender);
    for task in tasks {
        task.await??;
    }
    Ok(())
}

async fn serve(
    stream: TcpStream,
    mut frames: broadcast::Receiver<Utf8Bytes>,
) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut socket = tokio_tungstenite::accept_async(stream).await?;
    while let Ok(frame) = frames.recv().await {
        socket.send(Message::Text(frame)).await?;
    }
    Ok(socket.close(None).await?)
}
