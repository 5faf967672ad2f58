// The live connection of one session: it resumes by the last number and never gives up.
import { word } from "./words.js";

const FIRST_WAIT = 300;
const LONGEST_WAIT = 8000;
const BEAT = 20000; // ms between two pings
const PATIENCE = 10000; // ms of silence after which a connection counts as dead
const GONE = [4401, 4403, 4404]; // logged out, ended, not ours
const RELOADED = "reloaded";

export class Connection {
  // Without `seq` it begins with a snapshot. Events are handled one after the other, each once
  // `onEvent` has done with the one before; `onState` gets what to say while it is not up.
  constructor(session, seq, { home, onEvent, onState }) {
    this.session = session;
    this.seq = seq;
    this.home = home;
    this.onEvent = onEvent;
    this.onState = onState;
    this.wait = FIRST_WAIT;
    this.handled = Promise.resolve();
    this.open();
    setInterval(() => this.ping(), BEAT);
    addEventListener("online", () => this.wake());
    document.addEventListener("visibilitychange", () => document.hidden || this.wake());
  }

  open() {
    clearTimeout(this.timer);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const after = this.seq === null ? "" : `?after=${this.seq}`;
    const socket = new WebSocket(`${scheme}://${location.host}/ws/sessions/${this.session}/${after}`);
    const ifMine = (handle) => (happened) => this.socket === socket && handle(happened);
    this.socket = socket;
    this.expectFrame();
    socket.onopen = ifMine(() => this.ping());
    socket.onmessage = ifMine((message) => this.heard(JSON.parse(message.data)));
    socket.onclose = ifMine((closed) => this.closed(closed.code));
  }

  heard(event) {
    clearTimeout(this.deadline);
    // The answer to a ping while the database is away: no sign of health.
    if (event.type === "error") return;
    sessionStorage.removeItem(RELOADED);
    this.wait = FIRST_WAIT;
    this.onState("");
    if (event.type !== "pong") this.handle(event, this.socket);
  }

  // The number counts once its event is handled: what is dropped here comes again.
  handle(event, socket) {
    this.handled = this.handled
      .then(async () => {
        if (this.socket !== socket) return;
        await this.onEvent(event);
        if (this.socket === socket && event.seq > (this.seq ?? 0)) this.seq = event.seq;
      })
      .catch((error) => {
        console.error(error);
        if (this.socket === socket) this.restart();
      });
  }

  closed(code) {
    clearTimeout(this.deadline);
    if (!GONE.includes(code)) {
      this.lost();
    } else if (sessionStorage.getItem(RELOADED)) {
      // The pages answer here, the socket does not: it wants the portal's own origin.
      this.onState(word("foreign", this.home));
    } else {
      // The server's pages say more than we can.
      sessionStorage.setItem(RELOADED, "1");
      location.reload();
    }
  }

  // A dead connection may look open for minutes, so it is asked.
  ping() {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    this.socket.send(JSON.stringify({ type: "ping" }));
    this.expectFrame();
  }

  expectFrame() {
    clearTimeout(this.deadline);
    this.deadline = setTimeout(() => {
      this.drop();
      this.lost();
    }, PATIENCE);
  }

  wake() {
    const state = this.socket?.readyState;
    if (state === WebSocket.OPEN) this.ping();
    else if (state !== WebSocket.CONNECTING) this.open();
  }

  lost() {
    this.onState(word("lost"));
    this.retry();
  }

  retry() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), this.wait * (0.7 + Math.random() * 0.6));
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
  }

  // Start over with a snapshot: something was missed.
  restart() {
    this.seq = null;
    this.drop();
    this.retry();
  }

  // Closing takes its time on a dead line; from now on nothing of it is heard.
  drop() {
    clearTimeout(this.deadline);
    this.socket?.close();
    this.socket = null;
  }
}
