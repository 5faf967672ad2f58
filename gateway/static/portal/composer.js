// Writing a message: growing box, drafts, files, and sending that loses nothing.
import { Refused, upload } from "./http.js";
import { word } from "./words.js";

export class Composer {
  // `send` takes {text, client_id, files} and throws when the message was not accepted.
  constructor(form, { key, max, send }) {
    this.form = form;
    this.text = form.querySelector("textarea");
    this.list = form.querySelector("[data-files]");
    this.note = form.querySelector("[data-state]");
    this.key = key;
    this.max = max;
    this.send = send;
    this.files = [];
    this.text.value = localStorage.getItem(this.key) ?? "";
    this.grow();
    this.text.addEventListener("input", () => this.typed());
    this.text.addEventListener("keydown", (event) => this.pressed(event));
    this.text.addEventListener("paste", (event) => this.attach(event.clipboardData.files));
    form.querySelector("[data-attach]").addEventListener("change", (event) => {
      this.attach(event.target.files);
      event.target.value = "";
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    for (const kind of ["dragover", "drop"]) {
      document.addEventListener(kind, (event) => event.preventDefault());
    }
    document.addEventListener("drop", (event) => this.attach(event.dataTransfer.files));
  }

  typed() {
    localStorage.setItem(this.key, this.text.value);
    this.grow();
  }

  grow() {
    this.text.rows = 1;
    const line = parseFloat(getComputedStyle(this.text).lineHeight) || 24;
    const most = Math.floor((innerHeight * 0.4) / line);
    this.text.rows = Math.max(1, Math.min(most, Math.round((this.text.scrollHeight - 16) / line)));
  }

  pressed(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.submit();
    }
  }

  fill(text) {
    this.text.value = text;
    this.typed();
    this.text.focus();
  }

  async attach(files) {
    for (const file of files) {
      const item = document.createElement("li");
      item.textContent = file.name;
      this.list.append(item);
      try {
        const kept = await upload(file, (part) => {
          item.dataset.progress = `${Math.round(part * 100)} %`;
        });
        this.files.push(kept.id);
      } catch (error) {
        item.className = "error";
        item.textContent = `${file.name}: ${error.message}`;
      }
    }
  }

  async submit() {
    const text = this.text.value;
    if (!text.trim()) return;
    if (text.length > this.max) return this.say(word("long"));
    const message = { text, client_id: crypto.randomUUID(), files: this.files };
    this.text.value = "";
    this.grow();
    this.say("");
    try {
      await this.send(message);
      localStorage.removeItem(this.key);
      this.files = [];
      this.list.replaceChildren();
    } catch (error) {
      this.fill(this.text.value || text);
      this.say(error instanceof Refused && error.status ? error.message : word("unsent"));
    }
  }

  say(text) {
    this.note.textContent = text;
  }
}
