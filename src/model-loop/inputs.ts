import { createHash } from 'node:crypto';
import { basename, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { UserContent } from 'ai';
import type { TracePart } from '../schema/conversation.ts';
import { Ending } from './ending.ts';
import { type FoundInput, lookAt, NO_KIND, piecesOf, Unfit } from './found-input.ts';
import { textOf } from './input-kind.ts';
import type { KeptFile, KeptFiles } from './kept-files.ts';

const MIB = 1024 * 1024;
const MOST_TOGETHER = 32 * MIB;
/** Of what is said about all of them: more would be cut off in the middle of it. */
const LONGEST_LIST = 1_500;

export interface InputParts {
  content: Exclude<UserContent, string>;
  shown: TracePart[];
  files: KeptFile[];
}

/** The files that join a prompt, as parts of it. One that cannot refuses all of them, before anything is taken of any. */
export async function readInputs(
  names: readonly string[],
  cwd: string,
  kept: KeptFiles,
): Promise<InputParts> {
  const problems: string[] = [];
  const found: FoundInput[] = [];
  const read: InputParts = { content: [], shown: [], files: [] };
  const room = { left: MOST_TOGETHER };
  for (const name of names) {
    const input = await unlessUnfit(problems, () => lookAt(name, resolve(cwd, name)));
    if (input) found.push(input);
  }
  const together = found.reduce((sum, { bytes }) => sum + bytes, 0);
  if (together > MOST_TOGETHER)
    problems.push(
      `The inputs together have ${together.toLocaleString('en')} bytes, and the files of one prompt may have ${MOST_TOGETHER / MIB} MiB (${MOST_TOGETHER.toLocaleString('en')} bytes). Name fewer.`,
    );
  if (problems.length === 0)
    for (const input of found) await unlessUnfit(problems, () => take(input, room, kept, read));
  if (problems.length > 0) throw unreadable(problems);
  return read;
}

/** What is wrong with one is kept, so that all of it can be said at once. */
async function unlessUnfit<T>(problems: string[], work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof Unfit)) throw thrown;
    problems.push(thrown.message);
    return null;
  }
}

async function take(
  input: FoundInput,
  room: { left: number },
  kept: KeptFiles,
  { content, shown, files }: InputParts,
): Promise<void> {
  const { name, kind } = input;
  if (kind === 'text') {
    const bytes = await buffer(piecesOf(input, room));
    const text = textOf(bytes);
    if (text === null) throw new Unfit(name, NO_KIND);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    content.push({ type: 'text', text: framed(name, text) });
    shown.push({ type: 'file', name, mediaType: 'text/plain', bytes: bytes.length, sha256 });
  } else {
    const { mark, bytes, sha256 } = await kept.keep(piecesOf(input, room));
    const data = { type: 'data', data: mark } as const;
    content.push({ type: 'file', mediaType: kind, filename: basename(name), data });
    shown.push({ type: 'file', name, mediaType: kind, bytes, sha256 });
    files.push({ mark, bytes });
  }
}

/** A text may hold anything, also words that look like the end of it: the name is said at both ends. */
const framed = (file: string, text: string): string =>
  `<file name=${JSON.stringify(file)}>\n${text}${text.endsWith('\n') ? '' : '\n'}</file name=${JSON.stringify(file)}>`;

function unreadable(problems: readonly string[]): Ending {
  let list = '';
  for (const [at, problem] of problems.entries()) {
    if (at > 0 && list.length + problem.length > LONGEST_LIST) {
      list += ` And ${problems.length - at} more.`;
      break;
    }
    list += `${at > 0 ? ' ' : ''}${problem}`;
  }
  return new Ending('INPUT_UNREADABLE', list);
}
