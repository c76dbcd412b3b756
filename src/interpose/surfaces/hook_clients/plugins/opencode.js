

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
      // A tool of OpenCode has one text, that of an MCP server has a list of parts.
      const where = ["output", "content"].find((key) => output?.[key] !== undefined);
      if (where === undefined) throw new Error("Interpose can't read this result, so it is withheld");
      const shown = { arguments: input.args ?? {}, result: output[where] };
      const said = await ask({ ...about("tool.execute.after", input), ...shown });
      if (said.decision !== "allow") throw new Error(said.reason || "withheld by Interpose");
      if (said.result !== undefined) output[where] = said.result;
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
      const note = refused.get(input.sessionID);
      refused.delete(input.sessionID);
      if (note !== undefined && (output.parts.length !== 1 || output.parts[0].text !== note)) throw new Error(note);
    },
    event: async ({ event }) => {
      if (event.type === "permission.asked") return prompted(client, event.properties ?? {}).catch(() => {});
      if (event.type === "permission.replied") return void prompts.get(event.properties?.requestID)?.abort();
      if (!["session.created", "session.deleted", "session.compacted"].includes(event.type)) return;
      const session = event.properties?.info?.id ?? event.properties?.sessionID;
      const parent = event.properties?.info?.parentID;
      if (event.type === "session.created" && session && parent && session !== parent) keep(parents, session, parent);
      if (parents.has(session)) return; // that of a sub-agent: it is heard of when it calls something
      // What only informs must not stop anybody.
      await ask({ event: event.type, cwd: directory, ...who(session) }).catch(() => {});
    },
  };
};
