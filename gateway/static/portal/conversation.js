// The messages on the page: fetched from the server piece by piece and put in their order.
import { addCopyButtons, copy } from "./copy.js";
import { fragment, fragmentAtLast } from "./http.js";
import { keeping } from "./keep.js";
import { Reader } from "./reader.js";

const GATHER = 120; // ms in which changes of one message become one fetch
// Behind all that have their place: what was said when its run begins, the answer that is being
// written, what waits (the server gives it a place from 2^52 on), and what is being sent.
const BEGUN = 2 ** 52 - 2;
const WRITTEN = 2 ** 52 - 1;
const SENT = Number.MAX_SAFE_INTEGER;

export class Conversation {
  constructor(main, onChange) {
    this.base = `/s/${main.dataset.session}/`;
    this.box = main.querySelector("[data-conversation]");
    this.reader = new Reader(main.querySelector("[data-scroll]"), main.querySelector("[data-follow]"));
    this.onChange = onChange;
    this.wishes = new Map(); // message id -> the fetch that is planned or under way
    this.box.addEventListener("click", (event) => this.clicked(event));
    addCopyButtons(this.box);
    this.reader.toEnd();
  }

  find(id) {
    return document.getElementById(`m-${id}`);
  }

  isFinal(id) {
    return this.find(id)?.matches(":not(.streaming, .sending)") ?? false;
  }

  ofCall(id) {
    return this.box.querySelector(`[data-call="${id}"]`)?.closest("[data-message]")?.dataset.message;
  }

  sent(clientId, kind = "") {
    return clientId ? this.box.querySelector(`[data-client="${CSS.escape(clientId)}"]${kind}`) : null;
  }

  arrived(clientId) {
    return Boolean(this.sent(clientId, ":not(.sending)"));
  }

  // A message that is being written and is no row yet.
  placeholder(id) {
    const known = this.find(id);
    if (known) return known;
    const article = made("message assistant streaming", "answer", WRITTEN);
    article.firstChild.dataset.answer = "";
    name(article, id);
    this.reader.keepPlace(() => this.place(article));
    return article;
  }

  mine(clientId, text) {
    const article = made("message user sending", "said", SENT);
    article.dataset.client = clientId;
    article.firstChild.textContent = text;
    this.place(article);
    this.reader.toEnd();
    return article;
  }

  // The server has given it an id; its row is fetched soon.
  accepted(clientId, id) {
    const article = this.sent(clientId, ".sending");
    if (article) name(article, id);
  }

  // Its run begins: it stands above the answer from now on, not only once it is fetched.
  begun(id) {
    const article = this.find(id);
    if (Number(article?.dataset.position) > WRITTEN) {
      article.querySelector("[data-queued]")?.remove();
      this.place(article, BEGUN);
    }
    this.refresh(id);
  }

  // It is written: what begins from now on comes behind it.
  written(id, position) {
    const article = this.find(id);
    if (article?.matches(".streaming")) this.place(article, position);
  }

  // Fetch a message anew, soon. What is under way for it is older and does not count any more.
  refresh(id, done = () => {}) {
    const before = this.wishes.get(id);
    clearTimeout(before?.timer);
    const wish = { done: [...(before?.done ?? []), done] };
    wish.timer = setTimeout(() => this.fetch(id, wish), GATHER);
    this.wishes.set(id, wish);
  }

  async fetch(id, wish) {
    const wanted = () => this.wishes.get(id) === wish;
    let fresh;
    try {
      fresh = (await fragmentAtLast(`${this.base}m/${id}/`, wanted)).firstElementChild;
    } catch {
      return;
    }
    if (!wanted()) return;
    this.wishes.delete(id);
    this.replace(this.find(id) ?? this.sent(fresh.dataset.client), fresh);
    wish.done.forEach((done) => done(fresh));
    this.onChange();
  }

  replace(old, fresh) {
    const change = () => {
      old?.remove();
      this.place(fresh);
      addCopyButtons(fresh);
    };
    this.reader.keepPlace(() => (old ? keeping(old, fresh, change) : change()));
  }

  // Everything anew. What only this page knows stays: answers being written, messages being sent,
  // older pages.
  async reload() {
    for (const wish of this.wishes.values()) clearTimeout(wish.timer);
    this.wishes.clear();
    const fresh = await fragmentAtLast(`${this.base}conversation/`);
    this.keepOlder(fresh);
    const own = this.box.querySelectorAll(":scope > .streaming, :scope > .sending");
    const change = () => {
      this.box.replaceChildren(fresh);
      for (const article of own) {
        if (!this.find(article.dataset.message) && !this.sent(article.dataset.client)) this.place(article);
      }
      addCopyButtons(this.box);
    };
    this.reader.keepPlace(() => keeping(this.box, fresh, change));
    this.onChange();
  }

  keepOlder(fresh) {
    const link = fresh.querySelector(".older");
    const first = Number(fresh.querySelector("article")?.dataset.position);
    const older = [...this.box.children].filter((child) => Number(child.dataset.position) < first);
    if (!link || !older.length) return;
    link.replaceWith(...this.box.querySelectorAll(":scope > .older"), ...older);
  }

  place(article, position = Number(article.dataset.position)) {
    article.dataset.position = position;
    const later = [...this.box.querySelectorAll(":scope > article")].find(
      (other) => Number(other.dataset.position) > position,
    );
    this.box.insertBefore(article, later ?? null);
  }

  async clicked(event) {
    const button = event.target.closest("[data-copy], [data-older]");
    if (!button) return;
    if ("copy" in button.dataset) return copy(button);
    button.disabled = true;
    try {
      const fresh = await fragment(`${this.base}conversation/?before=${button.dataset.older}`);
      this.reader.keepBelow(() => button.closest("p").replaceWith(fresh));
      addCopyButtons(this.box);
    } catch {
      button.disabled = false;
    }
  }
}

function made(className, part, position) {
  const article = document.createElement("article");
  article.className = className;
  article.dataset.position = position;
  const inner = document.createElement("div");
  inner.className = part;
  article.append(inner);
  return article;
}

function name(article, id) {
  article.id = `m-${id}`;
  article.dataset.message = id;
}
