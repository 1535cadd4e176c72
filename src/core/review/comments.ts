/** Words about one line of a run's changes. */
export interface LineComment {
  path: string;
  line: number;
  /** Which side of the diff: as it was before, or as it is now. */
  side: 'old' | 'new';
  /** The line itself, so that it is found again when the file has moved on. */
  quote?: string;
  text: string;
}

/** Comments as the agent reads them. What is quoted is only a place: it is set apart from what is asked of the agent. */
export function commentsText(comments: readonly LineComment[], message: string | undefined): string {
  const count = comments.length === 1 ? 'A comment' : `${comments.length} comments`;
  const intro =
    message?.trim() || `${count} on your changes. Please see to ${comments.length === 1 ? 'it' : 'each'}.`;
  return [intro, ...comments.map(inWords)].join('\n\n');
}

function inWords({ path, line, side, quote, text }: LineComment): string {
  const place = `${path}:${line}${side === 'old' ? ' (as it was before your changes)' : ''}`;
  const quoted = quote?.trim() ? quote.split('\n').map(each => `> ${each}`) : [];
  return [place, ...quoted, text.trim()].join('\n');
}
