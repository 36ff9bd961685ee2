// The list of targets: their names, colours and how they fare in this frame.

import { changeTarget, deleteTarget, newTarget } from "./actions.js";
import { app, changed, isDrawn, on, row } from "./state.js";
import { by, element, question, toast } from "./ui.js";

const list = by("targets");

function draw() {
  if (!app.project) return;
  if (list.contains(document.activeElement) && document.activeElement.matches("input")) return void update();
  if (!app.targets.length) {
    list.replaceChildren(element("li", { className: "empty", textContent: "None yet. Drag a box on the video." }));
    return;
  }
  list.replaceChildren(...app.targets.map(line));
  update();
}

function line(target) {
  const paint = element("input", { type: "color", value: target.colour, title: "Colour" });
  paint.setAttribute("aria-label", `Colour of ${target.name}`);
  const name = element("input", { type: "text", value: target.name, maxLength: 80 });
  name.setAttribute("aria-label", "Name of the target");
  const remove = element("button", { type: "button", className: "quiet", textContent: "×", title: "Delete this target" });
  remove.setAttribute("aria-label", `Delete ${target.name}`);
  const made = element("li", {}, paint, name, element("span", { className: "chip" }), remove);
  made.dataset.target = target.id;
  const select = () => {
    if (app.selected === target.id) return;
    app.selected = target.id;
    changed("rows");
    update();
  };
  made.addEventListener("pointerdown", select);
  made.addEventListener("focusin", select);
  paint.addEventListener("change", () => changeTarget(target.id, target.name, paint.value));
  name.addEventListener("change", () => changeTarget(target.id, name.value, target.colour));
  name.addEventListener("keydown", (event) => event.key === "Enter" && name.blur());
  remove.addEventListener("click", () => confirmDelete(target));
  return made;
}

async function confirmDelete(target) {
  const rows = Object.keys(app.rows.get(target.id) || []).length;
  if (rows > 1 && (await question(`Delete ${target.name}?`, `Its boxes in ${rows} frames go with it. This cannot be undone.`, [["", "Keep it"], ["delete", "Delete", "danger"]])) !== "delete") return;
  await deleteTarget(target.id);
}

function update() {
  for (const each of list.querySelectorAll("li[data-target]")) {
    const id = Number(each.dataset.target);
    const here = row(id);
    each.setAttribute("aria-current", id === app.selected);
    const chip = each.querySelector(".chip");
    chip.textContent = here ? (isDrawn(id) ? "drawn" : here.state) : "";
    chip.dataset.state = here ? here.state : "";
  }
}

by("add").addEventListener("click", async () => {
  if (await newTarget()) toast("Now drag a box around it.");
});
on("project targets", draw);
on("rows frame", update);
