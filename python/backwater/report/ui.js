// Keeps "Under way" up to date while something is.
"use strict";

(() => {
  const section = document.getElementById("work");
  const told = async () => {
    if (section.contains(document.activeElement)) return;
    try {
      const answer = await fetch("/work");
      if (answer.ok) section.innerHTML = await answer.text();
    } catch { /* The server has ended; the page stays as it is. */ }
  };
  setInterval(told, 2000);
})();
