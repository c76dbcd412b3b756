
const MOST = 10000;

// OpenClaw may load a plugin several times in its process, and calls hooks of one and middleware of the other.
const shared = (globalThis[Symbol.for("interpose.openclaw")] ??= {});

function kept(name) {
  return (shared[name] ??= new Map());
}

function keep(map, key, value) {
  if (map.size >= MOST) map.delete(map.keys().next().value);
  map.set(key, value);
  return value;
}

// Sessions are known by id, sub-agents by the key of their own session. What a sub-agent does belongs to the session
// that started it. Hooks about tools are not told where the agent works: hooks about its turns are.
const ids = kept("ids");
const parents = kept("parents");
const places = kept("places");

function who(context) {
  const { sessionKey: key, sessionId: id, agentId: agent, workspaceDir: place } = context ?? {};
  if (key && id) keep(ids, key, id);
  if (id && place) keep(places, id, place);
  let root = key;
  for (let depth = 0; depth < 32 && parents.has(root); depth += 1) root = parents.get(root);
  const cwd = place ?? places.get(id) ?? process.cwd();
  if (root === key) return { session: id ?? key, agent, cwd };
  return { session: ids.get(root) ?? root, agent: key, agent_type: agent, cwd };
}

function nameOf(context) {
  return context?.sessionKey ?? context?.sessionId;
}

// What an agent is told of its role and rules: in the instructions of each of its turns.
const standing = kept("standing");

// What only informs must not stop anybody. Of what could not be told, the next turn tries again.
async function inform(event, context, more = {}) {
  const said = await ask({ event, ...who(context), ...more }).catch(() => undefined);
  return said === undefined ? undefined : (said.note ?? "");
}

function begin(context) {
  const name = nameOf(context);
  if (name === undefined || standing.has(name)) return standing.get(name);
  const told = inform("session_start", context).then((text) => {
    if (text === undefined) standing.delete(name);
    return text;
  });
  return keep(standing, name, told);
}

// A message is judged once in its run, wherever the run comes by first: before its model is chosen, if it can be.
const messages = kept("messages");

function judge(prompt, context) {
  const name = context?.runId ?? JSON.stringify([nameOf(context), prompt]);
  const known = messages.get(name);
  if (known !== undefined) return known;
  const model = { model: context?.modelId, provider: context?.modelProviderId };
  const asked = ask({ event: "before_agent_run", ...who(context), text: prompt ?? "", ...model });
  asked.catch(() => {}); // whoever awaits it hears of it
  return keep(messages, name, asked);
}

// Calls that do not run have a result for the model as well, which is ours.
const refused = kept("refused");
const read = kept("read");

// Models count their calls anew in each session, some of them in each run.
function nameOfCall(event, context) {
  return JSON.stringify([context?.sessionId, context?.runId, event.toolCallId ?? context?.toolCallId]);
}

const called = (name, event, context) => ({
  event: name,
  ...who(context),
  ...(event.cwd && { cwd: event.cwd }),
  tool: event.toolName,
  call: event.toolCallId,
  arguments: event.params ?? event.args ?? {},
});

// What came of a call, as the model is about to read it.
async function looked(event, context) {
  const { result } = event;
  if (refused.has(nameOfCall(event, context))) return undefined;
  keep(read, nameOfCall(event, context), true);
  const shown = (content) => ({ result: { ...result, content: content.length ? content : [textPart("")], details: {} } });
  try {
    const about = called(event.isError ? "tool_call_failed" : "tool_result", event, context);
    const said = await ask({ ...about, [event.isError ? "error" : "result"]: result.content ?? [] });
    if (said.decision !== "allow") return shown([textPart(said.reason || "withheld by Interpose")]);
    if (said.result !== undefined) return shown(said.result);
    return said.note ? { result: { ...result, content: [...(result.content ?? []), textPart(said.note)] } } : undefined;
  } catch (error) {
    return shown([textPart(error.message)]);
  }
}

function textPart(text) {
  return { type: "text", text };
}

export default {
  id: "interpose",
  name: "Interpose",
  register(api) {
    const gate = { priority: 1000, timeoutMs: INTERPOSE.deadline_ms + INTERPOSE.wait_s * 1000 + 1000 };
    api.on(
      "before_tool_call",
      async (event, context) => {
        const said = await ask(called("before_tool_call", event, context), { signal: context?.abortSignal });
        if (said.decision === "allow") return said.arguments === undefined ? undefined : { params: said.arguments };
        const reason = said.reason || "refused by Interpose";
        if (said.decision === "ask") {
          const onResolution = (answer) => void (answer.startsWith("allow") || keep(refused, nameOfCall(event, context), true));
          const approval = { title: `Interpose asks about ${event.toolName}`, description: reason, severity: "warning" };
          return { requireApproval: { ...approval, onResolution } };
        }
        keep(refused, nameOfCall(event, context), true);
        return { block: true, blockReason: reason };
      },
      gate,
    );
    // OpenClaw knows of its own tools only here; of a harness of its own it lets results only be watched.
    api.registerAgentToolResultMiddleware?.(looked, { runtimes: ["openclaw", "codex"] });
    api.on("after_tool_call", async (event, context) => {
      const name = nameOfCall(event, context);
      if (refused.has(name) || read.has(name)) return;
      const failed = event.error !== undefined && event.error !== null;
      const about = called(failed ? "tool_call_failed" : "after_tool_call", event, context);
      await ask({ ...about, ...(failed ? { error: event.error } : { result: event.result ?? null }) }).catch(() => {});
    });
    // The rest needs plugins.entries.interpose.hooks.allowConversationAccess.
    api.on(
      "before_model_resolve",
      async (event, context) => {
        const { params = {} } = await judge(event.prompt, context);
        return { ...(params.model && { modelOverride: params.model }), ...(params.provider && { providerOverride: params.provider }) };
      },
      gate,
    );
    api.on(
      "before_prompt_build",
      async (event, context) => {
        const text = await begin(context);
        const said = await judge(event.prompt, context).catch(() => ({}));
        return { ...(text && { appendSystemContext: text }), ...(said.note && { prependContext: said.note }) };
      },
      gate,
    );
    api.on(
      "before_agent_run",
      async (event, context) => {
        const said = await judge(event.prompt, context);
        if (said.decision === "allow") return { outcome: "pass" };
        const reason = said.reason || "refused by Interpose";
        return { outcome: "block", reason, message: reason };
      },
      gate,
    );
    api.on("session_start", async (_event, context) => void (await begin(context)));
    api.on("session_end", async (_event, context) => {
      standing.delete(nameOf(context));
      if (!parents.has(context?.sessionKey)) await inform("session_end", context);
    });
    api.on("subagent_spawned", async (event, context) => {
      const child = event.childSessionKey ?? context?.childSessionKey;
      const parent = event.requesterSessionKey ?? context?.requesterSessionKey;
      if (!child || !parent || child === parent) return;
      keep(parents, child, parent);
      const told = inform("subagent_spawned", { sessionKey: child, agentId: event.agentId });
      await keep(standing, child, told);
    });
    api.on("before_compaction", async (_event, context) => {
      if (!parents.has(context?.sessionKey)) await inform("before_compaction", context);
    });
    api.on("after_compaction", async (_event, context) => {
      if (parents.has(context?.sessionKey)) return; // the session goes on, and its own text stays where it is
      const told = await inform("after_compaction", context);
      if (told) keep(standing, nameOf(context), told);
    });
  },
};
