import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { type InputKind, kindOf } from './input-kind.ts';

const MIB = 1024 * 1024;
const PIECE = 256 * 1024;
const LONGEST_NAME = 200;

/** A file that can join a prompt, by what is seen of it from outside. */
export interface FoundInput {
  name: string;
  path: string;
  kind: InputKind;
  /** What it says it has. */
  bytes: number;
}

/** A file that cannot, why, and what to do about it. */
export class Unfit extends Error {
  constructor(name: string, why: string) {
    super(`The input ${JSON.stringify(endOf(name))} ${why}`);
  }
}

const endOf = (name: string): string =>
  (name.length > LONGEST_NAME ? `…${name.slice(-LONGEST_NAME)}` : name).toWellFormed();

export const NO_KIND =
  'is neither text in UTF-8 nor an image (PNG, JPEG, GIF, WebP) nor a PDF. Convert it, or let the subagent read it with a tool.';

/** Neither a pipe that never ends nor a file of any size is read here. */
export async function lookAt(name: string, path: string): Promise<FoundInput> {
  // A pipe that nobody writes to would not even open.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(thrown => {
    throw new Unfit(name, whyClosed(thrown, path));
  });
  const found = await file.stat();
  if (found.isDirectory()) throw new Unfit(name, 'is a folder. Name the files in it.');
  if (!found.isFile()) throw new Unfit(name, 'is not a regular file. Name a file.');
  const beginning = await pieceOf(file, name);
  const kind = kindOf(beginning);
  if (kind === null) throw new Unfit(name, NO_KIND);
  const bytes = Math.max(found.size, beginning.length);
  if (bytes > mostOf(kind)) throw new Unfit(name, tooLarge(kind, `has ${bytes.toLocaleString('en')} bytes`));
  return { name, path, kind, bytes };
}

/** What a file says of its size need not be so: some of the system's own have none and never end, others grow meanwhile. */
export async function* piecesOf(
  { name, path, kind }: FoundInput,
  room: { left: number },
): AsyncGenerator<Buffer> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(thrown => {
    throw new Unfit(name, whyClosed(thrown, path));
  });
  for (let length = 0; ; ) {
    const piece = await pieceOf(file, name);
    if (piece.length === 0) return;
    length += piece.length;
    room.left -= piece.length;
    if (length > mostOf(kind)) throw new Unfit(name, tooLarge(kind, 'goes on for longer than it said'));
    if (room.left < 0)
      throw new Unfit(name, 'is more than the files of one prompt may be together. Name fewer.');
    yield piece;
  }
}

const pieceOf = async (file: FileHandle, name: string): Promise<Buffer> => {
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.allocUnsafe(PIECE) }).catch(thrown => {
    throw new Unfit(name, `cannot be read: ${(thrown as Error).message}. Name one that can.`);
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
