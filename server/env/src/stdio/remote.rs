//! The side that asks. It starts no program: it is given the two ends of one.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, oneshot, watch},
};

use super::frame::{self, Answer, Request, Response};
use crate::{
    Command, Content, EnvError, Environment, ErrorKind, Exit, Expect, FindQuery, Found, GrepQuery,
    Hits, Listing, Pending, Stat,
};

type Reply = (Result<Answer, EnvError>, Vec<u8>);

struct Waiting {
    reply: oneshot::Sender<Reply>,
    output: Option<mpsc::Sender<Vec<u8>>>,
}

/// Who waits for an answer; `None` once none can come any more.
#[derive(Default)]
struct Desk(Mutex<Option<HashMap<u64, Waiting>>>);

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, Waiting>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, id: u64) -> Option<Waiting> {
        self.lock().as_mut()?.remove(&id)
    }

    fn output(&self, id: u64) -> Option<mpsc::Sender<Vec<u8>>> {
        self.lock().as_ref()?.get(&id)?.output.clone()
    }
}

/// An environment at the other end of two streams.
pub struct Remote {
    requests: mpsc::UnboundedSender<Vec<u8>>,
    desk: Arc<Desk>,
    next: AtomicU64,
}

impl Remote {
    /// Returns the environment that is served at the other ends of a program's stdout and stdin.
    pub fn new(
        output: impl AsyncRead + Unpin + Send + 'static,
        input: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let (requests, queue) = mpsc::unbounded_channel();
        let desk = Arc::new(Desk(Mutex::new(Some(HashMap::new()))));
        tokio::spawn(write_all(queue, input));
        tokio::spawn(read_all(output, Arc::clone(&desk)));
        Self {
            requests,
            desk,
            next: AtomicU64::new(1),
        }
    }

    fn send(&self, request: &Request, body: &[u8]) -> Result<(), EnvError> {
        let bytes = frame::encode(request, body)
            .map_err(|error| EnvError::new(ErrorKind::TooLarge, error.to_string()))?;
        self.requests.send(bytes).map_err(|_| EnvError::gone())
    }

    fn ask(
        &self,
        output: Option<mpsc::Sender<Vec<u8>>>,
        body: &[u8],
        request: impl FnOnce(u64) -> Request,
    ) -> Result<Asked<'_>, EnvError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        let waiting = Waiting { reply, output };
        match self.desk.lock().as_mut() {
            Some(desk) => desk.insert(id, waiting),
            None => return Err(EnvError::gone()),
        };
        let asked = Asked {
            remote: self,
            id,
            answer,
        };
        self.send(&request(id), body)?;
        Ok(asked)
    }

    async fn answer(
        &self,
        body: &[u8],
        request: impl FnOnce(u64) -> Request,
    ) -> Result<(Answer, Vec<u8>), EnvError> {
        self.ask(None, body, request)?.wait().await
    }
}

/// A request that was sent. Dropping it before the answer makes the other side forget it.
struct Asked<'a> {
    remote: &'a Remote,
    id: u64,
    answer: oneshot::Receiver<Reply>,
}

impl Asked<'_> {
    async fn wait(mut self) -> Result<(Answer, Vec<u8>), EnvError> {
        let (answer, body) = (&mut self.answer).await.map_err(|_| EnvError::gone())?;
        Ok((answer?, body))
    }

    async fn wait_or_stop(
        mut self,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(Answer, Vec<u8>), EnvError> {
        let stopped = tokio::select! {
            reply = &mut self.answer => {
                let (answer, body) = reply.map_err(|_| EnvError::gone())?;
                return Ok((answer?, body));
            }
            stopped = stop.wait_for(|stop| *stop) => stopped.is_ok(),
        };
        if stopped {
            self.remote.send(&Request::Stop { id: self.id }, &[])?;
        }
        self.wait().await
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.remote.desk.take(self.id).is_some() {
            let _ = self.remote.send(&Request::Forget { id: self.id }, &[]);
        }
    }
}

macro_rules! expect {
    ($answer:expr, $kind:ident) => {
        match $answer?.0 {
            Answer::$kind(value) => Ok(value),
            _ => Err(EnvError::gone()),
        }
    };
}

impl Environment for Remote {
    fn stat<'a>(&'a self, path: &'a Path) -> Pending<'a, Stat> {
        let path = path.to_owned();
        Box::pin(async move {
            let answer = self.answer(&[], |id| Request::Stat { id, path }).await;
            expect!(answer, Stat)
        })
    }

    fn read<'a>(&'a self, path: &'a Path, from: u64, max: u64) -> Pending<'a, Content> {
        let path = path.to_owned();
        let request = move |id| Request::Read {
            id,
            path,
            from,
            max,
        };
        Box::pin(async move {
            match self.answer(&[], request).await? {
                (Answer::Stat(stat), bytes) => Ok(Content { stat, bytes }),
                _ => Err(EnvError::gone()),
            }
        })
    }

    fn read_inside<'a>(
        &'a self,
        root: &'a Path,
        path: &'a Path,
        from: u64,
        max: u64,
    ) -> Pending<'a, Content> {
        let (root, path) = (root.to_owned(), path.to_owned());
        let request = move |id| Request::ReadInside {
            id,
            root,
            path,
            from,
            max,
        };
        Box::pin(async move {
            match self.answer(&[], request).await? {
                (Answer::Stat(stat), bytes) => Ok(Content { stat, bytes }),
                _ => Err(EnvError::gone()),
            }
        })
    }

    fn write<'a>(&'a self, path: &'a Path, bytes: Vec<u8>, expect: Expect) -> Pending<'a, Stat> {
        let path = path.to_owned();
        let request = move |id| Request::Write {
            id,
            path,
            expect,
            exactly: false,
        };
        Box::pin(async move { expect!(self.answer(&bytes, request).await, Stat) })
    }

    fn write_exactly<'a>(
        &'a self,
        path: &'a Path,
        bytes: Vec<u8>,
        expect: Expect,
    ) -> Pending<'a, Stat> {
        let path = path.to_owned();
        let request = move |id| Request::Write {
            id,
            path,
            expect,
            exactly: true,
        };
        Box::pin(async move { expect!(self.answer(&bytes, request).await, Stat) })
    }

    fn list<'a>(&'a self, path: &'a Path, limit: usize) -> Pending<'a, Listing> {
        let path = path.to_owned();
        let request = move |id| Request::List { id, path, limit };
        Box::pin(async move { expect!(self.answer(&[], request).await, Listing) })
    }

    fn find(&self, query: FindQuery) -> Pending<'_, Found> {
        let request = move |id| Request::Find { id, query };
        Box::pin(async move { expect!(self.answer(&[], request).await, Found) })
    }

    fn grep(&self, query: GrepQuery) -> Pending<'_, Hits> {
        let request = move |id| Request::Grep { id, query };
        Box::pin(async move { expect!(self.answer(&[], request).await, Hits) })
    }

    fn exec(
        &self,
        command: Command,
        output: mpsc::Sender<Vec<u8>>,
        stop: watch::Receiver<bool>,
    ) -> Pending<'_, Exit> {
        Box::pin(async move {
            let asked = self.ask(Some(output), &[], |id| Request::Exec { id, command })?;
            expect!(asked.wait_or_stop(stop).await, Exit)
        })
    }

    fn end_left(&self) -> Pending<'_, usize> {
        Box::pin(
            async move { expect!(self.answer(&[], |id| Request::EndLeft { id }).await, Count) },
        )
    }
}

async fn write_all(
    mut queue: mpsc::UnboundedReceiver<Vec<u8>>,
    mut input: impl AsyncWrite + Unpin,
) {
    while let Some(bytes) = queue.recv().await {
        if input.write_all(&bytes).await.is_err() || input.flush().await.is_err() {
            return;
        }
    }
}

async fn read_all(mut output: impl AsyncRead + Unpin, desk: Arc<Desk>) {
    while let Ok(Some((response, body))) = frame::next(&mut output).await {
        match response {
            Response::Output { id } => {
                if let Some(output) = desk.output(id) {
                    let _ = output.send(body).await;
                }
            }
            Response::Answer { id, answer } => {
                if let Some(waiting) = desk.take(id) {
                    let _ = waiting.reply.send((answer, body));
                }
            }
        }
    }
    // Whoever waits now is told by the closing of its channel.
    *desk.lock() = None;
}
