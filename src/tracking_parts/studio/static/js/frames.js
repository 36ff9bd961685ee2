// Pictures of the video: fetched one at a time, the newest wish first, the last ones kept.

import { app, changed } from "./state.js";
import { complain } from "./ui.js";

const KEPT = 48;
const kept = new Map(); // frame -> bitmap
let wanted = null;
let fetching = false;
export const shown = { frame: null, bitmap: null };

export function forgetPictures() {
  kept.forEach((bitmap) => bitmap.close());
  kept.clear();
  Object.assign(shown, { frame: null, bitmap: null });
  wanted = null;
}

function keep(frame, bitmap) {
  kept.delete(frame);
  kept.set(frame, bitmap);
  while (kept.size > KEPT) {
    const [oldest, picture] = kept.entries().next().value;
    kept.delete(oldest);
    if (picture !== shown.bitmap) picture.close();
  }
}

function present(frame, bitmap) {
  Object.assign(shown, { frame, bitmap });
  changed("picture");
}

/** Show a frame as soon as its picture is here. */
export function wantPicture(frame) {
  if (kept.has(frame)) {
    wanted = null;
    present(frame, kept.get(frame));
    return;
  }
  wanted = frame;
  if (!fetching) fetchNext();
}

const widthOf = () => Math.min(1920, Math.max(480, Math.ceil((innerWidth * (devicePixelRatio || 1)) / 320) * 320));

async function load(frame) {
  const project = app.project.id;
  const response = await fetch(`/api/projects/${project}/frames/${frame}.jpg?w=${widthOf()}`);
  if (!response.ok) throw new Error((await response.json().catch(() => ({}))).message || "This frame cannot be shown.");
  const bitmap = await createImageBitmap(await response.blob());
  if (app.project?.id !== project) return bitmap.close();
  keep(frame, bitmap);
  return bitmap;
}

async function fetchNext() {
  fetching = true;
  while (wanted !== null) {
    const frame = wanted;
    try {
      const bitmap = await load(frame);
      if (wanted === frame) {
        wanted = null;
        if (bitmap) present(frame, bitmap);
      }
    } catch (error) {
      if (wanted === frame) wanted = null;
      complain(error);
    }
  }
  fetching = false;
}

/** Load the frames after this one in advance, for playing. */
export async function loadAhead(frame, count) {
  for (let next = frame; next < Math.min(frame + count, app.project.frames); next += 1) {
    if (!kept.has(next) && !fetching) await load(next).catch(() => {});
  }
}

export const hasPicture = (frame) => kept.has(frame);

/** A picture that the tracker sent with its answer. */
export async function receivePicture(frame, blob) {
  const bitmap = await createImageBitmap(blob);
  keep(frame, bitmap);
  return frame;
}
