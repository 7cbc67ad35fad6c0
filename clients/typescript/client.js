// What every operation of the client has in common: the address, the token, requests, answers and errors.

/** An answer that is an error. `problem` is what the daemon said (application/problem+json), if it said so. */
export class ApplianceError extends Error {
  constructor(status, problem) {
    const said = problem ? [problem.title, problem.detail].filter(Boolean).join(": ") : "";
    super(said || `The daemon answered ${status}.`);
    this.name = "ApplianceError";
    this.status = status;
    this.problem = problem;
  }
}

export class Client {
  #url;
  #token;
  #fetch;

  constructor({ url = "http://127.0.0.1:7707", token, fetch = globalThis.fetch } = {}) {
    this.#url = url.replace(/\/+$/, "");
    this.#token = token;
    this.#fetch = fetch;
  }

  /** Send a request, and return the answer if it is no error. */
  async request(method, path, { body, type, query, accept, options = {} } = {}) {
    const url = new URL(this.#url + path);
    for (const [name, value] of Object.entries(query ?? {})) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== undefined && one !== null) url.searchParams.append(name, String(one));
      }
    }
    const headers = new Headers(options.headers);
    if (this.#token) headers.set("Authorization", `Bearer ${this.#token}`);
    if (options.idempotencyKey) headers.set("Idempotency-Key", options.idempotencyKey);
    if (accept) headers.set("Accept", accept);
    const request = { method, headers, signal: options.signal };
    if (body !== undefined && body !== null) {
      headers.set("Content-Type", type);
      request.body = type === "application/json" ? JSON.stringify(body) : body;
    }
    const answer = await this.#fetch(url, request);
    if (!answer.ok) throw new ApplianceError(answer.status, await problemOf(answer));
    return answer;
  }
}

/** The method of an operation. Its arguments are the parts of the path, the body and the query, as far as it has them. */
export function method(client, [, , verb, path, type, hasQuery, result]) {
  const places = path.match(/\{[^}]+\}/g) ?? [];
  return (...given) => {
    const filled = places.reduce((made, place) => made.replace(place, encodeURIComponent(given.shift())), path);
    const body = type ? given.shift() : undefined;
    const query = hasQuery ? given.shift() : undefined;
    const accept = { json: "application/json", text: "text/plain", events: "text/event-stream" }[result];
    const send = () => client.request(verb, filled, { body, type, query, accept, options: given.shift() });
    if (result === "events") return events(send);
    if (result === "response") return send();
    return send().then((answer) => (result === "json" ? answer.json() : answer.text()));
  };
}

async function problemOf(answer) {
  try {
    return await answer.json();
  } catch {
    return undefined;
  }
}

async function* events(send) {
  const answer = await send();
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of answer.body) {
    const blocks = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const event = parsed(block);
      if (event) yield event;
    }
  }
}

function parsed(block) {
  const fields = { event: "message", id: undefined, data: [] };
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^(event|id|data): ?(.*)$/.exec(line) ?? [];
    if (name === "data") fields.data.push(value);
    else if (name) fields[name] = value;
  }
  if (!fields.data.length) return undefined; // a comment that keeps the connection open
  const text = fields.data.join("\n");
  try {
    return { ...fields, data: JSON.parse(text) };
  } catch {
    return { ...fields, data: text };
  }
}
