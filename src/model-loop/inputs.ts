import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { UserContent } from 'ai';
import type { TracePart } from '../schema/trace.ts';
import { Ending } from './ending.ts';
import { kindOf } from './input-kind.ts';

const MIB = 1024 * 1024;
const MOST_TEXT = MIB;
const MOST_IMAGE = 5 * MIB;
const MOST_PDF = 32 * MIB;
const MOST_TOGETHER = 32 * MIB;
const PIECE = 256 * 1024;

export interface InputParts {
  content: Exclude<UserContent, string>;
  shown: TracePart[];
}

/** The files that join a prompt, as parts of it. One that cannot refuses all of them. */
export async function readInputs(files: readonly string[], cwd: string): Promise<InputParts> {
  const read: InputParts = { content: [], shown: [] };
  let left = MOST_TOGETHER;
  for (const file of files) {
    const bytes = await readWhole(file, resolve(cwd, file), left);
    left -= bytes.length;
    const kind = kindOf(bytes);
    if (kind === null)
      throw unreadable(
        file,
        'is neither text in UTF-8 nor an image (PNG, JPEG, GIF, WebP) nor a PDF',
        CONVERT,
      );
    const most = kind === 'text' ? MOST_TEXT : kind === 'application/pdf' ? MOST_PDF : MOST_IMAGE;
    if (bytes.length > most) throw tooLarge(file, bytes.length, most, kind === 'text' ? 'a text' : kind);
    const name = basename(file);
    read.content.push(
      kind === 'text'
        ? { type: 'text', text: framed(file, bytes.toString('utf8')) }
        : {
            type: 'file',
            mediaType: kind,
            filename: name,
            data: { type: 'data', data: bytes.toString('base64') },
          },
    );
    const mediaType = kind === 'text' ? 'text/plain' : kind;
    read.shown.push({ type: 'file', name: file, mediaType, bytes: bytes.length });
  }
  return read;
}

const CONVERT = 'Convert it, or let the subagent read it with a tool.';

/** A text may hold anything, also words that look like the end of it: the name is said at both ends. */
const framed = (file: string, text: string): string =>
  `<file name=${JSON.stringify(file)}>\n${text}${text.endsWith('\n') ? '' : '\n'}</file name=${JSON.stringify(file)}>`;

/** Looked at before it is read: neither a pipe that never ends nor a file of any size is taken in. */
async function readWhole(file: string, path: string, left: number): Promise<Buffer> {
  // A pipe that nobody writes to would not even open.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      throw error.code === 'ENOENT'
        ? unreadable(
            file,
            `is not there (${path})`,
            'Name files from the working folder, or with an absolute path.',
          )
        : unreadable(file, `cannot be read: ${error.message}`, 'Check who may read it.');
    },
  );
  try {
    const found = await handle.stat();
    if (found.isDirectory()) throw unreadable(file, 'is a folder', 'Name the files in it.');
    if (!found.isFile()) throw unreadable(file, 'is not a regular file', 'Name a file.');
    if (found.size > MOST_PDF) throw tooLarge(file, found.size, MOST_PDF, 'any file');
    if (found.size > left)
      throw unreadable(
        file,
        `is more than the files of one prompt may be together (${MOST_TOGETHER / MIB} MiB)`,
        'Name fewer files.',
      );
    return await readUpTo(handle, Math.min(left, MOST_PDF), file);
  } finally {
    await handle.close();
  }
}

/** What a file says of its size need not be so: some of the system's own have none and never end, others grow meanwhile. */
async function readUpTo(handle: FileHandle, most: number, file: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let length = 0; ; ) {
    const { bytesRead, buffer } = await handle
      .read({ buffer: Buffer.allocUnsafe(PIECE) })
      .catch((error: NodeJS.ErrnoException) => {
        throw unreadable(file, `cannot be read: ${error.message}`, 'Name a file that can be.');
      });
    if (bytesRead === 0) return Buffer.concat(pieces);
    length += bytesRead;
    if (length > most) throw tooLarge(file, length, most, 'what is left of the files of one prompt');
    pieces.push(buffer.subarray(0, bytesRead));
  }
}

const tooLarge = (file: string, bytes: number, most: number, what: string): Ending =>
  unreadable(
    file,
    `has ${(bytes / MIB).toFixed(1)} MiB, and ${what} may have ${most / MIB} MiB`,
    'Name a smaller part of it, or let the subagent read it with a tool.',
  );

const unreadable = (file: string, why: string, next: string): Ending =>
  new Ending('INPUT_UNREADABLE', `The input ${JSON.stringify(file)} ${why}. ${next}`);
