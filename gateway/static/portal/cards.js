// Permission cards: the countdown, the decision by button or key, and what follows.
import { post } from "./http.js";
import { word } from "./words.js";

const KEYS = { a: "allow", d: "deny" };

// `onDecided` gets a card that was settled, here or elsewhere.
export function watchCards(root, onDecided) {
  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-decide]");
    if (button) decide(button.closest("[data-approval]"), button, onDecided);
  });
  root.addEventListener("keydown", (event) => {
    const card = event.target;
    if (!card.matches?.("[data-approval]") || event.ctrlKey || event.metaKey || event.altKey) return;
    const decision = KEYS[event.key.toLowerCase()];
    // A key that is held down decides once.
    if (!decision || event.repeat) return;
    decide(card, card.querySelector(`.choices [data-decide=${decision}]`), onDecided);
  });
  const tick = () => root.querySelectorAll("[data-approval]").forEach(count);
  setInterval(tick, 500);
  tick();
}

// The server says how long is left: this clock may be wrong, but it runs as fast.
function count(card) {
  card.deadline ??= Date.now() + 1000 * card.dataset.seconds;
  const left = (card.deadline - Date.now()) / 1000;
  card.querySelector("progress").value = Math.max(0, (100 * left) / card.dataset.whole);
  const text = left > 0 ? word("expires", Math.ceil(left)) : word("late");
  card.querySelector("[data-left]").textContent = text;
}

function edited(card) {
  try {
    const value = JSON.parse(card.querySelector("[data-arguments]").value);
    return value && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

async function decide(card, button, onDecided) {
  if ("busy" in card.dataset) return;
  const body = { decision: button.dataset.decide };
  if (button.dataset.remember) body.remember = button.dataset.remember;
  if ("edited" in button.dataset) {
    body.arguments = edited(card);
    if (!body.arguments) return complain(card, word("json"));
  }
  const reason = card.querySelector("[data-reason]").value;
  if (body.decision === "deny" && reason) body.reason = reason;
  setBusy(card, true);
  try {
    await post(`/api/v1/approvals/${card.dataset.approval}/decide`, body);
  } catch (error) {
    complain(card, error.message);
    // Settled elsewhere or too late: what became of it is shown, else it can be tried again.
    if (error.status !== 409 && error.status !== 404) return setBusy(card, false);
  }
  onDecided(card);
}

// Not by disabling the buttons: that would take the focus from them.
function setBusy(card, busy) {
  if (busy) card.dataset.busy = "";
  else delete card.dataset.busy;
  card.setAttribute("aria-busy", busy);
}

function complain(card, message) {
  const place = card.querySelector("[data-error]");
  place.textContent = message;
  place.hidden = false;
}
