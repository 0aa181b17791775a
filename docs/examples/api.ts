// The steps of docs/API.md. SESS_URL is the node.
const url = process.env.SESS_URL;

interface Detail { code: string; detail: string; next?: string; cursor?: string; since?: { cursor: string }[] }

class Problem extends Error {
  constructor(readonly detail: Detail) {
    super(`${detail.detail} (${detail.code}); ${detail.next ?? ""}`);
  }
}

async function call(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<string> {
  const answer = await fetch(url + path, { method, body, headers });
  const text = await answer.text();
  if (!answer.ok) throw new Problem(JSON.parse(text));
  return text;
}

// Make a session.
const made = JSON.parse(await call("POST", "/v1/sessions", JSON.stringify({ cwd: "/home/me/site" }), { "Idempotency-Key": "job-4711-ts" }));
const session: string = made.id;
let seq: string = made.seq;
console.log("made", session, "at", seq);

// Append with a condition.
const message = (text: string) => JSON.stringify({ type: "message", message: { role: "user", content: text } });

async function append(lines: string, expecting: string, key: string, query = "") {
  const headers = { "If-Match": expecting, "Idempotency-Key": key };
  return JSON.parse(await call("POST", `/v1/sessions/${session}/entries${query}`, lines, headers));
}

const first = seq;
seq = (await append(message("Which port does the admin page use?"), seq, "turn-1")).seq;
console.log("appended at", seq);

// Handle a conflict.
try {
  await append(message("And who may use it?"), first, "turn-2");
} catch (error) {
  if (!(error instanceof Problem) || error.detail.code !== "conflict") throw error;
  console.log("conflict:", error.detail.since?.length, "records came first");
  seq = (await append(message("And who may use it?"), first, "turn-2", "?onConflict=rebase")).seq;
}

// Follow and resume.
async function* follow(path: string, last = ""): AsyncGenerator<{ kind: string; data: any }> {
  for (;;) {
    try {
      const answer = await fetch(url + path, { headers: last ? { "Last-Event-ID": last } : {} });
      if (!answer.ok) throw new Problem(JSON.parse(await answer.text()));
      const decoder = new TextDecoder();
      let text = "";
      for await (const bytes of answer.body as unknown as AsyncIterable<Uint8Array>) {
        text += decoder.decode(bytes, { stream: true });
        const events = text.split("\n\n");
        text = events.pop() ?? "";
        for (const event of events) {
          const field = (name: string) => event.split("\n").find((line) => line.startsWith(name + ": "))?.slice(name.length + 2);
          const data = field("data");
          if (data && field("event") === "problem") throw new Problem(JSON.parse(data));
          if (data) yield { kind: field("event") ?? "", data: JSON.parse(data) };
          last = field("id") ?? last;
        }
      }
    } catch (error) {
      if (error instanceof Problem) throw error; // all else is a connection that broke
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

const seen: string[] = [];
for await (const { data } of follow(`/v1/sessions/${session}/events`)) {
  seen.push(data.cursor);
  if (data.cursor === seq) break;
}
console.log("followed:", seen.length, "events");

// Export and import.
const exported = await call("GET", `/v1/sessions/${session}/export`);
const imported = JSON.parse(await call("POST", "/v1/import", exported));
console.log("imported:", imported.entries, "new entries of", exported.trimEnd().split("\n").length - 1);

// Search.
const query = new URLSearchParams({ q: '"admin page" port', session });
for (const hit of JSON.parse(await call("GET", "/v1/search?" + query)).hits) {
  console.log("found:", hit.snippet);
}

export {};
