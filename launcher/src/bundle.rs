//! What a bundle must be before anything compiles it: its size, its hash, its surface and its counts.
//! It reads the bytes once and runs nothing.

use porthole_bridge::{
    ABI, EXPORT_ABI, EXPORT_ALLOC, EXPORT_HANDLE, EXPORT_MEMORY, IMPORT_MODULE, IMPORT_POST,
    limits::{LINEAR_MEMORY, MODULE_BYTES, TABLE_ELEMENTS},
};
use porthole_door::Manifest;
use wasmparser::{
    BinaryReaderError, Encoding, ExternalKind, FuncType, FunctionBody, MemoryType, Operator,
    Parser, Payload, TypeRef, ValType,
};

use crate::sandbox::UiFault;

/// Most functions. A large Rust program has a few thousand.
const FUNCTIONS: u32 = 20_000;
/// Most data segments, and most element segments: compiling is quadratic far above.
const SEGMENTS: u32 = 1_000;
/// Most types, exports and globals, each.
const ENTRIES: u32 = 10_000;
/// Most tables. A stock Rust build has one; a few more harm nobody, each being bounded.
pub(crate) const TABLES: u32 = 4;
/// Most locals of one function.
const LOCALS: u64 = 2_000;
/// Most locals of all functions together.
const LOCALS_IN_ALL: u64 = 1_000_000;
/// Deepest nesting of blocks.
const DEPTH: usize = 1_000;
/// Locals × deepest nesting, of all functions together: what compiling a function grows with.
const WEIGHT: u64 = 20_000_000;
/// Largest body of one function in bytes.
const BODY_BYTES: usize = 1 << 20;
/// Most custom sections.
const CUSTOM_SECTIONS: u32 = 1_000;
/// Bytes of a page of linear memory.
const PAGE: u64 = 65_536;

/// Why a bundle is not what its manifest says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// It is over the limit, or not of the size that the manifest says.
    #[error(
        "The bundle has {bytes} bytes; {wanted} were announced, and {MODULE_BYTES} are allowed."
    )]
    Size {
        /// Its size.
        bytes: usize,
        /// What the manifest says.
        wanted: u64,
    },
    /// Its hash is another one.
    #[error("The bundle is not the one that its manifest names: its hash differs.")]
    Hash,
    /// It speaks another version of the bridge.
    #[error("The interface speaks version {0} of the bridge; this launcher speaks version {ABI}.")]
    Abi(i32),
    /// It is no module that may run.
    #[error(transparent)]
    Refused(#[from] UiFault),
}

/// A bundle whose bytes are what the manifest says and whose module may be compiled. The only thing that is.
pub struct VerifiedBundle {
    bytes: Vec<u8>,
    sha256: String,
}

impl VerifiedBundle {
    /// Checks a bundle against its manifest and against the limits.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn verify(manifest: &Manifest, bytes: Vec<u8>) -> Result<Self, BundleError> {
        let size = BundleError::Size {
            bytes: bytes.len(),
            wanted: manifest.bytes,
        };
        if bytes.len() > MODULE_BYTES || u64::try_from(bytes.len()) != Ok(manifest.bytes) {
            return Err(size);
        }
        if manifest.abi != ABI {
            return Err(BundleError::Abi(manifest.abi));
        }
        let sha256 = sha256_hex(&bytes);
        if sha256 != manifest.sha256 {
            return Err(BundleError::Hash);
        }
        inspect(&bytes)?;
        Ok(VerifiedBundle { bytes, sha256 })
    }

    /// Returns the hash, 64 lower-case hex digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns the SHA-256 of `bytes` as 64 lower-case hex digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().fold(String::new(), |mut hex, byte| {
        use std::fmt::Write as _;
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// What a module is made of, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Surface {
    pub(crate) imports: Vec<String>,
    pub(crate) exports: Vec<String>,
    pub(crate) functions: u32,
    types: Vec<FuncType>,
    /// The type of each function, imported ones first.
    function_types: Vec<u32>,
    memories: Vec<MemoryType>,
    entry_points: Vec<(String, ExternalKind, u32)>,
    locals: u64,
    weight: u64,
    customs: u32,
}

/// Reads a module and checks it.
///
/// # Errors
/// The first thing that is wrong.
pub(crate) fn inspect(bytes: &[u8]) -> Result<Surface, UiFault> {
    let (surface, checked) = survey(bytes);
    checked.map(|()| surface)
}

/// Returns what was read of a module until something was wrong, and what that was.
pub(crate) fn survey(bytes: &[u8]) -> (Surface, Result<(), UiFault>) {
    let mut surface = Surface::default();
    let checked = surface.check(bytes);
    (surface, checked)
}

fn malformed(_: BinaryReaderError) -> UiFault {
    UiFault::NotAModule
}

fn at_most(count: u32, limit: u32) -> Result<(), UiFault> {
    if count > limit {
        return Err(UiFault::TooLarge);
    }
    Ok(())
}

impl Surface {
    fn check(&mut self, bytes: &[u8]) -> Result<(), UiFault> {
        if bytes.len() > MODULE_BYTES {
            return Err(UiFault::TooLarge);
        }
        for payload in Parser::new(0).parse_all(bytes) {
            self.read(payload.map_err(malformed)?)?;
        }
        self.check_exports()
    }

    fn read(&mut self, payload: Payload<'_>) -> Result<(), UiFault> {
        match payload {
            Payload::Version { encoding, .. } => match encoding {
                Encoding::Module => Ok(()),
                Encoding::Component => Err(UiFault::NotAModule),
            },
            Payload::TypeSection(section) => {
                at_most(section.count(), ENTRIES)?;
                let types: Result<Vec<_>, _> = section.into_iter_err_on_gc_types().collect();
                self.types = types.map_err(malformed)?;
                Ok(())
            }
            Payload::ImportSection(section) => self.read_imports(section),
            Payload::FunctionSection(section) => {
                at_most(section.count(), FUNCTIONS)?;
                self.functions = section.count();
                for index in section {
                    self.function_types.push(index.map_err(malformed)?);
                }
                Ok(())
            }
            Payload::TableSection(section) => {
                if section.count() > TABLES {
                    return Err(UiFault::OutOfMemory);
                }
                for table in section {
                    let initial = table.map_err(malformed)?.ty.initial;
                    if usize::try_from(initial).map_or(true, |count| count > TABLE_ELEMENTS) {
                        return Err(UiFault::OutOfMemory);
                    }
                }
                Ok(())
            }
            Payload::MemorySection(section) => self.read_memories(section),
            Payload::GlobalSection(section) => at_most(section.count(), ENTRIES),
            Payload::ExportSection(section) => self.read_exports(section),
            Payload::ElementSection(section) => at_most(section.count(), SEGMENTS),
            Payload::DataCountSection { count, .. } => at_most(count, SEGMENTS),
            Payload::DataSection(section) => at_most(section.count(), SEGMENTS),
            Payload::CodeSectionStart { count, .. } => at_most(count, FUNCTIONS),
            Payload::CodeSectionEntry(body) => self.read_body(&body),
            Payload::CustomSection(_) => {
                self.customs += 1;
                at_most(self.customs, CUSTOM_SECTIONS)
            }
            Payload::StartSection { .. } | Payload::End(_) => Ok(()),
            // Tags, components and whatever comes later.
            _ => Err(UiFault::NotAModule),
        }
    }

    fn read_imports(
        &mut self,
        section: wasmparser::ImportSectionReader<'_>,
    ) -> Result<(), UiFault> {
        at_most(section.count(), ENTRIES)?;
        let post = FuncType::new([ValType::I32, ValType::I32], []);
        for import in section.into_imports() {
            let import = import.map_err(malformed)?;
            let name = format!("{}.{}", import.module, import.name);
            self.imports.push(crate::escape::visible_cut(&name, 80));
            let offered = match import.ty {
                TypeRef::Func(index)
                    if (import.module, import.name) == (IMPORT_MODULE, IMPORT_POST) =>
                {
                    self.function_types.push(index);
                    self.types.get(index as usize) == Some(&post)
                }
                _ => false,
            };
            if !offered {
                return Err(UiFault::unoffered(import.module, import.name));
            }
        }
        Ok(())
    }

    fn read_memories(
        &mut self,
        section: wasmparser::MemorySectionReader<'_>,
    ) -> Result<(), UiFault> {
        if section.count() > 1 {
            return Err(UiFault::NotAModule);
        }
        for memory in section {
            let memory = memory.map_err(malformed)?;
            if memory.memory64 || memory.shared || memory.page_size_log2.is_some() {
                return Err(UiFault::NotAModule);
            }
            if memory.initial > LINEAR_MEMORY as u64 / PAGE {
                return Err(UiFault::OutOfMemory);
            }
            self.memories.push(memory);
        }
        Ok(())
    }

    fn read_exports(
        &mut self,
        section: wasmparser::ExportSectionReader<'_>,
    ) -> Result<(), UiFault> {
        at_most(section.count(), ENTRIES)?;
        for export in section {
            let export = export.map_err(malformed)?;
            self.exports
                .push(crate::escape::visible_cut(export.name, 40));
            if [EXPORT_MEMORY, EXPORT_ABI, EXPORT_ALLOC, EXPORT_HANDLE].contains(&export.name) {
                self.entry_points
                    .push((export.name.to_owned(), export.kind, export.index));
            }
        }
        Ok(())
    }

    fn read_body(&mut self, body: &FunctionBody<'_>) -> Result<(), UiFault> {
        if body.as_bytes().len() > BODY_BYTES {
            return Err(UiFault::TooLarge);
        }
        let mut locals = 0;
        for group in body.get_locals_reader().map_err(malformed)? {
            locals += u64::from(group.map_err(malformed)?.0);
        }
        self.locals += locals;
        let depth = depth(body)?;
        self.weight = self
            .weight
            .saturating_add(locals.saturating_mul(depth as u64));
        let heavy = self.weight > WEIGHT || self.locals > LOCALS_IN_ALL;
        if locals > LOCALS || depth > DEPTH || heavy {
            return Err(UiFault::TooLarge);
        }
        Ok(())
    }

    fn check_exports(&self) -> Result<(), UiFault> {
        let wanted = [
            (EXPORT_ABI, FuncType::new([], [ValType::I32])),
            (EXPORT_ALLOC, FuncType::new([ValType::I32], [ValType::I32])),
            (
                EXPORT_HANDLE,
                FuncType::new([ValType::I32, ValType::I32], []),
            ),
        ];
        let functions = wanted
            .iter()
            .all(|(name, ty)| self.exported_type(name) == Some(ty));
        let memory = self
            .entry_points
            .iter()
            .any(|(name, kind, _)| name == EXPORT_MEMORY && *kind == ExternalKind::Memory);
        if functions && memory && !self.memories.is_empty() {
            return Ok(());
        }
        Err(UiFault::WrongExports)
    }

    fn exported_type(&self, wanted: &str) -> Option<&FuncType> {
        let (_, _, index) = self
            .entry_points
            .iter()
            .find(|(name, kind, _)| name == wanted && *kind == ExternalKind::Func)?;
        let ty = self.function_types.get(*index as usize)?;
        self.types.get(*ty as usize)
    }
}

/// Returns how deep the blocks of a body nest; stops counting above the limit.
fn depth(body: &FunctionBody<'_>) -> Result<usize, UiFault> {
    let mut reader = body.get_operators_reader().map_err(malformed)?;
    let (mut depth, mut deepest) = (0_usize, 0);
    while !reader.eof() {
        match reader.read().map_err(malformed)? {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => depth += 1,
            Operator::End => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
        if deepest > DEPTH {
            break;
        }
    }
    Ok(deepest)
}
