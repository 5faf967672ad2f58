// The answers that are being written: their text so far, where it shows, and which are done.
import { Store } from "./store.js";
import { Streamed } from "./stream.js";

export class Answers {
  constructor(conversation, base) {
    this.conversation = conversation;
    this.base = base;
    this.store = new Store();
    this.streams = new Map();
    this.done = new Set();
  }

  // Late and repeated events must not touch a message that has its final text.
  isFinal(id) {
    return this.done.has(id) || this.conversation.isFinal(id);
  }

  stream(id) {
    if (!this.streams.has(id)) {
      const article = this.conversation.placeholder(id);
      const keepPlace = (change) => this.conversation.reader.keepPlace(change);
      this.streams.set(id, new Streamed(article, `${this.base}m/${id}/blocks/`, keepPlace));
    }
    return this.streams.get(id);
  }

  start(id) {
    this.store.start(id);
    this.stream(id).reset();
  }

  // False when events were missed.
  add(id, text, offset) {
    if (!this.store.delta(id, text, offset)) return false;
    this.stream(id).show(this.store.text(id));
    return true;
  }

  // True when it was streamed here.
  finish(id) {
    this.done.add(id);
    this.store.end(id);
    this.streams.get(id)?.stop();
    return this.streams.delete(id);
  }

  // What was begun and never saved goes, when its run ends.
  discard() {
    for (const [id, { article }] of this.streams) {
      article.remove();
      this.finish(id);
    }
  }

  // A snapshot knows which one is being written, and all of its text.
  resume(live) {
    for (const [id, stream] of this.streams) {
      stream.stop();
      if (id !== live?.message) stream.article.remove();
    }
    this.streams.clear();
    this.store = new Store();
    if (!live || this.isFinal(live.message)) return;
    this.store.set(live.message, live.text);
    this.stream(live.message).show(live.text);
  }
}
