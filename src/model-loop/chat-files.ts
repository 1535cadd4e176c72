import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pieces } from './provider-http.ts';

export interface ChatFile {
  /** Placeholder for the file's base64 in messages. */
  mark: string;
  bytes: number;
}

/** A multiple of three, so that the base64 of pieces can be concatenated. */
const PIECE = 192 * 1024;

/**
 * The images and documents of a chat, stored next to it. They replace their marks while a request is sent, piece by piece, so
 * that neither a whole file nor a whole request is ever in memory.
 */
export class ChatFiles {
  readonly #folder: string;
  readonly #files = new Map<string, ChatFile>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  register(files: readonly ChatFile[]): void {
    for (const file of files) this.#files.set(file.mark, file);
  }

  async save(content: AsyncIterable<Buffer>): Promise<ChatFile & { sha256: string }> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    // The mark is valid base64, because the SDK checks it, and random, so that no other text is mistaken for it.
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
    this.register([kept]);
    return { ...kept, sha256: hash.digest('hex') };
  }

  /** The request body with every mark replaced by its file. */
  withContents(body: string): string | Pieces {
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
