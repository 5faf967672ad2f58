// Writing a message: growing box, drafts, files, and sending that loses and doubles nothing.
import { Files, uploaded } from "./files.js";
import { word } from "./words.js";

// randomUUID is there in secure contexts only; a portal at home may be plain http.
function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Composer {
  // `send` takes {text, client_id, files} and throws when the message was not accepted.
  constructor(form, { draft, max, send }) {
    this.text = form.querySelector("textarea");
    this.files = new Files(form.querySelector("[data-files]"));
    this.note = form.querySelector("[data-note]");
    this.draft = draft;
    this.max = max;
    this.send = send;
    this.sending = Promise.resolve();
    this.restore(draft.read());
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

  // `unsent` is the message that is not known to have arrived: under way, or failed.
  restore({ text = "", unsent = null }) {
    this.text.value = text;
    this.unsent = unsent;
    unsent?.files.forEach(({ name, id }) => this.files.show(name, id));
    if (unsent) this.say(word("unsent"));
    this.grow();
  }

  typed() {
    this.draft.write({ text: this.text.value, unsent: this.unsent });
    this.grow();
  }

  grow() {
    this.text.rows = 1;
    const line = parseFloat(getComputedStyle(this.text).lineHeight) || 24;
    const most = Math.floor((innerHeight * 0.4) / line);
    this.text.rows = Math.max(1, Math.min(most, Math.round((this.text.scrollHeight - 16) / line)));
  }

  pressed(event) {
    // Safari ends a composition with an Enter that says it is none, but for its code.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.submit();
    }
  }

  fill(text) {
    this.text.value = text;
    this.typed();
    this.text.focus();
  }

  attach(files) {
    for (const file of files) this.files.add(file);
  }

  submit() {
    const names = this.files.all.map((file) => file.name).join(", ");
    const text = this.text.value.trim() ? this.text.value : names;
    if (!text) return;
    if (text.length > this.max) return this.say(word("long"));
    const files = this.files.take();
    this.text.value = "";
    this.grow();
    this.say("");
    // In their order, also when the first still waits for an upload.
    this.sending = this.sending.then(() => this.deliver(text, files));
  }

  async deliver(text, files) {
    try {
      const message = this.message(text, files, await uploaded(files));
      this.unsent = { ...message, files: files.map(({ name, id }) => ({ name, id })) };
      this.draft.write({ text, unsent: this.unsent });
      await this.send(message);
      this.unsent = null;
      this.files.remove(files);
      this.typed();
    } catch (error) {
      this.files.putBack(files);
      this.fill([text, this.text.value].filter(Boolean).join("\n\n"));
      this.say(error.status === 0 ? word("unsent") : error.message);
    }
  }

  // The same once more keeps its id, so that a lost answer does not double it.
  message(text, files, ids) {
    const { unsent } = this;
    const same = unsent?.text === text && String(unsent.files.map((file) => file.id)) === String(ids);
    return { text, client_id: same ? unsent.client_id : newId(), files: ids };
  }

  // The unsent message is there: at most its answer was lost.
  arrived() {
    const { text, files } = this.unsent;
    const ids = files.map((file) => file.id);
    this.unsent = null;
    this.files.remove(this.files.all.filter((file) => ids.includes(file.id)));
    if (this.text.value.startsWith(text)) this.text.value = this.text.value.slice(text.length).trimStart();
    this.say("");
    this.typed();
  }

  say(text) {
    this.note.textContent = text;
  }
}
