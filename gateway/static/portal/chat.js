// The chat page: events in, changes of the page out. Each part has its own module.
import { watchCards } from "./cards.js";
import { Composer } from "./composer.js";
import { Connection } from "./connection.js";
import { Conversation } from "./conversation.js";
import { post } from "./http.js";
import { watchSessions } from "./sessions.js";
import { Store } from "./store.js";
import { Streamed } from "./stream.js";
import { word } from "./words.js";

const main = document.querySelector("main");
const session = main.dataset.session;
const refreshSessions = watchSessions(document.querySelector("[data-list]"));
const announce = main.querySelector("[data-announce]");
const stop = main.querySelector("[data-stop]");
const status = main.querySelector("[data-state]");
const store = new Store();
const streams = new Map();
const calls = new Map(); // call id -> message id
let running = main.dataset.running;
let conversation = null;

const composer = new Composer(main.querySelector("[data-composer]"), {
  key: `draft:${session}`,
  max: Number(main.dataset.max),
  send,
});

async function send(message) {
  if (!session) {
    // The first message makes the session; the draft goes along should the second step fail.
    const made = await post("/api/v1/sessions", {});
    localStorage.setItem(`draft:${made.id}`, message.text);
    await post(`/api/v1/sessions/${made.id}/messages`, message);
    localStorage.removeItem(`draft:${made.id}`);
    localStorage.removeItem("draft:");
    location.assign(`/s/${made.id}/`);
    return;
  }
  document.querySelector("[data-welcome]")?.remove();
  const shown = conversation.mine(message.client_id, message.text);
  try {
    await post(`/api/v1/sessions/${session}/messages`, message);
  } catch (error) {
    shown.remove();
    throw error;
  }
}

function streamOf(id) {
  if (!streams.has(id)) {
    streams.set(id, new Streamed(conversation.placeholder(id), `/s/${session}/m/${id}/blocks/`));
  }
  return streams.get(id);
}

function setRunning(run, text = "") {
  running = run;
  stop.hidden = !run;
  main.classList.toggle("running", Boolean(run));
  status.textContent = run ? text || word("working") : text;
  refreshSessions();
}

function ended(text = "") {
  setRunning("", text);
}

const on = {
  async "session.snapshot"({ data }) {
    await conversation.reload();
    streams.clear();
    for (const id of [...store.texts.keys()]) store.end(id);
    if (data.live) {
      store.set(data.live.message, data.live.text);
      streamOf(data.live.message).show(data.live.text);
    }
    setRunning(data.run?.id ?? "");
  },
  "run.queued"() {
    if (running) composer.say(word("queued"));
    refreshSessions();
  },
  "run.started"({ run, data }) {
    if (data.branched) conversation.reload();
    setRunning(run);
  },
  "message.started"({ data, run }) {
    setRunning(run);
    store.start(data.message);
    streamOf(data.message).reset();
  },
  "message.delta"({ data }) {
    if (!store.delta(data.message, data.text, data.offset)) return connection.restart();
    const stream = streamOf(data.message);
    conversation.keepPlace(() => stream.show(store.text(data.message)));
  },
  "message.completed"({ data }) {
    const wasStreamed = store.has(data.message);
    store.end(data.message);
    streams.delete(data.message);
    conversation.refresh(data.message, (article) => {
      if (wasStreamed) announce.textContent = article.querySelector("[data-answer]")?.textContent ?? "";
    });
  },
  "tool.requested"({ data }) {
    calls.set(data.id, data.message);
    conversation.refresh(data.message);
  },
  "tool.started": changed,
  "tool.output"({ data }) {
    const box = main.querySelector(`[data-call="${data.id}"] [data-output]`);
    if (box) box.textContent = (box.textContent + data.text).slice(-20000);
  },
  "tool.completed": changed,
  permission_request(event) {
    status.textContent = word("asks");
    refreshSessions();
    changedCall(event.data.call);
  },
  permission_resolved(event) {
    refreshSessions();
    main.querySelector(`[data-approval="${event.data.id}"]`)?.remove();
    changedCall(event.data.call);
  },
  "run.completed"() {
    ended();
  },
  "run.failed"({ data, run }) {
    ended(`${word("failed")} ${data.message}`);
    const asked = main.querySelector(`article.user[data-run="${run}"]`);
    if (asked) conversation.refresh(asked.dataset.message);
  },
  "run.cancelled"() {
    ended(word("cancelled"));
  },
  error({ data }) {
    status.textContent = data.message;
  },
};

function changed({ data }) {
  changedCall(data.id);
}

function changedCall(id) {
  // Known from its event, or from the page as it came.
  const message = calls.get(id) ?? conversation.ofCall(id);
  if (message) conversation.refresh(message);
}

let connection = null;
if (session) {
  conversation = new Conversation(main);
  const lost = main.querySelector("[data-lost]");
  connection = new Connection(session, Number(main.dataset.seq), {
    onEvent: (event) => on[event.type]?.(event),
    onState: (up) => (lost.hidden = up),
  });
  setRunning(running);
  watchCards(main, (card) => changedCall(card.closest("[data-call]").dataset.call));
}

stop.addEventListener("click", () => post(`/api/v1/runs/${running}/cancel`, {}).catch(() => {}));
main.addEventListener("click", async (event) => {
  const suggestion = event.target.closest("[data-suggest]");
  const again = event.target.closest("[data-regenerate]");
  if (suggestion) composer.fill(suggestion.textContent);
  if (again) {
    again.disabled = true;
    try {
      await post(`/api/v1/messages/${again.dataset.regenerate}/regenerate`, {});
      await conversation.reload();
    } catch (error) {
      status.textContent = error.message;
      again.disabled = false;
    }
  }
});
