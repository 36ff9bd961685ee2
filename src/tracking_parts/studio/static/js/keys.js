// The keyboard: one table for what keys do and for the help that shows them.

import { confirmBox, eraseBox, goTo, newTarget, nextDoubtful, redo, stepFrames, stopTracking, toggleCorrecting, togglePlaying, trackOne, trackOrPause, undo } from "./actions.js";
import { openExport } from "./exporting.js";
import { toggleInside } from "./inside.js";
import { boxByKey, nudge, settle } from "./stage.js";
import { app, changed, isTracking } from "./state.js";
import { by, element, toggleTheme } from "./ui.js";

const HELP = [
  ["Space", "track, pause, go on"],
  ["Shift Space", "track all targets again from here"],
  ["T", "track one frame"],
  ["Esc", "stop tracking"],
  ["N / Shift N", "next / last uncertain frame"],
  ["← →", "one frame; with Shift ten"],
  ["Home End", "first, last frame"],
  ["P", "play the video"],
  ["B", "new box in the middle of the picture"],
  ["on the picture: ← ↑ → ↓", "move the box; with Shift its size; with Ctrl faster"],
  ["C", "confirm the tracker's box"],
  ["R", "corrected boxes teach the tracker, or restart it"],
  ["Delete", "erase the box that you drew here"],
  ["Ctrl Z / Ctrl Shift Z", "undo, redo"],
  ["A", "new target"],
  ["1 … 9", "select a target"],
  ["E", "export"],
  ["X", "show or hide the inside of the tracker"],
  ["D", "light or dark"],
  ["?", "this help"],
];

const ACTS = {
  " ": (event) => trackOrPause(event.shiftKey),
  t: trackOne,
  escape: () => app.run.phase !== "idle" && stopTracking(),
  n: (event) => nextDoubtful(event.shiftKey ? -1 : 1),
  arrowleft: (event) => stepFrames(event.shiftKey ? -10 : -1),
  arrowright: (event) => stepFrames(event.shiftKey ? 10 : 1),
  home: () => goTo(0),
  end: () => goTo(app.project.frames - 1),
  p: togglePlaying,
  b: boxByKey,
  c: confirmBox,
  r: toggleCorrecting,
  delete: eraseBox,
  backspace: eraseBox,
  a: newTarget,
  e: () => by("export").click(),
  x: toggleInside,
};
const ANYWHERE = { d: toggleTheme, "?": showHelp };

export function showHelp() {
  if (!by("help-dialog").open) by("help-dialog").showModal();
}

function select(number) {
  const chosen = app.targets[number - 1];
  if (!chosen) return;
  app.selected = chosen.id;
  changed("targets", "rows");
}

document.addEventListener("keydown", async (event) => {
  if (document.querySelector("dialog[open]") || event.target.matches("input[type=text], input[type=color], select")) return;
  const key = event.key.toLowerCase();
  if ((event.ctrlKey || event.metaKey) && (key === "z" || key === "y")) {
    event.preventDefault();
    await settle();
    return void (key === "y" || event.shiftKey ? redo() : undo());
  }
  if (event.target === by("boxes") && nudge(event)) return void event.preventDefault();
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isButton = event.target.matches("button, summary, a");
  if (isButton && (key === " " || key === "enter")) return; // a focused button is pressed, nothing else
  const act = ANYWHERE[key] || (app.project && !by("work").hidden ? ACTS[key] : null);
  if (act) {
    event.preventDefault();
    await settle();
    act(event);
  } else if (app.project && /^[1-9]$/.test(key) && !isTracking()) select(Number(key));
});

by("keys").append(
  ...HELP.flatMap(([keys, words]) => [element("dt", {}, element("kbd", { textContent: keys })), element("dd", { textContent: words })]),
);
by("help").addEventListener("click", showHelp);
by("theme").addEventListener("click", toggleTheme);
export { openExport };
