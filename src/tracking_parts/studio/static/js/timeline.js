// The timeline, which is also the scrubber: states, confidence, confident frames, roles and learning of a target.

import { goTo, stopPlaying } from "./actions.js";
import { app, changed, isDrawn, isTracking, on } from "./state.js";
import { by, colour, element, sharp } from "./ui.js";

const canvas = by("timeline");
const STRIP = 7;
const PAD = 8;
const ROWS = { confidence: 46, confident: 10, roles: 40, learning: 10, gap: 6 };
let geometry = null;

function measure() {
  const strips = Math.max(1, app.targets.length) * (STRIP + 2) + 8;
  let top = 4;
  const rows = {};
  for (const [name, height] of [["state", strips], ["confidence", ROWS.confidence], ["confident", ROWS.confident], ["roles", ROWS.roles], ["learning", ROWS.learning]]) {
    rows[name] = { top, height };
    top += height + ROWS.gap;
  }
  canvas.style.height = `${top}px`;
  const labels = [...document.querySelectorAll(".timeline .labels li")];
  Object.values(rows).forEach(({ top: y, height }, index) => (labels[index].style.top = `${y + height / 2 - 6}px`));
  geometry = { width: canvas.clientWidth, height: top, rows };
}

const x = (frame) => PAD + ((frame + 0.5) / app.project.frames) * (geometry.width - 2 * PAD);
const frameAt = (place) => Math.floor(((place - PAD) / (geometry.width - 2 * PAD)) * app.project.frames);

/** Rows gathered by pixel column: many frames may share one, and then the worst of them is shown. */
function columns(rows) {
  const found = new Map();
  rows.forEach((each, frame) => {
    const column = Math.floor(x(frame));
    const before = found.get(column);
    const right = Math.max(column + 1, Math.round(x(frame + 0.5)));
    if (!before) found.set(column, { ...each, left: Math.min(column, Math.round(x(frame - 0.5))), right, learned: each.events.length > 0 });
    else {
      before.right = right;
      before.learned ||= each.events.length > 0;
      before.highly_confident ||= each.highly_confident;
      if (each.confidence < before.confidence) Object.assign(before, { confidence: each.confidence, state: each.state });
    }
  });
  return found;
}

function draw() {
  if (!app.project || by("work").hidden) return;
  measure();
  const context = sharp(canvas, geometry.width, geometry.height);
  context.clearRect(0, 0, geometry.width, geometry.height);
  const wide = Math.max(1, (geometry.width - 2 * PAD) / app.project.frames);
  const inks = Object.fromEntries(["tracking", "uncertain", "lost", "candidate", "reliable", "gold", "ink", "line", "muted", "sunken"].map((name) => [name, colour(name)]));
  app.targets.forEach((each, index) => drawStrip(context, each, index, inks));
  const rows = app.rows.get(app.selected);
  if (rows) drawSelected(context, columns(rows), wide, inks);
  drawHead(context, inks);
}

function drawStrip(context, each, index, inks) {
  const top = geometry.rows.state.top + index * (STRIP + 2) + 4;
  context.fillStyle = inks.sunken;
  context.fillRect(PAD, top, geometry.width - 2 * PAD, STRIP);
  context.fillStyle = each.colour;
  context.fillRect(0, top, 4, STRIP);
  for (const { state, left, right } of columns(app.rows.get(each.id) || []).values()) {
    context.fillStyle = inks[state];
    context.fillRect(left, top, right - left, STRIP);
  }
  for (const frame of app.drawn.get(each.id) || []) diamond(context, x(frame), top + STRIP / 2, inks.ink);
}

function diamond(context, cx, cy, ink) {
  context.beginPath();
  context.moveTo(cx, cy - 5);
  context.lineTo(cx + 4, cy);
  context.lineTo(cx, cy + 5);
  context.lineTo(cx - 4, cy);
  context.closePath();
  context.fillStyle = "#fff";
  context.fill();
  context.lineWidth = 1.6;
  context.strokeStyle = ink;
  context.stroke();
}

function drawSelected(context, found, wide, inks) {
  const { confidence, confident, roles, learning } = geometry.rows;
  context.strokeStyle = inks.line;
  context.lineWidth = 1;
  context.strokeRect(PAD, confidence.top, geometry.width - 2 * PAD, confidence.height);
  const most = Math.max(1, ...[...found.values()].map((each) => each.roles[0] + each.roles[1] + each.roles[2]));
  for (const [column, each] of found) {
    const { left } = each;
    const broad = each.right - left;
    const high = Math.max(1, each.confidence * confidence.height);
    context.fillStyle = inks[each.state];
    context.globalAlpha = 0.35;
    context.fillRect(left, confidence.top + confidence.height - high, broad, high);
    context.globalAlpha = 1;
    context.fillRect(left, confidence.top + confidence.height - high, broad, 2);
    if (each.highly_confident) {
      context.fillStyle = inks.tracking;
      context.fillRect(column - Math.min(wide, 3) / 2, confident.top, Math.max(1, Math.min(wide, 3)), confident.height);
    }
    let base = roles.top + roles.height;
    [inks.gold, inks.reliable, inks.candidate].forEach((ink, index) => {
      const part = (each.roles[2 - index] / most) * roles.height;
      context.fillStyle = ink;
      context.fillRect(left, base - part, broad, part);
      base -= part;
    });
    if (each.learned) {
      context.fillStyle = inks.ink;
      context.beginPath();
      context.moveTo(column, learning.top);
      context.lineTo(column + 3.5, learning.top + learning.height);
      context.lineTo(column - 3.5, learning.top + learning.height);
      context.fill();
    }
  }
}

function drawHead(context, inks) {
  if (app.run.frame !== null && isTracking()) {
    context.fillStyle = inks.muted;
    context.fillRect(x(app.run.frame) - 0.5, 0, 1, geometry.height);
  }
  const place = x(app.frame);
  context.fillStyle = inks.ink;
  context.fillRect(place - 1, 0, 2, geometry.height);
  context.beginPath();
  context.moveTo(place - 6, 0);
  context.lineTo(place + 6, 0);
  context.lineTo(place, 8);
  context.fill();
}

function speak() {
  if (!app.project) return;
  const here = (app.rows.get(app.selected) || [])[app.frame];
  const words = here ? `, ${isDrawn(app.selected) ? "drawn by you" : `${here.state}, confidence ${here.confidence.toFixed(2)}`}` : "";
  const values = { valuemin: 0, valuemax: app.project.frames - 1, valuenow: app.frame, valuetext: `Frame ${app.frame}${words}` };
  for (const [name, value] of Object.entries(values)) canvas.setAttribute(`aria-${name}`, value);
}

let scrubbing = false;
const scrub = (event) => goTo(frameAt(event.clientX - canvas.getBoundingClientRect().left));
canvas.addEventListener("pointerdown", (event) => {
  scrubbing = true;
  stopPlaying();
  canvas.setPointerCapture(event.pointerId);
  scrub(event);
});
canvas.addEventListener("pointermove", (event) => scrubbing && scrub(event));
for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => (scrubbing = false));

export function makeLegend() {
  const entries = [["tracking", "tracking"], ["uncertain", "uncertain"], ["lost", "lost"], ["gold", "gold"], ["reliable", "reliable"], ["candidate", "candidate"]];
  by("legend").replaceChildren(
    ...entries.map(([name, words]) => {
      const each = element("span", { textContent: words });
      each.style.setProperty("--swatch", `var(--${name})`);
      return each;
    }),
    element("b", { textContent: "◇ drawn by you" }),
    element("b", { textContent: "▲ learned" }),
  );
}

on("project rows targets frame theme run", () => (draw(), speak()));
new ResizeObserver(() => changed("rows")).observe(canvas.parentElement);
