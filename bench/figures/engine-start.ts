import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { Fifo } from '../fifo.ts';
import { type Figure, paired } from '../figure.ts';
import { startPair } from '../start-pair.ts';

const MAX_OVER_SPAWN_MS = 25;
const FILES = 200;

/**
 * Time from tools/call to the exec of an engine's command, including all work for a built-in engine: its version, the
 * folder's git state, a token, a config file. A program that only reports its start takes the place of the engine.
 */
export const engineStart: Figure = {
  name: 'engine-start',
  title: "From tools/call to the exec of the engine's own command",
  async measure() {
    await using squad = new BenchSquad();
    repository(squad.workspace);
    const fifo = new Fifo(join(squad.root, 'started'));
    const program = standIn(join(squad.root, 'bin'), fifo.path);
    const env = { PATH: `${join(squad.root, 'bin')}:${squad.env().PATH}`, ENGINE_COMMAND: 'claude' };
    const { start: pair } = await startPair(squad, {
      fifo,
      env,
      command: [program, '-p'],
      isolation: 'none',
    });
    fifo.close();
    return [
      paired('a built-in engine, against child_process.spawn', 'ms', pair, {
        target: `≤ floor + ${MAX_OVER_SPAWN_MS} ms`,
        isMet: ({ over }) => over! <= MAX_OVER_SPAWN_MS,
        note: `in a git repository of ${FILES} files; warm, so the version is known`,
      }),
    ];
  },
};

/** Imitates as much of Claude Code as is needed to be found and to succeed. */
function standIn(folder: string, fifo: string): string {
  mkdirSync(folder);
  const program = join(folder, 'claude');
  const end = JSON.stringify({ type: 'result', subtype: 'success', is_error: false, result: 'ok' });
  writeFileSync(
    program,
    `#!/bin/sh\nif [ "$1" = --version ]; then echo '2.1.325 (Claude Code)'; exit; fi\necho >${fifo}\necho '${end}'\n`,
  );
  chmodSync(program, 0o755);
  return program;
}

function repository(folder: string): void {
  for (let n = 0; n < FILES; n++) writeFileSync(join(folder, `file-${n}.txt`), `${n}\n`);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Bench', '-c', 'user.email=bench@localhost', ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    });
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--message', 'Files');
}
