import { askHub } from './ask-hub.ts';
import type { TestSquad } from './squad.ts';

/** Lets one browser in when it is put behind an address of the web UI, as `squad open` does. */
export async function webKey(squad: TestSquad): Promise<string> {
  const { opened } = await askHub<{ opened: { key: string } }>(squad, 'open_page');
  return `#key=${opened.key}`;
}
