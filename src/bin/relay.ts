import { resolve } from 'node:path';
import type { Handshake } from '../link/handshake.ts';
import { homeFolder } from '../link/home.ts';
import { readIdentity } from '../link/identity-file.ts';
import { handshakeFor, hubProgram } from '../link/program.ts';
import { type RelayOptions, relay } from '../relay/relay.ts';
import type { RelayError } from '../relay/traffic.ts';

const HELP = `Usage: squad mcp [options]

Run Squad as an MCP server on standard input and output; MCP clients start it

Options:
  --workspace DIR  Use this workspace (default: the current folder)
  --toolsets LIST  Toolsets to offer, separated by commas: core, team, templates
                   (default: core)
  --identity FILE  Identity of a run; Squad passes it to the agents it starts
  -h, --help       Show this help

See also:
  squad install CLIENT           Add Squad to the configuration of an MCP client:
                                 claude-code, claude-desktop, cursor, vscode,
                                 codex, gemini, qwen, copilot, opencode
  squad mcp serve --config FILE  Run a subagent file as an MCP server
  squad help mcp                 Manage MCP servers for agents: add, remove,
                                 import, lint, status, tools, approve
  squad run ROLE "TASK"          Run agents from this terminal
`;

const SERVE_HELP = `Usage: squad mcp serve --config FILE

Run a subagent file as an MCP server with one tool; MCP clients start it.
It uses the folder and the environment in which it is started.

Options:
  --config FILE  Subagent file
  -h, --help     Show this help

See also:
  squad init --subagent NAME  Create a subagent file and print the configuration
                              for MCP clients
  squad config lint FILE      Check a subagent file
`;

/**
 * Time to wait for a hub that does not close the connection. Normally the hub closes it when everything that it ran
 * for this client has ended.
 */
const STOP_TIMEOUT_MS = 20_000;
/**
 * Time to wait for the first message. MCP clients send it at once, so without a message no client started this server.
 */
const SILENT_MS = 3_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const NEEDS: Readonly<Record<string, string>> = {
  '--workspace': 'a folder',
  '--toolsets': 'names of toolsets',
  '--identity': 'a file',
};

interface RelayFlags {
  workspace?: string;
  toolsets?: string;
  identity?: string;
}
interface ServeFlags {
  /** Path of the subagent file, as given. */
  config: string;
}
type Flags = RelayFlags | ServeFlags | { help: string } | { problem: string };

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
    // Exit code 2, as for an unknown flag, because the request itself is invalid.
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
    // A client may pass on so few variables that only the identity file names the hub's home.
    home: run?.home ?? homeFolder(process.env),
  });
}

/**
 * Serves a subagent until its client ends. However this process ends, the hub gets time to stop everything that runs
 * for the subagent.
 */
async function serve(config: string): Promise<RelayError | null> {
  const stop = new AbortController();
  // A second signal changes nothing, because some clients send two.
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

function flagsIn(args: string[]): Flags {
  if (args[0] === 'serve') return serveFlags(args.slice(1));
  const given = valuesIn(args, NEEDS, '--workspace DIR, --toolsets LIST, --identity FILE');
  if (given === null) return { help: HELP };
  if (typeof given === 'string') return { problem: given };
  return { workspace: given['--workspace'], toolsets: given['--toolsets'], identity: given['--identity'] };
}

function serveFlags(args: string[]): Flags {
  const given = valuesIn(args, { '--config': 'a file' }, '--config FILE');
  if (given === null) return { help: SERVE_HELP };
  if (typeof given === 'string') return { problem: given };
  const config = given['--config'];
  if (config !== undefined) return { config };
  return {
    problem: '--config FILE is required. Create a subagent file with `squad init --subagent NAME`',
  };
}

/** Returns the value of each flag, an error text, or null if help was requested. */
function valuesIn(
  args: string[],
  needs: Readonly<Record<string, string>>,
  known: string,
): Record<string, string> | string | null {
  const given: Record<string, string> = {};
  for (let i = 0; i < args.length; i++) {
    const [name = '', value] = args[i]!.split(/=(.*)/s, 2);
    if (name === '--help' || name === '-h') return null;
    if (!Object.hasOwn(needs, name)) return `unknown argument ${args[i]}. Known: ${known}, --help`;
    const word = value ?? args[++i];
    if (!word) return `${name} needs ${needs[name]}`;
    if (Object.hasOwn(given, name)) return `${name} was given twice: ${given[name]} and ${word}`;
    given[name] = word;
  }
  return given;
}
