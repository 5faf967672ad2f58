// Putting fresh HTML in place of old: what the reader had opened, typed or focused stays so.

const callOf = (element) => element.closest("[data-call]")?.dataset.call;

// `change` puts `fresh` where `old` was.
export function keeping(old, fresh, change) {
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const details = focused?.closest("details");
  const name = details && nameOf(details);
  const call = focused && callOf(focused);
  keepState(old, fresh);
  change();
  if (focused) (focused.isConnected ? focused : standIn(name, call))?.focus({ preventScroll: true });
}

// The same details, or the line that a decided card became.
function standIn(name, call) {
  const all = [...document.querySelectorAll("details")];
  const same = all.find((details) => nameOf(details) === name);
  return (same ?? all.find((details) => callOf(details) === call && call))?.querySelector("summary");
}

function nameOf(details) {
  const place = callOf(details) ?? details.closest("[data-message]")?.dataset.message;
  return `${place} ${details.className}`;
}

function keepState(old, fresh) {
  const open = new Set([...old.querySelectorAll("details[open]")].map(nameOf));
  for (const details of fresh.querySelectorAll("details")) {
    if (open.has(nameOf(details))) details.open = true;
  }
  // The very card moves over, with all that was typed into it.
  for (const card of old.querySelectorAll("[data-approval]")) {
    fresh.querySelector(`[data-approval="${card.dataset.approval}"]`)?.replaceWith(card);
  }
  // What a tool prints while it runs is on this page only.
  for (const output of old.querySelectorAll("[data-output]")) {
    const same = fresh.querySelector(`[data-call="${callOf(output)}"] [data-output]`);
    if (same && !same.textContent) same.textContent = output.textContent;
  }
}
