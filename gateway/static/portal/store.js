// The text of answers that are being written, by the rules for clients: an event's offset counts
// characters (code points), and the text is what stood before the offset plus the new part.

export class Store {
  constructor() {
    this.texts = new Map(); // message id -> array of characters
  }

  start(id) {
    this.texts.set(id, []);
  }

  // Returns false when events were missed.
  delta(id, text, offset) {
    const known = this.texts.get(id) ?? [];
    if (offset > known.length) return false;
    known.length = offset;
    for (const char of text) known.push(char);
    this.texts.set(id, known);
    return true;
  }

  set(id, text) {
    this.texts.set(id, Array.from(text));
  }

  text(id) {
    return (this.texts.get(id) ?? []).join("");
  }

  has(id) {
    return this.texts.has(id);
  }

  end(id) {
    this.texts.delete(id);
  }
}
