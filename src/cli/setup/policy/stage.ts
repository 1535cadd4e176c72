import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { socketPath } from '../../../link/home.ts';
import type { SandboxLevel } from '../../../schema/sandbox.ts';
import { squadScript } from '../../package-files.ts';
import { type Decoys, gitIn, plantDecoys, textOf } from './decoys.ts';
import { PROBES, type Probe, type ProbeReport, probeScript, READ_ONLY_PROBES, readReport } from './probes.ts';

export interface StageOptions {
  level: SandboxLevel;
  /** Folder in which the stage creates a folder of its own. */
  folder: string;
  /** The user's `sandboxRead` setting. Paths in the home folder are relative to it. */
  read: { inHome: string[]; others: string[] };
  signal: AbortSignal;
}

export interface StageReport extends ProbeReport {
  level: SandboxLevel;
  /** Why runs cannot use this sandbox level on this machine. Null if they can. */
  unavailable: { reason: string; suggestions: string[] } | null;
}

/**
 * Runs all probes in a real run at this level, on a separate hub, with a shell as its agent. Home, repository and
 * secrets are decoys, so a successful probe does no harm.
 */
export async function runProbes({ level, folder, read, signal }: StageOptions): Promise<StageReport> {
  const none = { level, succeeded: new Set<string>(), tools: [], fault: null };
  if (process.platform !== 'linux') return { ...none, unavailable: NOT_LINUX };
  const root = realpathSync(mkdtempSync(join(folder, `${level}-`)));
  const home = join(root, 'home');
  const place = { folder: root, home, squadHome: join(home, '.squad'), repository: join(home, 'project') };
  const roles = join(root, 'roles');
  for (const path of [place.repository, roles, join(home, '.config', 'squad')])
    mkdirSync(path, { recursive: true });
  const settings = { sandboxRead: [...read.inHome.map(path => join(home, path)), ...read.others] };
  writeFileSync(join(home, '.config', 'squad', 'config.json'), JSON.stringify(settings));
  makeRepository(place.repository);
  const decoys = await plantDecoys(place);
  const env = {
    ...{ HOME: home, LANG: 'C.UTF-8', SQUAD_HOME: place.squadHome, SQUAD_AGENTS_DIR: roles },
    PATH: [dirname(process.execPath), process.env.PATH].filter(Boolean).join(':'),
    // Stops the hub soon if the doctor is killed.
    SQUAD_HUB_LINGER_MS: '3000',
    ...decoys.env,
  };
  const hosts = `---\nhosts: ["localhost:${decoys.ports.allowed}"]\n---\n`;
  writeFileSync(
    join(roles, 'probe.md'),
    `${level === 'strict' ? hosts : ''}A shell script instead of an agent.\n`,
  );
  let isEnded = false;
  try {
    decoys.commit({
      'probes.sh': probeScript(decoys),
      'probes-read-only.sh': probeScript(decoys, READ_ONLY_PROBES),
    });
    // The probes must open no window in the user's tmux.
    await squad(['config', 'set', 'tmux.sessions', 'off'], env);
    const options = [...['--sandbox', level], ...(level === 'workspace' ? ['--network', 'full'] : [])];
    const probe = async (probes: readonly Probe[], script: string, permission: string) => {
      const ran = await probeRun([...options, '--permission', permission], script, { decoys, env, signal });
      return 'output' in ran ? readReport(ran.output, decoys, probes) : ran;
    };
    // The read-only probes come first, because without a sandbox the other probes damage the repository.
    const readOnly = await probe(READ_ONLY_PROBES, 'probes-read-only.sh', 'read');
    if ('reason' in readOnly) return { ...none, unavailable: readOnly };
    const report = await probe(PROBES, 'probes.sh', 'full');
    isEnded = true;
    if ('reason' in report) return { ...none, unavailable: report };
    return {
      ...{ level, unavailable: null, tools: report.tools },
      succeeded: new Set([...report.succeeded, ...readOnly.succeeded]),
      fault: report.fault ?? readOnly.fault,
    };
  } finally {
    if (!isEnded) await squad(['cancel', '--all', '--everywhere'], env);
    await squad(['hub', 'stop', '--force'], env);
    await proxyGone(place.squadHome);
    await decoys.close();
    rmSync(root, { recursive: true, force: true });
  }
}

const NOT_LINUX = {
  reason: 'Sandboxes and their probes need Linux, so nothing was tried here.',
  suggestions: ['Run Squad on Linux, for example in a virtual machine.'],
};

/** Probes that are run at each level. */
export const ALL_PROBES: readonly Probe[] = [...PROBES, ...READ_ONLY_PROBES];

function makeRepository(folder: string): void {
  gitIn(folder, 'init', '-q', '-b', 'main');
  writeFileSync(join(folder, 'README.md'), '# Decoy\n');
  gitIn(folder, 'add', '-A');
  gitIn(folder, 'commit', '-qm', 'First');
}

interface Stage {
  decoys: Decoys;
  env: Record<string, string>;
  signal: AbortSignal;
}

/** Starts a run in a work tree with the script as its agent, and waits for the end of the run. */
async function probeRun(
  options: string[],
  script: string,
  { decoys, env, signal }: Stage,
): Promise<{ output: string } | { reason: string; suggestions: string[] }> {
  signal.throwIfAborted();
  const args = ['run', '--json', '-d', '--worktree', '--timeout', '120s', ...options, 'probe', 'Try it.'];
  const started = await squad(args, { ...env, RUN_TEMPLATE: `/bin/sh ${script}` }, decoys.repository);
  const answer = JSON.parse(started.stdout || started.stderr);
  if (answer.error?.code === 'SANDBOX_UNAVAILABLE')
    return { reason: answer.error.message, suggestions: answer.error.suggestions };
  const [id] = answer.runIds ?? [];
  if (id === undefined) throw new Error(`The run of the probes did not start: ${answer.error?.message}`);
  await squad(['wait', id], env, decoys.repository, signal);
  signal.throwIfAborted();
  return { output: textOf(join(decoys.squadHome, 'runs', id, 'turn-1', 'stdout')) };
}

interface Ran {
  stdout: string;
  stderr: string;
}

/** Runs a command in a separate session, so that Ctrl-C does not end a command that starts or stops something. */
async function squad(
  args: string[],
  env: Record<string, string>,
  cwd = '/',
  signal?: AbortSignal,
): Promise<Ran> {
  const child = spawn(process.execPath, [squadScript, ...args], {
    ...{ cwd, env, signal, detached: true },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ran: Ran = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', chunk => {
      ran[name] += chunk;
    });
  child.on('error', () => {}); // errors are ignored here: the caller checks the signal after an abort
  await once(child, 'close');
  return ran;
}

const PROXY_TIMEOUT_MS = 10_000;
const POLL_MS = 50;

/** Waits for the proxy process, which ends some seconds after its hub and removes its socket. */
async function proxyGone(squadHome: string): Promise<void> {
  const socket = socketPath(squadHome).replace(/\.sock$/, '-proxy.sock');
  for (const until = performance.now() + PROXY_TIMEOUT_MS; existsSync(socket) && performance.now() < until; )
    await delay(POLL_MS);
}
