import { createInterface } from 'node:readline/promises';
import { asSquadError } from '../../schema/error.ts';
import { reportError } from '../report-error.ts';

/** A window that was opened for one command is gone with it: its last words stay until they are read. */
export async function inWindow(isWindow: boolean, work: () => Promise<number>): Promise<number> {
  if (!isWindow) return work();
  const code = await work().catch(thrown => reportError(asSquadError(thrown), false));
  if (!process.stdin.isTTY) return code;
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<void>(resolve => asking.once('close', resolve));
  await Promise.race([asking.question('Enter closes this window. '), closed]).finally(() => asking.close());
  return code;
}
