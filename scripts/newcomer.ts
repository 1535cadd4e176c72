/**
 * `npm run newcomer [VERSION…]`: installs the package from its tarball into an empty home, as a new user does, and uses
 * it. Without a version it runs with each Node in NODES. Prints times and sizes, and fails if a step fails or a goal is
 * missed.
 */
import { execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { installPinned } from './engine-clis.ts';
import { installLinks } from './manifests.ts';

const root = join(import.meta.dirname, '..');
const run = promisify(execFile);

/** The oldest Node that Squad supports and the current ones, each with an npm of the same time. */
const NODES: Record<string, string> = { '22.14.0': '10.9.2', '24.21.0': '11.19.1', '26.10.0': '11.19.1' };

const MAX_TARBALL_BYTES = 3_000_000;
const MAX_SECONDS = 30;
const STEP_TIMEOUT_MS = 120_000;

/** Variables with which this machine reaches the registry. */
const NETWORK = ['NODE_EXTRA_CA_CERTS', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'https_proxy', 'no_proxy'];

interface Tools {
  node: string;
  /** Path of npm, a script that this Node runs. */
  npm: string;
}

interface Visit {
  tarballBytes: number;
  /** What npm reports where its global folder belongs to somebody else. */
  refusal: string;
  /** Time from the start of the installation to the end of the demo. */
  seconds: number;
  /** Output of each command. */
  said: Record<string, string>;
  /** Tools that a client lists, by the way in which the client starts Squad. */
  tools: Record<string, string[]>;
}

/**
 * Plays the new user with the programs in `dist`, without a build. With `isOffline`, packages come from the user's npm
 * cache.
 */
export async function visit({ node, npm }: Tools, isOffline = false): Promise<Visit> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'squad-newcomer-')));
  const at = (name: string): string => join(folder, name);
  for (const name of ['home', 'work', 'tmp', 'bin', 'prefix']) mkdirSync(at(name));
  symlinkSync(node, join(at('bin'), 'node'));
  // As with a Node of the system: the global folder belongs to root, so the guide's folder is used.
  chmodSync(at('prefix'), 0o555);
  const own = join(at('home'), '.local');
  const settings = (name: string) =>
    execFileSync('npm', ['config', 'get', name], { encoding: 'utf8', cwd: tmpdir() }).trim();
  const env: Record<string, string> = {
    HOME: at('home'),
    TMPDIR: at('tmp'),
    LANG: 'C.UTF-8',
    PATH: `${join(own, 'bin')}:${at('bin')}:/usr/local/bin:/usr/bin:/bin`,
    npm_config_prefix: at('prefix'),
    npm_config_registry: settings('registry'),
    npm_config_update_notifier: 'false',
    ...Object.fromEntries(NETWORK.flatMap(name => (process.env[name] ? [[name, process.env[name]]] : []))),
    ...(isOffline && { npm_config_cache: settings('cache'), npm_config_prefer_offline: 'true' }),
  };
  const options = { cwd: at('work'), env, timeout: STEP_TIMEOUT_MS };
  const squad = join(own, 'bin', 'squad');
  const said: Record<string, string> = {};
  const say = async (...args: string[]) => {
    // Some commands exit with an error code here: the doctor of a machine without agents finds no agent.
    const { stdout, stderr, code } = await run(squad, args, options).then(
      done => ({ ...done, code: 0 }),
      (failed: { stdout: string; stderr: string; code: number }) => failed,
    );
    said[args.join(' ')] = `${stdout}${stderr}[exit ${code}]`;
  };
  try {
    execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], {
      cwd: root,
    });
    const tarball = at(`squad-mcp-${version()}.tgz`);
    const install = [npm, 'install', '--global', '--no-audit', '--no-fund', tarball];
    const [program, ...args] = asOrdinaryUser([node, ...install]);
    const refusal = await run(program!, args, options).then(
      () => 'no error',
      ({ stderr }: { stderr: string }) => stderr,
    );
    const start = performance.now();
    await run(node, [...install, '--prefix', own], options);
    await say('--version');
    await say('--help');
    await say('demo');
    const seconds = (performance.now() - start) / 1000;
    await say('doctor');
    const tools: Record<string, string[]> = {
      'squad-mcp': await toolsFrom({ command: 'squad-mcp', args: [] }, options),
    };
    // npx prefers a globally installed package to the registry.
    env.npm_config_prefix = own;
    symlinkSync(join(dirname(realpathSync(npm)), 'npx-cli.js'), join(at('bin'), 'npx'));
    for (const { title, config } of installLinks()) tools[title] = await toolsFrom(config, options);
    return { tarballBytes: statSync(tarball).size, refusal, seconds, said, tools };
  } finally {
    await say('hub', 'stop');
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Root may write anywhere, so a command of root is given another user id, which has no such right. */
const asOrdinaryUser = (argv: string[]): string[] =>
  process.getuid?.() === 0
    ? ['bwrap', '--unshare-user', '--uid', '1000', '--gid', '1000', '--dev-bind', '/', '/', '--', ...argv]
    : argv;

const version = (): string => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;

async function toolsFrom(
  server: { command: string; args: string[] },
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Promise<string[]> {
  const client = new Client({ name: 'newcomer', version: '1' });
  await client.connect(new StdioClientTransport({ ...server, cwd, env }));
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name);
}

/** Why the visit failed. Empty if it was successful. */
export function faultsOf({ tarballBytes, refusal, said, tools }: Visit): string[] {
  const doctor = said.doctor ?? '';
  const failed = [...doctor.matchAll(/^failed +(\S+)/gm)].map(([, name]) => name);
  const checks: [string, boolean][] = [
    [
      `The tarball has ${tarballBytes} bytes, more than ${MAX_TARBALL_BYTES}`,
      tarballBytes <= MAX_TARBALL_BYTES,
    ],
    [`npm in a folder of root: ${refusal}`, /\bEACCES\b/.test(refusal)],
    [`squad --version: ${said['--version']}`, said['--version'] === `${version()}\n[exit 0]`],
    [`squad --help: ${said['--help']}`, /^Usage: squad [\s\S]*\[exit 0\]$/.test(said['--help'] ?? '')],
    [`squad demo: ${said.demo}`, /What they left in the repository[\s\S]*\[exit 0\]$/.test(said.demo ?? '')],
    // Only an agent CLI may be missing.
    [`squad doctor: ${doctor}`, failed.every(name => name === 'engine') && /^ok +hub/m.test(doctor)],
    ...Object.entries(tools).map(([by, names]): [string, boolean] => [
      `A client that starts Squad as ${by} is offered: ${names.join(', ') || 'nothing'}`,
      names.includes('start_squad_members'),
    ]),
  ];
  return checks.filter(([, isGood]) => !isGood).map(([fault]) => fault);
}

async function toolsOf(nodeVersion: string): Promise<Tools> {
  const platform = `node-${process.platform}-${process.arch}`;
  const [node, npm] = await Promise.all([
    installPinned('node', { package: platform, version: nodeVersion, program: `${platform}/bin/node` }),
    installPinned('npm', { package: 'npm', version: NODES[nodeVersion]!, program: 'npm/bin/npm-cli.js' }),
  ]);
  return { node, npm };
}

if (import.meta.main) {
  const wanted = process.argv.slice(2);
  const unknown = wanted.filter(each => !(each in NODES));
  if (unknown.length > 0)
    throw new Error(`Unknown version ${unknown.join(', ')}; known are ${Object.keys(NODES).join(', ')}`);
  execFileSync(process.execPath, [join(root, 'scripts', 'build.ts')], { stdio: 'inherit' });
  for (const each of wanted.length > 0 ? wanted : Object.keys(NODES))
    try {
      const visited = await visit(await toolsOf(each));
      const { tarballBytes, seconds } = visited;
      const faults = faultsOf(visited);
      if (seconds > MAX_SECONDS) faults.push(`It took more than ${MAX_SECONDS} s`);
      console.log(
        `Node ${each}, npm ${NODES[each]}: tarball ${(tarballBytes / 1e6).toFixed(2)} MB (goal: at most ${MAX_TARBALL_BYTES / 1e6} MB), installed and demo finished in ${seconds.toFixed(1)} s (goal: at most ${MAX_SECONDS} s)`,
      );
      for (const fault of faults) console.log(`  FAILED: ${fault}`);
      if (faults.length > 0) process.exitCode = 1;
    } catch (error) {
      console.log(`Node ${each}: NOT TESTED or broken off: ${(error as Error).message}`);
      process.exitCode = 1;
    }
}
