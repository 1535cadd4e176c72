import { type DiffPlace, placeInHash } from './diff-place.ts';

/** Lines that something can be said about: the focus goes from one to the other, and to nothing else. */
const LINE = '.diff-row[data-place]';

/** The first line of the next place where something changed. */
export function focusChange(box: HTMLElement | null, by: 1 | -1): void {
  const changes = all(box, '.diff-hunk').flatMap(
    hunk =>
      hunk.querySelector<HTMLElement>(`${LINE}:is(.is-added, .is-removed)`) ?? all(hunk, LINE).slice(0, 1),
  );
  const found = neighbour(box, changes, by);
  found?.focus();
  found?.scrollIntoView({ block: 'center' });
}

export function focusLine(box: HTMLElement | null, by: 1 | -1): void {
  neighbour(box, all(box, LINE), by)?.focus();
}

/** Null: no line in the box has the focus. */
export function placeInFocus(box: HTMLElement | null): DiffPlace | null {
  const line = document.activeElement?.closest<HTMLElement>(LINE);
  if (!line || !box?.contains(line)) return null;
  const place = placeInHash(`#${encodeURIComponent(line.dataset.place ?? '')}`);
  return place && place.line !== null ? { ...place, line: place.line } : null;
}

/** From where the focus is, or from the top of what is in sight. */
function neighbour(box: HTMLElement | null, stops: HTMLElement[], by: 1 | -1): HTMLElement | undefined {
  const focus = document.activeElement;
  const isAfter = (stop: HTMLElement) =>
    focus && box?.contains(focus)
      ? (focus.compareDocumentPosition(stop) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0
      : stop.getBoundingClientRect().top > 0;
  const at = stops.findIndex(isAfter);
  const next = at < 0 ? stops.length : at;
  if (by > 0) return stops[next];
  return stops[stops[next - 1]?.contains(focus) ? next - 2 : next - 1];
}

const all = (box: HTMLElement | null, selector: string): HTMLElement[] => [
  ...(box?.querySelectorAll<HTMLElement>(selector) ?? []),
];
