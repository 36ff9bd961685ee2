// The dialog in which a file is chosen, made and fetched.

import { post, remove } from "./api.js";
import { app } from "./state.js";
import { by, element, progress } from "./ui.js";

const FORMATS = [
  ["cvat", "CVAT", "XML for video 1.1"],
  ["coco", "COCO", "JSON with track ids"],
  ["mot", "MOTChallenge", "text, all targets"],
  ["otb", "OTB", "one text file per target"],
  ["vot", "VOT", "one text file per target"],
  ["csv", "CSV", "a table"],
  ["jsonl", "JSON lines", "one object per box"],
  ["mp4", "Annotated video", "MP4 with the boxes drawn"],
  ["project", "Project", "to reopen everything here"],
];
const dialog = by("export-dialog");
let running = null;

export function openExport() {
  if (!app.project || dialog.open) return;
  finish("");
  dialog.showModal();
}

function finish(problem) {
  running = null;
  by("export-go").disabled = false;
  by("export-cancel").textContent = "Close";
  progress(by("exporting"), "");
  by("export-problem").textContent = problem;
}

async function start() {
  const format = chosen();
  const targets = by("only-selected").checked && format !== "project" && app.selected !== null ? [app.selected] : null;
  by("export-go").disabled = true;
  by("export-cancel").textContent = "Cancel";
  by("export-problem").textContent = "";
  progress(by("exporting"), "Writing…");
  try {
    running = (await post(`/api/projects/${app.project.id}/exports`, { format, targets, with_video: by("with-video").checked })).id;
    if (early.has(running)) hearExport(early.get(running));
  } catch (error) {
    finish(error.message);
  }
}

const early = new Map(); // what was told of exports before their names were known

/** News of an export, from the socket. */
export function hearExport(news) {
  if (news.id !== running) return void early.set(news.id, news);
  early.clear();
  if (news.problem) return void finish(capital(news.problem));
  if (!news.ready) return void progress(by("exporting"), "Writing…", news.done / news.total);
  const link = element("a", { href: `/api/exports/${news.id}/file`, download: news.ready });
  document.body.append(link);
  link.click();
  link.remove();
  finish("");
  dialog.close();
  by("saved").textContent = `Exported ${news.ready}`;
}

const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1) + (words.endsWith(".") ? "" : ".");
const chosen = () => dialog.querySelector("input[name=format]:checked").value;

function adapt() {
  by("with-video-line").hidden = chosen() !== "project";
  by("only-selected-line").hidden = chosen() === "project" || app.targets.length < 2;
}

by("formats").append(
  ...FORMATS.map(([value, name, words], index) => {
    const input = element("input", { type: "radio", name: "format", value, checked: index === 0 });
    return element("label", {}, input, element("span", {}, name, element("small", { textContent: words })));
  }),
);
by("formats").addEventListener("change", adapt);
by("export").addEventListener("click", () => (openExport(), adapt()));
dialog.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!running) start();
});
by("export-cancel").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => {
  if (running) remove(`/api/exports/${running}`).catch(() => {});
  finish("");
});
