import { afterEach, expect, test } from 'vitest';
import type { Hello } from '../runner/protocol.ts';
import type { SquadError } from '../schema/error.ts';
import { Link } from './link.ts';

const HELLO =
  '{"squad":"runner","protocol":1,"machine":"m_1","base":"/b","node":"/n","programs":"/p","os":"linux","cpus":2,"now":5,"boot":5}';

let link: Link | null = null;
afterEach(() => link?.close('removed'));

/** A box whose shell runs this script instead of a runner. */
function boxThat(script: string, onHello: (hello: Hello) => void = () => {}) {
  const states: { state: string; why: SquadError | null }[] = [];
  const away = Promise.withResolvers<SquadError>();
  link = new Link({
    argv: ['/bin/sh', '-c', `read -r ignored; ${script}`],
    ...{ env: { PATH: '/usr/bin:/bin' }, cwd: '/', script: 'ignored\n', program: Buffer.from('program') },
    onHello,
    onCall: () => {},
    onState: (state, why) => {
      states.push({ state, why });
      if (why) away.resolve(why);
    },
  });
  return { link, states, away: away.promise };
}

const say = (line: string) => `echo '${line}'; `;

test('output of a shell profile before the handshake is skipped', { tags: ['H2'] }, async () => {
  const { link } = boxThat(`echo Welcome; echo; ${say(HELLO)} cat >/dev/null`);
  expect(await link.firstAttempt()).toBeNull();
  expect(link.hello).toMatchObject({ machine: 'm_1' });
});

test('an endless profile is refused', { tags: ['hostile-box'] }, async () => {
  const { away } = boxThat('yes');
  expect(await away).toMatchObject({
    code: 'MACHINE_UNSUITABLE',
    message: expect.stringContaining('64 KiB'),
  });
});

test.each([
  ['no_node', 'no `node`'],
  ['old_node', 'too old'],
  ['home', 'cannot be written'],
  ['disk', 'disk may be full'],
])('a box with the problem %s is unsuitable', { tags: ['H2'] }, async (code, message) => {
  const { away } = boxThat(say(`{"squad":"problem","code":"${code}"}`));
  expect(await away).toMatchObject({ code: 'MACHINE_UNSUITABLE', message: expect.stringContaining(message) });
});

test('a runner of another protocol is refused', async () => {
  const { away } = boxThat(say(HELLO.replace('"protocol":1', '"protocol":2')));
  expect(await away).toMatchObject({ code: 'MACHINE_UNSUITABLE' });
});

test('another machine at the same address is refused', { tags: ['hostile-box'] }, async () => {
  const { away } = boxThat(`${say(HELLO)} cat >/dev/null`, () => {
    throw new Error('another machine');
  });
  expect(await away).toMatchObject({ message: expect.stringContaining('another machine') });
});

test('answers to nothing that was asked are dropped', { tags: ['hostile-box'] }, async () => {
  const { link } = boxThat(
    `${say(HELLO)} read -r line; ${say('{"id":99,"ok":{"now":1,"boot":1}}')} ${say('{"id":1,"ok":{"now":2,"boot":1}}')} cat >/dev/null`,
  );
  expect((await link.ask('ping', {})).answer).toEqual({ now: 2, boot: 1 });
});

test.each([
  ['an answer of another form', '{"id":1,"ok":{"state":"ended","pid":-1}}'],
  ['an answer with a body that was not asked for', '{"id":1,"ok":{"now":2,"boot":1},"bytes":3}\\nabc'],
  ['an endless body', '{"id":1,"ok":{"now":2,"boot":1},"bytes":10000000000}'],
  ['a line that is no JSON', 'nonsense'],
])('%s ends the connection', { tags: ['hostile-box'] }, async (_, answer) => {
  const { link, away } = boxThat(`${say(HELLO)} read -r line; printf '${answer}\\n'; cat >/dev/null`);
  const asked = link.ask('find', { turn: { runId: 'run_1', number: 1 }, keepLeftovers: false });
  asked.catch(() => {}); // it is still waiting when the link is closed
  expect(await away).toMatchObject({
    code: 'MACHINE_UNSUITABLE',
    message: expect.stringContaining('protocol'),
  });
});

test('a line without an end ends the connection', { tags: ['hostile-box'] }, async () => {
  const { away } = boxThat(`${say(HELLO)} head -c 5000000 /dev/zero | tr '\\0' x; cat >/dev/null`);
  expect(await away).toMatchObject({
    code: 'MACHINE_UNSUITABLE',
    message: expect.stringContaining('A line has more than'),
  });
});

test('a request is sent again when the connection was lost before its answer', { tags: ['H2'] }, async () => {
  // The first connection ends with the request, the second answers.
  const { link, states } = boxThat(
    `${say(HELLO)} read -r line; if mkdir "$0.$PPID" 2>/dev/null; then exit 255; fi; rmdir "$0.$PPID"; ${say('{"id":1,"ok":{"now":3,"boot":1}}')} cat >/dev/null`.replaceAll(
      '$0',
      '/tmp/squad-link-test',
    ),
  );
  expect((await link.ask('ping', {})).answer).toEqual({ now: 3, boot: 1 });
  expect(states.map(({ state }) => state)).toEqual(['up', 'away', 'up']);
});

test('a request ends with its signal, and with the machine', async () => {
  const { link } = boxThat('sleep 30');
  const stopped = new AbortController();
  const one = link.ask('ping', {}, { signal: stopped.signal });
  const other = link.ask('ping', {});
  stopped.abort(new Error('stopped'));
  await expect(one).rejects.toThrow('stopped');
  link.close('removed');
  await expect(other).rejects.toMatchObject({ code: 'MACHINE_UNKNOWN' });
});
