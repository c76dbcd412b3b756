// The page works without this. With it, it is live: when the server says that something changed, the same page is
// fetched again, and what has `data-live` is taken over from it. Nothing that somebody types or has focused is touched.
"use strict";

const MOST_ROWS = 200;
const main = document.getElementById("content");
const lost = document.getElementById("lost");
let stopped = false;
let busy = false;
const again = new Set();

document.documentElement.classList.add("scripted");

function say(text) {
  lost.textContent = text;
  lost.hidden = !text;
}

// Children by their ids: new ones come in, changed ones are replaced, those that are gone go.
function mergeKeyed(here, there) {
  const wanted = new Set();
  let place = here.firstElementChild;
  for (const fresh of [...there.children].slice(0, MOST_ROWS)) {
    wanted.add(fresh.id);
    const known = document.getElementById(fresh.id);
    if (known && known.parentElement === here) {
      if (known === place) place = place.nextElementSibling;
      else here.insertBefore(known, place);
      if (!isInUse(known) && comparable(known) !== comparable(fresh)) known.replaceWith(prepared(fresh));
    } else {
      const added = prepared(fresh);
      added.classList.add("fresh");
      here.insertBefore(added, place);
    }
  }
  for (const child of [...here.children]) if (!wanted.has(child.id)) child.remove();
}

function isInUse(node) {
  return node.contains(document.activeElement) || [...node.querySelectorAll("input")].some((field) => field.checked);
}

// What the script itself changed is no difference.
function comparable(node) {
  const copy = node.cloneNode(true);
  copy.classList.remove("fresh");
  if (!copy.classList.length) copy.removeAttribute("class");
  for (const each of copy.querySelectorAll("time, .countdown, .plot")) each.textContent = "";
  return copy.outerHTML.replaceAll(' class="countdown soon"', ' class="countdown"');
}

function prepared(node) {
  const own = document.importNode(node, true);
  localTimes(own);
  return own;
}

function takeOver(fetched, word) {
  for (const here of document.querySelectorAll(`[data-live~="${word}"]`)) {
    const there = fetched.getElementById(here.id);
    if (!there) continue;
    if ("keyed" in here.dataset) mergeKeyed(here, there);
    else if (!isInUse(here) && comparable(here) !== comparable(there)) here.replaceWith(prepared(there));
  }
  // Forms of a question that somebody else has answered go away, whatever was typed in them.
  for (const here of document.querySelectorAll(`[data-gone~="${word}"]`)) {
    const there = fetched.getElementById(here.id);
    if (there && !there.children.length) here.replaceChildren();
  }
  const waiting = fetched.querySelector("#waiting b");
  if (waiting) count(waiting.textContent);
  tick();
}

async function look(word) {
  if (stopped || !document.querySelector(`[data-live~="${word}"]`)) return;
  if (busy) {
    again.add(word);
    return;
  }
  busy = true;
  try {
    const answer = await fetch(location.href, { headers: { "X-Interpose-Live": "1" }, redirect: "manual" });
    if (answer.type === "opaqueredirect") say("You are signed out. Reload the page to sign in.");
    else if (answer.ok) takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"), word);
  } catch {
    say("The server can't be reached. What you see may be old.");
  }
  // Looking takes the server some work: a second of rest, however much happens.
  setTimeout(() => {
    busy = false;
    const words = [...again];
    again.clear();
    words.forEach(look);
  }, 1000);
}

function localTimes(root) {
  for (const each of root.querySelectorAll("time[datetime]")) {
    const when = new Date(each.getAttribute("datetime"));
    if (!isNaN(when)) {
      each.title = each.textContent;
      each.textContent = when.toLocaleTimeString([], { hour12: false });
      if (when.toDateString() !== new Date().toDateString()) each.textContent = when.toLocaleString([], { hour12: false });
    }
  }
}

function tick() {
  for (const each of document.querySelectorAll("[data-until]")) {
    const left = Math.max(0, Math.floor(Number(each.dataset.until) - Date.now() / 1000));
    const minutes = Math.floor(left / 60);
    each.textContent = left > 7200 ? `${Math.floor(left / 3600)} h left` : `${minutes}:${String(left % 60).padStart(2, "0")} left`;
    each.classList.toggle("soon", left < 60);
  }
}

// How many questions wait stands at the tab and in the title, whatever screen is open and whether it is live.
function count(waiting) {
  const tab = document.getElementById("waiting");
  if (!tab || waiting === "") return;
  const some = waiting !== "0";
  tab.querySelector("b").textContent = waiting;
  tab.hidden = !some;
  document.title = (some ? `(${waiting}) ` : "") + document.title.replace(/^\(\d+\+?\) /, "");
}

function listen() {
  const source = new EventSource(main.dataset.liveFrom);
  // What happened since the page was made, or while the stream was away, was told to nobody.
  source.addEventListener("here", (event) => {
    say("");
    count(event.data);
    look("questions");
    look("decided");
  });
  source.addEventListener("questions", (event) => {
    count(event.data);
    look("questions");
  });
  source.addEventListener("decided", () => look("decided"));
  source.onerror = () => {
    say("The server can't be reached. What you see may be old.");
    if (source.readyState === EventSource.CLOSED) {
      source.close();
      setTimeout(() => look("questions").then(listen), 5000);
    }
  };
}

// j and k go from row to row, or card to card; Enter opens what has the focus, as everywhere.
function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const step = { j: 1, k: -1 }[event.key];
  if (!step) return;
  const stops = [...document.querySelectorAll(".rows a.what, .card a.button")];
  const at = stops.findIndex((one) => one.closest("li, article").contains(document.activeElement));
  const next = stops[at < 0 ? 0 : Math.min(stops.length - 1, Math.max(0, at + step))];
  if (next) next.focus();
}

const updates = document.getElementById("live-updates");
if (updates) {
  updates.addEventListener("click", () => {
    stopped = !stopped;
    updates.textContent = stopped ? "Resume live updates" : "Stop live updates";
    if (!stopped) look("decided");
  });
}
document.addEventListener("keydown", keys);
if (main) {
  localTimes(document);
  tick();
  setInterval(tick, 1000);
  setInterval(() => document.hidden || look("questions"), 20000);
  setInterval(() => document.hidden || look("slow"), 15000);
  listen();
}
