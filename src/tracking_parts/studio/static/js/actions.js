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

/** Show a frame. `follow` is set while the tracker leads; a person who goes elsewhere meanwhile leaves it behind. */
export function goTo(frame, { follow = false } = {}) {
  if (!app.project) return;
  if (!follow && isTracking()) app.following = false;
  const chosen = Math.min(Math.max(0, Math.round(frame)), app.project.frames - 1);
  app.frame = chosen;
  wantPicture(chosen);
  changed("frame");
  if (follow) return;
  clearTimeout(telling);
  telling = setTimeout(() => link?.ask("show", { frame: chosen, follow: app.following }).catch(() => {}), 150);
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
  const answer = await ask("delete_target", { target: id });
  if (!answer) return;
  app.targets = app.targets.filter((each) => each.id !== id);
  app.rows.delete(id);
  app.drawn.delete(id);
  if (app.selected === id) app.selected = app.targets[0]?.id ?? null;
  takeUndo(answer.undo);
  changed("targets", "rows", "frame");
}

// ---------------------------------------------------------------- boxes, and undoing them
export function takeUndo(state) {
  app.undo = state;
  changed("undo");
}

/** Draw or erase a box (null). The server remembers how to undo it. */
export async function commitBox(id, frame, box) {
  const answer = await ask(box ? "draw" : "erase", { target: id, frame, box });
  if (!answer) return;
  setRow(id, frame, answer.row, Boolean(box));
  takeUndo(answer.undo);
  changed("frame");
}

export const undo = () => replay("undo", "There is nothing to undo.");
export const redo = () => replay("redo", "There is nothing to redo.");

async function replay(name, otherwise) {
  if (isTracking()) await pauseForEditing();
  const answer = await ask(name);
  if (!answer) return;
  takeUndo(answer.undo);
  if (!answer.step) return void toast(otherwise);
  const { target: id, frame, row: here, drawn } = answer.step;
  setRow(id, frame, here, drawn);
  goTo(frame);
}

/** What a corrected box does: teach the tracker, or start it anew. */
export async function correctBy(how) {
  if (await ask("correct_by", { how })) app.project.correcting = how;
  changed("project");
}

export async function toggleCorrecting() {
  await correctBy(app.project.correcting === "teach" ? "anew" : "teach");
  toast(app.project.correcting === "teach" ? "A corrected box teaches the tracker." : "A corrected box starts the tracker anew.");
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
  app.following = true; // also for the frame whose showing is still to be told
  if (await ask("track", { frame: app.frame, everyone })) by("boxes").focus({ focusVisible: false });
}

export async function trackOne() {
  stopPlaying();
  if (isTracking()) return;
  app.following = true;
  await ask("step", { frame: app.frame });
}

export const stopTracking = () => ask("stop");

export async function pauseForEditing() {
  if (await ask("pause")) toast("Paused. Correct the box, then press Track to go on.");
}
