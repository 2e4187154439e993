//! A disk in memory for SQLite, under tests: it loses power at a chosen operation, with any part of what was not synced,
//! or refuses one operation. It stores nothing that outlives the test.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
    sync::{Arc, LazyLock, Mutex, MutexGuard, Once},
};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs};

/// The name under which SQLite knows it.
pub(crate) const NAME: &CStr = c"simulated";

static DISKS: LazyLock<Mutex<HashMap<String, Arc<Disk>>>> = LazyLock::new(Mutex::default);
static REGISTER: Once = Once::new();

/// What an operation is refused with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Full,
    ReadOnly,
    Broken,
}

impl Fault {
    fn code(self) -> c_int {
        match self {
            Self::Full => ffi::SQLITE_FULL,
            Self::ReadOnly => ffi::SQLITE_READONLY,
            Self::Broken => ffi::SQLITE_IOERR,
        }
    }
}

/// A disk.
#[derive(Default)]
pub(crate) struct Disk {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, Kept>,
    /// Operations that change something, so far.
    done: u64,
    power_ends: Option<u64>,
    is_off: bool,
    refuses: Option<(u64, Fault)>,
}

#[derive(Clone, Default)]
struct Kept {
    /// What is there whatever happens.
    durable: Vec<u8>,
    /// What was written since, in order.
    pending: Vec<Change>,
    /// What a reader sees.
    now: Vec<u8>,
}

#[derive(Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Write(at, bytes) => {
                let end = at + bytes.len();
                if to.len() < end {
                    to.resize(end, 0);
                }
                to[*at..end].copy_from_slice(bytes);
            }
            Self::Truncate(len) => to.truncate(*len),
        }
    }

    /// Returns the part of a write that arrived where the power went in the middle.
    fn torn(&self, chance: &mut impl FnMut(u64) -> u64) -> Self {
        match self {
            Self::Write(at, bytes) => {
                let arrived = usize::try_from(chance(bytes.len() as u64 + 1)).unwrap_or(0);
                Self::Write(*at, bytes[..arrived].to_vec())
            }
            truncate => truncate.clone(),
        }
    }
}

impl Disk {
    /// Returns a new disk under a name of its own; files on it are `/NAME/FILE`.
    pub(crate) fn new(name: &str) -> Arc<Self> {
        register();
        let disk = Arc::new(Self::default());
        lock(&DISKS).insert(name.to_owned(), Arc::clone(&disk));
        disk
    }

    /// Ends the power at so many operations from the beginning.
    pub(crate) fn lose_power_at(&self, operation: u64) {
        lock(&self.state).power_ends = Some(operation);
    }

    /// Refuses one operation.
    pub(crate) fn refuse(&self, operation: u64, fault: Fault) {
        lock(&self.state).refuses = Some((operation, fault));
    }

    pub(crate) fn is_off(&self) -> bool {
        lock(&self.state).is_off
    }

    /// Returns how many operations there were.
    pub(crate) fn done(&self) -> u64 {
        lock(&self.state).done
    }

    /// Turns the power on again. Of what was not synced any part has arrived, in any order, torn or whole.
    pub(crate) fn restart(&self, mut chance: impl FnMut(u64) -> u64) {
        let mut state = lock(&self.state);
        for kept in state.files.values_mut() {
            let mut pending = std::mem::take(&mut kept.pending);
            while !pending.is_empty() {
                let at = usize::try_from(chance(pending.len() as u64)).unwrap_or(0);
                let change = pending.remove(at);
                match chance(4) {
                    0 | 1 => {}
                    2 => change.apply(&mut kept.durable),
                    _ => change.torn(&mut chance).apply(&mut kept.durable),
                }
            }
            kept.now.clone_from(&kept.durable);
        }
        (state.is_off, state.power_ends) = (false, None);
    }

    /// Counts an operation that changes something; fails where it is not done.
    fn change(&self) -> Result<MutexGuard<'_, State>, c_int> {
        let mut state = lock(&self.state);
        let number = state.done;
        state.done += 1;
        if state.power_ends.is_some_and(|end| number >= end) {
            state.is_off = true;
        }
        if state.is_off {
            return Err(ffi::SQLITE_IOERR);
        }
        match state.refuses {
            Some((at, fault)) if at == number => Err(fault.code()),
            _ => Ok(state),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("not poisoned")
}

/// What SQLite holds of an open file. It hands out zeroed memory of this size, in which `open` puts the rest.
#[repr(C)]
struct Handle {
    base: sqlite3_file,
    open: *mut Open,
}

struct Open {
    disk: Arc<Disk>,
    name: String,
}

fn register() {
    REGISTER.call_once(|| {
        let vfs = sqlite3_vfs {
            iVersion: 1,
            szOsFile: size_of::<Handle>() as c_int,
            mxPathname: 512,
            pNext: ptr::null_mut(),
            zName: NAME.as_ptr(),
            pAppData: ptr::null_mut(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_path),
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: None,
            xCurrentTimeInt64: None,
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        };
        // SAFETY: it lives as long as the process, as SQLite wants, and its functions keep the contract of a VFS.
        let result = unsafe { ffi::sqlite3_vfs_register(Box::leak(Box::new(vfs)), 0) };
        assert_eq!(result, ffi::SQLITE_OK);
    });
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock_file),
    xUnlock: Some(lock_file),
    xCheckReservedLock: Some(check_reserved),
    xFileControl: Some(control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// Returns the disk and the file of a path.
///
/// # Safety
/// `path` is a C string, as SQLite hands it over.
unsafe fn locate(path: *const c_char) -> Option<(Arc<Disk>, String)> {
    if path.is_null() {
        return None;
    }
    // SAFETY: the caller says so.
    let path = unsafe { CStr::from_ptr(path) }.to_str().ok()?;
    let (name, file) = path.strip_prefix('/')?.split_once('/')?;
    let disk = Arc::clone(lock(&DISKS).get(name)?);
    Some((disk, file.to_owned()))
}

/// Does something with an open file.
///
/// # Safety
/// `file` was opened by `open` and not closed.
unsafe fn with<T>(file: *mut sqlite3_file, work: impl FnOnce(&Open) -> T) -> T {
    // SAFETY: the caller says so; `open` put a live `Open` there.
    work(unsafe { &*(*file.cast::<Handle>()).open })
}

unsafe extern "C" fn open(
    _vfs: *mut sqlite3_vfs,
    path: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let handle = file.cast::<Handle>();
    // SAFETY: SQLite hands over memory of `szOsFile` bytes and a C string or null.
    unsafe {
        (*handle).base.pMethods = ptr::null();
        let Some((disk, name)) = locate(path) else {
            return ffi::SQLITE_CANTOPEN;
        };
        {
            let mut state = lock(&disk.state);
            let there = state.files.contains_key(&name);
            if state.is_off || (!there && flags & ffi::SQLITE_OPEN_CREATE == 0) {
                return ffi::SQLITE_CANTOPEN;
            }
            state.files.entry(name.clone()).or_default();
        }
        (*handle).open = Box::into_raw(Box::new(Open { disk, name }));
        (*handle).base.pMethods = &METHODS;
        if !out.is_null() {
            *out = flags;
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes each file that was opened once.
    unsafe {
        drop(Box::from_raw((*file.cast::<Handle>()).open));
        (*file).pMethods = ptr::null();
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    into: *mut c_void,
    amount: c_int,
    at: sqlite3_int64,
) -> c_int {
    let (amount, at) = (amount as usize, at as usize);
    // SAFETY: SQLite hands over `amount` bytes and an open file.
    unsafe {
        let into = std::slice::from_raw_parts_mut(into.cast::<u8>(), amount);
        with(file, |open| {
            let state = lock(&open.disk.state);
            let now = state
                .files
                .get(&open.name)
                .map_or(&[][..], |kept| &kept.now);
            let part = now.get(at..).unwrap_or_default();
            let there = part.len().min(amount);
            into[..there].copy_from_slice(&part[..there]);
            into[there..].fill(0);
            match (state.is_off, there < amount) {
                (true, _) => ffi::SQLITE_IOERR_READ,
                (false, true) => ffi::SQLITE_IOERR_SHORT_READ,
                (false, false) => ffi::SQLITE_OK,
            }
        })
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    from: *const c_void,
    amount: c_int,
    at: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite hands over `amount` bytes and an open file.
    unsafe {
        let bytes = std::slice::from_raw_parts(from.cast::<u8>(), amount as usize).to_vec();
        with(file, |open| {
            changed(open, Change::Write(at as usize, bytes))
        })
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: an open file.
    unsafe { with(file, |open| changed(open, Change::Truncate(size as usize))) }
}

fn changed(open: &Open, change: Change) -> c_int {
    match open.disk.change() {
        Ok(mut state) => {
            let kept = state.files.entry(open.name.clone()).or_default();
            change.apply(&mut kept.now);
            kept.pending.push(change);
            ffi::SQLITE_OK
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: an open file.
    unsafe {
        with(file, |open| match open.disk.change() {
            Ok(mut state) => {
                let kept = state.files.entry(open.name.clone()).or_default();
                kept.durable.clone_from(&kept.now);
                kept.pending.clear();
                ffi::SQLITE_OK
            }
            Err(code) => code,
        })
    }
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    // SAFETY: an open file, and a place for the size.
    unsafe {
        *size = with(file, |open| {
            let state = lock(&open.disk.state);
            state.files.get(&open.name).map_or(0, |kept| kept.now.len()) as sqlite3_int64
        });
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn lock_file(_file: *mut sqlite3_file, _level: c_int) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved(_file: *mut sqlite3_file, out: *mut c_int) -> c_int {
    // SAFETY: a place for the answer.
    unsafe { *out = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn control(_file: *mut sqlite3_file, _op: c_int, _arg: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_file: *mut sqlite3_file) -> c_int {
    512
}

unsafe extern "C" fn characteristics(_file: *mut sqlite3_file) -> c_int {
    0
}

unsafe extern "C" fn delete(_vfs: *mut sqlite3_vfs, path: *const c_char, _sync: c_int) -> c_int {
    // SAFETY: a C string.
    let Some((disk, name)) = (unsafe { locate(path) }) else {
        return ffi::SQLITE_IOERR_DELETE;
    };
    match disk.change() {
        Ok(mut state) => match state.files.remove(&name) {
            Some(_) => ffi::SQLITE_OK,
            None => ffi::SQLITE_IOERR_DELETE_NOENT,
        },
        Err(code) => code,
    }
}

unsafe extern "C" fn access(
    _vfs: *mut sqlite3_vfs,
    path: *const c_char,
    _flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: a C string, and a place for the answer.
    unsafe {
        let there = locate(path).is_some_and(|(disk, name)| {
            let state = lock(&disk.state);
            state.files.contains_key(&name)
        });
        *out = c_int::from(there);
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_path(
    _vfs: *mut sqlite3_vfs,
    path: *const c_char,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: a C string, and `room` bytes to put it into.
    unsafe {
        let bytes = CStr::from_ptr(path).to_bytes_with_nul();
        if bytes.len() > room as usize {
            return ffi::SQLITE_CANTOPEN;
        }
        ptr::copy_nonoverlapping(bytes.as_ptr().cast(), out, bytes.len());
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn randomness(_vfs: *mut sqlite3_vfs, amount: c_int, out: *mut c_char) -> c_int {
    // SAFETY: `amount` bytes to fill. What is in them does not matter here: salts may repeat.
    unsafe { ptr::write_bytes(out, 7, amount as usize) };
    amount
}

unsafe extern "C" fn sleep(_vfs: *mut sqlite3_vfs, micros: c_int) -> c_int {
    micros
}

unsafe extern "C" fn current_time(_vfs: *mut sqlite3_vfs, out: *mut f64) -> c_int {
    // SAFETY: a place for the time, a Julian day.
    unsafe { *out = 2_461_000.5 };
    ffi::SQLITE_OK
}
