//! The one configuration of wasmtime, for the child that compiles and the child that runs. Nothing runs here.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::OnceLock,
};

use porthole_bridge::limits::{THREAD_STACK, WASM_STACK};
use wasmtime::{Config, Engine, OptLevel, RegallocAlgorithm, WasmFeatures};

/// How much work goes into compiling. Either result runs in the same engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Done in under a third of the time, for code that takes about twice as long: for a first start that a person waits for.
    Quick,
    /// The best code.
    Thorough,
}

/// Returns an engine of the one configuration. `None`: this machine cannot have one.
pub(super) fn engine() -> Option<Engine> {
    Engine::new(&config()).ok()
}

/// Returns an engine that compiles with that effort. `None`: this machine cannot have one.
pub(super) fn compiler(effort: Effort) -> Option<Engine> {
    let mut config = config();
    if effort == Effort::Quick {
        config.cranelift_opt_level(OptLevel::None);
        config.cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    Engine::new(&config).ok()
}

/// Returns the fingerprint of compiled code: equal where a compiled bundle may be used again.
pub(super) fn fingerprint() -> Option<u64> {
    static ONCE: OnceLock<Option<u64>> = OnceLock::new();
    *ONCE.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        engine()?.precompile_compatibility_hash().hash(&mut hasher);
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        Some(hasher.finish())
    })
}

fn config() -> Config {
    let mut config = Config::new();
    // Calls end by epochs alone: fuel costs more, and counts the same thing twice.
    config.epoch_interruption(true);
    config.max_wasm_stack(WASM_STACK);
    // Nothing here is asynchronous; wasmtime only wants this one not to be the smaller.
    config.async_stack_size(THREAD_STACK);
    // The default reservation of address space stays: it makes code smaller and faster, and costs no memory.
    // Data is copied into memory at the start, so that no descriptor of the artifact is needed afterwards.
    config.memory_init_cow(false);
    config.cranelift_opt_level(OptLevel::Speed);
    config.parallel_compilation(true);
    // Names of a bundle are never shown, so nothing of a trap is collected but its kind.
    config.wasm_backtrace_max_frames(None);
    // What a stock Rust build needs stays on: bulk memory, multi-value, reference types. Everything else is off:
    // each proposal is a piece of compiler that a hostile module could reach.
    config.wasm_relaxed_simd(false);
    config.wasm_simd(false);
    config.wasm_multi_memory(false);
    config.wasm_memory64(false);
    config.wasm_tail_call(false);
    config.wasm_extended_const(false);
    config.wasm_custom_page_sizes(false);
    config.wasm_wide_arithmetic(false);
    for feature in [
        WasmFeatures::THREADS,
        WasmFeatures::GC,
        WasmFeatures::FUNCTION_REFERENCES,
        WasmFeatures::EXCEPTIONS,
        WasmFeatures::STACK_SWITCHING,
    ] {
        config.wasm_features(feature, false);
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_have_an_engine() {
        Engine::new(&config()).map(drop).expect("an engine");
        assert!(fingerprint().is_some());
    }
}
