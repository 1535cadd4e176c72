const ID = String.raw`"id"\s*:\s*(-?\d{1,15}|"(?:[^"\\]|\\.){0,200}")`;
const PLAIN_FIELD = String.raw`"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"`;
const ID_AT_HEAD = new RegExp(String.raw`^\s*\{\s*(?:${PLAIN_FIELD}\s*,\s*)*${ID}\s*,`);
const ID_AT_TAIL = new RegExp(String.raw`[,{]\s*${ID}\s*(?:,\s*${PLAIN_FIELD}\s*)*\}\s*$`);
const ANSWER_AT_HEAD = new RegExp(
  String.raw`^\s*\{\s*(?:(?:"jsonrpc"\s*:\s*"[^"\\]*"|${ID})\s*,\s*)*"(?:result|error)"\s*:`,
);

/** The edges of a message that was too long to keep. */
export interface Edges {
  head: Buffer;
  tail: Buffer;
}

/**
 * The id of a message of which only the edges were kept. Ids inside `params` must not be taken for it, or another
 * request would be answered: only plain fields may stand between it and the message's own braces.
 */
export function outermostId({ head, tail }: Edges): string | number | null {
  const found =
    ID_AT_HEAD.exec(head.toString('latin1'))?.[1] ?? ID_AT_TAIL.exec(tail.toString('latin1'))?.[1];
  if (found === undefined) return null;
  try {
    return JSON.parse(Buffer.from(found, 'latin1').toString()) as string | number;
  } catch {
    return null;
  }
}

/** Of an answer only: the other side numbers its own questions, and those numbers are none of ours. */
export const answeredId = (edges: Edges): string | number | null =>
  ANSWER_AT_HEAD.test(edges.head.toString('latin1')) ? outermostId(edges) : null;
