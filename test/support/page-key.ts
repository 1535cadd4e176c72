import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What lets one browser in when it is put behind an address of the page, as `squad open` does. */
export async function pageKey(home: string, origin: string): Promise<string> {
  const token = readFileSync(join(home, 'token'), 'utf8').trim();
  const response = await fetch(`${origin}/api/ticket`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ purpose: 'open' }),
  });
  return `#key=${((await response.json()) as { ticket: string }).ticket}`;
}
