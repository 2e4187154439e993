//! Bundles for tests, written as text around one sound bundle. It runs none of them.

use porthole_bridge::{ABI, Request, encode_request};

/// A bundle to be, as the parts of its text; what a test leaves alone is sound.
pub(crate) struct Text {
    /// Imports beside the one function.
    pub(crate) imports: String,
    /// The memory and its export.
    pub(crate) memory: String,
    /// The body of `ui_alloc`.
    pub(crate) alloc: String,
    /// The body of `ui_handle`.
    pub(crate) handle: String,
    /// Whatever else there is.
    pub(crate) more: String,
    /// What lies at address 0.
    pub(crate) data: Vec<u8>,
}

impl Text {
    /// Posts one frame, `hello`, in each call.
    pub(crate) fn sound() -> Self {
        Self::posting(encode_request(&Request::Frame(b"hello".to_vec())).expect("small"))
    }

    /// Posts these bytes in each call.
    pub(crate) fn posting(data: Vec<u8>) -> Self {
        Self {
            imports: String::new(),
            memory: r#"(memory (export "memory") 2)"#.into(),
            alloc: "i32.const 4096".into(),
            handle: format!("(call $post (i32.const 0) (i32.const {}))", data.len()),
            more: String::new(),
            data,
        }
    }

    /// Does this before it posts its frame.
    pub(crate) fn first(body: &str) -> Self {
        let sound = Self::sound();
        Self {
            handle: format!("{body} {}", sound.handle),
            ..sound
        }
    }

    pub(crate) fn with(self, more: &str) -> Self {
        Self {
            more: more.into(),
            ..self
        }
    }

    pub(crate) fn importing(imports: &str) -> Self {
        Self {
            imports: imports.into(),
            ..Self::sound()
        }
    }

    pub(crate) fn build(&self) -> Vec<u8> {
        wat::parse_str(self.text()).unwrap_or_else(|error| panic!("{error}\n{}", self.text()))
    }

    /// Returns the text with one piece of it replaced.
    pub(crate) fn but(&self, piece: &str, by: &str) -> Vec<u8> {
        let text = self.text();
        assert!(text.contains(piece), "{text}");
        wat::parse_str(text.replacen(piece, by, 1)).unwrap_or_else(|error| panic!("{error}"))
    }

    fn text(&self) -> String {
        let Self {
            imports,
            memory,
            alloc,
            handle,
            more,
            data,
        } = self;
        let data: String = data.iter().map(|byte| format!("\\{byte:02x}")).collect();
        format!(
            r#"(module
  (import "porthole" "post" (func $post (param i32 i32)))
  {imports}
  {memory}
  (func (export "ui_abi") (result i32) i32.const {ABI})
  (func (export "ui_alloc") (param i32) (result i32) {alloc})
  (func $handle (export "ui_handle") (param i32 i32) {handle})
  {more}
  (data (i32.const 0) "{data}"))"#
        )
    }
}
