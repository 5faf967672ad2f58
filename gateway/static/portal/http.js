// Talking to the portal with the login cookie: JSON in and out, and fragments of HTML.

export class Refused extends Error {
  constructor(status, body) {
    super(body.message ?? `HTTP ${status}`);
    this.status = status;
    this.body = body;
  }
}

const csrf = () => document.body.dataset.csrf;

export async function post(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrf() },
    body: JSON.stringify(body),
  });
  const json = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, json);
  return json;
}

export async function fragment(path) {
  const answer = await fetch(path, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Refused(answer.status, {});
  const holder = document.createElement("template");
  holder.innerHTML = await answer.text();
  return holder.content;
}

export async function json(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Refused(answer.status, {});
  return answer.json();
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
    request.onerror = () => reject(new Refused(0, {}));
    request.onload = () => {
      if (request.status < 300) resolve(request.response);
      else reject(new Refused(request.status, request.response ?? {}));
    };
    request.send(form);
  });
}
