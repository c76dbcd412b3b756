
const about = (event, context) => ({
  event,
  session: context?.sessionId ?? context?.sessionKey,
  agent: context?.agentId,
  cwd: context?.workspaceDir ?? process.cwd(),
});

const called = (name, event, context) => ({
  ...about(name, context),
  tool: event.toolName,
  call: event.toolCallId,
  arguments: event.params ?? {},
});

const informs = (name) => async (_event, context) => {
  await ask(about(name, context)).catch(() => {});
};

export default {
  id: "interpose",
  name: "Interpose",
  register(api) {
    const gate = { priority: 1000, timeoutMs: INTERPOSE.deadline_ms + INTERPOSE.wait_s * 1000 + 1000 };
    api.on(
      "before_tool_call",
      async (event, context) => {
        const said = await ask(called("before_tool_call", event, context));
        if (said.decision === "allow") return said.arguments === undefined ? undefined : { params: said.arguments };
        const reason = said.reason || "refused by Interpose";
        if (said.decision === "ask")
          return { requireApproval: { title: `Interpose asks about ${event.toolName}`, description: reason, severity: "warning" } };
        return { block: true, blockReason: reason };
      },
      gate,
    );
    api.on("after_tool_call", async (event, context) => {
      const result = event.result ?? event.error ?? null;
      await ask({ ...called("after_tool_call", event, context), result }).catch(() => {});
    });
    for (const name of ["session_start", "session_end", "subagent_spawned", "before_compaction"])
      api.on(name, informs(name));
  },
};
