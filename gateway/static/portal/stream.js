// An answer while it grows: finished blocks come rendered from the server, the rest is plain
// text behind them, so that nothing jumps when a block is done.
import { addCopyButtons } from "./copy.js";
import { json } from "./http.js";

const BETWEEN = 300; // ms between two looks at the finished blocks
const LONGEST = 3000; // the same inside a long block, such as code with blank lines

export class Streamed {
  // `keepPlace` makes a change without moving the reader.
  constructor(article, path, keepPlace) {
    this.path = path;
    this.keepPlace = keepPlace;
    this.article = article;
    this.box = article.querySelector("[data-answer]");
    this.tail = document.createElement("div");
    this.tail.className = "tail";
    this.reset();
  }

  reset() {
    this.box.replaceChildren(this.tail);
    this.tail.textContent = "";
    this.count = 0;
    this.upto = 0;
    this.full = "";
    this.pause = BETWEEN;
    this.stop();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = null;
  }

  show(text) {
    this.full = text;
    const tail = text.slice(this.upto);
    this.keepPlace(() => (this.tail.textContent = tail));
    // Only a blank line or a closed fence can have finished a block.
    if (this.timer === null && /\n\s*\n|\n```/.test(tail)) {
      this.timer = setTimeout(() => this.fetch(), this.pause);
    }
  }

  async fetch() {
    const round = this.timer;
    let found = { count: 0 };
    try {
      found = await json(`${this.path}?from=${this.count}`);
    } catch {
      // The finished message comes whole in any case.
    }
    if (round !== this.timer) return; // it was reset meanwhile
    this.timer = null;
    const grown = found.count > this.count;
    this.pause = grown ? BETWEEN : Math.min(2 * this.pause, LONGEST);
    if (grown) this.keepPlace(() => this.insert(found));
  }

  insert({ html, count, upto }) {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    this.tail.before(holder.content);
    this.count = count;
    this.upto = upto;
    this.tail.textContent = this.full.slice(upto);
    addCopyButtons(this.article);
  }
}
