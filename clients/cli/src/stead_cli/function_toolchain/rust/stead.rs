//! What a function in Rust uses. docs/functions.md describes requests, responses and operations.
#![crate_type = "rlib"]

use std::collections::BTreeMap;
use std::fmt::{self, Write};

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

impl Json {
    pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
        Json::Object(members.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
    }

    pub fn parse(text: &str) -> Option<Json> {
        let mut reader = Reader { text: text.as_bytes(), at: 0 };
        let value = reader.value(0)?;
        reader.skip_space();
        (reader.at == text.len()).then_some(value)
    }

    /// A member of an object.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.get(name),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_number(&self) -> Option<f64> {
        match self {
            Json::Number(number) => Some(*number),
            _ => None,
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_string())
    }
}

impl From<f64> for Json {
    fn from(number: f64) -> Json {
        Json::Number(number)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => out.write_str("null"),
            Json::Bool(value) => write!(out, "{value}"),
            Json::Number(number) if number.is_finite() => write!(out, "{number}"),
            Json::Number(_) => out.write_str("null"),
            Json::Text(text) => write_text(out, text),
            Json::List(items) => {
                out.write_char('[')?;
                for (number, item) in items.iter().enumerate() {
                    write!(out, "{}{item}", if number > 0 { "," } else { "" })?;
                }
                out.write_char(']')
            }
            Json::Object(members) => {
                out.write_char('{')?;
                for (number, (name, value)) in members.iter().enumerate() {
                    out.write_str(if number > 0 { "," } else { "" })?;
                    write_text(out, name)?;
                    write!(out, ":{value}")?;
                }
                out.write_char('}')
            }
        }
    }
}

fn write_text(out: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' | '\\' => write!(out, "\\{letter}")?,
            letter if (letter as u32) < 32 => write!(out, "\\u{:04x}", letter as u32)?,
            letter => out.write_char(letter)?,
        }
    }
    out.write_char('"')
}

const DEEPEST: usize = 100;

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: &str) -> bool {
        self.skip_space();
        let found = self.text[self.at..].starts_with(wanted.as_bytes());
        if found {
            self.at += wanted.len();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        self.skip_space();
        match *self.text.get(self.at)? {
            _ if depth > DEEPEST => None,
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => self.string().map(Json::Text),
            b'n' => self.take("null").then_some(Json::Null),
            b't' => self.take("true").then_some(Json::Bool(true)),
            b'f' => self.take("false").then_some(Json::Bool(false)),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        let mut members = BTreeMap::new();
        self.at += 1;
        if self.take("}") {
            return Some(Json::Object(members));
        }
        loop {
            self.skip_space();
            let name = self.string()?;
            if !self.take(":") {
                return None;
            }
            members.insert(name, self.value(depth + 1)?);
            if self.take("}") {
                return Some(Json::Object(members));
            }
            if !self.take(",") {
                return None;
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Json> {
        let mut items = Vec::new();
        self.at += 1;
        if self.take("]") {
            return Some(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take("]") {
                return Some(Json::List(items));
            }
            if !self.take(",") {
                return None;
            }
        }
    }

    fn number(&mut self) -> Option<Json> {
        let begin = self.at;
        while self.text.get(self.at).is_some_and(|byte| b"+-.eE0123456789".contains(byte)) {
            self.at += 1;
        }
        std::str::from_utf8(&self.text[begin..self.at]).ok()?.parse().ok().map(Json::Number)
    }

    fn string(&mut self) -> Option<String> {
        if self.text.get(self.at) != Some(&b'"') {
            return None;
        }
        self.at += 1;
        let mut read = Vec::new();
        loop {
            let byte = *self.text.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(read).ok(),
                b'\\' => {
                    let letter = self.escaped()?;
                    read.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                }
                byte => read.push(byte),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        let letter = *self.text.get(self.at)?;
        self.at += 1;
        Some(match letter {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let mut code = self.hex()?;
                if (0xD800..0xDC00).contains(&code) && self.text[self.at..].starts_with(b"\\u") {
                    self.at += 2;
                    let low = self.hex()?.checked_sub(0xDC00)?;
                    code = 0x10000 + ((code - 0xD800) << 10) + low;
                }
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => other as char,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }
}

pub struct Request {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// Empty if the body is not text: then `raw` has it as `body_base64`.
    pub body: String,
    pub raw: Json,
}

impl Request {
    fn read(raw: Json) -> Option<Request> {
        let text = |name: &str| raw.get(name).and_then(Json::as_str).unwrap_or("").to_string();
        let mut headers = Vec::new();
        if let Some(Json::List(pairs)) = raw.get("headers") {
            for pair in pairs {
                if let Json::List(pair) = pair {
                    headers.push((pair.first()?.as_str()?.to_string(), pair.get(1)?.as_str()?.to_string()));
                }
            }
        }
        Some(Request { method: text("method"), url: text("url"), headers, body: text("body"), raw })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Response {
    pub fn text(status: u16, body: impl Into<String>) -> Response {
        let kind = ("content-type".to_string(), "text/plain; charset=utf-8".to_string());
        Response { status, headers: vec![kind], body: body.into() }
    }

    fn write(&self) -> String {
        let headers = self.headers.iter().map(|(name, value)| {
            Json::List(vec![Json::from(name.as_str()), Json::from(value.as_str())])
        });
        let status = Json::Number(f64::from(self.status));
        let body = Json::from(self.body.as_str());
        Json::object([("status", status), ("headers", Json::List(headers.collect())), ("body", body)]).to_string()
    }
}

#[link(wasm_import_module = "stead")]
extern "C" {
    #[link_name = "call"]
    fn call_platform(operation: *const u8, operation_size: usize, argument: *const u8, argument_size: usize) -> u64;
}

/// Asks the platform for something. An error is `code: message`.
pub fn call(operation: &str, argument: &Json) -> Result<Json, String> {
    let text = argument.to_string();
    let packed = unsafe { call_platform(operation.as_ptr(), operation.len(), text.as_ptr(), text.len()) };
    let answer = Json::parse(&unsafe { take((packed >> 32) as usize, packed as u32 as usize) });
    if let Some(ok) = answer.as_ref().and_then(|answer| answer.get("ok")) {
        return Ok(ok.clone());
    }
    let error = answer.as_ref().and_then(|answer| answer.get("error"));
    let part = |name| error.and_then(|error| error.get(name)).and_then(Json::as_str).unwrap_or("unknown");
    Err(format!("{}: {}", part("code"), part("message")))
}

/// What the platform has written to memory that `reserve` has returned.
unsafe fn take(place: usize, size: usize) -> String {
    let bytes = Vec::from_raw_parts(place as *mut u8, size, size);
    String::from_utf8(bytes).unwrap_or_default()
}

#[doc(hidden)]
pub fn reserve(size: usize) -> usize {
    let mut made = Vec::<u8>::with_capacity(size);
    let place = made.as_mut_ptr() as usize;
    std::mem::forget(made);
    place
}

#[doc(hidden)]
pub fn respond(place: usize, size: usize, handle: fn(&Request) -> Response) -> u64 {
    static mut RESPONSE: String = String::new();
    let request = Json::parse(&unsafe { take(place, size) }).and_then(Request::read);
    let response = handle(&request.expect("the request is JSON")).write();
    let packed = (response.as_ptr() as u64) << 32 | response.len() as u64;
    // The platform reads it after the return; the next response replaces it.
    unsafe { RESPONSE = response };
    packed
}

/// Makes a function of `fn handle(request: &Request) -> Response`.
#[macro_export]
macro_rules! serve {
    ($handle:path) => {
        #[no_mangle]
        pub extern "C" fn stead_alloc(size: usize) -> usize {
            $crate::reserve(size)
        }

        #[no_mangle]
        pub extern "C" fn stead_handle(place: usize, size: usize) -> u64 {
            $crate::respond(place, size, $handle)
        }
    };
}
