import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ModelMessage } from 'ai';
import { Ending } from './ending.ts';

export interface Chat {
  /** Id of the newest message. */
  last: string | null;
  messages: ModelMessage[];
}

const VERSION = 1;

export async function readChat(file: string): Promise<Chat> {
  try {
    const kept = JSON.parse(await readFile(file, 'utf8')) as Chat & { version: number };
    if (kept.version !== VERSION || !Array.isArray(kept.messages)) throw new Error('it is of another form');
    return kept;
  } catch (thrown) {
    throw new Ending(
      'ENGINE_FAILED',
      `The chat in ${file} cannot be gone on with: ${thrown instanceof Error ? thrown.message : String(thrown)}. Begin a new one.`,
    );
  }
}

/** Whole or not at all, and for its user only. */
export async function writeChat(file: string, chat: Chat): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const made = `${file}.${process.pid}`;
  await writeFile(made, JSON.stringify({ version: VERSION, ...chat }), { mode: 0o600 });
  await rename(made, file);
}
