import type { IncomingMessage } from 'node:http';
import { MOST_REFUSED } from './bounds.ts';
import { parsed } from './error-body.ts';

/** For what is only quoted: some never say that they are done. */
const PATIENCE_MS = 5_000;

/** How an answer begins. Far more than is ever quoted of it: the cut must come when no secret is in it any more. */
export class Beginning {
  readonly #chunks: Buffer[] = [];
  #length = 0;

  add(chunk: Buffer): void {
    if (this.isFull) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  get isFull(): boolean {
    return this.#length >= MOST_REFUSED;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  get text(): string {
    return this.bytes.toString('utf8', 0, MOST_REFUSED);
  }
}

/** Takes in more of it, until it is whole, or enough, or has had its time. What breaks off has said what it has. */
export async function readOn(answer: IncomingMessage, beginning: Beginning): Promise<string> {
  const patience = setTimeout(() => answer.destroy(), PATIENCE_MS);
  try {
    if (isDone(beginning)) return beginning.text;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      beginning.add(chunk);
      if (isDone(beginning)) break;
    }
  } catch {
    // The status is what counts.
  } finally {
    clearTimeout(patience);
    answer.destroy();
  }
  return beginning.text;
}

/** JSON says by itself where it ends. */
function isDone({ isFull, text }: Beginning): boolean {
  const last = text.trimEnd().at(-1);
  return isFull || ((last === '}' || last === ']') && parsed(text) !== null);
}
