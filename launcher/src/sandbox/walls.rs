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
    /// No file can be opened, no TCP connection made, and no signal sent to a process outside.
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
        RulesetStatus, Scope,
    };
    use rustix::{
        process::{Resource, Rlimit, setrlimit},
        thread::{CapabilitySet, CapabilitySets, set_capabilities},
    };
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
        let raise = |program: Option<BpfProgram>| {
            program.is_some_and(|program| seccompiler::apply_filter_all_threads(&program).is_ok())
        };
        // `seccomp` itself is refused by the first: where two are wanted, the list stands last.
        let calls = match purpose {
            Purpose::Compile => raise(without_clone3()) && raise(filter(purpose)),
            Purpose::Run => raise(filter(purpose)),
        };
        Walls { calls, ..walls }
    }

    /// Closes every descriptor but the two pipes and the error stream, whoever left it open.
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
        let none = CapabilitySet::empty();
        let none = CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        };
        // A launcher that root runs would else hand all of root's powers down.
        let capabilities = set_capabilities(None, none).is_ok();
        // SAFETY: both take numbers only and concern this process alone.
        let others = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
        };
        capabilities && others
    }

    fn close_files() -> bool {
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(ABI::V5))
            .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(ABI::V5)))
            .and_then(|ruleset| ruleset.scope(Scope::from_all(ABI::V6)))
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
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            plain.iter().map(|call| (*call, Vec::new())).collect();
        rules.insert(libc::SYS_mprotect, vec![not_executable()?]);
        rules.insert(libc::SYS_mmap, vec![not_executable()?]);
        // Never at another process: only to end itself.
        let own = u64::from(std::process::id());
        rules.insert(libc::SYS_tgkill, vec![first_is(own)?]);
        if purpose == Purpose::Compile {
            let for_threads = [
                // Refused already, with another answer.
                libc::SYS_clone3,
                libc::SYS_set_robust_list,
                libc::SYS_rseq,
                libc::SYS_sched_getaffinity,
            ];
            rules.extend(for_threads.map(|call| (call, Vec::new())));
            let name = u64::try_from(libc::PR_SET_NAME).ok()?;
            rules.insert(libc::SYS_prctl, vec![first_is(name)?]);
            rules.insert(libc::SYS_clone, vec![thread_only()?]);
        }
        program(
            rules,
            SeccompAction::Errno(libc::EPERM as u32),
            SeccompAction::Allow,
        )
    }

    /// `clone3` hides its flags behind a pointer, which no filter can follow. Told that there is no such call, the C
    /// library takes `clone` instead.
    fn without_clone3() -> Option<BpfProgram> {
        let rules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
        program(
            rules,
            SeccompAction::Allow,
            SeccompAction::Errno(libc::ENOSYS as u32),
        )
    }

    fn program(
        rules: BTreeMap<i64, Vec<SeccompRule>>,
        others: SeccompAction,
        these: SeccompAction,
    ) -> Option<BpfProgram> {
        let arch = std::env::consts::ARCH.try_into().ok()?;
        let filter = SeccompFilter::new(rules, others, these, arch).ok()?;
        filter.try_into().ok()
    }

    fn first_is(value: u64) -> Option<SeccompRule> {
        rule(0, SeccompCmpOp::Eq, value)
    }

    /// A thread of this process may be made, and no other process.
    fn thread_only() -> Option<SeccompRule> {
        let thread = u64::try_from(libc::CLONE_THREAD).ok()?;
        rule(0, SeccompCmpOp::MaskedEq(thread), thread)
    }

    /// Memory may be had, but none that is executable: all code there will ever be is loaded.
    fn not_executable() -> Option<SeccompRule> {
        rule(2, SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64), 0)
    }

    fn rule(argument: u8, compared: SeccompCmpOp, value: u64) -> Option<SeccompRule> {
        let condition =
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compared, value).ok()?;
        SeccompRule::new(vec![condition]).ok()
    }
}

pub(super) use system::{close_all_but_pipes, raise_first, raise_last};
