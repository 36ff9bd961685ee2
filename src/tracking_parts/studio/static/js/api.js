// Talking to the server: requests by HTTP, one socket per tab and project.

async function answerOf(response) {
  const content = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(content.message || "The studio did not answer. Is it still running?");
  return content;
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The studio does not answer. Is it still running?");
  }
  return answerOf(response);
}

export const get = (path) => request(path);
export const remove = (path) => request(path, { method: "DELETE" });
export const post = (path, content = {}) =>
  request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) });

/** Upload with word of how much is done, from 0 to 1. */
export function upload(file, onProgress) {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    sending.open("POST", `/api/uploads?name=${encodeURIComponent(file.name.slice(0, 200))}`);
    sending.responseType = "json";
    sending.upload.onprogress = (event) => onProgress(event.lengthComputable ? event.loaded / event.total : null);
    sending.upload.onload = () => onProgress(null);
    sending.onerror = () => reject(new Error("The upload was broken off. Is the studio still running?"));
    sending.onload = () => {
      const content = sending.response || {};
      if (sending.status < 400) resolve(content);
      else reject(new Error(content.message || "This file was refused."));
    };
    sending.send(file);
  });
}

const TAB = sessionStorage.getItem("tab") || crypto.getRandomValues(new Uint32Array(4)).join("-");
sessionStorage.setItem("tab", TAB);

/** The socket of a project. Comes back by itself when the connection breaks. */
export class Link {
  constructor(project, onMessage, onPicture, onTrouble) {
    Object.assign(this, { project, onMessage, onPicture, onTrouble });
    this.number = 0;
    this.waiting = new Map();
    this.closed = false;
    this.tries = 0;
  }

  open(take = false) {
    const address = new URL(`/api/projects/${this.project}/socket`, location.href);
    address.protocol = "ws:";
    address.search = new URLSearchParams({ tab: TAB, take });
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.onmessage = (event) => this.receive(event.data);
    this.socket.onclose = (event) => this.lost(event);
  }

  receive(data) {
    if (typeof data !== "string") {
      const frame = new DataView(data).getUint32(0, true);
      this.onPicture(frame, new Blob([new Uint8Array(data, 4)], { type: "image/jpeg" }));
      return;
    }
    const message = JSON.parse(data);
    if (message.kind !== "reply") {
      this.tries = 0;
      this.onMessage(message);
      return;
    }
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (!waiting) return;
    if (message.ok) waiting.resolve(message);
    else waiting.reject(new Error(message.message));
  }

  lost(event) {
    for (const { reject } of this.waiting.values()) reject(new Error("The studio does not answer. Is it still running?"));
    this.waiting.clear();
    if (this.closed) return;
    this.onTrouble(event.code, event.reason);
    if (event.code === 4001 || event.code === 4004) return;
    this.tries += 1;
    setTimeout(() => this.closed || this.open(), Math.min(5000, 300 * 2 ** this.tries));
  }

  ask(name, values = {}) {
    if (this.socket?.readyState !== WebSocket.OPEN) return Promise.reject(new Error("The studio does not answer. Is it still running?"));
    this.number += 1;
    const id = this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ id, do: name, ...values }));
    });
  }

  close() {
    this.closed = true;
    this.socket?.close();
  }
}
