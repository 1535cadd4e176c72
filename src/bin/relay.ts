import { homeFolder } from '../link/home.ts';
import { helloFor, hubProgram } from '../link/program.ts';
import { HELP, workspaceFlag } from '../relay/arguments.ts';
import { relay } from '../relay/relay.ts';

const flags = workspaceFlag(process.argv.slice(3));
if ('problem' in flags) fail(flags.problem, 2);
else if (flags.help || process.stdin.isTTY) process.stderr.write(HELP);
else {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(0));
  relay({
    home: homeFolder(process.env),
    env: process.env,
    program: hubProgram,
    hello: helloFor('mcp', flags.workspace),
    input: process.stdin,
    output: process.stdout,
  }).then(
    () => process.exit(0),
    error =>
      fail(
        `${error.code ?? 'HUB_UNREACHABLE'}: ${error.message}${(error.suggestions ?? []).map((s: string) => `\n  ${s}`).join('')}`,
        1,
      ),
  );
}

function fail(message: string, code: number): void {
  process.stderr.write(`squad mcp: ${message}\n`);
  process.exit(code);
}
