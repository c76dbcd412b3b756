// How a plugin asks Interpose. `INTERPOSE` is written above by whoever installs this file.
// Only a whole answer in time counts: everything else throws, and a throw keeps the call from running.
import { spawn } from "node:child_process";
import { existsSync, lstatSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";

// As in socket_client.py: how long a server is not asked again that gave no answer in time.
const STALLED_SECONDS = 60;
const ANSWER_LIMIT = 64 * 1024 * 1024;
// As Node says it, and as Bun does.
const NOBODY_THERE = new Set(["ENOENT", "ECONNREFUSED", "FailedToOpenSocket", "ConnectionRefused"]);

// `waits` hears that a person is waited for, and where to answer. `signal` says that nobody needs the answer any more.
async function ask(event, { waits, signal } = {}) {
  const body = JSON.stringify(event);
  const deadline = Date.now() + INTERPOSE.deadline_ms;
  let said;
  try {
    // The command knows of it, too, and decides by itself.
    said = isStalled() ? await byCommand(body, deadline) : await overSocket(body, deadline, waits, signal);
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

// The head of an answer: its status, and its fields by their names in small letters.
function headOf(text) {
  const [status, ...lines] = text.split("\r\n");
  const fields = new Map(lines.map((line) => [line.split(":", 1)[0].toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]));
  return { code: status.startsWith("HTTP/1.1 ") ? Number(status.slice(9, 12)) : 0, fields };
}

// By hand: a server that waits for a person says so in an answer before its answer, which Bun keeps to itself.
function overSocket(body, deadline, waits, signal) {
  return new Promise((resolve, reject) => {
    const fields = ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`];
    fields.push(`Host: ${INTERPOSE.socket ? "localhost" : `127.0.0.1:${INTERPOSE.port}`}`);
    if (INTERPOSE.token_file) fields.push(`Authorization: Bearer ${readFileSync(INTERPOSE.token_file, "utf8").trim()}`);
    if (INTERPOSE.wait_s) fields.push(`X-Interpose-Wait: ${INTERPOSE.wait_s}`);
    if (INTERPOSE.socket) checkOwner(INTERPOSE.socket);
    const place = INTERPOSE.socket ? { path: INTERPOSE.socket } : { host: "127.0.0.1", port: INTERPOSE.port };
    const connection = connect(place);
    const parts = [];
    let size = 0;
    let waited = false;
    let timer;
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
      connection.destroy();
    };
    const failed = (error) => {
      end();
      reject(error);
    };
    const leave = () => failed(new Error("nobody needs the answer any more"));
    const until = (moment) => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        noteStalled();
        failed(new Error("no answer in time"));
      }, moment - Date.now());
    };
    const heard = () => {
      const said = Buffer.concat(parts);
      const at = said.indexOf("\r\n\r\n");
      if (at < 0) return undefined;
      return { ...headOf(said.subarray(0, at).toString("latin1")), rest: said.subarray(at + 4) };
    };
    until(deadline);
    signal?.addEventListener("abort", leave);
    connection.on("error", failed);
    connection.on("data", (part) => {
      parts.push(part);
      size += part.length;
      if (size > ANSWER_LIMIT) return failed(new Error("the answer is too long"));
      if (waited || !INTERPOSE.wait_s) return;
      const first = heard();
      if (first?.code !== 102) return;
      waited = true;
      parts.splice(0, parts.length, first.rest);
      const seconds = Math.min(Number(first.fields.get("x-interpose-wait")) || 0, INTERPOSE.wait_s);
      until(deadline + seconds * 1000);
      // What can't be read is no head of ours, and a throw from here would end the host itself.
      try {
        Promise.resolve(waits?.(decodeURIComponent(first.fields.get("x-interpose-stderr") ?? ""))).catch(() => {});
      } catch (error) {
        failed(error);
      }
    });
    connection.on("close", () => {
      end();
      const answer = heard();
      if (answer === undefined) return reject(new Error("the answer broke off"));
      if (answer.code !== 200) return reject(new Error(`the server answered ${answer.code}`));
      if (String(answer.rest.length) !== answer.fields.get("content-length")) return reject(new Error("the answer broke off"));
      resolve(answer.rest.toString("utf8"));
    });
    connection.write(`POST /hook/${INTERPOSE.host} HTTP/1.1\r\n${fields.join("\r\n")}\r\nConnection: close\r\n\r\n${body}`);
  });
}

function byCommand(body, deadline) {
  return new Promise((resolve, reject) => {
    // Whoever removed the package and not this file is told so: the command could only say that it has no answer.
    if (!INTERPOSE.needed.every((file) => existsSync(file))) throw new Error(INTERPOSE.gone);
    const [program, ...words] = INTERPOSE.command;
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), Math.max(1, deadline + INTERPOSE.wait_s * 1000 - Date.now()));
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
