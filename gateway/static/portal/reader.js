// The reader's place: the page follows only a reader who is at its end.

const NEAR = 80; // px from the end that count as being at the end

export class Reader {
  constructor(scroll, more) {
    this.scroll = scroll;
    this.more = more;
    scroll.addEventListener("scroll", () => {
      if (this.atEnd()) more.hidden = true;
    });
    more.addEventListener("click", () => this.toEnd());
  }

  atEnd() {
    return this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < NEAR;
  }

  toEnd() {
    this.scroll.scrollTop = this.scroll.scrollHeight;
    this.more.hidden = true;
  }

  // Something is added or changed below what is read.
  keepPlace(change) {
    const follow = this.atEnd();
    change();
    if (follow) this.toEnd();
    else this.more.hidden = false;
  }

  // Something is added above it.
  keepBelow(change) {
    const height = this.scroll.scrollHeight;
    change();
    this.scroll.scrollTop += this.scroll.scrollHeight - height;
  }
}
