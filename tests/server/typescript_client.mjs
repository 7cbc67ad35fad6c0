// Uses the TypeScript client against the daemon of APPLIANCE_URL, and prints what it got as JSON.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import { Appliance, ApplianceError } from "../../clients/typescript/index.js";

const { APPLIANCE_URL: url, APPLIANCE_TOKEN: token, EXPORT: exported } = process.env;
const memory = new Appliance({ url: url + "/", token });

const heard = [];
const listening = (async () => {
  for await (const event of memory.events({ seconds: 5 })) {
    heard.push(event.event);
    if (event.data.subject !== undefined || heard.length > 0) break;
  }
})();

const session = await memory.sessions.begin({ title: "Zoo", external_id: "a zoo?7" });
const options = { idempotencyKey: "the-same-write" };
const text = "Der Otter heißt Lutz.";
const first = await memory.sessions.add("a zoo?7", { role: "user", text }, options);
const again = await memory.sessions.add("a zoo?7", { role: "user", text }, options);
assert.equal(first.id, again.id);
assert.equal((await memory.sessions.session("a zoo?7")).title, "Zoo");

const found = await memory.search({ query: "Otter Lutz", limit: 3 });
assert.deepEqual([found.hits[0].text, found.hits[0].message_id], [text, first.id]);
const context = await memory.context({ query: "Otter", session_id: session.id, budget: 400 });
assert.ok(context.text.includes(text) && context.tokens <= 400);

const report = await memory.import(await readFile(exported), { filename: "talk.jsonl", wait: false });
assert.equal(report.totals.new, 9);
const page = await memory.sessions.listSessions({ limit: 1, sort: "title", tag: ["one", "two"] });
assert.equal(page.sessions.length, 0);
assert.equal((await memory.sessions.messages("harbour", { limit: 2 })).messages.length, 2);
assert.ok((await memory.metrics()).includes("appliance_"));
const lines = (await (await memory.export({ id: ["kitchen"] })).text()).trim().split("\n");
assert.equal(lines.length, 4);
assert.deepEqual(await memory.health.live(), { status: "ok" });

await assert.rejects(memory.messages.message("m999"), (error) => {
  assert.ok(error instanceof ApplianceError && error.status === 404 && error.problem.title, error);
  assert.match(error.message, /m999/);
  return true;
});
await assert.rejects(new Appliance({ url, token: "wrong" }).status(), { status: 401 });
await assert.rejects(memory.search({ query: "x" }, { signal: AbortSignal.abort() }), { name: "AbortError" });

await listening;
assert.ok(heard.length > 0);
console.log(JSON.stringify({ messages: (await memory.status()).counts.messages }));
