
export const Interpose = async ({ directory }) => {
  const about = (event, input) => ({
    event,
    tool: input.tool,
    session: input.sessionID,
    call: input.callID,
    cwd: directory,
  });
  return {
    "tool.execute.before": async (input, output) => {
      const said = await ask({ ...about("tool.execute.before", input), arguments: output.args ?? {} });
      if (said.decision !== "allow") throw new Error(said.reason || "refused by Interpose");
      if (said.arguments === undefined) return;
      // OpenCode keeps the object that it made: it must be changed, another one would be ignored.
      for (const key of Object.keys(output.args)) if (!(key in said.arguments)) delete output.args[key];
      Object.assign(output.args, said.arguments);
    },
    "tool.execute.after": async (input, output) => {
      const shown = { arguments: input.args ?? {}, result: output.output ?? null };
      const said = await ask({ ...about("tool.execute.after", input), ...shown });
      if (said.decision !== "allow") throw new Error(said.reason || "withheld by Interpose");
      if (said.result !== undefined) output.output = said.result;
    },
    event: async ({ event }) => {
      if (event.type !== "session.created" && event.type !== "session.deleted") return;
      const session = event.properties?.info?.id;
      // What only informs must not stop anybody.
      await ask({ event: event.type, session, cwd: directory }).catch(() => {});
    },
  };
};
