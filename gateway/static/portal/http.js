// Talking to the portal with the login cookie: JSON in and out, and fragments of HTML.
import { word } from "./words.js";

const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 30000;

export class Refused extends Error {
  // `status` 0 means that there was no answer.
  constructor(status, body = {}) {
    super(body?.message ?? (status ? `HTTP ${status}` : word("offline")));
    this.status = status;
  }
}

// The cookie is newer than the page when somebody logged in again in another tab.
function csrf() {
  return document.cookie.match(/(?:^|; )hermes_csrf=([^;]+)/)?.[1] ?? document.body.dataset.csrf;
}

async function ask(path, options = {}) {
  const answer = await fetch(path, options).catch(() => {
    throw new Refused(0);
  });
  // A redirect leads to the login page, which is not what was asked for.
  if (answer.redirected) throw new Refused(401);
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
  return answer;
}

export async function post(path, body) {
  const answer = await ask(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrf() },
    body: JSON.stringify(body),
  });
  return answer.json();
}

export async function fragment(path) {
  const answer = await ask(path, { headers: { Accept: "text/html" } });
  const holder = document.createElement("template");
  holder.innerHTML = await answer.text();
  return holder.content;
}

// The fragment, however long it takes; given up when it is not there, or not `wanted` any more.
export async function fragmentAtLast(path, wanted = () => true) {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    try {
      return await fragment(path);
    } catch (error) {
      if (error.status === 404 || !wanted()) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

export async function json(path) {
  return (await ask(path)).json();
}

// With progress, which fetch does not tell.
export function upload(file, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const form = new FormData();
    form.append("file", file);
    request.open("POST", "/api/v1/files");
    request.setRequestHeader("X-CSRFToken", csrf());
    request.responseType = "json";
    request.upload.onprogress = (event) => onProgress(event.loaded / event.total);
    request.onerror = () => reject(new Refused(0));
    request.onload = () => {
      if (request.status < 300) resolve(request.response);
      else reject(new Refused(request.status, request.response));
    };
    request.send(form);
  });
}
