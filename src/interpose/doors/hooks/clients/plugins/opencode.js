

// OpenCode says `server_tool` for a tool of an MCP server: only its settings say where the server's name ends.
function named(tool, servers) {
  const found = servers.filter((server) => tool.startsWith(`${server.replace(/[^\w-]/g, "_")}_`));
  if (found.length > 1) throw new Error(`Interpose can't tell which server ${tool} is of: ${found.join(", ")}`);
  return found.length ? `mcp__${found[0]}__${tool.slice(found[0].length + 1)}` : tool;
}

// A sub-agent of OpenCode works in a session of its own. What it does belongs to the session that started it, and its
// session is its name there. Which kind of agent a session has is told with the parameters of its model.
const parents = new Map();
const kinds = new Map();
const MOST = 10000;

// Those that OpenCode uses for itself in the session of another: they title it and sum it up.
const OWN_AGENTS = new Set(["title", "summary", "compaction"]);

function keep(map, key, value) {
  if (map.size >= MOST) map.delete(map.keys().next().value);
  map.set(key, value);
}

function who(session) {
  let root = session;
  for (let depth = 0; depth < 32 && parents.has(root); depth += 1) root = parents.get(root);
  const kind = kinds.get(session);
  return { session: root, ...(root !== session && { agent: session }), ...(kind && { agent_type: kind }) };
}

// OpenCode's own prompts. `calls` may run, as far as we are concerned; `agreed` are those to which a person said yes at
// Interpose, who need not say so again; `prompts` are open, and somebody at Interpose may answer them.
// Names of calls are the models' own, and some count them anew in each session: a call is known by both.
const calls = new Map();
const agreed = new Map();
const prompts = new Map();

function callOf(session, call) {
  return typeof session === "string" && typeof call === "string" ? JSON.stringify([session, call]) : undefined;
}

// What an agent reads besides its conversation. OpenCode keeps none of it: each request to a model has it anew, in the
// same places. `standing` is what a session is told of its role and rules, in its first message, where a compaction
// does not reach it; `beside` is told once, in the message that it came with; `failures` are the results of calls that
// failed, as the agent may see them.
const standing = new Map();
const beside = new Map();
const failures = new Map();
const compactions = new Map();
const summed = new Set();

// A session that is seen for the first time in this process, or whose agent is another one now, is told its rules.
async function begin(session, cwd) {
  const kind = kinds.get(session) ?? "";
  if (standing.get(session)?.kind === kind) return;
  const event = parents.has(session) ? "subagent.started" : "session.created";
  // What only informs must not stop anybody. The next message tries again.
  const said = await ask({ event, cwd, ...who(session) }).catch(() => undefined);
  if (said !== undefined) keep(standing, session, { kind, text: said.note ?? "" });
}

async function compact(session, cwd) {
  const said = await ask({ event: "session.compacted", cwd, ...who(session) }).catch(() => undefined);
  if (said?.note) keep(standing, session, { kind: kinds.get(session) ?? "", text: said.note });
}

function textPart(message, id, text) {
  return { id, messageID: message?.id, sessionID: message?.sessionID, type: "text", text, synthetic: true };
}

function place(message, id, text) {
  if (!text || message === undefined || message.parts.some((part) => part.id === id)) return;
  message.parts.push(textPart(message.info, id, text));
}

// No hook is called for a call that failed: its error is found where the model would read it next.
async function fail(part) {
  const key = callOf(part.sessionID, part.callID);
  const call = calls.get(key);
  if (call === undefined) return;
  calls.delete(key);
  agreed.delete(key);
  const error = String(part.state.error ?? "");
  try {
    const said = await ask({ ...call, event: "tool.execute.failed", error });
    const shown = said.decision === "allow" ? (said.result ?? error) : said.reason || "withheld by Interpose";
    keep(failures, key, said.note ? `${shown}\n\n${said.note}` : shown);
  } catch (thrown) {
    keep(failures, key, thrown.message);
  }
}

// While a person is waited for, OpenCode's own is shown where to answer.
function shown(client, message) {
  return client?.tui?.showToast?.({ body: { title: "Interpose", message, variant: "warning", duration: 15000 } });
}

async function reply(client, requestID, word, message) {
  const body = { reply: word, ...(message && { message }) };
  await client._client.post({ url: "/permission/{requestID}/reply", path: { requestID }, body, headers: { "Content-Type": "application/json" } });
}

// OpenCode asks its own person. Whoever answers at Interpose first has answered here, too; else this prompt stays as it is.
async function prompted(client, { id, sessionID, tool }) {
  const key = callOf(sessionID, tool?.callID);
  const call = calls.get(key);
  if (key === undefined || call === undefined) return;
  if (agreed.has(key)) return reply(client, id, "once");
  const over = new AbortController();
  keep(prompts, id, over);
  try {
    const said = await ask({ ...call, event: "permission.asked" }, { signal: over.signal });
    if (said.decision === "deny") await reply(client, id, "reject", said.reason);
    else if (said.decision === "allow" && said.agreed === true) await reply(client, id, "once");
  } finally {
    prompts.delete(id);
  }
}

// A tool of OpenCode has one text, that of an MCP server has a list of parts.
function withNote(result, note) {
  return Array.isArray(result) ? [...result, { type: "text", text: note }] : `${result}\n\n${note}`;
}

export const Interpose = async ({ directory, client }) => {
  let servers = [];
  const refused = new Map();
  const about = (event, input) => ({
    event,
    tool: named(input.tool, servers),
    call: input.callID,
    cwd: directory,
    ...who(input.sessionID),
  });
  return {
    config: async (settings) => {
      servers = Object.keys(settings.mcp ?? {});
    },
    "chat.params": async (input) => {
      const kind = typeof input?.agent === "string" ? input.agent : input?.agent?.name;
      if (OWN_AGENTS.has(kind)) return;
      if (typeof kind === "string" && typeof input.sessionID === "string") keep(kinds, input.sessionID, kind);
    },
    "tool.execute.before": async (input, output) => {
      const key = callOf(input.sessionID, input.callID);
      // A call that failed has no end that we hear of: what was agreed to it is not for the next of its name.
      calls.delete(key);
      agreed.delete(key);
      const event = { ...about("tool.execute.before", input), arguments: output.args ?? {} };
      const said = await ask(event, { waits: (text) => shown(client, text) });
      if (said.decision !== "allow") throw new Error(said.reason || "refused by Interpose");
      if (said.agreed === true) keep(agreed, key, true);
      keep(calls, key, { ...event, arguments: said.arguments ?? { ...event.arguments } });
      if (said.arguments === undefined) return;
      // OpenCode keeps the object that it made: it must be changed, another one would be ignored.
      for (const key of Object.keys(output.args)) if (!(key in said.arguments)) delete output.args[key];
      Object.assign(output.args, said.arguments);
    },
    "tool.execute.after": async (input, output) => {
      calls.delete(callOf(input.sessionID, input.callID));
      agreed.delete(callOf(input.sessionID, input.callID));
      const where = ["output", "content"].find((key) => output?.[key] !== undefined);
      if (where === undefined) throw new Error("Interpose can't read this result, so it is withheld");
      const shown = { arguments: input.args ?? {}, result: output[where] };
      const said = await ask({ ...about("tool.execute.after", input), ...shown });
      if (said.decision !== "allow") throw new Error(said.reason || "withheld by Interpose");
      if (said.result !== undefined) output[where] = said.result;
      if (said.note) output[where] = withNote(output[where], said.note);
    },
    "command.execute.before": async (input, output) => {
      const { command, arguments: given, sessionID: session } = input;
      const event = { event: "command.execute.before", session, cwd: directory, command, arguments: given ?? "" };
      const said = await ask(event);
      const note = said.decision === "allow" ? said.note : said.reason || "refused by Interpose";
      if (!note) return;
      const part = { type: "text", text: note };
      if (said.decision === "allow") return void output.parts.push(part);
      // In the place of what the command would have said, so that the person reads why: of a throw OpenCode shows
      // nothing. Its message is looked at once more below.
      refused.set(session, note);
      output.parts.splice(0, output.parts.length, part);
    },
    "chat.message": async (input, output) => {
      const session = input.sessionID;
      const kind = input.agent ?? output.message?.agent;
      if (typeof kind === "string") keep(kinds, session, kind);
      const note = refused.get(session);
      refused.delete(session);
      if (note !== undefined && (output.parts.length !== 1 || output.parts[0].text !== note)) throw new Error(note);
      await begin(session, directory);
      if (note !== undefined || parents.has(session)) return; // a refusal of ours, or the words of another agent
      const text = output.parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text);
      const event = { event: "chat.message", cwd: directory, ...who(session), text: text.join("\n\n") };
      const said = await ask(event, { waits: (where) => shown(client, where) }).catch((error) => ({ reason: error.message }));
      if (said.decision === "allow") return void (said.note && keep(beside, output.message?.id, said.note));
      // In its place, as for commands: the model must not read it, and the person reads why.
      const reason = said.reason || "refused by Interpose";
      output.parts.splice(0, output.parts.length, { ...textPart(output.message, output.parts[0]?.id, reason), synthetic: false });
    },
    "experimental.session.compacting": async ({ sessionID }) => void summed.add(sessionID),
    "experimental.chat.messages.transform": async (_input, output) => {
      const messages = output.messages ?? [];
      const session = messages[0]?.info?.sessionID;
      await compactions.get(session);
      for (const { parts } of [...messages].reverse())
        for (const part of parts) if (part.type === "tool" && part.state?.status === "error") await fail(part);
      for (const { parts } of messages)
        for (const part of parts) {
          const text = part.state?.status === "error" ? failures.get(callOf(part.sessionID, part.callID)) : undefined;
          if (text !== undefined) part.state.error = text;
        }
      if (summed.delete(session)) return; // these are summed up, and what is told stays beside them
      const first = messages.find((message) => message.info.role === "user");
      place(first, "prt_interpose_standing", standing.get(session)?.text);
      for (const message of messages) place(message, "prt_interpose_beside", beside.get(message.info.id));
    },
    event: async ({ event }) => {
      if (event.type === "permission.asked") return prompted(client, event.properties ?? {}).catch(() => {});
      if (event.type === "permission.replied") return void prompts.get(event.properties?.requestID)?.abort();
      if (!["session.created", "session.deleted", "session.compacted", "session.idle"].includes(event.type)) return;
      const session = event.properties?.info?.id ?? event.properties?.sessionID;
      const parent = event.properties?.info?.parentID;
      if (event.type === "session.created") {
        // That it began is told with its first message, when it is known which agent works in it.
        if (session && parent && session !== parent) keep(parents, session, parent);
        return;
      }
      if (parents.has(session)) return; // a sub-agent's: the session goes on, and its own text stays where it is
      if (event.type !== "session.compacted") {
        if (event.type === "session.deleted") standing.delete(session);
        return void (await ask({ event: event.type, cwd: directory, ...who(session) }).catch(() => {}));
      }
      summed.delete(session);
      // The next request to the model waits for it.
      const done = compact(session, directory);
      keep(compactions, session, done);
      await done;
    },
  };
};
