// What the page knows. Modules read it freely, change it through `change`, and redraw when told.

export const app = {
  project: null, // { id, name, kind, frames, fps, width, height, recording }
  targets: [], // { id, name, colour }
  rows: new Map(), // target -> array by frame
  drawn: new Map(), // target -> set of frames
  selected: null, // a target's id
  frame: 0, // the one shown
  run: { phase: "idle", frame: null, fps: 0, problem: "" },
  playing: false,
  following: true, // whether the page shows the frames that the tracker is at
  undo: { can_undo: false, can_redo: false },
};

const listeners = new Map();

/** Call `act` after a change of any of the topics: project, targets, rows, frame, run, theme. */
export function on(topics, act) {
  for (const topic of topics.split(" ")) {
    if (!listeners.has(topic)) listeners.set(topic, new Set());
    listeners.get(topic).add(act);
  }
}

const pending = new Set();

/** Tell the listeners of a topic, once per drawn frame of the browser however often it changed. */
export function changed(...topics) {
  if (!pending.size) requestAnimationFrame(flush);
  topics.forEach((topic) => pending.add(topic));
}

function flush() {
  const acts = new Set([...pending].flatMap((topic) => [...(listeners.get(topic) || [])]));
  pending.clear();
  acts.forEach((act) => act());
}

export const target = (id = app.selected) => app.targets.find((each) => each.id === id) || null;
export const row = (id, frame = app.frame) => (app.rows.get(id) || [])[frame] || null;
export const isDrawn = (id, frame = app.frame) => Boolean(app.drawn.get(id)?.has(frame));
export const isTracking = () => app.run.phase === "tracking" || app.run.phase === "starting";

export function setRow(id, frame, value, drawn) {
  if (!app.rows.has(id)) app.rows.set(id, []);
  if (!app.drawn.has(id)) app.drawn.set(id, new Set());
  if (value) app.rows.get(id)[frame] = value;
  else delete app.rows.get(id)[frame];
  if (drawn === true) app.drawn.get(id).add(frame);
  if (drawn === false) app.drawn.get(id).delete(frame);
  changed("rows");
}

/** Frames worth a look: where a stretch of uncertain or lost frames begins, and every tenth frame of it. */
export function isDoubtful(id, frame) {
  const here = row(id, frame);
  if (!here || here.state === "tracking" || isDrawn(id, frame)) return false;
  let start = frame;
  while (start > 0) {
    const before = row(id, start - 1);
    if (!before || before.state === "tracking") break;
    start -= 1;
  }
  return (frame - start) % 10 === 0;
}
