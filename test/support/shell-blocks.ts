import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import type { Ran, TestSquad } from './squad.ts';

const root = resolve(import.meta.dirname, '..', '..');

export const documentsBelow = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => join(folder, name))
    .sort();

/** The shell blocks of a document, in order; one in a list is indented. */
export function shellBlocks(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8');
  return [...text.matchAll(/^( *)(`{3,})sh\n([\s\S]*?)^\1\2$/gm)].map(([, indent, , block]) =>
    block!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/** Programs of others in the documents. In a shell of a test they do nothing. */
const ELSEWHERE: Record<string, string> = {
  npm: 'the network; `npm run newcomer` installs the package',
  npx: 'the network',
  claude: 'a login, as the six below; the tests in test/engines run the real ones without a network',
  codex: '',
  copilot: '',
  'cursor-agent': '',
  gemini: '',
  opencode: '',
  qwen: '',
  docker: 'a daemon',
  systemctl: 'a running systemd',
  'notify-send': 'a desktop',
  uuidgen: 'a package that few systems have',
};

/** A `squad …` in a shell. */
export interface ShellCommand {
  words: string[];
  env: Record<string, string>;
  cwd: string;
  input: string;
}

/** `squad` hands its arguments, environment and input over by files, and waits for its exit code. */
const squadFunction = (calls: string) => `
squad() {
  local call code
  call=$(mktemp -d '${calls}/XXXXXX')
  printf '%s\\0' "$(pwd -P)" "$@" >"$call/words"
  env -0 >"$call/env"
  cat >"$call/input"
  echo "$call" >&3
  read -r code <&4
  cat "$call/stdout"
  cat "$call/stderr" >&2
  return "$code"
}
${Object.keys(ELSEWHERE)
  .map(name => `${name}() { :; }`)
  .join('\n')}
set -eo pipefail
`;

/** Runs lines in bash until one fails. `answer` runs each `squad` in them, which spares the start of Node. */
export async function runInShell(
  squad: TestSquad,
  lines: string,
  answer: (command: ShellCommand) => Promise<Ran>,
  env: Record<string, string> = {},
): Promise<Ran> {
  const calls = join(squad.root, 'calls');
  mkdirSync(calls, { recursive: true });
  const child = spawn('bash', ['-c', `${squadFunction(calls)}${lines}`], {
    cwd: squad.workspace,
    env: { ...squad.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  const [asked, answered] = child.stdio.slice(3) as [Duplex, Duplex];
  createInterface(asked).on('line', async call => {
    const [cwd, ...words] = fieldsOf(join(call, 'words'));
    const { code, stdout, stderr } = await answer({
      words,
      cwd: cwd!,
      env: Object.fromEntries(fieldsOf(join(call, 'env')).map(field => field.split(/=(.*)/s, 2))),
      input: readFileSync(join(call, 'input'), 'utf8'),
    }).catch((error: Error) => ({ code: 70, stdout: '', stderr: String(error.stack) }));
    writeFileSync(join(call, 'stdout'), stdout);
    writeFileSync(join(call, 'stderr'), stderr);
    answered.write(`${code ?? 1}\n`);
  });
  const printed = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream]!.setEncoding('utf8').on('data', chunk => {
      printed[stream] += chunk;
    });
  const [code] = await once(child, 'close');
  return { code, ...printed };
}

const fieldsOf = (file: string): string[] => readFileSync(file, 'utf8').split('\0').slice(0, -1);
