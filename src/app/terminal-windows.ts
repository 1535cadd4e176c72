import { homedir } from 'node:os';
import type { Terminals } from '../core/ports/sessions.ts';
import { findTerminal, openWindow, terminalArguments } from '../process/programs/terminal-window.ts';

const START_TIMEOUT_MS = 1_000;

/** `squad`: program and arguments that start this hub's command line. */
export const terminalWindows = (home: string, squad: readonly string[]): Terminals => ({
  find: env => findTerminal(env),
  async open(env, { run, takesOver }) {
    const { program, why } = findTerminal(env);
    if (program === null) throw Object.assign(new Error(why), { code: 'SPAWN_FAILED' });
    const attach = [...squad, 'attach', run, ...(takesOver ? ['--take-over'] : []), '--window'];
    await openWindow({
      argv: [program, ...terminalArguments(program, attach)],
      cwd: env.HOME ?? homedir(),
      // The window has to find this hub, even if the terminal that opened the web UI uses another one.
      env: { ...env, SQUAD_HOME: home },
      settleMs: START_TIMEOUT_MS,
    });
  },
});
