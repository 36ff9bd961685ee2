// Small pieces: finding elements, words that come and go, questions, the theme.

import { changed } from "./state.js";

export const by = (id) => document.getElementById(id);

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** A line at the bottom that goes away by itself; with an action it stays longer. */
export function toast(words, { problem = false, action = null } = {}) {
  const line = element("div", { className: problem ? "toast problem" : "toast" }, words);
  if (action) {
    const button = element("button", { type: "button", textContent: action.words });
    button.onclick = () => (line.remove(), action.act());
    line.append(button);
  }
  by("toasts").append(line);
  while (by("toasts").children.length > 3) by("toasts").firstChild.remove();
  setTimeout(() => line.remove(), problem || action ? 9000 : 3500);
}

export const complain = (error) => toast(error.message || String(error), { problem: true });

/** Ask something; gives the answer's key, or null where the person turned away. */
export function question(title, words, answers) {
  const dialog = by("question");
  by("question-title").textContent = title;
  by("question-words").textContent = words;
  by("question-actions").replaceChildren(
    ...answers.map(([key, label, kind]) => element("button", { value: key, textContent: label, className: kind || "" })),
  );
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue || null), { once: true }));
}

/** Show how far something is; `share` null means that nobody knows. No words hide it. */
export function progress(box, words, share = null) {
  box.hidden = !words;
  box.querySelector("span").textContent = words || "";
  const bar = box.querySelector("progress");
  if (share === null) bar.removeAttribute("value");
  else bar.value = share;
}

const system = matchMedia("(prefers-color-scheme: dark)");
let chosen = localStorage.getItem("theme");

function applyTheme() {
  document.documentElement.dataset.theme = chosen || (system.matches ? "dark" : "light");
  changed("theme");
}

export function toggleTheme() {
  chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("theme", chosen);
  applyTheme();
}

export function startTheme() {
  system.addEventListener("change", applyTheme);
  applyTheme();
}

/** A colour of the style sheet by its name. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Make a canvas as sharp as the screen; gives its context in CSS pixels. */
export function sharp(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
