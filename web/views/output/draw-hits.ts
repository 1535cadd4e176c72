import { textRanges } from './text-ranges.ts';

const NAME = 'output-hit';
/** The hub tries a pattern on so much of a line; here it must not be tried on more. */
const LONGEST = 10_000;

/** Marks the words in one line without touching its nodes. Null: nothing is marked any more. */
export function drawHits(
  scroller: HTMLElement | null,
  line: HTMLElement | null,
  query: { q: string; isRegex: boolean; isCaseSensitive: boolean },
): void {
  if (!scroller || !('highlights' in CSS)) return;
  CSS.highlights.delete(NAME);
  if (!line || query.q === '') return;
  const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  const nodes: Text[] = [];
  while (walker.nextNode()) nodes.push(walker.currentNode as Text);
  const text = nodes
    .map(({ data }) => data)
    .join('')
    .slice(0, LONGEST);
  const ranges = textRanges(text, query).map(([from, to]) => rangeOf(nodes, from, to));
  if (ranges.length > 0) CSS.highlights.set(NAME, new Highlight(...ranges));
}

function rangeOf(nodes: Text[], from: number, to: number): Range {
  const range = new Range();
  let passed = 0;
  let isStarted = false;
  for (const node of nodes) {
    const end = passed + node.length;
    if (!isStarted && from < end) {
      range.setStart(node, from - passed);
      isStarted = true;
    }
    if (isStarted && to <= end) {
      range.setEnd(node, to - passed);
      break;
    }
    passed = end;
  }
  return range;
}
