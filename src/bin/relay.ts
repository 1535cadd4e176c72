import { homeFolder } from '../link/home.ts';
import { readIdentity } from '../link/identity-file.ts';
import { helloFor, hubProgram } from '../link/program.ts';
import { flagsIn, HELP, type RelayFlags } from '../relay/arguments.ts';
import { relay } from '../relay/relay.ts';
import type { Trouble } from '../relay/traffic.ts';

const flags = flagsIn(process.argv.slice(3));
if ('problem' in flags) {
  say(flags.problem);
  process.exit(2);
} else if (flags.help || process.stdin.isTTY) process.stderr.write(HELP);
else {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(0));
  start(flags).then(
    // What was asked for cannot be: as with a flag nobody knows.
    trouble => process.exit(trouble === null ? 0 : trouble.code === 'INVALID_INPUT' ? 2 : 1),
    thrown => {
      report(thrown);
      process.exit(2);
    },
  );
}

async function start({ workspace, toolsets, identity }: RelayFlags): Promise<Trouble | null> {
  const run = identity === undefined ? null : readIdentity(identity);
  return relay({
    // A client may hand down so little that only the file knows which hub it is.
    home: run?.home ?? homeFolder(process.env),
    env: process.env,
    program: hubProgram,
    hello: {
      ...helloFor('mcp', workspace),
      ...(toolsets !== undefined && { toolsets }),
      ...(run && { token: run.token }),
    },
    input: process.stdin,
    output: process.stdout,
    onTrouble: report,
  });
}

function report({ code, message, suggestions = [] }: Trouble): void {
  say([`${code}: ${message}`, ...suggestions].join('\n  '));
}

function say(message: string): void {
  process.stderr.write(`squad mcp: ${message}\n`);
}
