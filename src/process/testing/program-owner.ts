/**
 * A process for tests that kill it. It starts one program of each kind, none of which ends by itself. Its argument is a
 * folder for the pids of these programs. The file `ready` appears there when all programs are running and the reaper
 * knows them.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHook } from '../programs/run-hook.ts';
import { runLogged } from '../programs/run-logged.ts';
import { runProgram } from '../programs/run-program.ts';
import { createProcessTable } from '../table/process-table.ts';

const [cwd = ''] = process.argv.slice(2);
const env = { PATH: '/usr/bin:/bin' };
const sleeper = (name: string) =>
  ['/bin/sh', '-c', `sleep 600 & echo $! > ${name}.new; mv ${name}.new ${name}; wait`] as [
    string,
    ...string[],
  ];
const base = { cwd, env, limitMs: 300_000 };

const locker = ['/bin/sh', '-c', 'trap "rm lock; exit" TERM; touch lock; sleep 600 & wait'] as [
  string,
  ...string[],
];

// The check runs in a later turn of the event loop than the start and registration of the programs.
const waiting = setInterval(() => {
  if (!['lock', 'program', 'hook', 'logged'].every(name => existsSync(join(cwd, name)))) return;
  clearInterval(waiting);
  writeFileSync(join(cwd, 'ready'), '');
}, 10);

await Promise.all([
  runProgram({ ...base, argv: locker, maxBytes: 1000 }),
  runProgram({ ...base, argv: sleeper('program'), maxBytes: 1000 }),
  runHook({ ...base, argv: sleeper('hook'), stdin: '', signal: new AbortController().signal }),
  runLogged({
    ...base,
    argv: sleeper('logged'),
    table: createProcessTable(),
    tag: 'none',
    logFile: join(cwd, 'log'),
  }),
]);
