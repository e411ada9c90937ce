/** What responses contain. */
import { ConnectionError } from "./errors.js";

/** The object that a response contains. */
export function dataOf<T>(body: unknown): T {
  if (typeof body !== "object" || body === null || !("data" in body)) {
    throw new ConnectionError("The response is not complete. Is the address that of the Stead API?");
  }
  return body.data as T;
}
