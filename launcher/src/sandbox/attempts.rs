//! Tries to break each wall from inside a process that has raised them (`porthole ui-attempts`), and says what held.
//! For reports and tests: no bundle is near, and what gets through is undone or harmless.

use std::{
    ffi::CStr,
    io::{self, Write as _},
    process::ExitCode,
};

use serde::{Deserialize, Serialize};

use super::walls::{self, Purpose};

/// A way out that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Which wall stood in the way; the earlier ones are tried before the last is raised.
    pub wall: Wall,
    /// What was tried.
    pub what: String,
    /// Whether it was refused, and by that wall.
    pub held: bool,
}

/// A wall of the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wall {
    /// Limits on memory and descriptors.
    Limits,
    /// No privileges, and none to be gained.
    Privileges,
    /// Files, TCP, signals.
    Files,
    /// System calls.
    Calls,
    /// Written last: nothing got so far through that the report is missing.
    End,
}

/// Runs the child: raises the walls of the purpose that the second argument names, and tries each.
pub fn main() -> ExitCode {
    let purpose = match std::env::args_os().nth(2) {
        Some(name) if name == "compile" => Purpose::Compile,
        _ => Purpose::Run,
    };
    let standing = walls::raise_first(purpose);
    walls::close_all_but_pipes();
    let early = [Wall::Limits, Wall::Privileges, Wall::Files];
    let told = early
        .into_iter()
        .try_for_each(|wall| report(wall, system::early(wall)));
    walls::raise_last(purpose, standing);
    let told = told.and_then(|()| report(Wall::Calls, system::late(purpose)));
    let end = [("the end", true)].into_iter();
    match told.and_then(|()| report(Wall::End, end.collect())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn report(wall: Wall, tried: Vec<(&str, bool)>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for (what, held) in tried {
        let what = what.to_owned();
        let line = serde_json::to_string(&Attempt { wall, what, held })?;
        writeln!(out, "{line}")?;
    }
    out.flush()
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Purpose, Wall};

    pub(super) fn early(_: Wall) -> Vec<(&'static str, bool)> {
        Vec::new()
    }

    pub(super) fn late(_: Purpose) -> Vec<(&'static str, bool)> {
        Vec::new()
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::{CStr, Purpose, Wall};

    const ROOT: &CStr = c"/";
    const OWN: &CStr = c"/proc/self/exe";
    const ANON: usize = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
    const READ_WRITE: usize = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    const EXEC: usize = (libc::PROT_READ | libc::PROT_EXEC) as usize;
    const PAGE: usize = 4096;
    /// More than either process may have.
    const MUCH: usize = 1 << 30;
    const HERE: usize = libc::AT_FDCWD as usize;

    /// What is tried, the call and its numbers, and the refusals that count.
    type Try = (&'static str, libc::c_long, [usize; 6], &'static [i32]);

    /// Makes a call; returns its error, 0 where it got through.
    #[expect(unsafe_code, reason = "tries calls that have no safe form")]
    fn error_of(call: libc::c_long, a: [usize; 6]) -> i32 {
        // SAFETY: pointers among the numbers are to constants or null; no call writes through any of them. A call that
        // gets through leaves this process, which exists for nothing else, in whatever state.
        let result = unsafe { libc::syscall(call, a[0], a[1], a[2], a[3], a[4], a[5]) };
        match result {
            -1 => std::io::Error::last_os_error().raw_os_error().unwrap_or(0),
            0 if call == libc::SYS_clone => {
                // A second process: it must not go on as this one.
                std::process::exit(0)
            }
            _ => 0,
        }
    }

    fn all(tries: &[Try]) -> Vec<(&'static str, bool)> {
        tries
            .iter()
            .map(|(what, call, numbers, refusals)| {
                (*what, refusals.contains(&error_of(*call, *numbers)))
            })
            .collect()
    }

    fn at(text: &CStr) -> usize {
        text.as_ptr() as usize
    }

    fn address(family: i32) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&(family as u16).to_ne_bytes());
        // Port 1 of 127.0.0.1.
        bytes[2..8].copy_from_slice(&[0, 1, 127, 0, 0, 1]);
        bytes
    }

    pub(super) fn early(wall: Wall) -> Vec<(&'static str, bool)> {
        match wall {
            Wall::Limits => limits(),
            Wall::Privileges => privileges(),
            Wall::Files => files(),
            Wall::Calls | Wall::End => Vec::new(),
        }
    }

    fn limits() -> Vec<(&'static str, bool)> {
        let mut tried = all(&[
            (
                "have a gigabyte of memory",
                libc::SYS_mmap,
                [0, MUCH, READ_WRITE, ANON, usize::MAX, 0],
                &[libc::ENOMEM],
            ),
            (
                "raise a limit",
                libc::SYS_prlimit64,
                [
                    0,
                    libc::RLIMIT_DATA as usize,
                    NO_LIMIT.as_ptr() as usize,
                    0,
                    0,
                    0,
                ],
                &[libc::EPERM],
            ),
        ]);
        let full = (0..64).any(|_| error_of(libc::SYS_dup, [1, 0, 0, 0, 0, 0]) == libc::EMFILE);
        tried.push(("open many descriptors", full));
        super::walls::close_all_but_pipes();
        tried
    }

    static NO_LIMIT: [u64; 2] = [u64::MAX; 2];

    fn privileges() -> Vec<(&'static str, bool)> {
        all(&[
            (
                "allow new privileges again",
                libc::SYS_prctl,
                [libc::PR_SET_NO_NEW_PRIVS as usize, 0, 0, 0, 0, 0],
                &[libc::EINVAL],
            ),
            (
                "change the root folder",
                libc::SYS_chroot,
                [at(ROOT), 0, 0, 0, 0, 0],
                &[libc::EPERM],
            ),
            (
                "become another user",
                libc::SYS_setuid,
                [65_534, 0, 0, 0, 0, 0],
                OTHER_USER,
            ),
        ])
    }

    /// Where the launcher is run by that very user, nothing changes.
    const OTHER_USER: &[i32] = &[libc::EPERM, libc::EINVAL];

    fn parent() -> usize {
        std::os::unix::process::parent_id() as usize
    }

    /// Nothing is read: the kernel decides about the right to before it finds nothing at that address.
    fn vm_read() -> [usize; 6] {
        [
            parent(),
            NO_PLACE.as_ptr() as usize,
            1,
            NO_PLACE.as_ptr() as usize,
            1,
            0,
        ]
    }

    /// One place: a byte where nothing is.
    static NO_PLACE: [usize; 2] = [0, 1];

    fn files() -> Vec<(&'static str, bool)> {
        let landlock: &[i32] = &[libc::EACCES];
        let create = (libc::O_CREAT | libc::O_WRONLY | libc::O_EXCL) as usize;
        let mut tried = all(&[
            (
                "list the root folder",
                libc::SYS_openat,
                [
                    HERE,
                    at(ROOT),
                    (libc::O_RDONLY | libc::O_DIRECTORY) as usize,
                    0,
                    0,
                    0,
                ],
                landlock,
            ),
            (
                "read its own program",
                libc::SYS_openat,
                [HERE, at(OWN), libc::O_RDONLY as usize, 0, 0, 0],
                landlock,
            ),
            (
                "write a file",
                libc::SYS_openat,
                [HERE, at(c"/tmp/porthole-attempt"), create, 0o600, 0, 0],
                landlock,
            ),
            (
                "make a folder",
                libc::SYS_mkdirat,
                [HERE, at(c"/tmp/porthole-attempt"), 0o700, 0, 0, 0],
                landlock,
            ),
            (
                "start a program",
                libc::SYS_execve,
                [at(OWN), 0, 0, 0, 0, 0],
                landlock,
            ),
            (
                "signal the launcher",
                libc::SYS_kill,
                [parent(), 0, 0, 0, 0, 0],
                &[libc::EPERM],
            ),
            (
                "read the launcher's memory",
                libc::SYS_process_vm_readv,
                vm_read(),
                &[libc::EPERM],
            ),
        ]);
        tried.extend(tcp(landlock));
        tried
    }

    fn tcp(landlock: &'static [i32]) -> Vec<(&'static str, bool)> {
        let address = address(libc::AF_INET);
        let Ok(socket) = rustix::net::socket(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::STREAM,
            None,
        ) else {
            return Vec::new();
        };
        let number = std::os::fd::AsRawFd::as_raw_fd(&socket) as usize;
        let to = [number, address.as_ptr() as usize, address.len(), 0, 0, 0];
        all(&[
            ("connect by TCP", libc::SYS_connect, to, landlock),
            ("listen on TCP", libc::SYS_bind, to, landlock),
        ])
    }

    /// What no filter lets through.
    const FILTER: &[i32] = &[libc::EPERM];

    pub(super) fn late(purpose: Purpose) -> Vec<(&'static str, bool)> {
        let mut tried = all(&reaching_out());
        tried.extend(all(&taking_over()));
        tried.extend(all(&making_code()));
        let clone3: &[i32] = match purpose {
            // The C library is told that there is none.
            Purpose::Compile => &[libc::ENOSYS],
            Purpose::Run => FILTER,
        };
        tried.extend(all(&[
            (
                "make a process",
                libc::SYS_clone,
                [libc::SIGCHLD as usize, 0, 0, 0, 0, 0],
                FILTER,
            ),
            (
                "make a process in the new way",
                libc::SYS_clone3,
                [0; 6],
                clone3,
            ),
        ]));
        tried
    }

    fn reaching_out() -> Vec<Try> {
        let socket = |family: i32, kind: i32| [family as usize, kind as usize, 0, 0, 0, 0];
        let root = [HERE, at(ROOT), 0, 0, 0, 0];
        vec![
            ("open a file", libc::SYS_openat, root, FILTER),
            (
                "open a file in the new way",
                libc::SYS_openat2,
                root,
                FILTER,
            ),
            ("look at a file", libc::SYS_newfstatat, root, FILTER),
            ("ask about a file", libc::SYS_faccessat, root, FILTER),
            ("read a link", libc::SYS_readlinkat, root, FILTER),
            ("remove a file", libc::SYS_unlinkat, root, FILTER),
            (
                "rename a file",
                libc::SYS_renameat2,
                [HERE, at(ROOT), HERE, at(ROOT), 0, 0],
                FILTER,
            ),
            (
                "make memory that is a file",
                libc::SYS_memfd_create,
                [at(ROOT), 0, 0, 0, 0, 0],
                FILTER,
            ),
            ("watch files", libc::SYS_inotify_init1, [0; 6], FILTER),
            (
                "have an internet socket",
                libc::SYS_socket,
                socket(libc::AF_INET, libc::SOCK_STREAM),
                FILTER,
            ),
            (
                "have an internet socket of the sixth version",
                libc::SYS_socket,
                socket(libc::AF_INET6, libc::SOCK_DGRAM),
                FILTER,
            ),
            (
                "have a local socket",
                libc::SYS_socket,
                socket(libc::AF_UNIX, libc::SOCK_STREAM),
                FILTER,
            ),
            (
                "have a socket of the kernel's",
                libc::SYS_socket,
                socket(libc::AF_NETLINK, libc::SOCK_RAW),
                FILTER,
            ),
            (
                "have a pair of sockets",
                libc::SYS_socketpair,
                [1, 1, 0, 0, 0, 0],
                FILTER,
            ),
            (
                "do calls by a ring",
                libc::SYS_io_uring_setup,
                [1, 0, 0, 0, 0, 0],
                FILTER,
            ),
            (
                "type into the terminal",
                libc::SYS_ioctl,
                [0, libc::TIOCSTI as usize, at(ROOT), 0, 0, 0],
                FILTER,
            ),
            ("copy a descriptor", libc::SYS_dup, [0; 6], FILTER),
            (
                "change a descriptor",
                libc::SYS_fcntl,
                [0, libc::F_GETFL as usize, 0, 0, 0, 0],
                FILTER,
            ),
        ]
    }

    fn taking_over() -> Vec<Try> {
        let parent = parent();
        vec![
            (
                "start a program",
                libc::SYS_execve,
                [at(OWN), 0, 0, 0, 0, 0],
                FILTER,
            ),
            (
                "start a program in the new way",
                libc::SYS_execveat,
                [HERE, at(OWN), 0, 0, 0, 0],
                FILTER,
            ),
            (
                "signal the launcher",
                libc::SYS_kill,
                [parent, 0, 0, 0, 0, 0],
                FILTER,
            ),
            (
                "signal a thread of the launcher",
                libc::SYS_tgkill,
                [parent, parent, 0, 0, 0, 0],
                FILTER,
            ),
            (
                "hold the launcher's process",
                libc::SYS_pidfd_open,
                [parent, 0, 0, 0, 0, 0],
                FILTER,
            ),
            (
                "be traced",
                libc::SYS_ptrace,
                [libc::PTRACE_TRACEME as usize, 0, 0, 0, 0, 0],
                FILTER,
            ),
            (
                "trace the launcher",
                libc::SYS_ptrace,
                [libc::PTRACE_SEIZE as usize, parent, 0, 0, 0, 0],
                FILTER,
            ),
            (
                "read the launcher's memory",
                libc::SYS_process_vm_readv,
                vm_read(),
                FILTER,
            ),
            (
                "write the launcher's memory",
                libc::SYS_process_vm_writev,
                vm_read(),
                FILTER,
            ),
            (
                "become readable again",
                libc::SYS_prctl,
                [libc::PR_SET_DUMPABLE as usize, 1, 0, 0, 0, 0],
                FILTER,
            ),
            ("filter calls itself", libc::SYS_seccomp, [0; 6], FILTER),
            (
                "raise a limit",
                libc::SYS_prlimit64,
                [
                    0,
                    libc::RLIMIT_CORE as usize,
                    NO_LIMIT.as_ptr() as usize,
                    0,
                    0,
                    0,
                ],
                FILTER,
            ),
            (
                "change the root folder",
                libc::SYS_chroot,
                [at(ROOT), 0, 0, 0, 0, 0],
                FILTER,
            ),
            ("mount", libc::SYS_mount, [0; 6], FILTER),
            (
                "leave its namespaces",
                libc::SYS_unshare,
                [libc::CLONE_NEWUSER as usize, 0, 0, 0, 0, 0],
                FILTER,
            ),
            (
                "load a program into the kernel",
                libc::SYS_bpf,
                [0; 6],
                FILTER,
            ),
            (
                "count the kernel's events",
                libc::SYS_perf_event_open,
                [0; 6],
                FILTER,
            ),
            ("handle page faults", libc::SYS_userfaultfd, [0; 6], FILTER),
            ("use the kernel's keys", libc::SYS_keyctl, [0; 6], FILTER),
            ("learn the machine's name", libc::SYS_uname, [0; 6], FILTER),
        ]
    }

    fn making_code() -> Vec<Try> {
        let page = std::ptr::from_ref(&PLACE) as usize & !(PAGE - 1);
        vec![
            (
                "have memory for code",
                libc::SYS_mmap,
                [0, PAGE, EXEC, ANON, usize::MAX, 0],
                FILTER,
            ),
            (
                "make memory into code",
                libc::SYS_mprotect,
                [page, PAGE, EXEC, 0, 0, 0],
                FILTER,
            ),
            (
                "make memory into code by a key",
                libc::SYS_pkey_mprotect,
                [page, PAGE, EXEC, usize::MAX, 0, 0],
                FILTER,
            ),
            (
                "share memory",
                libc::SYS_shmget,
                [0, PAGE, 0o600, 0, 0, 0],
                FILTER,
            ),
        ]
    }

    /// A constant in a page that is read only.
    static PLACE: u8 = 0;
}
