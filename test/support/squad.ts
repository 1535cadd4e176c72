import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Client, type ClientCapabilities } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { socketPath } from '../../src/link/home.ts';
import { hubPid, hubRecordPath, isRunning } from '../../src/link/hub-record.ts';
import type { HubSettingKey } from '../../src/schema/config.ts';
import { askHub } from './ask-hub.ts';
import { COMPILE_CACHE, HUB_CODE } from './compile-cache.ts';
import { confineByDefault } from './confine-by-default.ts';
import { runHosted } from './run-hosted.ts';
import { databaseEnvironment } from './test-database.ts';

export const BIN = join(import.meta.dirname, '..', '..', 'bin', 'squad.cjs');

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface StartOptions {
  env?: Record<string, string>;
  cwd?: string;
  /** Another build than this one. */
  bin?: string;
}

const LEFT_BY_HUBS = [hubRecordPath, socketPath];

/** A Squad of its own: home, user home and workspace in one temporary folder, nothing of this machine's environment. */
export class TestSquad {
  readonly root: string;
  readonly home: string;
  readonly workspace: string;
  readonly env: Record<string, string>;
  /** Each command as a process of its own, for tests of what one process can know of another. */
  asProcesses = false;
  /** A hub keeps its compiled code in its home, and the home of a test is new: unless they share it, each hub compiles everything. */
  sharesCompiled = true;
  private readonly clients: Client[] = [];

  constructor(env: Record<string, string> = {}, place = tmpdir()) {
    this.root = realpathSync(mkdtempSync(join(place, 'squad-test-')));
    this.home = join(this.root, 'state');
    this.workspace = join(this.root, 'work');
    mkdirSync(this.workspace);
    mkdirSync(join(this.root, 'user'));
    this.env = {
      HOME: join(this.root, 'user'),
      PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
      LANG: 'C.UTF-8',
      SQUAD_HOME: this.home,
      SQUAD_HUB_LINGER_MS: '20000',
      // Another test's hub may take the default port when this hub is killed, and a running agent knows no other address.
      MCP_SERVER_PORT: String(randomInt(20_000, 32_000)),
      TMUX_TMPDIR: this.root,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...databaseEnvironment(),
      ...env,
    };
    confineByDefault(this.env.HOME!);
  }

  write(path: string, content: string): string {
    const file = join(this.workspace, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  }

  /** An executable of the workspace; returns its path. */
  script(path: string, lines: string, interpreter = '/bin/sh'): string {
    const file = this.write(path, `#!${interpreter}\n${lines}\n`);
    chmodSync(file, 0o755);
    return file;
  }

  /** Lets as many runs start as a test needs, and none in a work tree with a window: a process each that hardly any test looks at. */
  async unlimited(): Promise<void> {
    await this.json(['config', 'set', 'limits.spawns_per_minute', '100000']);
    await this.set('tmux.sessions', 'off');
  }

  /** As `squad config set` does, without a process where a hub is there to be asked. */
  async set(key: HubSettingKey, value: string): Promise<void> {
    await askHub(this, 'change_setting', { key, value }).catch(() =>
      this.json(['config', 'set', key, value]),
    );
  }

  /** As `squad show --json` does, likewise. */
  shown<T>(run: string): Promise<T> {
    return askHub<T>(this, 'show_run', { run }).catch(() => this.json<T>(['show', run]));
  }

  async statusOf(run: string): Promise<string> {
    return (await this.shown<{ run: { status: string } }>(run)).run.status;
  }

  /** Runs `squad …` to its end. */
  async run(args: string[], options: StartOptions & { input?: string } = {}): Promise<Ran> {
    const { cwd = this.workspace, bin = BIN, input = '' } = options;
    const env = { ...this.env, ...options.env };
    // Whoever starts a hub ends before it, or every process of the test would be above that hub.
    const startsHub = hubPid(env.SQUAD_HOME ?? this.home) === null;
    if (!startsHub && !this.asProcesses && bin === BIN && isHostable(args, env)) {
      const ran = await runHosted(bin, { args, env, cwd, umask: process.umask(), input });
      if (ran) return ran;
    }
    const child = this.start(args, options);
    child.stdin!.end(options.input ?? '');
    return ended(child);
  }

  /** Runs `squad … --json` and reads its answer. */
  async json<T = Record<string, never>>(args: string[], options: StartOptions = {}): Promise<T> {
    const { stdout, stderr } = await this.run([...args, '--json'], options);
    try {
      return JSON.parse(stdout) as T;
    } catch {
      throw new Error(`squad ${args.join(' ')} printed no JSON: ${stdout}${stderr}`);
    }
  }

  start(args: string[], { env = {}, cwd, bin = BIN }: StartOptions = {}): ChildProcess {
    this.shareCompiled();
    return spawn(process.execPath, [bin, ...args], {
      cwd: cwd ?? this.workspace,
      env: { ...this.env, ...env },
      stdio: 'pipe',
    });
  }

  /** The official SDK's client on a real `squad mcp`. */
  async client(
    options: StartOptions & {
      modern?: boolean;
      name?: string;
      args?: string[];
      capabilities?: ClientCapabilities;
    } = {},
  ): Promise<Client> {
    const client = new Client(
      { name: options.name ?? 'test', version: '1' },
      {
        versionNegotiation: options.modern ? { mode: { pin: '2026-07-28' } } : { mode: 'legacy' },
        capabilities: options.capabilities,
      },
    );
    this.shareCompiled();
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [options.bin ?? BIN, 'mcp', ...(options.args ?? [])],
        cwd: options.cwd ?? this.workspace,
        env: { ...this.env, ...options.env },
        stderr: 'pipe',
      }),
    );
    this.clients.push(client);
    return client;
  }

  async hubPid(): Promise<number> {
    const { pid } = await this.json<{ pid: number }>(['hub', 'start']);
    return pid;
  }

  private shareCompiled(): void {
    const cache = join(this.home, 'cache');
    if (!this.sharesCompiled || existsSync(cache) || !existsSync(COMPILE_CACHE)) return;
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    symlinkSync(HUB_CODE, join(cache, basename(HUB_CODE)));
    // One folder for each version of Node.
    for (const { name } of readdirSync(COMPILE_CACHE, { withFileTypes: true }).filter(each =>
      each.isDirectory(),
    ))
      symlinkSync(join(COMPILE_CACHE, name), join(cache, name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.clients) await client.close();
    if (!(await this.askedToEnd())) {
      if (existsSync(join(this.home, 'runs'))) await this.run(['cancel', '--all', '--everywhere']);
      await this.run(['hub', 'stop']);
    }
    if (existsSync(join(this.root, `tmux-${process.getuid?.()}`, 'default')))
      spawnSync('tmux', ['kill-server'], { env: this.env });
    rmSync(this.root, { recursive: true, force: true, maxRetries: 3 });
  }

  /** As `squad cancel --all` and `squad hub stop` ask, without a process for each. False when only they can see to it. */
  private async askedToEnd(): Promise<boolean> {
    const pid = hubPid(this.home);
    const hasRuns = existsSync(join(this.home, 'runs'));
    if (pid === null) {
      const isUnused = !hasRuns && !LEFT_BY_HUBS.some(path => existsSync(path(this.home)));
      // Otherwise a hub is started to end what the last one left.
      return isUnused || (process.platform === 'linux' && !hasProcesses(this.root));
    }
    try {
      if (hasRuns) await askHub(this, 'cancel_run', { all: true, everywhere: true });
      await askHub(this, 'stop_hub');
      return await until('the hub is gone', () => !isRunning(pid));
    } catch {
      // It is stopped, or on its way out, or stuck: the commands know what to do then.
      return false;
    }
  }
}

/** Whether any process works in this folder, or names it in its environment. */
const hasProcesses = (folder: string): boolean =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .some(pid => {
      try {
        const cwd = readlinkSync(`/proc/${pid}/cwd`);
        return cwd.startsWith(folder) || readFileSync(`/proc/${pid}/environ`, 'utf8').includes(folder);
      } catch {
        return false; // it has just gone, or is another user's
      }
    });

/** Not `squad` alone, which is a program of its own, nor those that clients and hubs start, and nothing that only the start of a process can take from its environment. */
const isHostable = ([name, next = '']: string[], env: Record<string, string>): boolean =>
  name !== undefined &&
  name !== 'agent' &&
  name !== 'acp' &&
  (name !== 'mcp' || /^(?!serve$)[^-]/.test(next)) &&
  !['SQUAD_RUN_ID', 'SQUAD_SERVER_OF', 'NODE_OPTIONS'].some(variable => variable in env);

/** A tool's answer: its structured content, checked to be what its one text block says. */
export async function callTool<T = Record<string, unknown>>(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<T & { isError?: boolean }> {
  const result = await client.callTool({ name, arguments: args }, { timeout: 120_000 });
  const [block, ...more] = result.content as { type: string; text: string }[];
  if (more.length > 0 || block?.type !== 'text' || block.text !== JSON.stringify(result.structuredContent))
    throw new Error('The text block is not the exact JSON of the structured content');
  return { ...(result.structuredContent as T), ...(result.isError && { isError: true }) };
}

export function ended(child: ChildProcess): Promise<Ran> {
  let [stdout, stderr] = ['', ''];
  child.stdout!.setEncoding('utf8').on('data', chunk => {
    stdout += chunk;
  });
  child.stderr!.setEncoding('utf8').on('data', chunk => {
    stderr += chunk;
  });
  return new Promise(settle => child.once('close', code => settle({ code, stdout, stderr })));
}

/** Looks until something is so; fails loudly when it does not become so in time. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  patienceMs = 60_000,
): Promise<Exclude<T, null | undefined | false>> {
  const since = Date.now();
  for (let now = since; now < since + patienceMs; now = Date.now()) {
    const seen = await look();
    if (seen) return seen as Exclude<T, null | undefined | false>;
    await new Promise(wake => setTimeout(wake, pauseMs(now - since, Date.now() - now)));
  }
  throw new Error(`It did not become so in time: ${what}`);
}

/** Looking must not keep busy what is looked at: whoever has waited for long, or looks with effort, looks less often. */
const pauseMs = (waited: number, took: number): number =>
  Math.max(15, Math.min(waited / 20, 100), Math.min(2 * took, 300));

/** A dead process that nobody has collected yet is not alive, though it still has its number. */
export const isAlive = isRunning;
