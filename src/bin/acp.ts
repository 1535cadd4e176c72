import { serveAcp } from '../acp/serve-acp.ts';

const HELP = `Usage: squad acp [options]

Run Squad as an agent over the Agent Client Protocol, on standard input and output; editors start it

Options:
  -h, --help  Show this help

See also:
  squad install EDITOR  Add Squad to the agents of an editor: zed, jetbrains, neovim
  squad ls              Runs of all programs, also those that an editor started
`;

const [argument] = process.argv.slice(3);
if (argument === '--help' || argument === '-h') process.stderr.write(HELP);
else if (argument !== undefined) {
  process.stderr.write(`squad acp: unknown argument ${argument}. Known: --help\n`);
  process.exitCode = 2;
} else if (process.stdin.isTTY) process.stderr.write(HELP);
else {
  // The editor has gone, and nobody reads any more.
  process.stdout.on('error', () => process.exit(0));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(0));
  void serveAcp(process.stdin, process.stdout).then(() => process.exit(0));
}
