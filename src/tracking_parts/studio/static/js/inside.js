// What happened inside the tracker in the frame that is shown, for the selected target.

import { get } from "./api.js";
import { app, isDrawn, isTracking, on, row } from "./state.js";
import { by, colour, element } from "./ui.js";

const MAPS = ["filter", "convnet", "colour", "combined"];
const ROLES = ["candidate", "reliable", "gold"];
const SIDE = 240;
const PART_SHARE = 0.3; // parts overlap a lot; drawn at this share of their size they can be told apart
let open = localStorage.getItem("inside") !== "closed";
let shown = null; // { key, data, crop }
let wanted = "";
let loading = false;

export function toggleInside() {
  open = !open;
  localStorage.setItem("inside", open ? "open" : "closed");
  refresh();
}

function refresh() {
  by("inside-body").hidden = !open;
  by("inside-toggle").textContent = open ? "Hide" : "Show";
  by("inside-toggle").setAttribute("aria-expanded", open);
  if (!open || !app.project) return;
  const here = app.selected === null ? null : row(app.selected);
  showFacts(here);
  wanted = here ? `${app.project.id}/inside/${app.selected}/${app.frame}` : "";
  if (!here) return void clear(app.targets.length ? "Nothing is known of this target in this frame." : "Draw a box and let it be tracked: here you will see how its parts vote.");
  if (!loading) load();
}

/** One request at a time, the newest wish next: scrubbing asks for more than is ever seen. */
async function load() {
  loading = true;
  while (wanted && wanted !== shown?.key) {
    const key = wanted;
    try {
      const { inside } = await get(`/api/projects/${key}`);
      const crop = inside ? await createImageBitmap(cropBlob(inside.crop)) : null;
      shown = { key, data: inside, crop };
    } catch {
      shown = { key, data: null, crop: null };
    }
    if (wanted === key) present();
    if (isTracking()) await new Promise((resolve) => setTimeout(resolve, 200)); // the tracker needs the processor more
  }
  loading = false;
}

function present() {
  const data = shown?.data;
  if (!data || !data.parts.ids.length) {
    clear(isDrawn(app.selected) ? "You drew this box: nobody had to vote." : "In the first frame nobody votes yet.");
    return;
  }
  by("inside-empty").textContent = "";
  by("maps").hidden = false;
  MAPS.forEach((name) => drawMap(name, data));
  drawParts(data);
  showRoles(data);
}

function clear(words) {
  by("inside-empty").textContent = words;
  by("maps").hidden = true;
  by("roles").replaceChildren();
  by("part").textContent = "";
}

function showFacts(here) {
  const facts = here
    ? [
        ["state", isDrawn(app.selected) ? "drawn by you" : here.state],
        ["confidence", here.confidence.toFixed(2)],
        ["parts that agree", here.agreement === null || !sum(here.roles) ? "–" : `${Math.round(here.agreement * 100)} %`],
        ["pathways apart", here.distance === null ? "–" : `${here.distance.toFixed(1)} cells`],
        ["highly confident frame", here.highly_confident ? "yes" : "no"],
      ]
    : [];
  by("facts").replaceChildren(...facts.flatMap(([name, value]) => [element("dt", { textContent: name }), element("dd", { textContent: value })]));
  by("events").textContent = here?.events.length ? `Learned: ${here.events.join("; ")}` : "";
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const cropBlob = (text) => new Blob([bytes(text)], { type: "image/jpeg" });

// Dark violet over orange to light yellow: as bright as the vote is strong, for every kind of eye.
const HEAT = [[20, 12, 60], [120, 28, 109], [207, 68, 70], [249, 142, 9], [252, 255, 164]];

function heat(value) {
  const place = (value / 255) * (HEAT.length - 1);
  const low = Math.min(Math.floor(place), HEAT.length - 2);
  return HEAT[low].map((start, index) => start + (HEAT[low + 1][index] - start) * (place - low));
}

function backdrop(canvas, grey) {
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, SIDE, SIDE);
  context.filter = grey ? "grayscale(1) brightness(.8)" : "none";
  if (shown.crop) context.drawImage(shown.crop, ...area(shown.data));
  context.filter = "none";
  return context;
}

function drawMap(name, data) {
  const canvas = by(`map-${name}`);
  const context = backdrop(canvas, true);
  const { peak, steps } = data.maps[name] ?? { peak: 0 }; // older projects know no colours
  canvas.setAttribute("aria-label", peak ? `Votes of ${name}, strongest ${peak.toPrecision(2)}` : `${name} did not vote`);
  if (!peak) return;
  const [rows, columns] = data.cells;
  const image = new ImageData(columns, rows);
  bytes(steps).forEach((value, index) => image.data.set([...heat(value), 40 + value * 0.75], index * 4));
  const small = new OffscreenCanvas(columns, rows);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingQuality = "high";
  context.drawImage(small, ...area(data));
  if (data.centres[name]) mark(context, place(data.centres[name], data));
}

function mark(context, [x, y]) {
  for (const [ink, width] of [["#000", 4], ["#fff", 1.8]]) {
    context.strokeStyle = ink;
    context.lineWidth = width;
    context.beginPath();
    context.arc(x, y, 7, 0, 2 * Math.PI);
    context.moveTo(x - 11, y);
    context.lineTo(x + 11, y);
    context.moveTo(x, y - 11);
    context.lineTo(x, y + 11);
    context.stroke();
  }
}

/** Canvas pixels per crop pixel: the crop's longer side fills the canvas. */
const zoom = ({ window }) => SIDE / Math.max(window.crop_width, window.crop_height);

/** Left, top, width and height of the crop on the canvas, in its middle. */
function area({ window }) {
  const [wide, high] = [window.crop_width, window.crop_height].map((side) => side * zoom({ window }));
  return [(SIDE - wide) / 2, (SIDE - high) / 2, wide, high];
}

function place([x, y], { window }) {
  const [left, top] = area({ window });
  const cell = window.stride * zoom({ window });
  return [left + (x + 0.5) * cell, top + (y + 0.5) * cell];
}

/** Where each part saw its patch: its vote for the centre plus its offset from it. */
function partBoxes({ parts, window }) {
  const cell = window.stride * zoom({ window });
  return parts.ids.map((id, index) => {
    const vote = parts.votes[index];
    const [x, y] = place([vote[0] + parts.offsets[index][0], vote[1] + parts.offsets[index][1]], { window });
    const [high, wide] = parts.sizes[index].map((size) => size * cell * PART_SHARE);
    return { id, x: x - wide / 2, y: y - high / 2, wide, high, role: parts.roles[index], agreed: parts.agreed[index], strength: parts.strengths[index], vote: place(vote, { window }) };
  });
}

function drawParts(data, chosen = null) {
  const canvas = by("map-parts");
  const context = backdrop(canvas, false);
  const inks = ROLES.map(colour);
  const boxes = partBoxes(data).sort((a, b) => a.agreed - b.agreed || a.role - b.role);
  for (const part of boxes) {
    context.strokeStyle = context.fillStyle = inks[part.role];
    context.globalAlpha = part.agreed ? 0.3 : 0;
    context.fillRect(part.x, part.y, part.wide, part.high);
    context.globalAlpha = part.agreed ? 0.95 : 0.5;
    context.lineWidth = part.agreed ? 1.5 : 1;
    context.strokeRect(part.x, part.y, part.wide, part.high);
  }
  context.globalAlpha = 1;
  if (chosen) drawVote(context, chosen);
  mark(context, place(data.centres.combined, data));
  const agreeing = boxes.filter((part) => part.agreed).length;
  canvas.setAttribute("aria-label", `${boxes.length} parts on the crop, ${agreeing} of them agree with the decision. Arrow keys go from part to part.`);
}

function drawVote(context, part) {
  const from = [part.x + part.wide / 2, part.y + part.high / 2];
  for (const [ink, width] of [["#000", 4], ["#fff", 2]]) {
    context.strokeStyle = ink;
    context.lineWidth = width;
    context.strokeRect(part.x, part.y, part.wide, part.high);
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...part.vote);
    context.stroke();
  }
}

function tell(part) {
  if (shown?.data) drawParts(shown.data, part);
  by("part").textContent = part
    ? `Part ${part.id}, ${ROLES[part.role]}: answers with ${part.strength.toFixed(2)}, its vote ${part.agreed ? "agrees" : "does not agree"}${part.role === 0 ? "; candidates do not count yet" : ""}.`
    : "";
}

function showRoles({ parts }) {
  const lines = ROLES.map((name, role) => {
    const mine = parts.roles.map((each, index) => (each === role ? parts.agreed[index] : null)).filter((each) => each !== null);
    const swatch = element("i");
    swatch.style.background = `var(--${name})`;
    const share = mine.length ? `${Math.round((sum(mine) / mine.length) * 100)} %` : "–";
    return element("tr", {}, element("th", { scope: "row" }, swatch, name), element("td", { textContent: mine.length }), element("td", { textContent: share }));
  }).reverse();
  const head = element("tr", {}, ...["role", "parts", "agree"].map((words) => element("th", { scope: "col", textContent: words })));
  by("roles").replaceChildren(head, ...lines);
}

const partsCanvas = by("map-parts");
partsCanvas.addEventListener("pointermove", (event) => {
  if (!shown?.data) return;
  const bounds = partsCanvas.getBoundingClientRect();
  const [x, y] = [((event.clientX - bounds.left) / bounds.width) * SIDE, ((event.clientY - bounds.top) / bounds.height) * SIDE];
  const hit = partBoxes(shown.data)
    .filter((part) => x >= part.x - 2 && x <= part.x + part.wide + 2 && y >= part.y - 2 && y <= part.y + part.high + 2)
    .sort((a, b) => a.wide - b.wide || b.agreed - a.agreed)[0];
  tell(hit || null);
});
partsCanvas.addEventListener("pointerleave", () => tell(null));
let chosenPart = -1;
partsCanvas.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step || !shown?.data) return;
  event.preventDefault();
  event.stopPropagation();
  const parts = partBoxes(shown.data);
  chosenPart = (chosenPart + step + parts.length) % parts.length;
  tell(parts[chosenPart]);
});

on("project frame targets rows", refresh);
on("theme", () => open && shown?.data && present());
