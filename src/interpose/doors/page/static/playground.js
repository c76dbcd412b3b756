// The answer comes as you type: the form is sent when you stop, and its answer put in the place of the last one.
"use strict";

const form = document.getElementById("playground");
let timer = 0;
let running = null;

async function play() {
  if (running) running.abort();
  running = new AbortController();
  try {
    const answer = await fetch(form.action, {
      method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "manual", signal: running.signal,
    });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("played");
    const here = document.getElementById("played");
    if (fresh) here.replaceWith(document.importNode(fresh, true));
    else if (!answer.ok) here.textContent = "The server did not try that out. Reload the page.";
  } catch (error) {
    if (error.name !== "AbortError") document.getElementById("played").textContent = "The server can't be reached.";
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(play, 250);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  play();
});
