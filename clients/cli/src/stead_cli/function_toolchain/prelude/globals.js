// Puts the interfaces of the web platform into the global scope, before the code of the function runs.
import { compatibilityDate } from "./compatibility.js";
import * as http from "./http.js";
import * as platform from "./platform.js";
import { ReadableStream } from "./streams.js";
import * as tasks from "./tasks.js";
import * as text from "./text.js";
import { URL, URLSearchParams } from "./url.js";

const { Headers, Request, Response, fetch } = http;
const { console, crypto, performance, structuredClone, Event, EventTarget, DOMException, AbortController, AbortSignal } = platform;
const { Promise, queueMicrotask, setTimeout, setInterval, clearTimeout } = tasks;
const { TextEncoder, TextDecoder, atob, btoa } = text;

Object.assign(globalThis, {
  Headers, Request, Response, fetch, console, crypto, performance, structuredClone, Event, EventTarget, DOMException,
  AbortController, AbortSignal, Promise, queueMicrotask, setTimeout, setInterval, clearTimeout, clearInterval: clearTimeout,
  TextEncoder, TextDecoder, atob, btoa, URL, URLSearchParams, ReadableStream, self: globalThis,
  navigator: Object.freeze({ userAgent: "Stead", compatibilityDate }),
});
Math.random = platform.random;
