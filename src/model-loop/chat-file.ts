import { appendFile, mkdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ModelMessage } from 'ai';
import { Ending } from './ending.ts';
import type { KeptFile } from './kept-files.ts';

/** What is added to a chat at once: a line of its file. */
export interface ChatLine {
  /** Id of the newest message. */
  last: string | null;
  messages: ModelMessage[];
  /** Those that the messages have marks of. */
  files: KeptFile[];
}

const HEAD = `${JSON.stringify({ version: 2 })}\n`;

/** All lines that are whole. One that is not was being written when its agent was ended: it goes, and is not missed. */
export async function readChat(file: string): Promise<ChatLine> {
  try {
    const text = await readFile(file, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (!whole.startsWith(HEAD)) throw new Error('it is of another form');
    if (whole !== text) await truncate(file, Buffer.byteLength(whole));
    const lines: ChatLine[] = whole
      .slice(HEAD.length)
      .split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line));
    return {
      last: lines.at(-1)?.last ?? null,
      messages: lines.flatMap(({ messages }) => messages),
      files: lines.flatMap(({ files }) => files),
    };
  } catch (thrown) {
    throw new Ending(
      'ENGINE_FAILED',
      `The chat in ${file} cannot be gone on with: ${thrown instanceof Error ? thrown.message : String(thrown)}. Begin a new one.`,
    );
  }
}

/** For its user only. */
export async function beginChat(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, HEAD, { mode: 0o600 });
}

export const addToChat = (file: string, line: ChatLine): Promise<void> =>
  appendFile(file, `${JSON.stringify(line)}\n`);
