//! Bundles for tests, assembled section by section: sound, but for what a test spoils. It runs none of them.

use porthole_bridge::{ABI, Request};
use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, EntityType, ExportKind, ExportSection, Function,
    FunctionSection, GlobalSection, GlobalType, ImportSection, Instruction as I, MemorySection,
    MemoryType, Module, StartSection, TypeSection, ValType,
};

/// The index of the import.
pub(crate) const POST: u32 = 0;
/// Where the handler is told to write, far from what it says.
const ROOM: i32 = 4096;

/// A bundle to be: sound but for what a test changes.
pub(crate) struct Guest {
    pub(crate) imports: Vec<(String, String, EntityType)>,
    /// The body of `ui_handle`; its two parameters are the message.
    pub(crate) handle: Vec<I<'static>>,
    pub(crate) locals: Vec<(u32, ValType)>,
    pub(crate) start: Option<Vec<I<'static>>>,
    pub(crate) memory: MemoryType,
    pub(crate) data: Vec<u8>,
    pub(crate) exports: Vec<(&'static str, ExportKind, u32)>,
    pub(crate) extra: Vec<Function>,
}

pub(crate) fn pages(minimum: u64) -> MemoryType {
    MemoryType {
        minimum,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    }
}

impl Guest {
    /// Posts its data as one message in each call.
    pub(crate) fn sound() -> Self {
        let frame =
            porthole_bridge::encode_request(&Request::Frame(b"hello".to_vec())).expect("small");
        let length = i32::try_from(frame.len()).expect("small");
        Guest {
            imports: vec![("porthole".into(), "post".into(), EntityType::Function(0))],
            handle: vec![I::I32Const(0), I::I32Const(length), I::Call(POST)],
            locals: Vec::new(),
            start: None,
            memory: pages(2),
            data: frame,
            exports: vec![
                ("memory", ExportKind::Memory, 0),
                ("ui_abi", ExportKind::Func, 1),
                ("ui_alloc", ExportKind::Func, 2),
                ("ui_handle", ExportKind::Func, 3),
            ],
            extra: Vec::new(),
        }
    }

    pub(crate) fn handling(body: Vec<I<'static>>) -> Self {
        Guest {
            handle: body,
            ..Guest::sound()
        }
    }

    pub(crate) fn posting(data: Vec<u8>, at: i32, length: i32) -> Self {
        Guest {
            data,
            ..Guest::handling(vec![I::I32Const(at), I::I32Const(length), I::Call(POST)])
        }
    }

    pub(crate) fn build(self) -> Vec<u8> {
        let mut module = Module::new();
        let mut types = TypeSection::new();
        types.ty().function([ValType::I32, ValType::I32], []);
        types.ty().function([], [ValType::I32]);
        types.ty().function([ValType::I32], [ValType::I32]);
        types.ty().function([], []);
        module.section(&types);
        let mut imports = ImportSection::new();
        for (from, name, ty) in &self.imports {
            imports.import(from, name, *ty);
        }
        module.section(&imports);
        let mut functions = FunctionSection::new();
        for ty in [1, 2, 0, 3] {
            functions.function(ty);
        }
        for _ in &self.extra {
            functions.function(3);
        }
        module.section(&functions);
        let mut memories = MemorySection::new();
        memories.memory(self.memory);
        module.section(&memories);
        let mut globals = GlobalSection::new();
        let number = GlobalType {
            val_type: ValType::I32,
            mutable: true,
            shared: false,
        };
        globals.global(number, &ConstExpr::i32_const(0));
        module.section(&globals);
        let mut exports = ExportSection::new();
        for (name, kind, index) in &self.exports {
            exports.export(name, *kind, *index);
        }
        module.section(&exports);
        if self.start.is_some() {
            module.section(&StartSection { function_index: 4 });
        }
        let mut code = CodeSection::new();
        code.function(&function(vec![], vec![I::I32Const(ABI)]));
        code.function(&function(vec![], vec![I::I32Const(ROOM)]));
        code.function(&function(self.locals, self.handle));
        code.function(&function(vec![], self.start.unwrap_or_default()));
        for extra in &self.extra {
            code.function(extra);
        }
        module.section(&code);
        let mut data = DataSection::new();
        data.active(0, &ConstExpr::i32_const(0), self.data);
        module.section(&data);
        module.finish()
    }
}

pub(crate) fn function(locals: Vec<(u32, ValType)>, body: Vec<I<'static>>) -> Function {
    let mut function = Function::new(locals);
    for instruction in &body {
        function.instruction(instruction);
    }
    function.instruction(&I::End);
    function
}
