//! Bundles that follow a script: what they post at their start, at each wake-up, and at each letter that is typed.
//! What comes back of an action they show.

use porthole_bridge::{ABI, Request, encode_request};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, DataSection, EntityType, ExportKind, ExportSection,
    Function, FunctionSection, GlobalSection, GlobalType, ImportSection, Instruction as I, MemArg,
    MemorySection, MemoryType, Module, TypeSection, ValType,
};

const POST: u32 = 0;
/// Where messages to the bundle are put, with room before them.
const ROOM: i32 = 4096;
/// Where what it posts begins.
const WORDS: i32 = 1 << 20;
/// The local that points at the event; the parameters are the message's place and length.
const AT: u32 = 2;
/// The kinds of events, as the codec numbers them.
const START: i32 = 0;
const KEY: i32 = 1;
const OUTCOME: i32 = 8;
const WAKE: i32 = 9;

/// A bundle to be.
#[derive(Default)]
pub(crate) struct Script {
    /// What is posted at the start, at the first wake-up, at the second, and so on.
    pub(crate) steps: Vec<Vec<Request>>,
    /// What is posted when a letter is typed.
    pub(crate) keys: Vec<(char, Vec<Request>)>,
    /// Whether it traps after its start.
    pub(crate) trap: bool,
    /// The letter at which it never returns.
    pub(crate) hangs_at: Option<char>,
}

/// A bundle that shows one line.
pub(crate) fn bundle() -> Vec<u8> {
    hello().build()
}

/// A bundle that traps at its start.
pub(crate) fn trapping() -> Vec<u8> {
    let trap = true;
    Script { trap, ..hello() }.build()
}

/// A bundle that shows one line, and never returns from an `x`.
pub(crate) fn hanging() -> Vec<u8> {
    let hangs_at = Some('x');
    Script {
        hangs_at,
        ..hello()
    }
    .build()
}

/// A script that shows one line, and shows it again at every `x`.
pub(crate) fn hello() -> Script {
    let frame = Request::Frame(b"hello from the bundle".to_vec());
    Script {
        steps: vec![vec![frame.clone()]],
        keys: vec![('x', vec![frame])],
        trap: false,
        hangs_at: None,
    }
}

impl Script {
    pub(crate) fn build(&self) -> Vec<u8> {
        let mut data = Vec::new();
        let mut body = vec![I::LocalGet(0), I::LocalSet(AT)];
        // The time is a varint: its last byte is the first without the high bit.
        body.push(I::Loop(BlockType::Empty));
        body.extend(byte(0));
        body.extend([I::LocalGet(AT), I::I32Const(1), I::I32Add, I::LocalSet(AT)]);
        body.extend([I::I32Const(0x80), I::I32GeU, I::BrIf(0), I::End]);
        for kind in [START, WAKE] {
            body.extend(byte(0));
            body.extend([I::I32Const(kind), I::I32Eq, I::If(BlockType::Empty)]);
            for (index, step) in self.steps.iter().enumerate() {
                let index = i32::try_from(index).expect("few");
                body.extend([I::GlobalGet(0), I::I32Const(index), I::I32Eq]);
                body.push(I::If(BlockType::Empty));
                posts(step, &mut data, &mut body);
                body.push(I::End);
            }
            body.extend([I::GlobalGet(0), I::I32Const(1), I::I32Add, I::GlobalSet(0)]);
            body.push(I::End);
        }
        for (letter, requests) in &self.keys {
            body.extend(if_letter(*letter));
            posts(requests, &mut data, &mut body);
            body.push(I::End);
        }
        if let Some(letter) = self.hangs_at {
            body.extend(if_letter(letter));
            body.extend([I::Loop(BlockType::Empty), I::Br(0), I::End, I::End]);
        }
        body.extend(echo());
        if self.trap {
            body.push(I::Unreachable);
        }
        module(body, data)
    }
}

/// The byte of the event at an offset.
fn byte(offset: u64) -> [I<'static>; 2] {
    let place = MemArg {
        offset,
        align: 0,
        memory_index: 0,
    };
    [I::LocalGet(AT), I::I32Load8U(place)]
}

/// Begins what is done when a letter is typed.
fn if_letter(letter: char) -> Vec<I<'static>> {
    let mut code = Vec::new();
    // Key, Char, its one byte.
    for (offset, wanted) in [(0, KEY), (1, 0), (3, letter as i32)] {
        code.extend(byte(offset));
        code.extend([I::I32Const(wanted), I::I32Eq]);
    }
    code.extend([I::I32And, I::I32And, I::If(BlockType::Empty)]);
    code
}

fn posts(requests: &[Request], data: &mut Vec<u8>, body: &mut Vec<I<'static>>) {
    for request in requests {
        let bytes = encode_request(request).expect("within the limits");
        let at = WORDS + i32::try_from(data.len()).expect("fits");
        let length = i32::try_from(bytes.len()).expect("fits");
        data.extend(bytes);
        body.extend([I::I32Const(at), I::I32Const(length), I::Call(POST)]);
    }
}

/// Shows the text of an outcome by posting the message itself as a frame: a frame's head is put before it.
fn echo() -> Vec<I<'static>> {
    let store = |offset: u64| {
        let place = MemArg {
            offset,
            align: 0,
            memory_index: 0,
        };
        I::I32Store8(place)
    };
    let mut code = Vec::from(byte(0));
    code.extend([I::I32Const(OUTCOME), I::I32Eq, I::If(BlockType::Empty)]);
    let head = ROOM - 4;
    code.extend([I::I32Const(head), I::I32Const(0), store(0)]);
    for (index, high) in [(1_i32, 0x80), (2, 0x80), (3, 0)] {
        code.extend([I::I32Const(head), I::LocalGet(1)]);
        code.extend([I::I32Const((index - 1) * 7), I::I32ShrU]);
        code.extend([I::I32Const(0x7f), I::I32And, I::I32Const(high), I::I32Or]);
        code.push(store(u64::try_from(index).expect("small")));
    }
    code.extend([I::I32Const(head), I::LocalGet(1), I::I32Const(4), I::I32Add]);
    code.extend([I::Call(POST), I::End]);
    code
}

fn module(body: Vec<I<'static>>, data: Vec<u8>) -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32, ValType::I32], []);
    types.ty().function([], [ValType::I32]);
    types.ty().function([ValType::I32], [ValType::I32]);
    let mut imports = ImportSection::new();
    imports.import("porthole", "post", EntityType::Function(POST));
    let mut functions = FunctionSection::new();
    functions.function(1).function(2).function(0);
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 18 + data.len() as u64 / 65_536,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut globals = GlobalSection::new();
    let number = GlobalType {
        val_type: ValType::I32,
        mutable: true,
        shared: false,
    };
    globals.global(number, &ConstExpr::i32_const(0));
    let mut exports = ExportSection::new();
    exports.export("memory", ExportKind::Memory, 0);
    exports.export("ui_abi", ExportKind::Func, 1);
    exports.export("ui_alloc", ExportKind::Func, 2);
    exports.export("ui_handle", ExportKind::Func, 3);
    let mut code = CodeSection::new();
    for body in [vec![I::I32Const(ABI)], vec![I::I32Const(ROOM)], body] {
        let mut function = Function::new([(1, ValType::I32)]);
        for instruction in &body {
            function.instruction(instruction);
        }
        function.instruction(&I::End);
        code.function(&function);
    }
    let mut words = DataSection::new();
    words.active(0, &ConstExpr::i32_const(WORDS), data);
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&functions);
    module
        .section(&memories)
        .section(&globals)
        .section(&exports);
    module.section(&code).section(&words);
    module.finish()
}
