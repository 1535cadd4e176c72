import { join } from 'node:path';
import { startHub } from '../app.ts';
import { Log } from '../hub/log.ts';
import { homeFolder } from '../link/home.ts';
import { version } from '../link/program.ts';
import { LOCK_TAKEN_EXIT } from '../link/start-hub.ts';
import { asSquadError } from '../schema/error.ts';

const home = homeFolder(process.env);
startHub({ home, env: process.env, version, programs: __dirname }).then(
  hub => {
    if (hub === null) process.exit(LOCK_TAKEN_EXIT);
  },
  thrown => {
    new Log(join(home, 'hub.log'), undefined).write('error', 'The hub could not start', thrown);
    // Whoever started us reads this one line and shows it.
    process.stderr.write(`${JSON.stringify(asSquadError(thrown).toShape())}\n`);
    process.exit(1);
  },
);
