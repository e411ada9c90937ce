// Promises and timers. The engine does not run its own queue of promises while a function is called, so the build
// replaces `async` by generators, and this queue is run until the response is there.
import { ask } from "./host.js";

const queue = [];
let timers = [];
let lastTimer = 0;

export function queueMicrotask(task) {
  if (typeof task !== "function") throw new TypeError("queueMicrotask needs a function");
  queue.push(task);
}

const PENDING = 0, FULFILLED = 1, REJECTED = 2;
const OPEN = Symbol("a promise that this module settles");

export class Promise {
  #state = PENDING;
  #value = undefined;
  #reactions = [];

  constructor(executor) {
    if (executor === OPEN) return;
    if (typeof executor !== "function") throw new TypeError("a promise needs a function");
    this.#run(executor);
  }

  // The first call of one of the two functions that `action` gets decides.
  #run(action) {
    let called = false;
    const reject = (reason) => {
      if (called) return;
      called = true;
      this.#settle(REJECTED, reason);
    };
    try {
      action((value) => {
        if (called) return;
        called = true;
        this.#resolve(value);
      }, reject);
    } catch (error) {
      reject(error);
    }
  }

  // What has become of a promise: null while nothing has.
  static inspect(promise) {
    if (promise.#state === PENDING) return null;
    return { rejected: promise.#state === REJECTED, value: promise.#value };
  }

  #resolve(value) {
    if (value === this) return this.#settle(REJECTED, new TypeError("a promise cannot wait for itself"));
    if (value === null || (typeof value !== "object" && typeof value !== "function")) {
      return this.#settle(FULFILLED, value);
    }
    let then;
    try {
      then = value.then;
    } catch (error) {
      return this.#settle(REJECTED, error);
    }
    if (typeof then !== "function") return this.#settle(FULFILLED, value);
    if (then === ownThen && #state in value) queue.push(() => value.#react(() => this.#settle(value.#state, value.#value)));
    else queue.push(() => this.#run((resolve, reject) => then.call(value, resolve, reject)));
  }

  #react(reaction) {
    if (this.#state === PENDING) this.#reactions.push(reaction);
    else queue.push(reaction);
  }

  #settle(state, value) {
    this.#state = state;
    this.#value = value;
    const reactions = this.#reactions;
    this.#reactions = [];
    for (const reaction of reactions) queue.push(reaction);
  }

  then(onFulfilled, onRejected) {
    if (this.constructor !== Promise) return this.#derive(onFulfilled, onRejected);
    const next = new Promise(OPEN);
    this.#react(() => {
      const handler = this.#state === FULFILLED ? onFulfilled : onRejected;
      if (typeof handler !== "function") return next.#settle(this.#state, this.#value);
      try {
        next.#resolve(handler(this.#value));
      } catch (error) {
        next.#settle(REJECTED, error);
      }
    });
    return next;
  }

  // The same for a class that extends this one.
  #derive(onFulfilled, onRejected) {
    return new this.constructor((resolve, reject) => {
      this.#react(() => {
        const handler = this.#state === FULFILLED ? onFulfilled : onRejected;
        if (typeof handler !== "function") return this.#state === FULFILLED ? resolve(this.#value) : reject(this.#value);
        try {
          resolve(handler(this.#value));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  catch(onRejected) {
    return this.then(undefined, onRejected);
  }

  finally(action) {
    return this.then(
      (value) => Promise.resolve(action()).then(() => value),
      (reason) => Promise.resolve(action()).then(() => { throw reason; }),
    );
  }

  get [Symbol.toStringTag]() {
    return "Promise";
  }

  static resolve(value) {
    return value instanceof Promise ? value : new this((resolve) => resolve(value));
  }

  static reject(reason) {
    return new this((_, reject) => reject(reason));
  }

  static withResolvers() {
    const made = {};
    made.promise = new this((resolve, reject) => Object.assign(made, { resolve, reject }));
    return made;
  }

  static #combine(kind, values, eachFulfilled, eachRejected, whenEmpty) {
    return new kind((resolve, reject) => {
      const results = [];
      let waiting = 0;
      for (const value of values) {
        const index = waiting++;
        const finish = (result) => {
          results[index] = result;
          if (--waiting === 0) whenEmpty(results, resolve, reject);
        };
        kind.resolve(value).then(eachFulfilled(finish, resolve), eachRejected(finish, reject));
      }
      if (waiting === 0) whenEmpty(results, resolve, reject);
    });
  }

  static all(values) {
    return this.#combine(this, values, (finish) => finish, (_, reject) => reject, (results, resolve) => resolve(results));
  }

  static allSettled(values) {
    return this.#combine(
      this, values,
      (finish) => (value) => finish({ status: "fulfilled", value }),
      (finish) => (reason) => finish({ status: "rejected", reason }),
      (results, resolve) => resolve(results),
    );
  }

  static any(values) {
    return this.#combine(
      this, values, (_, resolve) => resolve, (finish) => finish,
      (errors, _, reject) => reject(new AggregateError(errors, "every promise was rejected")),
    );
  }

  static race(values) {
    return new this((resolve, reject) => {
      for (const value of values) this.resolve(value).then(resolve, reject);
    });
  }
}

const ownThen = Promise.prototype.then;

function addTimer(action, delay, values, repeat) {
  if (typeof action !== "function") throw new TypeError("a timer needs a function");
  const wait = Math.max(0, Number(delay) || 0);
  const timer = { id: ++lastTimer, at: ask("time").monotonic + wait, action, values, every: repeat ? Math.max(1, wait) : 0 };
  timers.push(timer);
  return timer.id;
}

export const setTimeout = (action, delay, ...values) => addTimer(action, delay, values, false);
export const setInterval = (action, delay, ...values) => addTimer(action, delay, values, true);
export function clearTimeout(id) {
  timers = timers.filter((timer) => timer.id !== id);
}

function runQueue() {
  // New tasks may be added while others run.
  for (let index = 0; index < queue.length; index++) {
    const task = queue[index];
    task();
    if (index > 1000) {
      queue.splice(0, index + 1);
      index = -1;
    }
  }
  queue.length = 0;
}

// Runs tasks and timers until `isDone`, or until there is nothing left to wait for.
export function runUntil(isDone) {
  for (;;) {
    runQueue();
    if (isDone() || timers.length === 0) return;
    const next = timers.reduce((first, timer) => (timer.at < first.at ? timer : first));
    const wait = next.at - ask("time").monotonic;
    if (wait > 0) ask("sleep", { ms: wait });
    if (next.every) next.at += next.every;
    else clearTimeout(next.id);
    next.action(...next.values);
  }
}

// What a former request has left behind must not run in the next one.
export function forgetTasks() {
  queue.length = 0;
  timers = [];
}
