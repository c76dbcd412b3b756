// Draws what has `data-plot`: its numbers are in the attribute, and as a table below it for those without script.
"use strict";

const drawn = new WeakMap();

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "#888";
}

// As the other times of the page: in this browser's zone and by 24 hours. Days are those of UTC.
function times(daily) {
  const day = { month: "short", day: "numeric" };
  const hour = { hour: "2-digit", minute: "2-digit", hour12: false };
  return (_plot, splits) => splits.map((at) => {
    const when = new Date(at * 1000);
    if (daily) return when.toLocaleDateString([], { ...day, timeZone: "UTC" });
    return when.getHours() + when.getMinutes() ? when.toLocaleTimeString([], hour) : when.toLocaleDateString([], day);
  });
}

function options(given, width) {
  const quiet = colour("quiet");
  const step = given.x.length > 1 ? given.x[1] - given.x[0] : 3600;
  const daily = step >= 86400;
  const axis = { stroke: quiet, grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") } };
  const bars = given.kind === "bars" ? uPlot.paths.bars({ size: [0.8, 40] }) : undefined;
  return {
    width, height: Math.max(160, Math.min(240, width / 3)), legend: { live: width > 500 },
    cursor: { drag: { x: false, y: false } },
    scales: { x: { range: (_plot, low, high) => [low - step / 2, high + step / 2] }, y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [{ ...axis, values: times(daily), space: 60, incrs: daily ? [1, 2, 7, 14].map((days) => days * 86400) : undefined }, { ...axis, size: 60 }],
    series: [{ value: (_plot, at) => (at === null ? "–" : new Date(at * 1000).toLocaleString([], { hour12: false })) }].concat(given.series.map((one) => ({
      label: one.name, stroke: colour(one.colour), fill: bars ? colour(one.colour) : undefined, paths: bars,
      width: bars ? 0 : 2, points: { show: !bars, size: 5 }, spanGaps: true,
      value: (_plot, value) => (value === null || value === undefined ? "–" : `${Math.round(value * 100) / 100} ${given.unit}`),
    }))),
  };
}

// Bars stand on each other: the largest sum is drawn first, and the smaller ones over it.
function stacked(given) {
  const sums = given.x.map(() => 0);
  const rows = given.series.map((one) => one.values.map((value, place) => (sums[place] += value || 0)));
  return {
    ...given, series: [...given.series].reverse(), values: rows.reverse(),
    shown: [...given.series].reverse().map((one) => one.values),
  };
}

function draw(place) {
  const width = Math.floor(place.getBoundingClientRect().width);
  if (!width) return;
  const text = place.dataset.plot;
  const known = drawn.get(place);
  if (known && known.text === text && known.width === width) return;
  if (known) known.plot.destroy();
  const plain = JSON.parse(text);
  const given = plain.kind === "bars" ? stacked(plain) : plain;
  const made = options(given, width);
  if (given.shown) {
    made.series.slice(1).forEach((one, number) => {
      one.value = (_plot, _value, _series, at) => (at === null ? "–" : String(given.shown[number][at]));
    });
  }
  const data = [given.x, ...(given.values || given.series.map((one) => one.values))];
  drawn.set(place, { plot: new uPlot(made, data, place), text, width });
}

function drawAll() {
  for (const place of document.querySelectorAll("[data-plot]")) draw(place);
}

new MutationObserver(drawAll).observe(document.getElementById("content"), { childList: true, subtree: true });
addEventListener("resize", drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => location.reload());
drawAll();
