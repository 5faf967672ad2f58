// Permission cards: the countdown, the decision by button or key, and what follows.
import { post } from "./http.js";
import { word } from "./words.js";

const KEYS = { a: "allow", d: "deny" };

export function watchCards(root, onDecided) {
  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-decide]");
    if (button) decide(button.closest("[data-approval]"), button, onDecided);
  });
  root.addEventListener("keydown", (event) => {
    const card = event.target;
    if (!card.matches?.("[data-approval]") || event.ctrlKey || event.metaKey || event.altKey) return;
    const decision = KEYS[event.key.toLowerCase()];
    if (decision) decide(card, card.querySelector(`.choices [data-decide=${decision}]`), onDecided);
  });
  setInterval(() => root.querySelectorAll("[data-approval]").forEach(count), 500);
}

function count(card) {
  const left = (Date.parse(card.dataset.expires) - Date.now()) / 1000;
  const whole = (Date.parse(card.dataset.expires) - Date.parse(card.dataset.asked)) / 1000;
  const text = card.querySelector("[data-left]");
  card.querySelector("progress").value = Math.max(0, (100 * left) / whole);
  text.textContent = left > 0 ? word("expires", Math.ceil(left)) : word("late");
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
  const body = { decision: button.dataset.decide };
  if (button.dataset.remember) body.remember = button.dataset.remember;
  if ("edited" in button.dataset) {
    body.arguments = edited(card);
    if (!body.arguments) return complain(card, word("json"));
  }
  const reason = card.querySelector("[data-reason]").value;
  if (body.decision === "deny" && reason) body.reason = reason;
  const buttons = card.querySelectorAll("button");
  buttons.forEach((each) => (each.disabled = true));
  try {
    await post(`/api/v1/approvals/${card.dataset.approval}/decide`, body);
    onDecided(card);
  } catch (error) {
    complain(card, error.message);
    // Settled elsewhere or too late: show what became of it.
    if (error.status === 409 || error.status === 404) onDecided(card);
    else buttons.forEach((each) => (each.disabled = false));
  }
}

function complain(card, message) {
  const place = card.querySelector("[data-error]");
  place.textContent = message;
  place.hidden = false;
}
