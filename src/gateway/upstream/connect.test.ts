import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createServiceTags } from '../../process/programs/service.ts';
import { createProcessTable } from '../../process/table/process-table.ts';
import { isAlive, until } from '../../process/testing/turn-fixture.ts';
import { type LinkEvents, UpstreamFault } from '../../wire/upstream/link.ts';
import { serveSample } from '../../wire/upstream/testing/http-servers.ts';
import { type ConnectRequest, createConnect, createTextTail, withLogTail } from './connect.ts';

const folder = mkdtempSync(join(tmpdir(), 'squad-connect-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const events: LinkEvents = { onNotification: () => {}, onStray: () => {} };
const fixture = (name: string) => join(import.meta.dirname, '../../wire/upstream/fixtures', name);
const log: string[] = [];
const connect = createConnect({
  table: createProcessTable(),
  nextTag: createServiceTags(folder).next,
  clientInfo: { name: 'squad-test', version: '0' },
  onStderr: (server, line) => log.push(`${server}: ${line}`),
});

const asked = (server: ConnectRequest['server'], startTimeoutMs = 20_000): ConnectRequest => ({
  id: 'sample',
  server,
  events,
  startTimeoutMs,
  redact: text => text.replaceAll('s3cret', '***'),
});
const local = (command: string, ...args: string[]) =>
  asked({ kind: 'stdio', command, args, cwd: folder, env: { PATH: process.env.PATH ?? '' } });
const soon = { timeoutMs: 20_000 };

test('a local server is started, used, and gone with its whole tree when the link is closed', async () => {
  const script = `sleep 61 & exec "${process.execPath}" "${fixture('sdk-stdio-server.ts')}" legacy`;
  const link = await connect(local('sh', '-c', script));
  expect(link).toMatchObject({ era: 'legacy', server: { name: 'sample' }, pid: expect.any(Number) });
  const call = { name: 'echo', arguments: { text: 'hi' } };
  expect(await link.request('tools/call', call, soon)).toMatchObject({ content: [{ text: 'hi' }] });
  await link.close();
  expect(isAlive(link.pid!)).toBe(false);
  await expect(link.request('tools/list', {}, soon)).rejects.toMatchObject({ kind: 'transport' });
});

test('a link that ends by itself takes the process with it', async () => {
  const script = `"${process.execPath}" "${fixture('hostile-server.ts')}" huge-frame; sleep 61`;
  const link = await connect(local('sh', '-c', script));
  await link.request('tools/call', {}, soon);
  expect(await link.closed).toMatchObject({ kind: 'transport' });
  await until(() => !isAlive(link.pid!), 'the process is gone');
});

test('control characters in output of a server are removed before its secrets are', async () => {
  const script = `printf 's3\\033[31mcr\\033[0met\\342\\200\\213 is s3\\001cret\\n' >&2; exit 3`;
  await expect(connect(local('sh', '-c', script))).rejects.toThrow('It last wrote: *** is ***');
  expect(log).toContain('sample: *** is ***');
});

test('a server over http has no process', async () => {
  const sample = await serveSample('modern');
  const link = await connect(asked({ kind: 'http', url: sample.url, headers: {} }));
  expect(link).toMatchObject({ era: 'modern', pid: null });
  expect(await link.request('tools/list', {}, soon)).toHaveProperty('tools');
  expect(link.stderrTail()).toBe('');
  await link.close();
  await sample.close();
});

test('a server that does not start is explained by its own output without secrets, and leaves nothing behind', async () => {
  const fault = await connect(local('sh', '-c', 'echo "bad key s3cret" >&2; exit 3')).catch(error => error);
  expect(fault).toMatchObject({
    kind: 'exit',
    message: "The server's process ended with code 3. It last wrote: bad key ***",
  });
  expect(log).toContain('sample: bad key ***');
});

test('a silent server is given up in time', async () => {
  const { server } = local('sh', '-c', 'echo $$ >&2; cat >/dev/null');
  const fault = await connect(asked(server, 500)).catch(error => error);
  expect(fault.kind).toBe('timeout');
  expect(isAlive(Number(/wrote: (\d+)/.exec(fault.message)?.[1]))).toBe(false);
});

test('a connect that is aborted from outside fails with the reason and the last line of stderr', async () => {
  const late = new UpstreamFault('timeout', 'it was not ready within 0.5 s');
  const { server } = local('sh', '-c', 'echo waiting for the database >&2; cat >/dev/null');
  const giveUp = new AbortController();
  const begun = connect({ ...asked(server), signal: giveUp.signal }).catch(error => error);
  await until(() => log.includes('sample: waiting for the database'), 'it has said so');
  giveUp.abort(late);
  expect(await begun).toMatchObject({
    kind: 'timeout',
    message: 'it was not ready within 0.5 s. It last wrote: waiting for the database',
  });
});

test('of one that ends later, the log is there when its end is reported', async () => {
  const script = `"${process.execPath}" "${fixture('sdk-stdio-server.ts')}" legacy; echo no more memory >&2; exit 4`;
  const link = await connect(local('sh', '-c', script));
  const [child] = readFileSync(`/proc/${link.pid}/task/${link.pid}/children`, 'utf8').trim().split(' ');
  process.kill(Number(child), 'SIGKILL');
  expect(await link.closed).toMatchObject({ kind: 'exit' });
  expect(link.stderrTail()).toContain('no more memory');
});

test('a program that is not there cannot be started', async () => {
  await expect(connect(local('no-such-program'))).rejects.toMatchObject({
    kind: 'start',
    message: expect.stringMatching(/^The program no-such-program was not found in PATH \(.*\/.*\)\.$/),
    cause: { code: 'COMMAND_NOT_FOUND' },
  });
  await expect(connect(local('./no-such-program'))).rejects.toMatchObject({
    message: expect.stringContaining(`there is no ${join(folder, 'no-such-program')}`),
  });
});

const told = (tail: string, kind: UpstreamFault['kind'] = 'exit') =>
  withLogTail(new UpstreamFault(kind, 'It ended.'), tail).message;

test('the last of a log is one line behind the fault, without the frames of a stack', () => {
  const stack = [
    'file:1',
    'throw x',
    'Error: no DATABASE_URL',
    '    at main (file:1:2)',
    '    at file:3:4',
    '',
    'Node.js v24.1.0',
  ];
  expect(told(stack.join('\n'))).toBe('It ended. It last wrote: file:1 throw x Error: no DATABASE_URL');
  expect(told('  \n')).toBe('It ended.');
});

test('a long message is cut at its beginning, and nothing is added to an error that is not of the server', () => {
  expect(told(`${'x'.repeat(9_000)} the end`)).toMatch(/: …x{390,}.* the end$/);
  expect(told('x'.repeat(9_000)).length).toBeLessThan(500);
  expect([told('words', 'cancelled'), told('words', 'answer')]).toEqual(['It ended.', 'It ended.']);
});

test('the last lines are kept, whole, as many as there is room for', () => {
  const tail = createTextTail(10);
  for (const line of ['first', 'abc', 'def', 'gh']) tail.add(line);
  expect(tail.text()).toBe('abc\ndef\ngh');
});

test('of a line that is too long the end is kept', () => {
  const tail = createTextTail(4);
  tail.add('before');
  tail.add('123456');
  expect(tail.text()).toBe('3456');
});

test('a great many lines leave no more than a few', () => {
  const tail = createTextTail(20);
  for (let i = 0; i < 5000; i++) tail.add(`line ${i}`);
  expect(tail.text()).toBe('line 4998\nline 4999');
});
