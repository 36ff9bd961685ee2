// The picture with its boxes: drawing, moving and resizing them by pointer and by keys.

import { commitBox, newTarget, pauseForEditing } from "./actions.js";
import { shown } from "./frames.js";
import { app, changed, isDrawn, isTracking, on, row, target } from "./state.js";
import { by, colour, sharp } from "./ui.js";

const HANDLE = 9;
const SMALLEST = 4;
const [picture, boxes, stage] = [by("picture"), by("boxes"), by("stage")];
let view = { left: 0, top: 0, zoom: 1 };
let drag = null; // { kind, start, box, target }
let draft = null; // { target, frame, box, sent }: a box that is being changed, seen until the server has it
let keeping = Promise.resolve(); // until the server has the last box that was sent

export const draftBox = () => draft;

function layout() {
  if (!app.project) return;
  const { clientWidth, clientHeight } = stage;
  const zoom = Math.min(clientWidth / app.project.width, clientHeight / app.project.height);
  const [width, height] = [app.project.width * zoom, app.project.height * zoom];
  view = { left: (clientWidth - width) / 2, top: (clientHeight - height) / 2, zoom, width, height };
  for (const canvas of [picture, boxes]) {
    Object.assign(canvas.style, { left: `${view.left}px`, top: `${view.top}px`, width: `${width}px`, height: `${height}px` });
  }
  drawPicture();
  drawBoxes();
}

function drawPicture() {
  if (!app.project) return;
  const context = sharp(picture, view.width, view.height);
  context.clearRect(0, 0, view.width, view.height);
  context.imageSmoothingQuality = "high";
  if (shown.bitmap) context.drawImage(shown.bitmap, 0, 0, view.width, view.height);
}

/** Boxes belong to the frame whose picture is seen: never to one that is still on its way. */
function drawBoxes() {
  if (!app.project) return;
  const context = sharp(boxes, view.width, view.height);
  context.clearRect(0, 0, view.width, view.height);
  const frame = shown.frame ?? app.frame;
  named = [];
  for (const each of app.targets) {
    const mine = draft && draft.target === each.id && draft.frame === frame;
    const here = mine ? draft.box : row(each.id, frame)?.box;
    if (here) drawBox(context, each, here, row(each.id, frame), frame);
  }
  if (draft && draft.target === null) drawBox(context, { id: null, name: "", colour: colour("accent") }, draft.box, null, frame);
  drawHint();
  boxes.setAttribute("aria-label", `Video, frame ${frame}${spoken(frame)}`);
}

function spoken(frame) {
  const here = app.selected === null ? null : row(app.selected, frame);
  if (!here) return "";
  const [x, y, w, h] = here.box.map(Math.round);
  return `: ${target().name} at ${x}, ${y}, ${w} wide, ${h} high, ${isDrawn(app.selected, frame) ? "drawn by you" : here.state}`;
}

function drawBox(context, each, box, here, frame) {
  const [x, y, w, h] = box.map((value) => value * view.zoom);
  const selected = each.id === app.selected || each.id === null;
  const doubtful = here && here.state !== "tracking" && !isDrawn(each.id, frame);
  context.lineWidth = selected ? 5 : 4;
  context.strokeStyle = "rgb(0 0 0 / 55%)";
  context.setLineDash([]);
  context.strokeRect(x, y, w, h);
  context.lineWidth = selected ? 2.5 : 1.5;
  context.strokeStyle = each.colour;
  context.setLineDash(doubtful ? (here.state === "lost" ? [3, 5] : [9, 5]) : []);
  context.strokeRect(x, y, w, h);
  context.setLineDash([]);
  if (each.name) drawName(context, each, here, frame, x, y, h);
  if (!selected || isTracking()) return;
  for (const [cx, cy] of handles(box)) {
    context.fillStyle = "#fff";
    context.strokeStyle = "rgb(0 0 0 / 70%)";
    context.lineWidth = 1;
    context.fillRect(cx * view.zoom - 4, cy * view.zoom - 4, 8, 8);
    context.strokeRect(cx * view.zoom - 4, cy * view.zoom - 4, 8, 8);
  }
}

let named = []; // where names stand already, as left, top and width

/** The first of several heights at which a name is in the picture and covers no other; else the first in the picture. */
function freePlace(left, width, tops) {
  const inside = tops.filter((top) => top >= 1 && top <= view.height - 19);
  const covers = (top) => named.some((other) => Math.abs(top - other.top) < 19 && left < other.left + other.width && other.left < left + width);
  const top = inside.find((each) => !covers(each)) ?? inside[0] ?? 1;
  named.push({ left, top, width });
  return top;
}

function drawName(context, each, here, frame, x, y, h) {
  const words = here && !isDrawn(each.id, frame) ? `${each.name}  ${here.state} ${here.confidence.toFixed(2)}` : each.name;
  context.font = "600 12px system-ui, sans-serif";
  const width = context.measureText(words).width + 12;
  const left = Math.max(0, Math.min(x - 1, view.width - width));
  const top = freePlace(left, width, [y - 21, y + h + 3, y - 41, y + h + 23, y + 3]);
  context.fillStyle = "rgb(15 18 21 / 82%)";
  context.fillRect(left, top, width, 18);
  context.fillStyle = each.colour;
  context.fillRect(left, top, 3, 18);
  context.fillStyle = "#fff";
  context.fillText(words, left + 8, top + 13);
}

function drawHint() {
  const has = app.targets.some((each) => row(each.id));
  let words = "";
  if (!isTracking() && !draft && app.run.phase !== "paused") {
    if (!app.targets.length || ![...app.rows.values()].some((rows) => rows.length)) words = "Drag a box around what you want to follow (or press B)";
    else if (app.targets.length && !has) words = "Nothing is marked in this frame";
    else if (![...app.rows.values()].some((rows) => Object.keys(rows).length > 1)) words = "Now press Track, or the space bar";
  }
  by("hint").textContent = words;
}

const handles = ([x, y, w, h]) => [
  [x, y], [x + w / 2, y], [x + w, y], [x + w, y + h / 2], [x + w, y + h], [x + w / 2, y + h], [x, y + h], [x, y + h / 2],
];
const CURSORS = ["nwse", "ns", "nesw", "ew", "nwse", "ns", "nesw", "ew"];

const point = (event) => {
  const place = boxes.getBoundingClientRect();
  return [(event.clientX - place.left) / view.zoom, (event.clientY - place.top) / view.zoom];
};
const contains = ([x, y, w, h], [px, py]) => px >= x && py >= y && px <= x + w && py <= y + h;

/** What lies under a point: a handle or the inside of the selected box, or another target's box. */
function under(at) {
  const chosen = app.selected === null ? null : row(app.selected)?.box;
  if (chosen) {
    const reach = HANDLE / view.zoom;
    const handle = handles(chosen).findIndex(([x, y]) => Math.abs(x - at[0]) <= reach && Math.abs(y - at[1]) <= reach);
    if (handle >= 0) return { kind: "resize", handle, target: app.selected, box: chosen };
    if (contains(chosen, at)) return { kind: "move", target: app.selected, box: chosen };
  }
  const other = app.targets.find((each) => row(each.id) && contains(row(each.id).box, at));
  return other ? { kind: "move", target: other.id, box: row(other.id).box } : { kind: "draw" };
}

boxes.addEventListener("pointerdown", (event) => {
  if (event.button !== 0 || !app.project) return;
  if (isTracking()) return void pauseForEditing();
  event.preventDefault();
  boxes.focus({ focusVisible: false });
  boxes.setPointerCapture(event.pointerId);
  const at = point(event);
  drag = { ...under(at), start: at, moved: false };
  if (drag.target !== undefined && drag.target !== app.selected) {
    app.selected = drag.target;
    changed("targets");
  }
});

boxes.addEventListener("pointermove", (event) => {
  const at = point(event);
  if (!drag) {
    const { kind, handle } = isTracking() ? {} : under(at);
    boxes.style.cursor = kind === "resize" ? `${CURSORS[handle]}-resize` : kind === "move" ? "move" : isTracking() ? "default" : "crosshair";
    return;
  }
  const [dx, dy] = [at[0] - drag.start[0], at[1] - drag.start[1]];
  if (!drag.moved && Math.hypot(dx, dy) * view.zoom < 3) return;
  drag.moved = true;
  draft = { target: drag.kind === "draw" ? freeTarget() : drag.target, frame: app.frame, box: dragged(dx, dy) };
  drawBoxes();
});

const freeTarget = () => (app.selected !== null && !row(app.selected) ? app.selected : null);

function dragged(dx, dy) {
  if (drag.kind === "draw") return spanned(drag.start, [drag.start[0] + dx, drag.start[1] + dy]);
  const [x, y, w, h] = drag.box;
  if (drag.kind === "move") return within([x + dx, y + dy, w, h]);
  let [left, top, right, bottom] = [x, y, x + w, y + h];
  if ([0, 6, 7].includes(drag.handle)) left += dx;
  if ([2, 3, 4].includes(drag.handle)) right += dx;
  if ([0, 1, 2].includes(drag.handle)) top += dy;
  if ([4, 5, 6].includes(drag.handle)) bottom += dy;
  return spanned([left, top], [right, bottom]);
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

function spanned([ax, ay], [bx, by_]) {
  const { width, height } = app.project;
  const [x0, x1] = [clamp(Math.min(ax, bx), 0, width), clamp(Math.max(ax, bx), 0, width)];
  const [y0, y1] = [clamp(Math.min(ay, by_), 0, height), clamp(Math.max(ay, by_), 0, height)];
  return [x0, y0, x1 - x0, y1 - y0];
}

function within([x, y, w, h]) {
  return [clamp(x, 0, app.project.width - w), clamp(y, 0, app.project.height - h), w, h];
}

/** Send what was changed, once however often it is asked for; done when the server has it. */
function finish() {
  drag = null;
  if (draft && !draft.sent) {
    draft.sent = true;
    keeping = keep(draft);
  }
  return keeping;
}

async function keep(done) {
  if (done.box[2] >= SMALLEST && done.box[3] >= SMALLEST) {
    const id = done.target ?? (await newTarget())?.id;
    if (id !== undefined) await commitBox(id, done.frame, done.box.map((value) => Math.round(value * 100) / 100));
  }
  if (draft === done) draft = null;
  drawBoxes();
}

boxes.addEventListener("pointerup", finish);
boxes.addEventListener("pointercancel", () => {
  drag = draft = null;
  drawBoxes();
});

// ---------------------------------------------------------------- keys
let settling = null;

/** Arrow keys on the picture: a change is kept once the keys rest, as one step to undo. */
export function nudge(event) {
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const move = moves[event.key];
  if (move && draft?.target === null) return true; // it becomes a target's in a moment
  const base = draft?.target === app.selected ? draft.box : row(app.selected)?.box;
  if (!move || !base || isTracking()) return false;
  const step = event.ctrlKey || event.altKey ? 10 : 2;
  const [x, y, w, h] = base;
  const [dx, dy] = [move[0] * step, move[1] * step];
  const box = event.shiftKey
    ? spanned([x, y], [x + Math.max(SMALLEST, w + dx), y + Math.max(SMALLEST, h + dy)])
    : within([x + dx, y + dy, w, h]);
  draft = { target: app.selected, frame: app.frame, box };
  clearTimeout(settling);
  settling = setTimeout(finish, 350);
  drawBoxes();
  return true;
}

/** Keep at once what was changed; what is done next finds it at the server. */
export async function settle() {
  clearTimeout(settling);
  await (drag ? keeping : finish());
}

/** A box in the middle of the picture, for the keys to move. */
export async function boxByKey() {
  if (isTracking()) return;
  const { width, height } = app.project;
  const size = Math.min(width, height) / 4;
  draft = { target: freeTarget(), frame: app.frame, box: [(width - size) / 2, (height - size) / 2, size, size] };
  drawBoxes();
  await finish();
  boxes.focus();
}

on("picture", () => (drawPicture(), drawBoxes()));
on("rows targets run theme", drawBoxes);
on("project", layout);
new ResizeObserver(layout).observe(stage);
