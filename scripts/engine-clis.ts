/**
 * Versions of the agent CLIs and of other large tools that tests run, and their installation. They have hundreds of
 * megabytes, so they are installed outside the tree.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface Pin {
  package: string;
  version: string;
  /** Path of the program to start, below node_modules. */
  program: string;
}

const native = `${process.platform}-${process.arch}`;

const PINS = {
  claude: {
    package: '@anthropic-ai/claude-code',
    version: '2.1.325',
    program: `@anthropic-ai/claude-code-${native}/claude`,
  },
  codex: { package: '@openai/codex', version: '0.166.0', program: '.bin/codex' },
  gemini: { package: '@google/gemini-cli', version: '0.61.0', program: '.bin/gemini' },
  opencode: { package: 'opencode-ai', version: '1.18.33', program: `opencode-${native}/bin/opencode` },
  // opencode's launcher waits in spawnSync, so a signal to the launcher would leave the agent running.
  copilot: { package: '@github/copilot', version: '1.0.102', program: `@github/copilot-${native}/copilot` },
  qwen: { package: '@qwen-code/qwen-code', version: '0.24.4', program: '.bin/qwen' },
} satisfies Record<string, Pin>;

export type CliName = keyof typeof PINS;
export const ALL_CLIS = Object.keys(PINS) as CliName[];
export const USUAL_CLIS: CliName[] = ['claude', 'codex', 'gemini'];

export interface InstalledCli {
  name: CliName;
  version: string;
  /** Path of the program to start. */
  program: string;
  /** Program that npm puts on the PATH. For some CLIs it only starts the real program, or does not work alone. */
  launcher: string;
}

/** Paths of a CLI, even if it is not installed yet. */
export function cliAt(name: CliName, cache = engineCache()): InstalledCli {
  const pin: Pin = PINS[name];
  return {
    name,
    version: pin.version,
    program: programAt(name, pin, cache),
    launcher: join(modulesAt(name, pin, cache), '.bin', name),
  };
}

/** Installs a CLI. Several processes may call this at once: one of them installs the CLI, and the others use it. */
export async function installCli(name: CliName, cache = engineCache()): Promise<InstalledCli> {
  await installPinned(name, PINS[name], cache);
  return cliAt(name, cache);
}

/** Installs a package outside the tree, unless it is there. Returns the path of its program. */
export async function installPinned(name: string, pin: Pin, cache = engineCache()): Promise<string> {
  const program = programAt(name, pin, cache);
  if (isProgram(program)) return program;
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, `.installing-${name}-`));
  try {
    await npmInstall(name, pin, folder);
    await moveIntoPlace(name, pin, folder, cache);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return program;
}

const modulesAt = (name: string, { version }: Pin, cache: string): string =>
  join(cache, `${name}-${version}`, 'node_modules');

const programAt = (name: string, pin: Pin, cache: string): string =>
  join(modulesAt(name, pin, cache), pin.program);

export function engineCache(): string {
  const given = process.env.SQUAD_ENGINES_CACHE;
  if (given) return given;
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'squad-engines');
}

async function npmInstall(name: string, { package: wanted, version }: Pin, folder: string): Promise<void> {
  await writeFile(join(folder, 'package.json'), '{"private":true}\n');
  // The version is exact: for a range, npm would silently choose an older version whose `engines` matches its own Node.
  const args = ['install', `${wanted}@${version}`, '--save-exact', '--engine-strict=false'];
  args.push('--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error');
  const npm = spawn('npm', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [npm.stdout, npm.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-2000);
    });
  const ended = await new Promise<string | null>(resolve => {
    npm.on('error', error => resolve(error.message));
    npm.on('close', (code, signal) => resolve(code === 0 ? null : `npm ended with ${signal ?? code}`));
  });
  if (ended) throw new Error(`Could not install ${wanted}@${version} for ${name}: ${ended}\n${said.trim()}`);
}

async function moveIntoPlace(name: string, pin: Pin, folder: string, cache: string): Promise<void> {
  const there = join(folder, 'node_modules', pin.program);
  if (!isProgram(there))
    throw new Error(`${pin.package}@${pin.version} was installed but has no program ${pin.program}`);
  const place = join(cache, `${name}-${pin.version}`);
  // A folder without its program was deleted only in part.
  if (existsSync(place) && !isProgram(programAt(name, pin, cache))) await rm(place, { recursive: true });
  try {
    await rename(folder, place);
  } catch (error) {
    if (!isProgram(programAt(name, pin, cache))) throw error;
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  const given = process.argv.slice(2);
  const unknown = given.filter(name => !ALL_CLIS.includes(name as CliName));
  if (unknown.length > 0)
    throw new Error(`no such CLI: ${unknown.join(', ')}; known are ${ALL_CLIS.join(', ')}`);
  for (const name of given.length > 0 ? (given as CliName[]) : ALL_CLIS)
    console.log(`${name} ${(await installCli(name)).program}`);
}
