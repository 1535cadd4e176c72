/** Records each text that a row of the list of runs shows, with its time. */
export function seeRows(): void {
  const seen: [string, string, number][] = [];
  Object.assign(globalThis, { seen });
  new MutationObserver(changes => {
    const at = Date.now();
    const rows = new Set(
      changes.map(({ target }) => (target.parentElement ?? (target as Element)).closest('li')),
    );
    for (const row of rows) {
      const words = row?.querySelector('.run-words')?.textContent;
      if (row && words) seen.push([row.dataset.run!, words, at]);
    }
  }).observe(document.querySelector('.boards')!, { subtree: true, childList: true, characterData: true });
}
