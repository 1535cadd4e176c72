import { join } from 'node:path';
import { runHub } from '../app.ts';
import { describeFreeable } from '../hub/freeable.ts';
import { Log } from '../hub/log.ts';
import { shedInherited } from '../hub/shed-inherited.ts';
import { homeFolder } from '../link/home.ts';
import { version } from '../link/program.ts';
import { LOCK_TAKEN_EXIT } from '../link/start-hub.ts';
import { asSquadError } from '../schema/error.ts';

const home = homeFolder(process.env);
const warnings = shedInherited();
const startedBy = Number(process.argv[2]);
/** Resolves when the hub serves. */
export const started: Promise<void> = runHub({
  home,
  env: process.env,
  version,
  programs: __dirname,
  warnings,
  startedBy,
}).then(
  hub => {
    if (hub === null) process.exit(LOCK_TAKEN_EXIT);
  },
  thrown => {
    new Log(join(home, 'hub.log'), undefined).write('error', 'The hub could not start', thrown);
    // The client that started this hub reads this line and shows it.
    const shape = asSquadError(thrown).toShape();
    // Lists files to delete by hand, because `squad prune` needs a hub.
    const freeable = shape.code === 'DISK_FULL' ? describeFreeable(home) : [];
    const suggestions =
      freeable.length > 0 ? ['Delete some of this, then try again:', ...freeable] : shape.suggestions;
    process.stderr.write(`${JSON.stringify({ ...shape, suggestions })}\n`);
    process.exit(1);
  },
);
