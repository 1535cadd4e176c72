import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEventLine } from './event-line.ts';

/** Event lines, about `bytes` of them, as fast as the reader takes them. */
export async function flood(bytes: number): Promise<void> {
  const line = `${JSON.stringify({ at: Date.now(), type: 'text', text: 'flood '.repeat(160).trim() })}\n`;
  const chunk = line.repeat(64);
  for (let written = 0; written < bytes; written += chunk.length) await write(chunk);
}

/** Prints a recorded output again, waiting between events as long as the recording did. Its end becomes our end. */
export async function replay(file: string): Promise<void> {
  let last: number | null = null;
  let ended = false;
  for await (const line of createInterface({
    input: createReadStream(file),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    const at = timeOf(line);
    if (at !== null && last !== null && at > last) await sleep(Math.min(at - last, 60_000));
    last = at ?? last;
    await write(`${line}\n`);
    ended ||= parseEventLine(line).some(event => event.type === 'end');
  }
  if (ended) process.exit(0);
}

function timeOf(line: string): number | null {
  try {
    const { at } = JSON.parse(line);
    return typeof at === 'number' ? at : null;
  } catch {
    return null; // a line of plain output: printed as it is, at once
  }
}

const write = (text: string) =>
  new Promise<void>(settle => (process.stdout.write(text) ? settle() : process.stdout.once('drain', settle)));
