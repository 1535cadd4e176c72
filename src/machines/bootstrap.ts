import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { SquadError } from '../schema/error.ts';
import type { Machine } from '../schema/machines/machine.ts';

/** The program that the hub sends to a box. Its hash is part of its path there, so hub and runner always match. */
export interface RunnerProgram {
  hash: string;
  content: Buffer;
}

export function loadRunner(file: string): RunnerProgram {
  const content = readFileSync(file);
  return { hash: createHash('sha256').update(content).digest('hex').slice(0, 20), content };
}

/**
 * Options that the user cannot change: no forwarding, which an agent on the box could use, no prompts, and no shared
 * connection.
 */
const OPTIONS = [
  ...['BatchMode=yes', 'ConnectTimeout=5', 'ServerAliveInterval=5', 'ServerAliveCountMax=2'],
  ...['ForwardAgent=no', 'ForwardX11=no', 'ClearAllForwardings=yes', 'ControlMaster=no', 'ControlPath=none'],
  ...['PermitLocalCommand=no', 'RequestTTY=no', 'EscapeChar=none'],
].flatMap(option => ['-o', option]);

/** Runs a script from standard input, so that no shell has to quote it. The login shell sets the user's PATH. */
const REMOTE_COMMAND = 'exec "$SHELL" -lc "exec /bin/sh -s"';

export const sshCommand = ({ address, sshConfig }: Pick<Machine, 'address' | 'sshConfig'>) =>
  [
    'ssh',
    ...(sshConfig === null ? [] : ['-F', sshConfig]),
    ...['-T', ...OPTIONS, '--', address, REMOTE_COMMAND],
  ] as [string, ...string[]];

/** Oldest version of Node that can run the runner. */
const MIN_NODE = 22;

/**
 * Starts the runner, and requests its program first if it is not there. A function, so that the shell has read all of
 * the script before other data arrives on standard input.
 */
export const startScript = ({ hash, content }: RunnerProgram, hub: string): string => `squad() {
umask 077
dir="$HOME/.squad-runner/programs/${hash}"
file="$dir/runner.cjs"
problem() { echo "{\\"squad\\":\\"problem\\",\\"code\\":\\"$1\\"}"; exit 3; }
command -v node >/dev/null || problem no_node
if [ ! -f "$file" ]; then
node -e "process.exit(parseInt(process.versions.node) < ${MIN_NODE} ? 1 : 0)" || problem old_node
mkdir -p "$dir" || problem home
echo '{"squad":"send"}'
head -c ${content.length} >"$file.$$" || problem disk
[ "$(wc -c <"$file.$$")" -eq ${content.length} ] || problem cut
mv -f "$file.$$" "$file" || problem home
fi
exec node "$file" ${hub}
}
squad
`;

const PROBLEMS: Readonly<Record<string, [what: string, next: string]>> = {
  no_node: [
    'There is no `node` on the PATH of its login shell',
    `Install Node ${MIN_NODE} or later there, for the user that logs in, and make sure that \`ssh ADDRESS 'exec "$SHELL" -lc "node --version"'\` prints a version.`,
  ],
  old_node: [`Its Node is too old`, `Install Node ${MIN_NODE} or later there.`],
  home: ['Its home folder cannot be written to', 'Make ~/.squad-runner writable there.'],
  disk: ['The runner could not be written there: its disk may be full', 'Free some space there.'],
  cut: ['The runner did not arrive whole', 'Try again.'],
};

export function setupProblem(code: string): SquadError {
  const [what, next] = PROBLEMS[code] ?? ['The runner could not be started', 'Try the ssh command yourself.'];
  return new SquadError('MACHINE_UNSUITABLE', what, { suggestions: [next] });
}

/** Error for an ssh that ended, or for a runner that sent no handshake. */
export function sshFailure(said: string, code: number | null): SquadError {
  const lines = said.split('\n').filter(line => line.trim() !== '');
  const last = lines.findLast(line => !/^(\*\*|Warning: Permanently added)/.test(line)) ?? '';
  const next = SSH_FAILURES.find(([pattern]) => pattern.test(said))?.[1];
  if (code === 255 || code === null || next)
    return new SquadError('MACHINE_UNREACHABLE', last.trim() || 'The connection was lost', {
      suggestions: [next ?? 'Try the same address with `ssh -T` in a terminal.'],
    });
  return new SquadError(
    'MACHINE_UNSUITABLE',
    `The runner ended with exit code ${code}${last && `: ${last}`}`,
  );
}

const SSH_FAILURES: readonly [RegExp, string][] = [
  [/Could not resolve hostname/i, 'Check the name of the host, or add it to your ssh configuration.'],
  [
    /Permission denied/i,
    'Squad logs in without a password: put your public key there (`ssh-copy-id`), or name the key in your ssh configuration.',
  ],
  [
    /Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED/i,
    'Connect once with `ssh` in a terminal and check its host key.',
  ],
  [
    /Connection refused|timed out|No route to host|Network is unreachable/i,
    'Check that the machine is on and that its ssh port can be reached.',
  ],
];
