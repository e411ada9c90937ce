/** What the resources of the client share. */
import type { Stead } from "./client.js";
import type { Transport } from "./transport.js";

export class Resource {
  constructor(
    protected readonly client: Stead,
    protected readonly transport: Transport,
  ) {}
}

/** Nothing, if there is nothing in it: some operations take no body, or one with a wish. */
export function unlessEmpty<T extends object>(body: T | undefined): T | undefined {
  return body === undefined || Object.keys(body).length === 0 ? undefined : body;
}
