// What was written and is not sent yet, per user and session, until they log out: the `text` in
// the box, and the `unsent` message that is not known to have arrived.

export class Draft {
  constructor(user, session) {
    this.key = `draft:${user}:${session}`;
  }

  read() {
    try {
      return JSON.parse(localStorage.getItem(this.key)) ?? {};
    } catch {
      return {};
    }
  }

  write({ text, unsent }) {
    if (text || unsent) localStorage.setItem(this.key, JSON.stringify({ text, unsent }));
    else localStorage.removeItem(this.key);
  }
}

export function forgetDrafts(user) {
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith(`draft:${user}:`)) localStorage.removeItem(key);
  }
}
