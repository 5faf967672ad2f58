// Files that go with the next message: uploaded at once, listed until it is sent, removable.
import { upload } from "./http.js";
import { word } from "./words.js";

export class Files {
  constructor(list) {
    this.list = list;
    this.all = [];
  }

  add(file) {
    const entry = this.show(file.name);
    const progress = (part) => (entry.label.dataset.progress = `${Math.round(part * 100)} %`);
    entry.uploaded = upload(file, progress)
      .then((kept) => (entry.id = kept.id))
      .catch((error) => {
        entry.item.className = "error";
        entry.label.textContent = `${file.name}: ${error.message}`;
      })
      .finally(() => delete entry.label.dataset.progress);
  }

  // One that is uploaded already has its `id`.
  show(name, id = null) {
    const item = document.createElement("li");
    const label = document.createElement("span");
    const button = document.createElement("button");
    label.textContent = name;
    button.type = "button";
    button.className = "plain";
    button.textContent = "×";
    button.setAttribute("aria-label", word("remove", name));
    item.append(label, button);
    this.list.append(item);
    const entry = { name, id, item, label, uploaded: Promise.resolve() };
    button.addEventListener("click", () => this.remove([entry]));
    this.all.push(entry);
    return entry;
  }

  remove(entries) {
    this.all = this.all.filter((entry) => !entries.includes(entry));
    entries.forEach((entry) => entry.item.remove());
  }

  // They are on their way with a message: listed still, and not for the next one.
  take() {
    const taken = this.all;
    this.all = [];
    return taken;
  }

  putBack(entries) {
    this.all = [...entries.filter((entry) => entry.item.isConnected), ...this.all];
  }
}

// The ids, once all are there. Throws when one could not be uploaded.
export async function uploaded(entries) {
  await Promise.all(entries.map((entry) => entry.uploaded));
  if (entries.some((entry) => !entry.id)) throw new Error(word("upload"));
  return entries.map((entry) => entry.id);
}
