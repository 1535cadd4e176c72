import { resolve } from 'node:path';
import type { Handshake } from '../link/handshake.ts';
import { homeFolder } from '../link/home.ts';
import { readIdentity } from '../link/identity-file.ts';
import { handshakeFor, hubProgram } from '../link/program.ts';
import { flagsIn, HELP, type RelayFlags, SERVE_HELP } from '../relay/arguments.ts';
import { type RelayOptions, relay } from '../relay/relay.ts';
import type { Trouble } from '../relay/traffic.ts';

/** The hub itself closes when nothing is left of what it ran for this client: this is for one that never does. */
const STOP_MS = 20_000;
/** Clients speak first, and at once: without a word by then, a server that cannot work was started by no client. */
const SILENT_MS = 3_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const args = process.argv.slice(3);
const isServe = args[0] === 'serve';
const flags = flagsIn(args);
if ('problem' in flags) {
  say(flags.problem);
  process.exit(2);
} else if ('help' in flags) process.stderr.write(flags.help);
else if (process.stdin.isTTY) process.stderr.write(isServe ? SERVE_HELP : HELP);
else
  ('config' in flags ? serve(flags.config) : start(flags)).then(
    // What was asked for cannot be: as with a flag nobody knows.
    trouble => process.exit(trouble === null ? 0 : isUsage(trouble) ? 2 : 1),
    thrown => {
      report(thrown);
      process.exit(2);
    },
  );

async function start({ workspace, toolsets, identity }: RelayFlags): Promise<Trouble | null> {
  for (const signal of SIGNALS) process.on(signal, () => process.exit(0));
  const run = identity === undefined ? null : readIdentity(identity);
  return relay({
    ...optionsFor({
      ...handshakeFor('mcp', workspace),
      ...(toolsets !== undefined && { toolsets }),
      ...(run && { token: run.token }),
    }),
    // A client may hand down so little that only the file knows which hub it is.
    home: run?.home ?? homeFolder(process.env),
  });
}

/** A subagent ends with its server: whatever ends this one, the hub is given the time to stop what runs for it. */
async function serve(config: string): Promise<Trouble | null> {
  const stop = new AbortController();
  // Once is enough: a client may well send two of them, one after the other.
  for (const signal of SIGNALS) process.on(signal, () => stop.abort());
  return relay({
    ...optionsFor({ ...handshakeFor('subagent'), config: resolve(config) }),
    silentMs: SILENT_MS,
    endsCalls: true,
    stop: stop.signal,
    lastRepliesMs: STOP_MS,
    onWarning: text => say(`warning: ${text}`),
    afterLoss: 'What it had begun is stopped: call it again if it is still wanted.',
  });
}

function optionsFor(hello: Handshake): RelayOptions {
  return {
    home: homeFolder(process.env),
    env: process.env,
    program: hubProgram,
    hello,
    input: process.stdin,
    output: process.stdout,
    onTrouble: report,
  };
}

const isUsage = ({ code, kind }: Trouble): boolean => code === 'INVALID_INPUT' || kind === 'usage';

function report({ code, message, suggestions = [] }: Trouble): void {
  say([`${code}: ${message}`, ...suggestions].join('\n  '));
}

function say(message: string): void {
  process.stderr.write(`squad mcp${isServe ? ' serve' : ''}: ${message}\n`);
}
