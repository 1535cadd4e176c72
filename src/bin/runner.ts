/** Runs on a box, as the user who logs in there. The hub sends this file over SSH and talks to it on stdin and stdout. */
import { join } from 'node:path';
import { promptFromStdin, scriptedAgent } from '../engines/scripted/agent.ts';
import { runDoor } from '../runner/door.ts';
import { serveRunner } from '../runner/serve.ts';

const [hub, argument] = process.argv.slice(2);
const env = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined || /^(SSH_|SQUAD_|OLDPWD$|SHLVL$|_$)/.test(name) ? [] : [[name, value]],
  ),
);
if (hub === 'scripted-agent') {
  // The hub, which restarts the runner, is on another machine.
  const squad = { env: process.env, replaceKilledHub: async () => {} };
  void scriptedAgent(promptFromStdin(), squad, process.argv.includes('--continue')).then(code => {
    process.exitCode = code;
  });
} else if (hub === 'door') void runDoor(argument!);
else
  serveRunner({
    home: join(process.env.HOME ?? '/', '.squad-runner'),
    hub: hub!,
    ...{ input: process.stdin, output: process.stdout, env },
    exit: () => process.exit(0),
  });
