// Everything that a person can do to a project. The server decides; the page follows its answers.

import { hasPicture, loadAhead, wantPicture } from "./frames.js";
import { app, changed, isDoubtful, isDrawn, isTracking, row, setRow, target } from "./state.js";
import { by, complain, toast } from "./ui.js";

let link = null;
export const useLink = (value) => (link = value);

async function ask(name, values) {
  try {
    return await link.ask(name, values);
  } catch (error) {
    complain(error);
    return null;
  }
}

// ---------------------------------------------------------------- frames
let telling = null;

/** Show a frame. `follow` is set while the tracker leads. */
export function goTo(frame, { follow = false } = {}) {
  if (!app.project) return;
  const chosen = Math.min(Math.max(0, Math.round(frame)), app.project.frames - 1);
  app.frame = chosen;
  wantPicture(chosen);
  changed("frame");
  if (follow) return;
  clearTimeout(telling);
  telling = setTimeout(() => link?.ask("show", { frame: chosen, follow: false }).catch(() => {}), 150);
}

export const stepFrames = (count) => (stopPlaying(), goTo(app.frame + count));

export function togglePlaying() {
  app.playing = !app.playing && !isTracking();
  changed("run");
  if (app.playing) play();
}

export function stopPlaying() {
  if (app.playing) changed("run");
  app.playing = false;
}

async function play() {
  const pace = 1000 / (app.project.fps || 25);
  let due = performance.now();
  while (app.playing && app.frame < app.project.frames - 1) {
    due += pace;
    if (!hasPicture(app.frame + 1)) await loadAhead(app.frame + 1, 1);
    loadAhead(app.frame + 2, 6);
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    else due = performance.now();
    if (app.playing) goTo(app.frame + 1);
  }
  stopPlaying();
}

/** The next frame, or the one before, that deserves a look. Prefers the selected target; with none, any. */
export function nextDoubtful(direction = 1) {
  const ids = app.selected === null ? app.targets.map((each) => each.id) : [app.selected];
  for (let frame = app.frame + direction; frame >= 0 && frame < app.project.frames; frame += direction) {
    if (ids.some((id) => isDoubtful(id, frame))) return void goTo(frame);
  }
  toast(direction > 0 ? "No uncertain frame after this one." : "No uncertain frame before this one.");
}

// ---------------------------------------------------------------- targets
export async function newTarget() {
  const answer = await ask("add_target", {});
  if (!answer) return null;
  app.targets.push(answer.target);
  app.selected = answer.target.id;
  changed("targets");
  return answer.target;
}

export async function changeTarget(id, name, colour) {
  const answer = await ask("rename_target", { target: id, name, colour });
  if (answer) Object.assign(target(id), answer.target);
  changed("targets", "rows");
}

export async function deleteTarget(id) {
  if (!(await ask("delete_target", { target: id }))) return;
  app.targets = app.targets.filter((each) => each.id !== id);
  app.rows.delete(id);
  app.drawn.delete(id);
  if (app.selected === id) app.selected = app.targets[0]?.id ?? null;
  forget((step) => step.target === id);
  changed("targets", "rows", "frame");
}

// ---------------------------------------------------------------- boxes, and undoing them
let done = [];
let undone = [];

function forget(which) {
  done = done.filter((step) => !which(step));
  undone = undone.filter((step) => !which(step));
  changed("undo");
}

export const undoState = () => ({ canUndo: done.length > 0, canRedo: undone.length > 0 });
export const clearUndo = () => forget(() => true);

async function put(id, frame, box) {
  const answer = await ask(box ? "draw" : "erase", { target: id, frame, box });
  if (answer) setRow(id, frame, answer.row, Boolean(box));
  return Boolean(answer);
}

/** Draw or erase a box (null), so that it can be undone. */
export async function commitBox(id, frame, box) {
  const before = isDrawn(id, frame) ? row(id, frame)?.box : null;
  if (!(await put(id, frame, box))) return;
  done.push({ target: id, frame, before, after: box });
  undone = [];
  changed("undo", "frame");
}

export async function undo() {
  const step = done.pop();
  if (step) await replay(step, step.before, undone);
}

export async function redo() {
  const step = undone.pop();
  if (step) await replay(step, step.after, done);
}

async function replay(step, box, pile) {
  if (isTracking()) await pauseForEditing();
  if (step.frame !== app.frame) goTo(step.frame);
  if (await put(step.target, step.frame, box)) pile.push(step);
  changed("undo", "frame");
}

/** Say that the tracker is right here: its box counts as drawn. */
export async function confirmBox() {
  const here = row(app.selected);
  if (!here || isTracking()) return;
  await commitBox(app.selected, app.frame, here.box);
  toast("Confirmed as drawn by you.");
}

export async function eraseBox() {
  if (isDrawn(app.selected)) await commitBox(app.selected, app.frame, null);
  else if (row(app.selected)) toast("Only boxes that you drew can be erased; draw one to correct this.");
}

// ---------------------------------------------------------------- tracking
export async function trackOrPause(everyone = false) {
  stopPlaying();
  if (app.run.phase === "tracking") return void (await ask("pause"));
  if (app.run.phase === "starting") return;
  if (await ask("track", { frame: app.frame, everyone })) by("boxes").focus({ focusVisible: false });
}

export async function trackOne() {
  stopPlaying();
  if (!isTracking()) await ask("step", { frame: app.frame });
}

export const stopTracking = () => ask("stop");

export async function pauseForEditing() {
  if (await ask("pause")) toast("Paused. Correct the box, then press Track to go on.");
}
