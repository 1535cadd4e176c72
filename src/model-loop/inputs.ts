import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { UserContent } from 'ai';
import type { TracePart } from '../schema/conversation.ts';
import { Ending } from './ending.ts';
import type { KeptFile, KeptFiles } from './kept-files.ts';

type InputKind = 'text' | `image/${string}` | 'application/pdf';

/** What a file is, told by how it begins and never by its name; null: nothing that can join a prompt. */
function kindOf(beginning: Buffer): InputKind | null {
  const magic = MAGIC.find(({ fits }) => fits(beginning));
  if (magic) return magic.kind;
  return mayBeText(beginning) ? 'text' : null;
}

/** All of it in UTF-8, or null. */
function textOf(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return decoder().decode(bytes);
  } catch {
    return null;
  }
}

const begins = (start: string) => (bytes: Buffer) =>
  bytes.subarray(0, start.length).toString('latin1') === start;

const MAGIC = [
  { kind: 'image/png', fits: begins('\x89PNG\r\n\x1a\n') },
  { kind: 'image/jpeg', fits: begins('\xff\xd8\xff') },
  { kind: 'image/gif', fits: (bytes: Buffer) => begins('GIF87a')(bytes) || begins('GIF89a')(bytes) },
  {
    kind: 'image/webp',
    fits: (bytes: Buffer) => begins('RIFF')(bytes) && bytes.subarray(8, 12).toString('latin1') === 'WEBP',
  },
  { kind: 'application/pdf', fits: begins('%PDF-') },
] as const;

/** UTF-8 without a NUL, which no text has and every other encoding of more than a byte does. It may end within a character. */
function mayBeText(beginning: Buffer): boolean {
  if (beginning.includes(0)) return false;
  try {
    decoder().decode(beginning, { stream: true });
    return true;
  } catch {
    return false;
  }
}

const decoder = () => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const MIB = 1024 * 1024;
const PIECE = 256 * 1024;
const MAX_NAME_LENGTH = 200;

/** A file that can join a prompt, by what is seen of it from outside. */
interface FoundInput {
  name: string;
  path: string;
  kind: InputKind;
  /** What it says it has. */
  bytes: number;
}

/** A file that cannot, why, and what to do about it. */
class UnsupportedInput extends Error {
  constructor(name: string, why: string) {
    super(`The input ${JSON.stringify(endOf(name))} ${why}`);
  }
}

const endOf = (name: string): string =>
  (name.length > MAX_NAME_LENGTH ? `…${name.slice(-MAX_NAME_LENGTH)}` : name).toWellFormed();

const NO_KIND =
  'is neither text in UTF-8 nor an image (PNG, JPEG, GIF, WebP) nor a PDF. Convert it, or let the subagent read it with a tool.';

/** Neither a pipe that never ends nor a file of any size is read here. */
async function lookAt(name: string, path: string): Promise<FoundInput> {
  // A pipe that nobody writes to would not even open.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(thrown => {
    throw new UnsupportedInput(name, whyClosed(thrown, path));
  });
  const found = await file.stat();
  if (found.isDirectory()) throw new UnsupportedInput(name, 'is a folder. Name the files in it.');
  if (!found.isFile()) throw new UnsupportedInput(name, 'is not a regular file. Name a file.');
  const beginning = await pieceOf(file, name);
  const kind = kindOf(beginning);
  if (kind === null) throw new UnsupportedInput(name, NO_KIND);
  const bytes = Math.max(found.size, beginning.length);
  if (bytes > mostOf(kind))
    throw new UnsupportedInput(name, tooLarge(kind, `has ${bytes.toLocaleString('en')} bytes`));
  return { name, path, kind, bytes };
}

/** What a file says of its size need not be so: some of the system's own have none and never end, others grow meanwhile. */
async function* piecesOf({ name, path, kind }: FoundInput, room: { left: number }): AsyncGenerator<Buffer> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(thrown => {
    throw new UnsupportedInput(name, whyClosed(thrown, path));
  });
  for (let length = 0; ; ) {
    const piece = await pieceOf(file, name);
    if (piece.length === 0) return;
    length += piece.length;
    room.left -= piece.length;
    if (length > mostOf(kind))
      throw new UnsupportedInput(name, tooLarge(kind, 'goes on for longer than it said'));
    if (room.left < 0)
      throw new UnsupportedInput(name, 'is more than the files of one prompt may be together. Name fewer.');
    yield piece;
  }
}

const pieceOf = async (file: FileHandle, name: string): Promise<Buffer> => {
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.allocUnsafe(PIECE) }).catch(thrown => {
    throw new UnsupportedInput(name, `cannot be read: ${(thrown as Error).message}. Name one that can.`);
  });
  return buffer.subarray(0, bytesRead);
};

const mostOf = (kind: InputKind): number =>
  kind === 'text' ? MIB : kind === 'application/pdf' ? 32 * MIB : 5 * MIB;

const tooLarge = (kind: InputKind, what: string): string =>
  `${what}, and ${WORDS[kind] ?? `an image (${kind})`} may have ${mostOf(kind) / MIB} MiB (${mostOf(kind).toLocaleString('en')} bytes). Name a smaller part of it, or let the subagent read it with a tool.`;

const WORDS: Partial<Record<InputKind, string>> = { text: 'a text', 'application/pdf': 'a PDF' };

function whyClosed({ code, message }: NodeJS.ErrnoException, path: string): string {
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return `is not there (${endOf(path)}). Name files from the working folder, or with an absolute path.`;
  if (code === 'EACCES' || code === 'EPERM')
    return 'may not be read by the user that Squad runs as. Change who may read it, or name a copy.';
  return `cannot be opened: ${message}. Name a file that can be.`;
}

const MAX_TOTAL_BYTES = 32 * MIB;
/** Of what is said about all of them: more would be cut off in the middle of it. */
const MAX_LIST_LENGTH = 1_500;

interface InputParts {
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
  const room = { left: MAX_TOTAL_BYTES };
  for (const name of names) {
    const input = await unlessUnfit(problems, () => lookAt(name, resolve(cwd, name)));
    if (input) found.push(input);
  }
  const together = found.reduce((sum, { bytes }) => sum + bytes, 0);
  if (together > MAX_TOTAL_BYTES)
    problems.push(
      `The inputs together have ${together.toLocaleString('en')} bytes, and the files of one prompt may have ${MAX_TOTAL_BYTES / MIB} MiB (${MAX_TOTAL_BYTES.toLocaleString('en')} bytes). Name fewer.`,
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
    if (!(thrown instanceof UnsupportedInput)) throw thrown;
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
    if (text === null) throw new UnsupportedInput(name, NO_KIND);
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
    if (at > 0 && list.length + problem.length > MAX_LIST_LENGTH) {
      list += ` And ${problems.length - at} more.`;
      break;
    }
    list += `${at > 0 ? ' ' : ''}${problem}`;
  }
  return new Ending('INPUT_UNREADABLE', list);
}
