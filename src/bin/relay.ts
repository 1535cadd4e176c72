import { resolve } from 'node:path';
import type { Handshake } from '../link/handshake.ts';
import { homeFolder } from '../link/home.ts';
import { readIdentity } from '../link/identity-file.ts';
import { handshakeFor, hubProgram } from '../link/program.ts';
import { flagsIn, HELP, type RelayFlags, SERVE_HELP } from '../relay/arguments.ts';
import { type RelayOptions, relay } from '../relay/relay.ts';
import type { RelayError } from '../relay/traffic.ts';

/** The hub closes the connection when everything it ran for this client has ended. This limit is for a hub that never does. */
const STOP_TIMEOUT_MS = 20_000;
/** MCP clients send the first message at once. If none comes within this time, no client started this server. */
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
    // 2 as for an unknown flag: the request itself is wrong.
    error => process.exit(error === null ? 0 : isUsage(error) ? 2 : 1),
    thrown => {
      report(thrown);
      process.exit(2);
    },
  );

async function start({ workspace, toolsets, identity }: RelayFlags): Promise<RelayError | null> {
  for (const signal of SIGNALS) process.on(signal, () => process.exit(0));
  const run = identity === undefined ? null : readIdentity(identity);
  return relay({
    ...optionsFor({
      ...handshakeFor('mcp', workspace),
      ...(toolsets !== undefined && { toolsets }),
      ...(run && { token: run.token }),
    }),
    // A client may pass on so few variables that only the file names the hub.
    home: run?.home ?? homeFolder(process.env),
  });
}

/** A subagent ends with its server: the hub gets time to stop what runs for it, however this process is ended. */
async function serve(config: string): Promise<RelayError | null> {
  const stop = new AbortController();
  // The second signal changes nothing: some clients send two.
  for (const signal of SIGNALS) process.on(signal, () => stop.abort());
  return relay({
    ...optionsFor({ ...handshakeFor('subagent'), config: resolve(config) }),
    silentMs: SILENT_MS,
    endsCalls: true,
    stop: stop.signal,
    lastRepliesMs: STOP_TIMEOUT_MS,
    onWarning: text => say(`warning: ${text}`),
    afterLoss: 'What it had started is stopped. Call it again if you still need it.',
  });
}

function optionsFor(handshake: Handshake): RelayOptions {
  return {
    home: homeFolder(process.env),
    env: process.env,
    program: hubProgram,
    handshake,
    input: process.stdin,
    output: process.stdout,
    onError: report,
  };
}

const isUsage = ({ code, kind }: RelayError): boolean => code === 'INVALID_INPUT' || kind === 'usage';

function report({ code, message, suggestions = [] }: RelayError): void {
  say([`${code}: ${message}`, ...suggestions].join('\n  '));
}

function say(message: string): void {
  process.stderr.write(`squad mcp${isServe ? ' serve' : ''}: ${message}\n`);
}
