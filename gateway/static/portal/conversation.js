// The messages on the page: fetched from the server piece by piece, put in their order, with the
// reader's place and opened details kept.
import { fragment } from "./http.js";
import { word } from "./words.js";

const GATHER = 120; // ms in which changes of one message become one fetch
const NEAR = 80; // px from the end that count as being at the end

export class Conversation {
  constructor(main) {
    this.base = `/s/${main.dataset.session}/`;
    this.box = main.querySelector("[data-conversation]");
    this.scroll = main.querySelector("[data-scroll]");
    this.more = main.querySelector("[data-follow]");
    this.timers = new Map();
    this.scroll.addEventListener("scroll", () => this.reached());
    this.more.addEventListener("click", () => this.toEnd());
    this.box.addEventListener("click", (event) => this.clicked(event));
    this.decorate(this.box);
    this.toEnd();
  }

  find(id) {
    return document.getElementById(`m-${id}`);
  }

  ofCall(id) {
    return this.box.querySelector(`[data-call="${id}"]`)?.closest("[data-message]")?.dataset.message;
  }

  // A message that is being written and is no row yet.
  placeholder(id) {
    const known = this.find(id);
    if (known) return known;
    const article = document.createElement("article");
    article.className = "message assistant streaming";
    article.id = `m-${id}`;
    article.dataset.message = id;
    article.dataset.position = "9007199254740991";
    const answer = document.createElement("div");
    answer.className = "answer";
    answer.dataset.answer = "";
    article.append(answer);
    this.keepPlace(() => this.place(article));
    return article;
  }

  mine(clientId, text) {
    const article = document.createElement("article");
    article.className = "message user sending";
    article.dataset.client = clientId;
    article.dataset.position = "9007199254740990";
    const said = document.createElement("div");
    said.className = "said";
    said.textContent = text;
    article.append(said);
    this.place(article);
    this.toEnd();
    return article;
  }

  // Fetch a message anew, soon.
  refresh(id, done = () => {}) {
    clearTimeout(this.timers.get(id));
    this.timers.set(id, setTimeout(() => this.fetch(id, done), GATHER));
  }

  async fetch(id, done) {
    let fresh;
    try {
      fresh = (await fragment(`${this.base}m/${id}/`)).firstElementChild;
    } catch {
      return;
    }
    const own = fresh.dataset.client;
    const sent = own ? this.box.querySelector(`[data-client="${own}"]`) : null;
    const old = this.find(id) ?? sent;
    this.keepPlace(() => {
      if (old) keepOpen(old, fresh);
      old?.remove();
      this.place(fresh);
      this.decorate(fresh);
    });
    done(fresh);
  }

  async reload() {
    const fresh = await fragment(`${this.base}conversation/`);
    this.keepPlace(() => this.box.replaceChildren(fresh));
    this.decorate(this.box);
  }

  place(article) {
    const position = Number(article.dataset.position);
    const later = [...this.box.querySelectorAll(":scope > article")].find(
      (other) => Number(other.dataset.position) > position,
    );
    this.box.insertBefore(article, later ?? null);
  }

  atEnd() {
    return this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < NEAR;
  }

  // The page follows only a reader who is at its end.
  keepPlace(change) {
    const follow = this.atEnd();
    change();
    if (follow) this.toEnd();
    else this.more.hidden = false;
  }

  toEnd() {
    this.scroll.scrollTop = this.scroll.scrollHeight;
    this.more.hidden = true;
  }

  reached() {
    if (this.atEnd()) this.more.hidden = true;
  }

  decorate(root) {
    for (const code of root.querySelectorAll(".answer pre:not(.has-copy)")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.dataset.copy = "";
      button.textContent = word("copy");
      code.classList.add("has-copy");
      code.prepend(button);
    }
  }

  async clicked(event) {
    const copy = event.target.closest("[data-copy]");
    const older = event.target.closest("[data-older]");
    if (copy) {
      await navigator.clipboard.writeText(copy.parentElement.querySelector("code").textContent);
      copy.textContent = word("copied");
    } else if (older) {
      const fresh = await fragment(`${this.base}conversation/?before=${older.dataset.older}`);
      const height = this.scroll.scrollHeight;
      older.closest("p").replaceWith(fresh);
      this.decorate(this.box);
      this.scroll.scrollTop += this.scroll.scrollHeight - height;
    }
  }
}

// What the reader had opened, typed or focused stays so.
function keepOpen(old, fresh) {
  const before = old.querySelectorAll("details");
  fresh.querySelectorAll("details").forEach((detail, index) => {
    if (before[index]?.open) detail.open = true;
  });
  for (const card of old.querySelectorAll("[data-approval]")) {
    const same = fresh.querySelector(`[data-approval="${card.dataset.approval}"]`);
    if (same) same.replaceWith(card);
  }
}
