

// OpenCode says `server_tool` for a tool of an MCP server: only its settings say where the server's name ends.
function named(tool, servers) {
  const found = servers.filter((server) => tool.startsWith(`${server.replace(/[^\w-]/g, "_")}_`));
  if (found.length > 1) throw new Error(`Interpose can't tell which server ${tool} is of: ${found.join(", ")}`);
  return found.length ? `mcp__${found[0]}__${tool.slice(found[0].length + 1)}` : tool;
}

export const Interpose = async ({ directory }) => {
  let servers = [];
  const refused = new Map();
  const about = (event, input) => ({
    event,
    tool: named(input.tool, servers),
    session: input.sessionID,
    call: input.callID,
    cwd: directory,
  });
  return {
    config: async (settings) => {
      servers = Object.keys(settings.mcp ?? {});
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
      if (event.type !== "session.created" && event.type !== "session.deleted") return;
      const session = event.properties?.info?.id;
      // What only informs must not stop anybody.
      await ask({ event: event.type, session, cwd: directory }).catch(() => {});
    },
  };
};
