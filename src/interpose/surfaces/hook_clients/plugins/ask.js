// How a plugin asks Interpose. `INTERPOSE` is written above by whoever installs this file.
// Only a whole answer in time counts: everything else throws, and a throw keeps the call from running.
import { spawn } from "node:child_process";
import { existsSync, lstatSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";

// As in socket_client.py: how long a server is not asked again that gave no answer in time.
const STALLED_SECONDS = 60;
const ANSWER_LIMIT = 64 * 1024 * 1024;
// As Node says it, and as Bun does.
const NOBODY_THERE = new Set(["ENOENT", "ECONNREFUSED", "FailedToOpenSocket", "ConnectionRefused"]);

async function ask(event) {
  const body = JSON.stringify(event);
  const deadline = Date.now() + INTERPOSE.deadline_ms;
  let said;
  try {
    // The command knows of it, too, and decides by itself.
    said = isStalled() ? await byCommand(body, deadline) : await overSocket(body, deadline);
  } catch (error) {
    // Nobody heard the question, so it may be put once more: the command starts a server or decides by itself.
    if (!NOBODY_THERE.has(error.code) || !INTERPOSE.command.length) throw refusal(error);
    said = await byCommand(body, deadline).catch((failed) => {
      throw refusal(failed);
    });
  }
  const answer = parsed(said);
  if (answer === null || typeof answer !== "object" || typeof answer.decision !== "string")
    throw refusal(new Error("the answer has no decision"));
  return answer;
}

function refusal(error) {
  const gone = INTERPOSE.gone && error.message === INTERPOSE.gone;
  return new Error(`Interpose ${gone ? "refused this" : "could not decide"}: ${error.message || error.code}`);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refusal(error);
  }
}

// Nobody but us may have put the socket there: another's answer would be another's decision.
function checkOwner(path) {
  const found = lstatSync(path);
  const ours = found.isSocket() && found.uid === process.geteuid() && !(found.mode & 0o077);
  if (!ours) throw Object.assign(new Error("the socket is not ours alone"), { code: "ENOENT" });
}

function stalledFile() {
  return `${INTERPOSE.socket.slice(0, INTERPOSE.socket.lastIndexOf("/"))}/hook.stalled`;
}

// Whether the server of this socket gave others no answer in time. A note from before its socket is about another.
function isStalled() {
  if (!INTERPOSE.socket || !INTERPOSE.command.length) return false;
  try {
    const noted = lstatSync(stalledFile());
    const until = Number(readFileSync(stalledFile(), "utf8"));
    const now = Date.now() / 1000;
    const ours = noted.isFile() && noted.uid === process.geteuid() && noted.mtimeMs > lstatSync(INTERPOSE.socket).mtimeMs;
    return ours && until > now && until <= now + STALLED_SECONDS;
  } catch {
    return false;
  }
}

function noteStalled() {
  try {
    if (INTERPOSE.socket)
      writeFileSync(stalledFile(), `${Math.floor(Date.now() / 1000) + STALLED_SECONDS}\n`, { mode: 0o600 });
  } catch {
    // The next one waits again.
  }
}

function overSocket(body, deadline) {
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    if (INTERPOSE.token_file) headers.Authorization = `Bearer ${readFileSync(INTERPOSE.token_file, "utf8").trim()}`;
    if (INTERPOSE.socket) checkOwner(INTERPOSE.socket);
    const place = INTERPOSE.socket ? { socketPath: INTERPOSE.socket } : { host: "127.0.0.1", port: INTERPOSE.port };
    const asked = request({ ...place, method: "POST", path: `/hook/${INTERPOSE.host}`, headers, agent: false });
    const failed = (error) => {
      clearTimeout(timer);
      asked.destroy();
      reject(error);
    };
    // Not by way of the request's own error: Bun says none for one that is destroyed while it waits.
    const timer = setTimeout(() => {
      noteStalled();
      failed(new Error("no answer in time"));
    }, deadline - Date.now());
    asked.on("error", failed);
    asked.on("response", (response) => {
      const parts = [];
      let size = 0;
      response.on("error", failed);
      response.on("data", (part) => {
        parts.push(part);
        size += part.length;
        if (size > ANSWER_LIMIT) failed(new Error("the answer is too long"));
      });
      response.on("end", () => {
        clearTimeout(timer);
        const text = Buffer.concat(parts).toString("utf8");
        if (response.statusCode !== 200 || !response.complete)
          reject(new Error(`the server answered ${response.statusCode}`));
        else resolve(text);
      });
      response.on("aborted", () => failed(new Error("the answer broke off")));
    });
    asked.end(body);
  });
}

function byCommand(body, deadline) {
  return new Promise((resolve, reject) => {
    // Whoever removed the package and not this file is told so: the command could only say that it has no answer.
    if (!INTERPOSE.needed.every((file) => existsSync(file))) throw new Error(INTERPOSE.gone);
    const [program, ...words] = INTERPOSE.command;
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), Math.max(1, deadline - Date.now()));
    const parts = [];
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.stdin.on("error", () => {});
    child.stdout.on("data", (part) => parts.push(part));
    child.on("close", (code) => {
      clearTimeout(timer);
      if (code === 0) resolve(Buffer.concat(parts).toString("utf8"));
      else reject(new Error(`the command ended with ${code === null ? "a signal" : code}`));
    });
    child.stdin.end(body);
  });
}
