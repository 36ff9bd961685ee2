// The first screen: the sample, a file, a camera, the opened folder, earlier projects.

import { get, post, remove, upload } from "./api.js";
import { by, complain, element, progress, question } from "./ui.js";

let enter = () => {};
let limits = { largest_upload: Infinity };
export const onEnter = (act) => (enter = act);

export async function showStart() {
  progress(by("opening"), "");
  try {
    const offers = await get("/api/start");
    limits = offers;
    draw(offers);
    return offers;
  } catch (error) {
    complain(error);
    return null;
  }
}

function draw(offers) {
  by("open-camera").disabled = !offers.cameras.length;
  by("camera-words").textContent = offers.cameras.length ? "Of the computer that runs the studio." : "There is none on the computer that runs the studio.";
  by("open-camera").onclick = () => chooseCamera(offers.cameras);
  by("folder").hidden = !offers.files.length;
  by("folder-name").textContent = offers.folder || "";
  by("files").replaceChildren(...offers.files.map((name) => element("li", {}, opener(name, "", () => open({ kind: "file", name }, "Opening the video…")))));
  by("recent").hidden = !offers.projects.length;
  by("projects").replaceChildren(...offers.projects.map(projectLine));
}

function opener(name, detail, act) {
  const button = element("button", { type: "button", className: "open quiet" }, element("strong", { textContent: name }), element("span", { className: "muted", textContent: detail }));
  button.onclick = act;
  return button;
}

const PROBLEMS = {
  gone: "the video is gone",
  "its video is elsewhere": "its video lies outside the folder that was opened; start the studio with it: stp studio VIDEO",
};

function projectLine(project) {
  const day = new Date(project.opened * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  const detail = PROBLEMS[project.problem] || `${project.frames} frames · ${day}`;
  const button = opener(project.name, detail, () => enter(project.id));
  button.disabled = Boolean(project.problem);
  const erase = element("button", { type: "button", className: "quiet", textContent: "Delete" });
  erase.setAttribute("aria-label", `Delete ${project.name}`);
  erase.onclick = async () => {
    const words = "Its boxes go with it, and the video if it was uploaded or recorded here. This cannot be undone.";
    if ((await question(`Delete ${project.name}?`, words, [["", "Keep it"], ["delete", "Delete", "danger"]])) !== "delete") return;
    await remove(`/api/projects/${project.id}`).catch(complain);
    showStart();
  };
  return element("li", {}, button, erase);
}

async function chooseCamera(cameras) {
  const number = cameras.length === 1 ? cameras[0] : await question("Which camera?", "", cameras.map((each) => [each, `Camera ${each}`]));
  if (number) open({ kind: "camera", name: number }, "Starting the camera…");
}

async function open(wanted, words) {
  progress(by("opening"), words);
  try {
    enter((await post("/api/open", wanted)).id);
  } catch (error) {
    complain(error);
  }
  progress(by("opening"), "");
}

async function send(file) {
  if (file.size > limits.largest_upload) {
    return void complain(new Error(`This file is larger than ${Math.round(limits.largest_upload / 2 ** 20)} MB. Open it by its path instead: stp studio VIDEO`));
  }
  const name = file.name;
  progress(by("opening"), `Uploading ${name}…`, 0);
  try {
    const made = await upload(file, (share) => progress(by("opening"), share === null ? `Opening ${name}…` : `Uploading ${name}…`, share));
    enter(made.id);
  } catch (error) {
    complain(error);
  }
  progress(by("opening"), "");
}

by("open-clip").onclick = () => open({ kind: "clip" }, "Opening the sample clip (fetched once, 2 MB)…");
by("open-upload").onclick = () => by("file").click();
by("file").onchange = () => {
  const [file] = by("file").files;
  by("file").value = "";
  if (file) send(file);
};
const zone = document.querySelector(".choices");
for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
  by("start").addEventListener(name, (event) => {
    event.preventDefault();
    zone.classList.toggle("dropping", name === "dragenter" || name === "dragover");
    if (name === "drop" && event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
  });
}
