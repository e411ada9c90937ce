/** Lists: iterate over all items, or read page by page. */
import type { RawResponse } from "./transport.js";

export interface Page<T> {
  data: T[];
  nextCursor: string | null;
  hasMore: boolean;
  requestId: string | undefined;
}

/** `for await (const site of client.sites.list())` reads as many pages as it needs, and none before. */
export class Pager<T> implements AsyncIterable<T> {
  constructor(private readonly read: (cursor: string | undefined) => Promise<RawResponse>) {}

  /** One page: the first, or the one at `nextCursor` of the previous page. */
  async page(cursor?: string): Promise<Page<T>> {
    const { body } = await this.read(cursor);
    const found = body as {
      data: T[];
      pagination?: { next_cursor?: string | null; has_more?: boolean };
      request_id?: string;
    };
    return {
      data: found.data,
      nextCursor: found.pagination?.next_cursor ?? null,
      hasMore: found.pagination?.has_more ?? false,
      requestId: found.request_id,
    };
  }

  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let page = await this.page();
    yield page;
    while (page.hasMore && page.nextCursor !== null) {
      page = await this.page(page.nextCursor);
      yield page;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.data;
  }
}
