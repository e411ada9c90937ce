/** Server-sent events: a parser without I/O. */

export interface ServerSentEvent {
  event: string;
  data: string;
  id: string;
}

/** Feed it text as it arrives. It returns the events that have become complete. */
export class EventParser {
  #rest = "";
  #event = "";
  #data: string[] = [];

  constructor(public lastId: string = "") {}

  feed(text: string): ServerSentEvent[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    const found: ServerSentEvent[] = [];
    for (const line of lines) {
      const event = this.#line(line);
      if (event !== null) found.push(event);
    }
    return found;
  }

  #line(line: string): ServerSentEvent | null {
    if (line === "") return this.#end();
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.lastId = value;
    return null;
  }

  #end(): ServerSentEvent | null {
    const event = this.#event || "message";
    const data = this.#data;
    this.#event = "";
    this.#data = [];
    return data.length > 0 ? { event, data: data.join("\n"), id: this.lastId } : null;
  }
}
