//! The C ABI. Every function catches panics and hands out exact buffers.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{c_char, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

use crate::error::{Code, Error, Result};
use crate::template::Template;
use crate::tokenizer::Tokenizer;

/// Must match `mlxcel_text_stream_plan_t`.
#[repr(C)]
pub struct StreamPlanC {
    replaces_each_byte: bool,
    strip_codepoint: u32,
    strip_count: u32,
}

const FLAG_RAW_BYTE: u32 = 1 << 0;
const FLAG_PARTIAL: u32 = 1 << 1;
const FLAG_SPECIAL: u32 = 1 << 2;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static PANIC_PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps caught panics off stderr: their text goes into the error message.
fn install_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if GUARDED.with(Cell::get) {
                let place = info.location().map(ToString::to_string);
                PANIC_PLACE.with(|slot| *slot.borrow_mut() = place);
            } else {
                previous(info);
            }
        }));
    });
}

fn panic_error(payload: Box<dyn Any + Send>) -> Error {
    let text = payload
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic".to_string());
    let place = PANIC_PLACE.with(|slot| slot.borrow_mut().take());
    let place = place.unwrap_or_else(|| "unknown place".to_string());
    Error::new(Code::Internal, format!("panic at {place}: {text}"))
}

/// Runs `body`; a panic becomes an error, and stays off stderr.
pub fn caught<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    install_panic_hook();
    let was_guarded = GUARDED.with(|flag| flag.replace(true));
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|p| Err(panic_error(p)));
    GUARDED.with(|flag| flag.set(was_guarded));
    outcome
}

/// Runs `body`; turns its error or panic into a code and a message.
fn guard(out_error: *mut *mut c_char, body: impl FnOnce() -> Result<()>) -> i32 {
    if !out_error.is_null() {
        // SAFETY: the header demands NULL or a writable pointer.
        unsafe { *out_error = std::ptr::null_mut() };
    }
    match caught(body) {
        Ok(()) => Code::Ok as i32,
        Err(error) => {
            if !out_error.is_null() {
                let text = error.message.replace('\0', "\\0");
                let text = CString::new(text).unwrap_or_default();
                // SAFETY: as above.
                unsafe { *out_error = text.into_raw() };
            }
            error.code as i32
        }
    }
}

/// SAFETY: `data` must be readable for `size` bytes, or `size` be 0.
unsafe fn input<'a, T>(data: *const T, size: usize) -> &'a [T] {
    if size == 0 {
        &[]
    } else {
        std::slice::from_raw_parts(data, size)
    }
}

/// Hands a buffer to C; an empty one is NULL, which the free functions accept.
/// SAFETY: both out pointers must be writable.
unsafe fn output<T>(values: Vec<T>, out_data: *mut *mut T, out_count: *mut usize) {
    *out_count = values.len();
    *out_data = if values.is_empty() {
        std::ptr::null_mut()
    } else {
        Box::into_raw(values.into_boxed_slice()).cast::<T>()
    };
}

/// SAFETY: `data` and `count` must come from `output`.
unsafe fn release<T>(data: *mut T, count: usize) {
    if !data.is_null() {
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(
            data, count,
        )));
    }
}

/// # Safety
/// `string` is NULL or an error message of this library.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_string_free(string: *mut c_char) {
    if !string.is_null() {
        drop(CString::from_raw(string));
    }
}

/// # Safety
/// `ids` and `count` are as handed out.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_ids_free(ids: *mut u32, count: usize) {
    release(ids, count);
}

/// # Safety
/// `bytes` and `size` are as handed out.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_bytes_free(bytes: *mut u8, size: usize) {
    release(bytes, size);
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_tokenizer_create(
    json: *const u8,
    json_size: usize,
    out_tokenizer: *mut *mut Tokenizer,
    out_error: *mut *mut c_char,
) -> i32 {
    *out_tokenizer = std::ptr::null_mut();
    guard(out_error, || {
        let tokenizer = Tokenizer::from_json(input(json, json_size))?;
        *out_tokenizer = Box::into_raw(Box::new(tokenizer));
        Ok(())
    })
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_tokenizer_free(tokenizer: *mut Tokenizer) {
    if !tokenizer.is_null() {
        guard(std::ptr::null_mut(), || {
            drop(Box::from_raw(tokenizer));
            Ok(())
        });
    }
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_tokenizer_encode(
    tokenizer: *const Tokenizer,
    text: *const u8,
    text_size: usize,
    add_special: bool,
    parse_special: bool,
    out_ids: *mut *mut u32,
    out_count: *mut usize,
    out_leading_count: *mut usize,
    out_error: *mut *mut c_char,
) -> i32 {
    output(Vec::new(), out_ids, out_count);
    *out_leading_count = 0;
    guard(out_error, || {
        let text = input(text, text_size);
        let encoded = (*tokenizer).encode(text, add_special, parse_special)?;
        *out_leading_count = encoded.leading_count;
        output(encoded.ids, out_ids, out_count);
        Ok(())
    })
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_tokenizer_decode(
    tokenizer: *const Tokenizer,
    ids: *const u32,
    count: usize,
    skip_special: bool,
    out_bytes: *mut *mut u8,
    out_size: *mut usize,
    out_error: *mut *mut c_char,
) -> i32 {
    output(Vec::new(), out_bytes, out_size);
    guard(out_error, || {
        let text = (*tokenizer).decode(input(ids, count), skip_special)?;
        output(text.into_bytes(), out_bytes, out_size);
        Ok(())
    })
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_tokenizer_stream_plan(
    tokenizer: *const Tokenizer,
    out_plan: *mut StreamPlanC,
    out_error: *mut *mut c_char,
) -> i32 {
    *out_plan = StreamPlanC {
        replaces_each_byte: false,
        strip_codepoint: 0,
        strip_count: 0,
    };
    guard(out_error, || {
        let plan = (*tokenizer).plan()?;
        let (codepoint, count) = plan.strip().unwrap_or(('\0', 0));
        *out_plan = StreamPlanC {
            replaces_each_byte: plan.replaces_each_byte(),
            strip_codepoint: u32::from(codepoint),
            strip_count: count,
        };
        Ok(())
    })
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_tokenizer_token_bytes(
    tokenizer: *const Tokenizer,
    id: u32,
    is_first: bool,
    buffer: *mut u8,
    capacity: usize,
    out_size: *mut usize,
    out_flags: *mut u32,
    out_error: *mut *mut c_char,
) -> i32 {
    *out_size = 0;
    *out_flags = 0;
    guard(out_error, || {
        let token = (*tokenizer).token_bytes(id, is_first)?;
        *out_size = token.bytes.len();
        *out_flags = u32::from(token.is_raw_byte) * FLAG_RAW_BYTE
            + u32::from(token.is_partial) * FLAG_PARTIAL
            + u32::from((*tokenizer).is_special(id)) * FLAG_SPECIAL;
        if token.bytes.len() > capacity {
            return Err(Error::new(Code::Small, "the buffer is too small"));
        }
        if !token.bytes.is_empty() {
            std::ptr::copy_nonoverlapping(token.bytes.as_ptr(), buffer, token.bytes.len());
        }
        Ok(())
    })
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_tokenizer_vocab_size(tokenizer: *const Tokenizer) -> usize {
    let mut size = 0;
    guard(std::ptr::null_mut(), || {
        size = (*tokenizer).vocab_size();
        Ok(())
    });
    size
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_tokenizer_id_limit(tokenizer: *const Tokenizer) -> u64 {
    let mut limit = 0;
    guard(std::ptr::null_mut(), || {
        limit = (*tokenizer).id_limit();
        Ok(())
    });
    limit
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_tokenizer_is_special(
    tokenizer: *const Tokenizer,
    id: u32,
) -> bool {
    let mut is_special = false;
    guard(std::ptr::null_mut(), || {
        is_special = (*tokenizer).is_special(id);
        Ok(())
    });
    is_special
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_tokenizer_id_to_token(
    tokenizer: *const Tokenizer,
    id: u32,
    out_bytes: *mut *mut u8,
    out_size: *mut usize,
    out_error: *mut *mut c_char,
) -> i32 {
    output(Vec::new(), out_bytes, out_size);
    guard(out_error, || {
        let token = (*tokenizer).id_to_token(id)?;
        output(token.into_bytes(), out_bytes, out_size);
        Ok(())
    })
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_tokenizer_token_to_id(
    tokenizer: *const Tokenizer,
    token: *const u8,
    token_size: usize,
    out_id: *mut u32,
    out_error: *mut *mut c_char,
) -> i32 {
    *out_id = 0;
    guard(out_error, || {
        let token = utf8(input(token, token_size), "token")?;
        *out_id = (*tokenizer).token_to_id(token)?;
        Ok(())
    })
}

fn utf8<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes)
        .map_err(|e| Error::new(Code::Invalid, format!("{what} is not UTF-8: {e}")))
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_template_create(
    source: *const u8,
    source_size: usize,
    out_template: *mut *mut Template,
    out_error: *mut *mut c_char,
) -> i32 {
    *out_template = std::ptr::null_mut();
    guard(out_error, || {
        let source = utf8(input(source, source_size), "the template")?;
        let template = Template::new(source)?;
        *out_template = Box::into_raw(Box::new(template));
        Ok(())
    })
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_template_free(template: *mut Template) {
    if !template.is_null() {
        guard(std::ptr::null_mut(), || {
            drop(Box::from_raw(template));
            Ok(())
        });
    }
}

/// Must match `mlxcel_text_variable_t`.
#[repr(C)]
pub struct VariableC {
    name: *const u8,
    name_size: usize,
    json: *const u8,
    json_size: usize,
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn mlxcel_text_template_render(
    template: *const Template,
    variables: *const VariableC,
    variable_count: usize,
    out_bytes: *mut *mut u8,
    out_size: *mut usize,
    out_error: *mut *mut c_char,
) -> i32 {
    output(Vec::new(), out_bytes, out_size);
    guard(out_error, || {
        let mut pairs = Vec::with_capacity(variable_count);
        for variable in input(variables, variable_count) {
            let name = utf8(
                input(variable.name, variable.name_size),
                "a variable's name",
            )?;
            pairs.push((name, input(variable.json, variable.json_size)));
        }
        let text = (*template).render(&pairs)?;
        output(text.into_bytes(), out_bytes, out_size);
        Ok(())
    })
}
