// Calls of the platform. Every answer is {"ok": …} or {"error": {"code", "message"}}.
import { call } from "stead:function/host@0.1.0";

export class PlatformError extends Error {
  constructor({ code, message }) {
    super(message);
    this.name = "PlatformError";
    this.code = code;
  }
}

export function ask(operation, argument = {}) {
  const answer = JSON.parse(call(operation, JSON.stringify(argument)));
  if (answer.error) throw new PlatformError(answer.error);
  return answer.ok;
}
