//! One UI inside the sandbox process: its instance, its one import, its limits. It knows no pipe and no message.

use std::sync::Arc;

use porthole_bridge::{
    ABI, EXPORT_ABI, EXPORT_ALLOC, EXPORT_HANDLE, EXPORT_MEMORY, IMPORT_MODULE, IMPORT_POST,
    limits::{LINEAR_MEMORY, POST_BYTES_PER_CALL, POSTS_PER_CALL, TABLE_ELEMENTS},
};
use wasmtime::{
    Caller, Engine, Instance, Linker, Memory, Module, ResourceLimiter, Store, Trap, TypedFunc,
};

use super::{
    UiFault, pipe,
    ticker::{Patience, Ticker},
};
use crate::bundle::TABLES;

pub(super) struct Ui {
    store: Store<Host>,
    memory: Memory,
    alloc: TypedFunc<u32, u32>,
    handle: TypedFunc<(u32, u32), ()>,
    ticker: Arc<Ticker>,
}

/// What the import and the limiter see.
struct Host {
    /// The memory, once there is one to read posts from.
    memory: Option<Memory>,
    /// Posts are taken only while the handler runs.
    handling: bool,
    /// The posts of this call, framed for the pipe.
    posts: Vec<u8>,
    count: usize,
    bytes: usize,
    broken: Option<&'static str>,
    /// More memory or table was asked for than there is.
    denied: bool,
}

impl Ui {
    /// Makes the instance, running its start function under the ordinary deadline, and checks its exports.
    pub(super) fn new(
        engine: &Engine,
        module: &Module,
        ticker: Arc<Ticker>,
    ) -> Result<Self, UiFault> {
        let mut linker = Linker::new(engine);
        linker
            .func_wrap(IMPORT_MODULE, IMPORT_POST, post)
            .map_err(|_| UiFault::SandboxFailed("the import".into()))?;
        let mut store = Store::new(engine, Host::new());
        store.limiter(|host| host);
        let instance = timed(&mut store, &ticker, Patience::Short, |store| {
            linker.instantiate(store, module)
        })?;
        Self::with_exports(store, &instance, ticker)
    }

    fn with_exports(
        mut store: Store<Host>,
        instance: &Instance,
        ticker: Arc<Ticker>,
    ) -> Result<Self, UiFault> {
        let wrong = |_| UiFault::WrongExports;
        let memory = instance
            .get_memory(&mut store, EXPORT_MEMORY)
            .ok_or(UiFault::WrongExports)?;
        let abi = instance
            .get_typed_func::<(), i32>(&mut store, EXPORT_ABI)
            .map_err(wrong)?;
        let alloc = instance
            .get_typed_func(&mut store, EXPORT_ALLOC)
            .map_err(wrong)?;
        let handle = instance
            .get_typed_func(&mut store, EXPORT_HANDLE)
            .map_err(wrong)?;
        let version = timed(&mut store, &ticker, Patience::Short, |store| {
            abi.call(store, ())
        })?;
        if version != ABI {
            return Err(UiFault::WrongExports);
        }
        store.data_mut().memory = Some(memory);
        Ok(Ui {
            store,
            memory,
            alloc,
            handle,
            ticker,
        })
    }

    /// Hands one message to the UI and returns its posts, framed, only if the handler came back.
    /// The buffer is handed back with [`Ui::reuse`].
    pub(super) fn call(&mut self, message: &[u8], patience: Patience) -> Result<Vec<u8>, UiFault> {
        let (alloc, handle, memory) = (&self.alloc, &self.handle, self.memory);
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
        timed(&mut self.store, &self.ticker, patience, |store| {
            let at = alloc.call(&mut *store, length)?;
            memory.write(&mut *store, at as usize, message)?;
            let host = store.data_mut();
            (host.handling, host.count, host.bytes) = (true, 0, 0);
            let done = handle.call(&mut *store, (at, length));
            store.data_mut().handling = false;
            done
        })?;
        Ok(std::mem::take(&mut self.store.data_mut().posts))
    }

    /// Takes back a buffer of posts, so that the next call need not make one.
    pub(super) fn reuse(&mut self, mut posts: Vec<u8>) {
        posts.clear();
        self.store.data_mut().posts = posts;
    }
}

/// Runs something of the UI's under a deadline, and says how it ended without a word of the UI's own.
fn timed<T>(
    store: &mut Store<Host>,
    ticker: &Ticker,
    patience: Patience,
    run: impl FnOnce(&mut Store<Host>) -> wasmtime::Result<T>,
) -> Result<T, UiFault> {
    store.set_epoch_deadline(1);
    ticker.begin(patience);
    let result = run(store);
    ticker.end();
    result.map_err(|error| {
        let host = store.data();
        match (host.broken, host.denied, error.downcast_ref::<Trap>()) {
            (Some(rule), _, _) => UiFault::BrokeRules(rule.into()),
            (None, _, Some(Trap::Interrupt)) => UiFault::Hung,
            (None, true, _) => UiFault::OutOfMemory,
            (None, false, _) => UiFault::Crashed,
        }
    })
}

/// The one import: `porthole.post(ptr, len)`. It only copies; it never blocks and never calls back.
fn post(mut caller: Caller<'_, Host>, at: u32, length: u32) -> wasmtime::Result<()> {
    let taken = match caller.data().memory {
        Some(memory) if caller.data().handling => {
            let (data, host) = memory.data_and_store_mut(&mut caller);
            host.take(data, at as usize, length as usize)
        }
        _ => Err("it posted before it was asked"),
    };
    taken.map_err(|rule| {
        caller.data_mut().broken = Some(rule);
        wasmtime::Error::msg("refused")
    })
}

impl Host {
    fn new() -> Self {
        Host {
            memory: None,
            handling: false,
            posts: Vec::new(),
            count: 0,
            bytes: 0,
            broken: None,
            denied: false,
        }
    }

    /// Takes one post, if the rules of a call allow one more. The caps stand here because ten thousand posts take less
    /// time than any deadline can see.
    fn take(&mut self, memory: &[u8], at: usize, length: usize) -> Result<(), &'static str> {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(length);
        if self.count > POSTS_PER_CALL {
            return Err("too many messages in one call");
        }
        if self.bytes > POST_BYTES_PER_CALL {
            return Err("too many bytes in one call");
        }
        let end = at
            .checked_add(length)
            .ok_or("a message outside its memory")?;
        let message = memory.get(at..end).ok_or("a message outside its memory")?;
        pipe::push(&mut self.posts, pipe::POST, message);
        Ok(())
    }

    fn allow(&mut self, desired: usize, limit: usize) -> wasmtime::Result<bool> {
        let allowed = desired <= limit;
        self.denied |= !allowed;
        Ok(allowed)
    }
}

impl ResourceLimiter for Host {
    fn memory_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.allow(desired, LINEAR_MEMORY)
    }

    fn table_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.allow(desired, TABLE_ELEMENTS)
    }

    fn instances(&self) -> usize {
        1
    }

    fn tables(&self) -> usize {
        TABLES as usize
    }

    fn memories(&self) -> usize {
        1
    }
}
