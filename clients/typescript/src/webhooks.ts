/** Verifies deliveries of webhooks: `const event = await verify(body, headers, secret)`. */
import { WebhookVerificationError } from "./errors.js";

export interface VerifyOptions {
  /** How old a delivery may be, in seconds: 300 unless told. */
  tolerance?: number | undefined;
  /** In seconds; by default the clock. */
  now?: number | undefined;
}

interface Signatures {
  delivery: string;
  second: number;
  found: Uint8Array<ArrayBuffer>[];
}

/**
 * The event of a delivery, if one of the secrets signed it within the last five minutes.
 *
 * `body` is the raw body, before any parser. `Api-Signature` and the headers of Standard Webhooks are both
 * accepted. Give two secrets while you replace one.
 */
export async function verify(
  body: string | Uint8Array,
  headers: Headers | Record<string, string | string[] | undefined>,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<Record<string, unknown>> {
  const raw = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const { delivery, second, found } = readSignatures(lookup(headers));
  const now = options.now ?? Date.now() / 1000;
  if (Math.abs(now - second) > (options.tolerance ?? 300)) {
    throw new WebhookVerificationError("The delivery is too old, or its time is in the future.");
  }
  const head = new TextEncoder().encode(`${delivery}.${second}.`);
  const signed = new Uint8Array(head.length + raw.length);
  signed.set(head);
  signed.set(raw, head.length);
  let matches = false;
  for (const each of typeof secret === "string" ? [secret] : secret) {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", readSecret(each), algorithm, false, ["verify"]);
    for (const signature of found) {
      // Compared in constant time, and every pair: the time does not tell which of them matches.
      matches = (await crypto.subtle.verify("HMAC", key, signature, signed)) || matches;
    }
  }
  if (!matches) throw new WebhookVerificationError("No secret matches the signature.");
  const event = JSON.parse(new TextDecoder().decode(raw)) as unknown;
  if (typeof event !== "object" || event === null || Array.isArray(event)) {
    throw new WebhookVerificationError("The delivery is not an event.");
  }
  return event as Record<string, unknown>;
}

type Lookup = (name: string) => string | undefined;

function lookup(headers: Headers | Record<string, string | string[] | undefined>): Lookup {
  if (headers instanceof Headers) return (name) => headers.get(name) ?? undefined;
  const known = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return (name) => {
    const value = known.get(name);
    return Array.isArray(value) ? value[0] : value;
  };
}

function readSignatures(header: Lookup): Signatures {
  const own = header("api-signature");
  if (own !== undefined) {
    const parts = own.split(",").map((part) => part.trim().split("=", 2));
    const found = parts.filter(([name]) => name === "v1").map(([, value]) => fromHex(value ?? ""));
    const second = parts.find(([name]) => name === "t")?.[1];
    return complete(header("api-delivery-id"), second, found);
  }
  const listed = (header("webhook-signature") ?? "").split(" ").map((part) => part.split(",", 2));
  const found = listed.filter(([name]) => name === "v1").map(([, value]) => fromBase64(value ?? ""));
  return complete(header("webhook-id"), header("webhook-timestamp"), found);
}

function complete(delivery: string | undefined, second: string | undefined, found: (Uint8Array<ArrayBuffer> | null)[]): Signatures {
  const known = found.filter((each) => each !== null);
  if (delivery === undefined || second === undefined || !/^\d+$/.test(second) || known.length < found.length) {
    throw new WebhookVerificationError("The signature is missing, or cannot be read.");
  }
  return { delivery, second: Number(second), found: known };
}

function readSecret(secret: string): Uint8Array<ArrayBuffer> {
  const key = fromBase64(secret.replace(/^whsec_/, ""));
  if (key === null || key.length === 0) {
    throw new WebhookVerificationError("The secret cannot be read: it begins with whsec_.");
  }
  return key;
}

function fromHex(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^([0-9a-f]{2})+$/i.test(text)) return null;
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
}
