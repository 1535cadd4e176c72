import { homedir } from 'node:os';
import type { Terminals } from '../core/ports/sessions.ts';
import { findTerminal, openWindow, terminalArguments } from '../process/programs/terminal-window.ts';

const SETTLE_MS = 1_000;

/** `squad`: the words that start the command line of this hub. */
export const terminalWindows = (home: string, squad: readonly string[]): Terminals => ({
  find: env => findTerminal(env),
  async open(env, { run, takesOver }) {
    const { program, why } = findTerminal(env);
    if (program === null) throw Object.assign(new Error(why), { code: 'SPAWN_FAILED' });
    const attach = [...squad, 'attach', run, ...(takesOver ? ['--take-over'] : []), '--window'];
    await openWindow({
      argv: [program, ...terminalArguments(program, attach)],
      cwd: env.HOME ?? homedir(),
      // The window is to find this hub, whatever the terminal that opened the page would find.
      env: { ...env, SQUAD_HOME: home },
      settleMs: SETTLE_MS,
    });
  },
});
