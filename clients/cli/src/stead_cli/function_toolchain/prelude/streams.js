// A basic ReadableStream: a queue of chunks with one reader.
import { Promise } from "./tasks.js";

export class ReadableStream {
  #chunks = [];
  #waiting = [];
  #closed = false;
  #error = null;
  #source;
  #started;
  #locked = false;

  constructor(source = {}) {
    this.#source = source;
    this.#started = Promise.resolve(source.start?.(this.#controller()));
    this.#started.catch((error) => this.#fail(error));
  }

  #controller() {
    return {
      enqueue: (chunk) => {
        if (this.#closed) throw new TypeError("the stream is closed");
        const reader = this.#waiting.shift();
        if (reader) reader.resolve({ value: chunk, done: false });
        else this.#chunks.push(chunk);
      },
      close: () => {
        this.#closed = true;
        for (const reader of this.#waiting.splice(0)) reader.resolve({ value: undefined, done: true });
      },
      error: (error) => this.#fail(error),
      desiredSize: 1,
    };
  }

  #fail(error) {
    this.#error = { error };
    for (const reader of this.#waiting.splice(0)) reader.reject(error);
  }

  get locked() {
    return this.#locked;
  }

  getReader() {
    if (this.#locked) throw new TypeError("the stream has a reader already");
    this.#locked = true;
    return {
      read: () => this.#read(),
      releaseLock: () => { this.#locked = false; },
      cancel: (reason) => this.cancel(reason),
    };
  }

  #read() {
    return this.#started.then(() => {
      if (this.#error) throw this.#error.error;
      if (this.#chunks.length) return { value: this.#chunks.shift(), done: false };
      if (this.#closed) return { value: undefined, done: true };
      const reader = Promise.withResolvers();
      this.#waiting.push(reader);
      const pulled = this.#source.pull?.(this.#controller());
      if (pulled?.then) pulled.then(undefined, (error) => this.#fail(error));
      return reader.promise;
    });
  }

  cancel(reason) {
    this.#closed = true;
    this.#chunks = [];
    return Promise.resolve(this.#source.cancel?.(reason));
  }

  [Symbol.asyncIterator]() {
    const reader = this.getReader();
    return { next: () => reader.read(), return: () => reader.cancel().then(() => ({ value: undefined, done: true })) };
  }

  static from(values) {
    const iterator = values[Symbol.asyncIterator]?.() ?? values[Symbol.iterator]();
    return new ReadableStream({
      pull: (controller) => Promise.resolve(iterator.next()).then(({ value, done }) => {
        if (done) controller.close();
        else controller.enqueue(value);
      }),
    });
  }
}

// Reads everything, as a list of chunks.
export function readAll(stream) {
  const reader = stream.getReader();
  const chunks = [];
  const next = () => reader.read().then(({ value, done }) => {
    if (done) return chunks;
    chunks.push(value);
    return next();
  });
  return next();
}
