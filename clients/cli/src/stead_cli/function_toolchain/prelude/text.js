// Text encodings.
import { DOMException } from "./errors.js";

export class TextEncoder {
  get encoding() {
    return "utf-8";
  }

  encode(input = "") {
    const text = String(input).toWellFormed();
    const bytes = new Uint8Array(text.length * 3);
    let size = 0;
    for (let index = 0; index < text.length; index++) {
      let code = text.charCodeAt(index);
      if (code < 0x80) {
        bytes[size++] = code;
        continue;
      }
      if (code >= 0xd800 && code < 0xdc00) code = text.codePointAt(index++);
      if (code < 0x800) bytes[size++] = 0xc0 | (code >> 6);
      else if (code < 0x10000) {
        bytes[size++] = 0xe0 | (code >> 12);
        bytes[size++] = 0x80 | ((code >> 6) & 63);
      } else {
        bytes[size++] = 0xf0 | (code >> 18);
        bytes[size++] = 0x80 | ((code >> 12) & 63);
        bytes[size++] = 0x80 | ((code >> 6) & 63);
      }
      bytes[size++] = 0x80 | (code & 63);
    }
    return bytes.slice(0, size);
  }

  encodeInto(text, target) {
    let read = 0, written = 0;
    for (const character of String(text)) {
      const bytes = this.encode(character);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      read += character.length;
      written += bytes.length;
    }
    return { read, written };
  }
}

export class TextDecoder {
  #fatal;
  #keepMark;

  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    if (!["utf-8", "utf8", "unicode-1-1-utf-8"].includes(String(label).trim().toLowerCase())) {
      throw new RangeError(`the encoding ${label} is not supported`);
    }
    this.#fatal = fatal;
    this.#keepMark = ignoreBOM;
  }

  get encoding() {
    return "utf-8";
  }

  get fatal() {
    return this.#fatal;
  }

  decode(input = new Uint8Array()) {
    const bytes = toBytes(input);
    const parts = [];
    let text = "";
    let index = !this.#keepMark && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
    while (index < bytes.length) {
      const [code, size] = readCodePoint(bytes, index);
      if (code < 0) {
        if (this.#fatal) throw new TypeError("the bytes are not valid UTF-8");
        text += "\ufffd";
      } else text += String.fromCodePoint(code);
      index += size;
      if (text.length > 4096) {
        parts.push(text);
        text = "";
      }
    }
    return parts.join("") + text;
  }
}

// Returns a code point, or -1, and how many bytes it takes.
function readCodePoint(bytes, at) {
  const first = bytes[at];
  if (first < 0x80) return [first, 1];
  const count = first >= 0xf0 && first < 0xf5 ? 3 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xc2 && first < 0xe0 ? 1 : 0;
  if (count === 0) return [-1, 1];
  let code = first & (0x3f >> count);
  for (let offset = 1; offset <= count; offset++) {
    const next = bytes[at + offset];
    let low = 0x80, high = 0xbf;
    if (offset === 1) {
      if (first === 0xe0) low = 0xa0;
      else if (first === 0xed) high = 0x9f;
      else if (first === 0xf0) low = 0x90;
      else if (first === 0xf4) high = 0x8f;
    }
    if (next === undefined || next < low || next > high) return [-1, offset];
    code = (code << 6) | (next & 63);
  }
  return [code, count + 1];
}

export function toBytes(input) {
  if (input instanceof Uint8Array) return input;
  if (input instanceof ArrayBuffer) return new Uint8Array(input);
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  throw new TypeError("bytes are expected");
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES = new Map([...ALPHABET].map((character, value) => [character, value]));

export function bytesToBase64(bytes) {
  const parts = [];
  for (let index = 0; index < bytes.length; index += 3) {
    const [a, b, c] = [bytes[index], bytes[index + 1], bytes[index + 2]];
    parts.push(
      ALPHABET[a >> 2] + ALPHABET[((a & 3) << 4) | ((b ?? 0) >> 4)] +
      (b === undefined ? "=" : ALPHABET[((b & 15) << 2) | ((c ?? 0) >> 6)]) + (c === undefined ? "=" : ALPHABET[c & 63]),
    );
  }
  return parts.join("");
}

export function base64ToBytes(text) {
  let clean = String(text).replace(/[\t\n\f\r ]/g, "");
  if (clean.length % 4 === 0) clean = clean.replace(/==?$/, "");
  if (clean.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(clean)) {
    throw new DOMException("the text is not valid base64", "InvalidCharacterError");
  }
  const bytes = new Uint8Array((clean.length * 3) >> 2);
  let bits = 0, held = 0, size = 0;
  for (const character of clean) {
    held = (held << 6) | VALUES.get(character);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[size++] = (held >> bits) & 255;
    }
  }
  return bytes;
}

export function btoa(text) {
  const bytes = Uint8Array.from(String(text), (character) => {
    const code = character.charCodeAt(0);
    if (code > 255) throw new DOMException("btoa takes characters up to U+00FF", "InvalidCharacterError");
    return code;
  });
  return bytesToBase64(bytes);
}

export function atob(text) {
  const bytes = base64ToBytes(text);
  let made = "";
  for (let index = 0; index < bytes.length; index += 4096) {
    made += String.fromCharCode(...bytes.subarray(index, index + 4096));
  }
  return made;
}
