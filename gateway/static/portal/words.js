// The page's words in the reader's language, from the hidden list in the page.
const list = new Map();
for (const term of document.querySelectorAll("#words dt")) {
  list.set(term.textContent, term.nextElementSibling.textContent);
}

export function word(key, value = "") {
  return (list.get(key) ?? key).replace("{}", value);
}
