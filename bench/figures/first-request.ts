import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ALL_CLIS, installCli } from '../../scripts/engine-clis.ts';
import { inNamespace } from '../../test/engines/namespace.ts';
import { type Figure, paired } from '../figure.ts';
import type { Pair } from '../measure.ts';

const INSIDE = join(import.meta.dirname, '..', 'first-request.ts');

/** Wait before the first request reaches a model. Most of it is the startup of the CLI. */
export const firstRequest: Figure = {
  name: 'first-request',
  title: 'From the call to the first request a model gets, with the real CLIs',
  async measure() {
    for (const name of ALL_CLIS) await installCli(name);
    const [program, ...args] = inNamespace([process.execPath, INSIDE, ...ALL_CLIS]);
    const output = execFileSync(program!, args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const pairs: Record<string, Pair> = JSON.parse(output.trim().split('\n').at(-1)!);
    return Object.entries(pairs).map(([name, pair]) =>
      paired(`${name}, against the same CLI started by hand`, 'ms', pair, {
        note: "with Squad's own MCP server to connect to, which the bare command does not have",
      }),
    );
  },
};
