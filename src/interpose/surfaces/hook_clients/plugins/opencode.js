

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

export const Interpose = async ({ directory }) => {
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
      const said = await ask({ ...about("tool.execute.before", input), arguments: output.args ?? {} });
      if (said.decision !== "allow") throw new Error(said.reason || "refused by Interpose");
      if (said.arguments === undefined) return;
      // OpenCode keeps the object that it made: it must be changed, another one would be ignored.
      for (const key of Object.keys(output.args)) if (!(key in said.arguments)) delete output.args[key];
      Object.assign(output.args, said.arguments);
    },
    "tool.execute.after": async (input, output) => {
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
