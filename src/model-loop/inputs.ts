import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { UserContent } from 'ai';
import type { TracePart } from '../schema/conversation.ts';
import { AgentError } from './agent-error.ts';
import type { ChatFile, ChatFiles } from './chat-files.ts';

type InputKind = 'text' | `image/${string}` | 'application/pdf';

/** Detects the kind by content, never by name. Null if the file cannot be part of a prompt. */
function kindOf(beginning: Buffer): InputKind | null {
  const magic = MAGIC.find(({ fits }) => fits(beginning));
  if (magic) return magic.kind;
  // `stream` is set because the beginning may end within a character.
  return textOf(beginning, { stream: true }) === null ? null : 'text';
}

/**
 * Decodes UTF-8. Null for other data. A NUL byte occurs in no text, but in every multi-byte encoding other than UTF-8.
 */
function textOf(bytes: Buffer, options?: { stream: boolean }): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, options);
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

const MIB = 1024 * 1024;
const PIECE = 256 * 1024;
const MAX_NAME_LENGTH = 200;

interface FoundInput {
  name: string;
  path: string;
  kind: InputKind;
  /** The size that the file system reports. */
  bytes: number;
}

class UnsupportedInput extends Error {
  /** `why` also contains the next step. */
  constructor(name: string, why: string) {
    super(`The input ${JSON.stringify(endOf(name))} ${why}`);
  }
}

const endOf = (name: string): string =>
  (name.length > MAX_NAME_LENGTH ? `…${name.slice(-MAX_NAME_LENGTH)}` : name).toWellFormed();

const NO_KIND =
  'is not UTF-8 text, an image (PNG, JPEG, GIF, WebP) or a PDF. Convert it, or let the subagent read it with a tool.';

/** Checks the file and reads only its first bytes. */
async function inspectFile(name: string, path: string): Promise<FoundInput> {
  // Without O_NONBLOCK, opening a pipe without a writer would hang.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(thrown => {
    throw new UnsupportedInput(name, openErrorText(thrown, path));
  });
  const found = await file.stat();
  if (found.isDirectory()) throw new UnsupportedInput(name, 'is a folder. Name files inside it.');
  if (!found.isFile()) throw new UnsupportedInput(name, 'is not a regular file. Name a file.');
  const beginning = await pieceOf(file, name);
  const kind = kindOf(beginning);
  if (kind === null) throw new UnsupportedInput(name, NO_KIND);
  const bytes = Math.max(found.size, beginning.length);
  if (bytes > maxBytes(kind))
    throw new UnsupportedInput(name, tooLarge(kind, `has ${bytes.toLocaleString('en')} bytes`));
  return { name, path, kind, bytes };
}

/** Counts the bytes while reading: files in /proc report size 0, and other files may grow meanwhile. */
async function* piecesOf({ name, path, kind }: FoundInput, room: { left: number }): AsyncGenerator<Buffer> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(thrown => {
    throw new UnsupportedInput(name, openErrorText(thrown, path));
  });
  for (let length = 0; ; ) {
    const piece = await pieceOf(file, name);
    if (piece.length === 0) return;
    length += piece.length;
    room.left -= piece.length;
    if (length > maxBytes(kind))
      throw new UnsupportedInput(name, tooLarge(kind, 'is larger than the size it reports'));
    if (room.left < 0)
      throw new UnsupportedInput(
        name,
        'exceeds the total size limit for the files of one prompt. Name fewer.',
      );
    yield piece;
  }
}

const pieceOf = async (file: FileHandle, name: string): Promise<Buffer> => {
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.allocUnsafe(PIECE) }).catch(thrown => {
    throw new UnsupportedInput(name, `cannot be read: ${(thrown as Error).message}. Name a readable file.`);
  });
  return buffer.subarray(0, bytesRead);
};

const maxBytes = (kind: InputKind): number =>
  kind === 'text' ? MIB : kind === 'application/pdf' ? 32 * MIB : 5 * MIB;

const tooLarge = (kind: InputKind, what: string): string =>
  `${what}, and the limit for ${KIND_TEXTS[kind] ?? `an image (${kind})`} is ${maxBytes(kind) / MIB} MiB (${maxBytes(kind).toLocaleString('en')} bytes). Name a smaller part of it, or let the subagent read it with a tool.`;

const KIND_TEXTS: Partial<Record<InputKind, string>> = { text: 'a text', 'application/pdf': 'a PDF' };

function openErrorText({ code, message }: NodeJS.ErrnoException, path: string): string {
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return `does not exist (${endOf(path)}). Give a path relative to the working folder, or an absolute one.`;
  if (code === 'EACCES' || code === 'EPERM')
    return 'is not readable for the user that Squad runs as. Change its permissions, or name a copy.';
  return `cannot be opened: ${message}. Name a readable file.`;
}

const MAX_TOTAL_BYTES = 32 * MIB;
/**
 * Maximum length of the list of problems. Longer error messages are cut, and this one should end with a whole sentence.
 */
const MAX_LIST_LENGTH = 1_500;

interface InputParts {
  content: Exclude<UserContent, string>;
  shown: TracePart[];
  files: ChatFile[];
}

/** The input files as parts of the prompt. All files are checked first: one unsupported file refuses them all. */
export async function readInputs(
  names: readonly string[],
  cwd: string,
  kept: ChatFiles,
): Promise<InputParts> {
  const problems: string[] = [];
  const found: FoundInput[] = [];
  const read: InputParts = { content: [], shown: [], files: [] };
  const room = { left: MAX_TOTAL_BYTES };
  for (const name of names) {
    const input = await collectProblem(problems, () => inspectFile(name, resolve(cwd, name)));
    if (input) found.push(input);
  }
  const totalBytes = found.reduce((sum, { bytes }) => sum + bytes, 0);
  if (totalBytes > MAX_TOTAL_BYTES)
    problems.push(
      `The inputs together have ${totalBytes.toLocaleString('en')} bytes, and the limit for the files of one prompt is ${MAX_TOTAL_BYTES / MIB} MiB (${MAX_TOTAL_BYTES.toLocaleString('en')} bytes). Name fewer.`,
    );
  if (problems.length === 0)
    for (const input of found) await collectProblem(problems, () => take(input, room, kept, read));
  if (problems.length > 0) throw unreadable(problems);
  return read;
}

/** Collects the problem of one file, so that one error can list all of them. */
async function collectProblem<T>(problems: string[], work: () => Promise<T>): Promise<T | null> {
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
  kept: ChatFiles,
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
    const { mark, bytes, sha256 } = await kept.save(piecesOf(input, room));
    const data = { type: 'data', data: mark } as const;
    content.push({ type: 'file', mediaType: kind, filename: basename(name), data });
    shown.push({ type: 'file', name, mediaType: kind, bytes, sha256 });
    files.push({ mark, bytes });
  }
}

/** A text may contain something that looks like an end tag, so the end tag repeats the name. */
const framed = (file: string, text: string): string =>
  `<file name=${JSON.stringify(file)}>\n${text}${text.endsWith('\n') ? '' : '\n'}</file name=${JSON.stringify(file)}>`;

function unreadable(problems: readonly string[]): AgentError {
  let list = '';
  for (const [at, problem] of problems.entries()) {
    if (at > 0 && list.length + problem.length > MAX_LIST_LENGTH) {
      list += ` And ${problems.length - at} more.`;
      break;
    }
    list += `${at > 0 ? ' ' : ''}${problem}`;
  }
  return new AgentError('INPUT_UNREADABLE', list);
}
