// An answer while it grows: finished blocks come rendered from the server, the rest is plain
// text behind them, so that nothing jumps when a block is done.
import { json } from "./http.js";

const BETWEEN = 300; // ms between two looks at the finished blocks

export class Streamed {
  constructor(article, path) {
    this.path = path;
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
    clearTimeout(this.timer);
    this.timer = null;
  }

  show(text) {
    this.full = text;
    this.tail.textContent = text.slice(this.upto);
    // Only a blank line or a closed fence can have finished a block.
    if (this.timer === null && /\n\s*\n|\n```/.test(text.slice(this.upto))) {
      this.timer = setTimeout(() => this.fetch(), BETWEEN);
    }
  }

  async fetch() {
    const round = this.timer;
    try {
      const found = await json(`${this.path}?from=${this.count}`);
      if (round !== this.timer) return; // it was reset meanwhile
      if (found.count > this.count) {
        const holder = document.createElement("template");
        holder.innerHTML = found.html;
        this.tail.before(holder.content);
        this.count = found.count;
        this.upto = found.upto;
        this.tail.textContent = this.full.slice(this.upto);
        this.box.dispatchEvent(new CustomEvent("block", { bubbles: true }));
      }
    } catch {
      // The finished message comes whole in any case.
    }
    this.timer = null;
  }
}
