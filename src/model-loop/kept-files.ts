import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pieces } from './provider-http.ts';

/** A file of a chat: the mark that stands for its base64 in the messages, and what it has. */
export interface KeptFile {
  mark: string;
  bytes: number;
}

/** A multiple of three, so that pieces of base64 can stand one after the other. */
const PIECE = 192 * 1024;

/**
 * The images and documents of a chat, kept beside it. They are put in the place of their marks when a request goes out, piece
 * by piece: neither one of them nor a request with one is ever whole in memory.
 */
export class KeptFiles {
  readonly #folder: string;
  readonly #files = new Map<string, KeptFile>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  know(files: readonly KeptFile[]): void {
    for (const file of files) this.#files.set(file.mark, file);
  }

  async keep(content: AsyncIterable<Buffer>): Promise<KeptFile & { sha256: string }> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    // Good base64, since the SDK looks at it; and nobody can guess it, so that no other text is taken for it.
    const mark = `SquadInput${randomBytes(17).toString('hex')}`;
    const hash = createHash('sha256');
    let bytes = 0;
    await using file = await open(this.#path(mark), 'wx', 0o600);
    for await (const piece of content) {
      hash.update(piece);
      bytes += piece.length;
      await file.appendFile(piece);
    }
    const kept = { mark, bytes };
    this.know([kept]);
    return { ...kept, sha256: hash.digest('hex') };
  }

  /** A request with the files in it that its marks stand for. */
  filled(body: string): string | Pieces {
    const marks = [...this.#files.keys()].filter(mark => body.includes(mark));
    if (marks.length === 0) return body;
    const pieces = body.split(new RegExp(`(${marks.join('|')})`));
    const lengths = pieces.map(piece => {
      const file = this.#files.get(piece);
      return file ? Math.ceil(file.bytes / 3) * 4 : Buffer.byteLength(piece);
    });
    return { bytes: lengths.reduce((sum, length) => sum + length, 0), pieces: () => this.#made(pieces) };
  }

  async *#made(pieces: readonly string[]): AsyncGenerator<string> {
    for (const piece of pieces) {
      if (this.#files.has(piece)) yield* base64Of(this.#path(piece));
      else yield piece;
    }
  }

  #path(mark: string): string {
    return join(this.#folder, mark);
  }
}

async function* base64Of(path: string): AsyncGenerator<string> {
  await using file = await open(path);
  const piece = Buffer.allocUnsafe(PIECE);
  for (;;) {
    let length = 0;
    for (let read = -1; read !== 0 && length < PIECE; length += read)
      read = (await file.read(piece, length, PIECE - length)).bytesRead;
    if (length > 0) yield piece.toString('base64', 0, length);
    if (length < PIECE) return;
  }
}
