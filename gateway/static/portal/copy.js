// The copy button of code in answers.
import { word } from "./words.js";

export function addCopyButtons(root) {
  // Browsers keep the clipboard from pages that came over plain http.
  if (!navigator.clipboard) return;
  for (const code of root.querySelectorAll(".answer pre:not(.has-copy)")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.dataset.copy = "";
    button.textContent = word("copy");
    code.classList.add("has-copy");
    code.prepend(button);
  }
}

export async function copy(button) {
  await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
  button.textContent = word("copied");
}
