// The live connection of one session: it resumes by the last number and never gives up.

const FIRST_WAIT = 300;
const LONGEST_WAIT = 8000;

export class Connection {
  constructor(session, seq, { onEvent, onState }) {
    this.session = session;
    this.seq = seq;
    this.onEvent = onEvent;
    this.onState = onState;
    this.wait = FIRST_WAIT;
    this.open();
    addEventListener("online", () => this.retry(0));
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && this.socket.readyState > WebSocket.OPEN) this.retry(0);
    });
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const after = this.seq === null ? "" : `?after=${this.seq}`;
    this.socket = new WebSocket(`${scheme}://${location.host}/ws/sessions/${this.session}/${after}`);
    this.socket.onopen = () => {
      this.wait = FIRST_WAIT;
      this.onState(true);
    };
    this.socket.onmessage = (message) => {
      const event = JSON.parse(message.data);
      if (event.seq > (this.seq ?? 0)) this.seq = event.seq;
      this.onEvent(event);
    };
    this.socket.onclose = (closed) => this.closed(closed);
  }

  closed(closed) {
    this.onState(false);
    // Logged out, ended or not ours: the server's pages say more than we can.
    if ([4401, 4403, 4404].includes(closed.code)) location.reload();
    else this.retry(this.wait);
  }

  retry(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.socket.readyState > WebSocket.OPEN) this.open();
    }, wait * (0.7 + Math.random() * 0.6));
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
  }

  // Start over with a snapshot: something was missed.
  restart() {
    this.seq = null;
    this.socket.close();
  }

  get ready() {
    return this.socket.readyState === WebSocket.OPEN;
  }

  send(frame) {
    this.socket.send(JSON.stringify(frame));
  }
}
