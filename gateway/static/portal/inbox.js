// The inbox: decide in place, then show what is left.
import { watchCards } from "./cards.js";

watchCards(document.querySelector("main"), () => setTimeout(() => location.reload(), 300));
