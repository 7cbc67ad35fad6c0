import { Appliance, ApplianceError, type SearchAnswer } from "./index.js";

declare const process: { env: Record<string, string | undefined> };

const memory = new Appliance({ url: process.env.APPLIANCE_URL, token: process.env.APPLIANCE_TOKEN });

const session = await memory.sessions.begin({ title: "Zoo", external_id: "zoo" });
await memory.sessions.add(session.id, { role: "user", text: "The otter is called Lutz." });
const found: SearchAnswer = await memory.search({ query: "what is the otter called?", limit: 3 });
console.log(found.hits[0].text);

const context = await memory.context({ query: "what is the otter called?", session_id: "farm-2", budget: 500 }).catch(
  (error: unknown) => {
    if (error instanceof ApplianceError && error.status === 404) return undefined;
    throw error;
  },
);
console.log(context === undefined ? "no such session" : context.text);
