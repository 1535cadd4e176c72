import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { type Figure, paired, type Row } from '../figure.ts';
import { interleave, timed } from '../measure.ts';

const MAX_TIMES_NODE = 3;
const PAIRS = 40;

/** Time from start to end of a command that only prints. A shell waits this long for each completion. */
export const commandStart: Figure = {
  name: 'command-start',
  title: 'Start of commands that only print',
  async measure() {
    await using squad = new BenchSquad();
    const surroundings = { cwd: squad.workspace, env: squad.env(), stdio: 'ignore' } as const;
    const ended = (args: string[]) => timed(() => once(spawn(process.execPath, args, surroundings), 'exit'));
    const script = join(squad.program, 'bin', 'squad.cjs');
    const rows: Row[] = [];
    for (const args of [[], ['--help'], ['--version']]) {
      const pair = await interleave(
        () => ended([script, ...args]),
        () => ended(['-e', '0']),
        { pairs: PAIRS },
      );
      const name = `${['squad', ...args].join(' ')}, against node -e 0`;
      rows.push(
        paired(name, 'ms', pair, {
          target: `≤ ${MAX_TIMES_NODE} ×`,
          isMet: ({ ratio }) => ratio! <= MAX_TIMES_NODE,
        }),
      );
    }
    return rows;
  },
};
