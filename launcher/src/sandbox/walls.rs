//! The walls of the operating system around a sandbox process. Best effort: it says which of them stand.
//! It builds them around its own process only, and takes none down.

use serde::{Deserialize, Serialize};

/// Which walls stand around a running UI, besides wasm itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walls {
    /// Limits on memory, descriptors, file sizes and core dumps.
    pub limits: bool,
    /// No new privileges, and nobody may look into the process.
    pub privileges: bool,
    /// No file can be opened and no TCP connection made.
    pub files: bool,
    /// Only the few system calls that computing needs.
    pub calls: bool,
}

/// What a child is for: it decides about limits and system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Compiles, with threads.
    Compile,
    /// Runs a UI.
    Run,
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Purpose, Walls};

    pub(in super::super) fn raise_first(_: Purpose) -> Walls {
        Walls::default()
    }

    pub(in super::super) fn raise_last(_: Purpose, walls: Walls) -> Walls {
        walls
    }

    pub(in super::super) fn close_all_but_pipes() {}
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeMap;

    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
        RulesetStatus,
    };
    use rustix::process::{Resource, Rlimit, setrlimit};
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule,
    };

    use super::{Purpose, Walls};

    const MIB: u64 = 1 << 20;
    /// Private memory of a process that runs a UI: linear memory, code, and room for the launcher's own.
    const RUN_DATA: u64 = 400 * MIB;
    /// Private memory of a process that compiles.
    const COMPILE_DATA: u64 = 700 * MIB;
    /// CPU seconds of all threads together for compiling.
    const COMPILE_SECONDS: u64 = 60;

    /// Raises what may stand from the first moment: limits, privileges, files. Called before any thread starts.
    pub(in super::super) fn raise_first(purpose: Purpose) -> Walls {
        Walls {
            limits: limit(purpose),
            privileges: drop_privileges(),
            files: close_files(),
            calls: false,
        }
    }

    /// Raises the last wall, on all threads. Called when everything is loaded, before any code of a bundle runs.
    pub(in super::super) fn raise_last(purpose: Purpose, walls: Walls) -> Walls {
        let calls = filter(purpose)
            .is_some_and(|filter| seccompiler::apply_filter_all_threads(&filter).is_ok());
        Walls { calls, ..walls }
    }

    /// Closes every descriptor but the two pipes and the error stream.
    #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
    pub(in super::super) fn close_all_but_pipes() {
        // SAFETY: takes no pointer. The descriptors are not used again: what wasmtime keeps of them is a mapping.
        unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
    }

    fn limit(purpose: Purpose) -> bool {
        let set = |resource, value| {
            let limit = Rlimit {
                current: Some(value),
                maximum: Some(value),
            };
            setrlimit(resource, limit).is_ok()
        };
        let own = match purpose {
            Purpose::Compile => {
                set(Resource::Data, COMPILE_DATA) & set(Resource::Cpu, COMPILE_SECONDS)
            }
            Purpose::Run => set(Resource::Data, RUN_DATA),
        };
        own & set(Resource::Core, 0) & set(Resource::Fsize, 0) & set(Resource::Nofile, 32)
    }

    #[expect(unsafe_code, reason = "system calls without a safe wrapper here")]
    fn drop_privileges() -> bool {
        // SAFETY: both take numbers only and concern this process alone.
        unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
        }
    }

    fn close_files() -> bool {
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(ABI::V5))
            .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(ABI::V5)))
            .and_then(Ruleset::create)
            .and_then(|ruleset| ruleset.restrict_self());
        ruleset.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
    }

    /// What computing, the pipes and dying need. Anything else fails with `EPERM`.
    fn filter(purpose: Purpose) -> Option<BpfProgram> {
        let plain = [
            libc::SYS_read,
            libc::SYS_write,
            libc::SYS_writev,
            libc::SYS_close,
            libc::SYS_futex,
            libc::SYS_munmap,
            libc::SYS_mremap,
            libc::SYS_madvise,
            libc::SYS_brk,
            libc::SYS_exit,
            libc::SYS_exit_group,
            libc::SYS_rt_sigreturn,
            libc::SYS_rt_sigprocmask,
            libc::SYS_rt_sigaction,
            libc::SYS_sigaltstack,
            libc::SYS_clock_gettime,
            libc::SYS_clock_nanosleep,
            libc::SYS_sched_yield,
            libc::SYS_restart_syscall,
            libc::SYS_getrandom,
            libc::SYS_gettid,
            libc::SYS_getpid,
        ];
        let for_threads = [
            libc::SYS_clone,
            libc::SYS_clone3,
            libc::SYS_set_robust_list,
            libc::SYS_rseq,
            libc::SYS_sched_getaffinity,
            libc::SYS_mprotect,
            libc::SYS_mmap,
            libc::SYS_prctl,
        ];
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            plain.iter().map(|call| (*call, Vec::new())).collect();
        match purpose {
            Purpose::Compile => rules.extend(for_threads.iter().map(|call| (*call, Vec::new()))),
            Purpose::Run => {
                rules.insert(libc::SYS_mprotect, vec![not_executable()?]);
                rules.insert(libc::SYS_mmap, vec![not_executable()?]);
                // Never at another process: only to end itself.
                let own = u64::from(std::process::id());
                let to_itself =
                    SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, own);
                let rule = SeccompRule::new(vec![to_itself.ok()?]).ok()?;
                rules.insert(libc::SYS_tgkill, vec![rule]);
            }
        }
        let filter = SeccompFilter::new(
            rules,
            SeccompAction::Errno(libc::EPERM as u32),
            SeccompAction::Allow,
            std::env::consts::ARCH.try_into().ok()?,
        );
        filter.ok()?.try_into().ok()
    }

    /// Memory may be had, but none that is executable: all code there will ever be is loaded.
    fn not_executable() -> Option<SeccompRule> {
        let exec = libc::PROT_EXEC as u64;
        let condition =
            SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(exec), 0);
        SeccompRule::new(vec![condition.ok()?]).ok()
    }
}

pub(super) use system::{close_all_but_pipes, raise_first, raise_last};
