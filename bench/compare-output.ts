import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { McpClient } from './mcp-client.ts';

interface Page {
  text: string;
  offset: number;
  next_offset: number;
  size: number;
}

/** Number of places at which the output differs from the file `truth`. Reads two consecutive pages at each place. */
export async function differentPages(
  client: McpClient,
  runId: string,
  truth: string,
  places: number,
): Promise<number> {
  const { size } = statSync(truth);
  const random = Array.from({ length: places - 2 }, () => Math.floor(Math.random() * (size - 100_000)));
  const file = openSync(truth, 'r');
  let different = 0;
  for (const offset of [0, ...random, size - 5_000]) {
    const first = await pageAt(client, runId, offset);
    const second = await pageAt(client, runId, first.next_offset);
    const expected = Buffer.alloc(second.next_offset - offset);
    readSync(file, expected, 0, expected.length, offset);
    const joins = first.offset === offset && second.offset === first.next_offset && second.size === size;
    if (!joins || !Buffer.from(first.text + second.text).equals(expected)) different++;
  }
  closeSync(file);
  return different;
}

async function pageAt(client: McpClient, runId: string, offset: number): Promise<Page> {
  const reply = await client.tool('get_result', { spawn_id: runId, stream: 'stdout', offset });
  return reply.structuredContent.page as Page;
}

export function areSame(one: string, other: string): boolean {
  try {
    execFileSync('cmp', ['-s', one, other]);
    return true;
  } catch {
    return false;
  }
}
