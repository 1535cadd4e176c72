import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { configure } from '../../attacks/config-file.ts';
import { echoBlock } from '../../servers/start.ts';
import { callTool, TestSquad, until } from '../../support/squad.ts';
import type { Squad } from '../../support/tools.ts';

interface Span {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  status: { code?: number; message?: string };
}

/** An OTLP endpoint on loopback that keeps what it is sent. */
class Collector {
  readonly spans: Span[] = [];
  readonly metrics = new Set<string>();
  private readonly server = createServer((request, response) => this.answer(request, response));
  /** Never answers, as an endpoint behind a firewall. */
  isSilent = false;

  async start(): Promise<string> {
    await new Promise<void>(resolve => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await text(request));
    for (const { scopeSpans } of body.resourceSpans ?? [])
      for (const { spans } of scopeSpans) this.spans.push(...spans);
    for (const { scopeMetrics } of body.resourceMetrics ?? [])
      for (const { metrics } of scopeMetrics) for (const { name } of metrics) this.metrics.add(name);
    if (!this.isSilent) response.setHeader('Content-Type', 'application/json').end('{}');
  }

  span(name: string): Promise<Span> {
    return until(`the span ${name}`, () => this.spans.find(span => span.name === name));
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

const attribute = ({ attributes }: Span, name: string) =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0];

const collectors: Collector[] = [];
afterEach(() => {
  for (const collector of collectors.splice(0)) collector.close();
});

async function observed(env: Record<string, string> = {}) {
  const collector = new Collector();
  collectors.push(collector);
  const squad = new TestSquad({
    ENGINE_COMMAND: 'scripted',
    OTEL_EXPORTER_OTLP_ENDPOINT: await collector.start(),
    ...env,
  });
  return { collector, squad };
}

const script = (...lines: string[]) => `\`\`\`script\n${lines.join('\n')}\n\`\`\``;
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CLIENT_SPAN = 'b7ad6b7169203331';

describe('with an OTLP endpoint', () => {
  test('a run, its turn and its calls are spans of the trace that the client named', async () => {
    const { collector, squad } = await observed();
    await using _ = squad;
    await configure(squad, { servers: { echo: echoBlock() }, shared: ['echo'] });
    const client = await squad.client();
    const task = script(
      'run printf %s "$TRACEPARENT" > trace.txt',
      'call echo__echo {"text": "hello"}',
      'usage 1200 340',
    );
    await client.callTool({
      name: 'start_squad_members',
      arguments: { members: [{ roleId: 'coder', task }] },
      _meta: { traceparent: `00-${TRACE}-${CLIENT_SPAN}-01` },
    });
    await squad.json(['hub', 'stop']);

    const run = await collector.span('invoke_agent coder');
    expect([run.traceId, run.parentSpanId]).toEqual([TRACE, CLIENT_SPAN]);
    expect(attribute(run, 'gen_ai.usage.input_tokens')).toBe(1200);
    expect(attribute(run, 'squad.run.status')).toBe('completed');
    for (const name of ['turn 1', 'tools/call echo'])
      expect(await collector.span(name)).toMatchObject({ traceId: TRACE, parentSpanId: run.spanId });
    expect(readFileSync(join(squad.workspace, 'trace.txt'), 'utf8')).toBe(`00-${TRACE}-${run.spanId}-01`);
    expect(await collector.span('tools/call start_squad_members')).toBeDefined();
    expect([...collector.metrics]).toEqual(
      expect.arrayContaining(['gen_ai.client.operation.duration', 'mcp.client.operation.duration']),
    );
  });

  test('a run that another run started is a part of its trace', async () => {
    const { collector, squad } = await observed({ SQUAD_AGENTS_DIR: 'roles' });
    await using _ = squad;
    squad.write('roles/lead.md', '---\nspawn: true\n---\nYou lead.');
    squad.write('roles/coder.md', 'You code.');
    await squad.run(['trust', '-y', 'roles/lead.md']);
    const members = JSON.stringify({ members: [{ roleId: 'coder', task: 'Say hello' }] });
    await squad.run(['run', 'lead', script(`call start_squad_members ${members}`)]);
    await squad.json(['hub', 'stop']);

    const lead = await collector.span('invoke_agent lead');
    expect(lead.parentSpanId).toBeUndefined();
    expect(await collector.span('invoke_agent coder')).toMatchObject({
      traceId: lead.traceId,
      parentSpanId: lead.spanId,
    });
  });

  test('a failed run is a span with the error', async () => {
    const { collector, squad } = await observed();
    await using _ = squad;
    await squad.run(['run', 'coder', script('fail no way')]);
    await squad.json(['hub', 'stop']);
    const run = await collector.span('invoke_agent coder');
    expect(run.status.code).toBe(2);
    expect(attribute(run, 'squad.run.status')).toBe('error');
  });

  test('that is no address, runs go on without it', async () => {
    await using squad = new TestSquad({
      ENGINE_COMMAND: 'scripted',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'not an address',
    });
    expect((await squad.run(['run', 'coder', 'Say hello'])).code).toBe(0);
    expect((await squad.run(['hub', 'stop'])).code).toBe(0);
  });

  test.each(['silent', 'down'])('that is %s no run waits for it, nor does a stop of the hub', async how => {
    const { collector, squad } = await observed();
    await using _ = squad;
    if (how === 'down') collector.close();
    collector.isSilent = true;
    const client = await squad.client();
    const { members } = await callTool<Squad>(client, 'start_squad_members', {
      members: [{ roleId: 'coder', task: 'Say hello' }],
    });
    expect(members[0]?.status).toBe('completed');
    await until('the failure in the log', () =>
      readFileSync(join(squad.home, 'hub.log'), 'utf8').includes('Telemetry could not be sent'),
    );
    expect((await squad.run(['hub', 'stop'])).code).toBe(0);
  });
});

describe('/metrics', () => {
  test('is for the user, as Prometheus reads it, and counts runs from the first scrape on', async () => {
    await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
    const { url } = await until('the port', async () => {
      const status = await squad.json<{ url: string | null }>(['hub', 'start']);
      return status.url === null ? null : { url: new URL('/metrics', status.url) };
    });
    expect((await fetch(url)).status).toBe(401);
    const token = readFileSync(join(squad.home, 'token'), 'utf8').trim();
    const scrape = async () => (await fetch(url, { headers: { Authorization: `Bearer ${token}` } })).text();
    expect(await scrape()).toContain('squad_runs{squad_run_state="running"');
    await squad.run(['run', 'coder', 'Say hello']);
    await until('the run is counted', async () =>
      /gen_ai_client_operation_duration_count\{.*gen_ai_agent_name="coder".*\} 1/.test(await scrape()),
    );
  });

  test('is not for agents', async () => {
    await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
    await squad.json(['hub', 'start']);
    const asked =
      'node -e \'fetch(new URL("/metrics", process.argv[1]), { headers: { Authorization: "Bearer " + process.argv[2] } }).then(r => console.log("status " + r.status))\'';
    const status = await until('the port', async () => {
      const { url } = await squad.json<{ url: string | null }>(['hub', 'status']);
      return url;
    });
    const token = readFileSync(join(squad.home, 'token'), 'utf8').trim();
    const { stdout } = await squad.run(['run', 'coder', script(`run ${asked} ${status} ${token}`)]);
    expect(stdout).toContain('status 404');
  });
});

test('the log is JSON where SQUAD_LOG_FORMAT says so', async () => {
  await using squad = new TestSquad({ SQUAD_LOG_FORMAT: 'json' });
  await squad.json(['hub', 'start']);
  await squad.json(['hub', 'stop']);
  const lines = readFileSync(join(squad.home, 'hub.log'), 'utf8').trim().split('\n');
  expect(lines.map(line => JSON.parse(line))).toEqual(
    expect.arrayContaining([
      { time: expect.any(String), level: 'info', message: expect.stringContaining('started') },
    ]),
  );
});
