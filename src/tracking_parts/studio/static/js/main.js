// Where everything comes together: which screen is shown, and what the socket says.

import { correctBy, goTo, nextDoubtful, stepFrames, stopTracking, takeUndo, togglePlaying, trackOne, trackOrPause, undo, useLink } from "./actions.js";
import { Link, get, post } from "./api.js";
import { hearExport } from "./exporting.js";
import { forgetPictures, receivePicture } from "./frames.js";
import { toggleInside } from "./inside.js";
import "./keys.js";
import { settle } from "./stage.js";
import { onEnter, showStart } from "./start.js";
import { app, changed, isDrawn, isTracking, on, row } from "./state.js";
import "./targets.js";
import { makeLegend } from "./timeline.js";
import { by, complain, progress, question, startTheme, toast } from "./ui.js";

let link = null;

// ---------------------------------------------------------------- screens
const enter = (id) => (location.hash = `project=${id}`);
onEnter(enter);

async function route(first = false) {
  const id = new URLSearchParams(location.hash.slice(1)).get("project");
  link?.close();
  useLink((link = null));
  forgetPictures();
  takeUndo({ can_undo: false, can_redo: false });
  Object.assign(app, { project: null, targets: [], rows: new Map(), drawn: new Map(), selected: null, playing: false });
  show(Boolean(id));
  if (id) return void openProject(id);
  document.title = "Studio – tracking-parts";
  by("title").textContent = "Follow something through a video";
  const offers = await showStart();
  if (first && offers?.given) post("/api/open", { kind: "file", name: offers.given }).then((made) => enter(made.id), complain);
}

function show(working) {
  by("start").hidden = working;
  by("work").hidden = !working;
  for (const id of ["export", "undo"]) by(id).hidden = true; // until there is a project
  by("stop-recording").hidden = true;
  by("saved").textContent = "";
}

function openProject(id) {
  by("work").classList.add("opening");
  by("title").textContent = "Opening…";
  progress(by("busy"), "Opening the project…");
  link = new Link(id, hear, seePicture, trouble);
  useLink(link);
  link.open();
}

async function trouble(code, reason) {
  if (code === 4004) {
    complain(new Error(reason || "There is no such project any more."));
    location.hash = "";
  } else if (code === 4001) {
    const answer = await question("This project is open in another tab", "Two tabs would draw over each other.", [["leave", "Go back"], ["copy", "Work on a copy"], ["take", "Take over here", "primary"]]);
    if (answer === "take") link.open(true);
    else if (answer === "copy") post(`/api/projects/${link.project}/copy`).then((made) => enter(made.id), complain);
    else location.hash = "";
  } else progress(by("busy"), "The studio does not answer. Trying again…");
}

// ---------------------------------------------------------------- what the server says
const HEARD = {
  hello: welcome,
  rows: ({ rows }) => takeRows(rows),
  speed: ({ frame, fps }) => (Object.assign(app.run, { frame, fps }), changed("run")),
  run: ({ run }) => takeRun(run),
  busy: ({ words, done, total }) => progress(by("busy"), words ? `${words}…` : "", total ? done / total : null),
  export: hearExport,
  frames: ({ frames }) => (Object.assign(app.project, { frames }), changed("project", "frame")),
  recording: ({ recording }) => (Object.assign(app.project, { recording }), changed("run")),
  taken: () => leaveTo("This project was opened in another tab."),
};
const hear = (message) => (app.project || message.kind === "hello") && HEARD[message.kind]?.(message);

function leaveTo(words) {
  link.close();
  location.hash = "";
  toast(words);
}

async function welcome({ project, targets, run, undo: undoable }) {
  const content = await get(`/api/projects/${project.id}/rows`).catch((error) => (complain(error), {}));
  Object.assign(app, { project, targets, run, rows: new Map(), drawn: new Map() });
  for (const [id, { rows, drawn }] of Object.entries(content)) {
    const byFrame = [];
    rows.forEach((each) => (byFrame[each.frame] = each));
    app.rows.set(Number(id), byFrame);
    app.drawn.set(Number(id), new Set(drawn));
  }
  takeUndo(undoable);
  by("work").classList.remove("opening");
  by("export").hidden = by("undo").hidden = false;
  app.selected = targets.some((each) => each.id === app.selected) ? app.selected : targets[0]?.id ?? null;
  document.title = `${project.name} – Studio`;
  by("title").textContent = project.name;
  progress(by("busy"), "");
  changed("project", "targets", "rows", "run");
  goTo(isTracking() && run.frame >= 0 ? run.frame : project.frame, { follow: isTracking() });
}

function takeRows(rows) {
  for (const [id, several] of Object.entries(rows)) {
    const mine = app.rows.get(Number(id)) || [];
    several.forEach((each) => (mine[each.frame] = each));
    app.rows.set(Number(id), mine);
  }
  changed("rows");
}

function takeRun(run) {
  const before = app.run.phase;
  app.run = run;
  if (run.problem) complain(new Error(run.problem));
  if (["paused", "done"].includes(run.phase) && run.frame !== null && run.frame >= 0 && before !== run.phase && app.following) goTo(run.frame);
  if (run.phase === "done") app.run = { ...run, phase: "idle" };
  if (run.phase === "failed") app.run = { ...run, phase: "idle" };
  if (["starting", "tracking"].includes(run.phase) && !["starting", "tracking"].includes(before)) app.following = true;
  changed("run", "rows");
}

async function seePicture(frame, blob) {
  await receivePicture(frame, blob);
  if (app.project && isTracking() && app.following) goTo(frame, { follow: true });
}

// ---------------------------------------------------------------- the tool bar
function drawBar() {
  if (!app.project) return;
  const tracking = isTracking();
  by("track").textContent = app.run.phase === "starting" ? "Starting…" : tracking ? "Pause" : app.run.phase === "paused" ? "Go on" : "Track";
  by("track").disabled = app.run.phase === "starting";
  by("step").disabled = tracking;
  by("stop").disabled = app.run.phase === "idle";
  by("play").textContent = app.playing ? "Pause" : "Play";
  by("play").disabled = tracking;
  by("speed").textContent = tracking && app.run.fps ? `${app.run.fps.toFixed(1)} fps` : "";
  by("position").textContent = `frame ${app.frame} of ${app.project.frames - 1}`;
  const here = app.selected === null ? null : row(app.selected);
  by("state").textContent = here ? (isDrawn(app.selected) ? "drawn by you" : here.state) : "";
  by("state").dataset.state = here ? here.state : "";
  by("stop-recording").hidden = !app.project.recording;
}

on("project run frame rows", drawBar);
on("undo project", () => (by("undo").disabled = !app.undo.can_undo));
on("project", () => app.project && (by("correcting").value = app.project.correcting));
by("correcting").onchange = () => correctBy(by("correcting").value);
/** A button's act, on the box that is seen: one just drawn may still be on its way. */
const settled = (act) => async () => (await settle(), act());
by("track").onclick = settled(() => trackOrPause());
by("step").onclick = settled(trackOne);
by("stop").onclick = stopTracking;
by("play").onclick = togglePlaying;
by("back").onclick = () => stepFrames(-1);
by("forward").onclick = () => stepFrames(1);
by("uncertain").onclick = () => nextDoubtful();
by("undo").onclick = settled(undo);
by("inside-toggle").onclick = toggleInside;
by("home").onclick = () => (location.hash = "");
by("stop-recording").onclick = () => post(`/api/projects/${app.project.id}/recording/stop`).catch(complain);

if (location.search.includes("token=")) history.replaceState(null, "", location.pathname + location.hash);
startTheme();
makeLegend();
addEventListener("hashchange", () => route());
route(true);
