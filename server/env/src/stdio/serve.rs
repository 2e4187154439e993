//! The side that has the files and the processes. It asks nobody: whoever holds the other end may do what this user may.

use std::{collections::HashMap, io, sync::Arc};

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, watch},
    task::JoinSet,
};

use super::frame::{self, Answer, FrameError, Request, Response};
use crate::{Command, EnvError, Environment, local};

/// Frames that may wait to be written.
const QUEUE: usize = 16;

/// Serves this machine over stdin and stdout until stdin ends; then ends every command.
///
/// # Errors
/// Where the other side breaks off inside a frame or sends what is none.
pub async fn serve() -> io::Result<()> {
    serve_on(local(), tokio::io::stdin(), tokio::io::stdout()).await
}

/// Serves an environment over any two streams until the first ends; then ends every command.
///
/// # Errors
/// Where the other side breaks off inside a frame or sends what is none.
pub async fn serve_on(
    environment: Arc<dyn Environment>,
    mut input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> io::Result<()> {
    let (answers, queue) = mpsc::channel(QUEUE);
    let writer = tokio::spawn(write_all(queue, output));
    let mut server = Server {
        environment: Arc::clone(&environment),
        answers,
        work: JoinSet::new(),
        running: HashMap::new(),
    };
    let ended = server.take_all(&mut input).await;
    server.work.shutdown().await;
    drop(server);
    let _ = environment.end_left().await;
    let _ = writer.await;
    ended.map_err(io::Error::other)
}

struct Running {
    stop: watch::Sender<bool>,
    task: tokio::task::AbortHandle,
}

struct Server {
    environment: Arc<dyn Environment>,
    answers: mpsc::Sender<Vec<u8>>,
    work: JoinSet<u64>,
    running: HashMap<u64, Running>,
}

impl Server {
    async fn take_all(&mut self, input: &mut (impl AsyncRead + Unpin)) -> Result<(), FrameError> {
        while let Some((request, body)) = frame::next(input).await? {
            while let Some(done) = self.work.try_join_next() {
                if let Ok(id) = done {
                    self.running.remove(&id);
                }
            }
            self.take(request, body);
        }
        Ok(())
    }

    fn take(&mut self, request: Request, body: Vec<u8>) {
        match request {
            Request::Stop { id } => {
                if let Some(running) = self.running.get(&id) {
                    running.stop.send_replace(true);
                }
            }
            Request::Forget { id } => {
                if let Some(running) = self.running.remove(&id) {
                    running.task.abort();
                }
            }
            request => self.start(request, body),
        }
    }

    fn start(&mut self, request: Request, body: Vec<u8>) {
        let (stop, stopped) = watch::channel(false);
        let (environment, answers) = (Arc::clone(&self.environment), self.answers.clone());
        let Some(id) = id(&request) else { return };
        let task = self.work.spawn(async move {
            let done = answer(&*environment, request, body, &answers, stopped).await;
            let (answer, body) = match done {
                Ok((answer, body)) => (Ok(answer), body),
                Err(error) => (Err(error), Vec::new()),
            };
            send(&answers, &Response::Answer { id, answer }, &body).await;
            id
        });
        self.running.insert(id, Running { stop, task });
    }
}

/// Returns the id of a request that gets an answer.
fn id(request: &Request) -> Option<u64> {
    match request {
        Request::Stat { id, .. }
        | Request::Read { id, .. }
        | Request::ReadInside { id, .. }
        | Request::Write { id, .. }
        | Request::List { id, .. }
        | Request::Find { id, .. }
        | Request::Grep { id, .. }
        | Request::Exec { id, .. }
        | Request::EndLeft { id } => Some(*id),
        Request::Stop { .. } | Request::Forget { .. } => None,
    }
}

async fn answer(
    environment: &dyn Environment,
    request: Request,
    body: Vec<u8>,
    answers: &mpsc::Sender<Vec<u8>>,
    stop: watch::Receiver<bool>,
) -> Result<(Answer, Vec<u8>), EnvError> {
    let answer = match request {
        Request::Read {
            path, from, max, ..
        } => {
            let content = environment.read(&path, from, max).await?;
            return Ok((Answer::Stat(content.stat), content.bytes));
        }
        Request::ReadInside {
            root,
            path,
            from,
            max,
            ..
        } => {
            let content = environment.read_inside(&root, &path, from, max).await?;
            return Ok((Answer::Stat(content.stat), content.bytes));
        }
        Request::Stat { path, .. } => Answer::Stat(environment.stat(&path).await?),
        Request::Write {
            path,
            expect,
            exactly,
            ..
        } => Answer::Stat(match exactly {
            true => environment.write_exactly(&path, body, expect).await?,
            false => environment.write(&path, body, expect).await?,
        }),
        Request::List { path, limit, .. } => Answer::Listing(environment.list(&path, limit).await?),
        Request::Find { query, .. } => Answer::Found(environment.find(query).await?),
        Request::Grep { query, .. } => Answer::Hits(environment.grep(query).await?),
        Request::Exec { id, command } => {
            Answer::Exit(exec(environment, id, command, answers, stop).await?)
        }
        Request::EndLeft { .. } => Answer::Count(environment.end_left().await?),
        Request::Stop { .. } | Request::Forget { .. } => return Err(EnvError::gone()),
    };
    Ok((answer, Vec::new()))
}

async fn exec(
    environment: &dyn Environment,
    id: u64,
    command: Command,
    answers: &mpsc::Sender<Vec<u8>>,
    stop: watch::Receiver<bool>,
) -> Result<crate::Exit, EnvError> {
    let (output, mut pieces) = mpsc::channel::<Vec<u8>>(QUEUE);
    let pass_on = async {
        while let Some(piece) = pieces.recv().await {
            send(answers, &Response::Output { id }, &piece).await;
        }
    };
    let (exit, ()) = tokio::join!(environment.exec(command, output, stop), pass_on);
    exit
}

async fn send(answers: &mpsc::Sender<Vec<u8>>, response: &Response, body: &[u8]) {
    let bytes = match frame::encode(response, body) {
        Ok(bytes) => bytes,
        Err(_) => match too_large(response) {
            Some(bytes) => bytes,
            None => return,
        },
    };
    let _ = answers.send(bytes).await;
}

/// Returns what is said in place of an answer that does not fit.
fn too_large(response: &Response) -> Option<Vec<u8>> {
    let (Response::Output { id } | Response::Answer { id, .. }) = response;
    let answer = Err(EnvError::new(
        crate::ErrorKind::TooLarge,
        "the answer is too large",
    ));
    frame::encode(&Response::Answer { id: *id, answer }, &[]).ok()
}

async fn write_all(mut queue: mpsc::Receiver<Vec<u8>>, mut output: impl AsyncWrite + Unpin) {
    while let Some(bytes) = queue.recv().await {
        if output.write_all(&bytes).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}
