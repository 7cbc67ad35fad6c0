export interface ClientOptions {
  /** Where the daemon listens; by default http://127.0.0.1:7707. */
  url?: string;
  /** The owner's token, or one that `appliance tokens` made. */
  token?: string;
  /** In place of the platform's `fetch`. */
  fetch?: typeof fetch;
}

export interface RequestOptions {
  /** A value that only this write has. Sent again with the same key, the write is not repeated. */
  idempotencyKey?: string;
  signal?: AbortSignal;
  headers?: HeadersInit;
}

export interface ServerEvent {
  event: string;
  id?: string;
  data: unknown;
}

/** An answer that is an error. `problem` is what the daemon said, if it said so. */
export class ApplianceError extends Error {
  readonly status: number;
  readonly problem?: { title?: string; detail?: string; [field: string]: unknown };
}

export class Client {
  constructor(options?: ClientOptions);
}
