import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type TestSquad, until } from './squad.ts';

/** A run that stays running until it is released, with the credentials of its agent. */
export class RunningAgent implements AsyncDisposable {
  readonly id: string;
  /** Names its identity to a relay. */
  readonly file: string;
  readonly token: string;
  private readonly squad: TestSquad;
  private readonly go: string;
  private readonly clients: Client[] = [];

  private constructor(squad: TestSquad, id: string, go: string) {
    this.squad = squad;
    this.id = id;
    this.go = go;
    this.file = join(squad.home, 'runs', id, 'turn-1', 'identity.json');
    this.token = (JSON.parse(readFileSync(this.file, 'utf8')) as { token: string }).token;
  }

  static async start(squad: TestSquad, role: string, ...lines: string[]): Promise<RunningAgent> {
    const go = `go-${process.hrtime.bigint()}`;
    const task = ['Work.', '```script', ...lines, `await ${go}`, '```'].join('\n');
    const { runIds } = await squad.json<{ runIds: string[] }>([
      'run',
      '--engine',
      'scripted',
      '-d',
      role,
      task,
    ]);
    const id = runIds[0]!;
    await until('it is running', async () => (await squad.statusOf(id)) === 'running');
    return new RunningAgent(squad, id, go);
  }

  /** A client of its own, of either era, at the hub's port. */
  async overHttp(modern: boolean): Promise<Client> {
    const mode = modern ? { pin: '2026-07-28' } : ('legacy' as const);
    const client = new Client({ name: 'agent', version: '1' }, { versionNegotiation: { mode } });
    this.clients.push(client);
    const requestInit = { headers: { authorization: `Bearer ${this.token}` } };
    await client.connect(new StreamableHTTPClientTransport(await hubUrl(this.squad), { requestInit }));
    return client;
  }

  /** A client of its own at a relay, which goes with the squad. */
  overRelay(): Promise<Client> {
    return this.squad.client({ args: ['--identity', this.file] });
  }

  async end(): Promise<void> {
    for (const client of this.clients.splice(0)) await client.close();
    this.squad.write(this.go, '');
    await until('it has ended', async () => {
      const { run } = await this.squad.shown<{ run: { endedAt: number | null } }>(this.id);
      return run.endedAt !== null;
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }
}

export async function hubUrl(squad: TestSquad): Promise<URL> {
  const { url } = await squad.json<{ url: string }>(['hub', 'start']);
  return new URL(url);
}
