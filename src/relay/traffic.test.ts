import { expect, test } from 'vitest';
import { Traffic } from './traffic.ts';

const line = (message: unknown) =>
  Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...(message as object) })}\n`);
const replayed = (traffic: Traffic) => traffic.replay().map(bytes => JSON.parse(bytes.toString()));

const INITIALIZE = { id: 0, method: 'initialize' };
const INITIALIZED = { method: 'notifications/initialized' };
const LIST = { id: 1, method: 'tools/list' };
const CALL = { id: 2, method: 'tools/call' };

function after(...messages: object[]): Traffic {
  const traffic = new Traffic();
  for (const message of messages) traffic.fromClient(line(message));
  return traffic;
}

test('the replay is the handshake and what is not answered, in the order it was said', () => {
  const traffic = after(INITIALIZE, INITIALIZED, LIST, CALL);
  traffic.fromHub(line({ id: 0, result: {} }));
  traffic.fromHub(line({ id: 1, result: {} }));
  expect(replayed(traffic)).toMatchObject([INITIALIZE, INITIALIZED, CALL]);
});

test('the answer to a replayed handshake is kept from the client, once; a first answer is not', () => {
  const traffic = after(INITIALIZE);
  traffic.replay();
  expect(traffic.fromHub(line({ id: 0, result: {} }))).toBe(true);
  traffic.replay();
  expect(traffic.fromHub(line({ id: 0, result: {} }))).toBe(false);
  traffic.fromClient(line({ id: 0, method: 'tools/list' }));
  expect(traffic.fromHub(line({ id: 0, result: {} }))).toBe(true);
});

test('a handshake that is begun anew takes the place of the old one', () => {
  const traffic = after(INITIALIZE, INITIALIZED, { id: 'again', method: 'initialize' });
  traffic.fromHub(line({ id: 0, result: {} }));
  expect(replayed(traffic)).toMatchObject([{ id: 'again' }]);
});

test('when the hub is lost tool calls are answered and not asked again; questions are', () => {
  const traffic = after(LIST, CALL, { id: 'x', method: 'tools/call' });
  traffic.hubLost();
  expect(traffic.open).toBe(3);
  const answers = traffic.answerLost().map(text => JSON.parse(text));
  expect(answers).toMatchObject(
    [2, 'x'].map(id => ({ jsonrpc: '2.0', id, error: { data: { code: 'HUB_RESTARTED' } } })),
  );
  expect(traffic.answerLost()).toEqual([]);
  expect(replayed(traffic)).toMatchObject([LIST]);
});

test('a lost tool call is answered with its tool and the runs that were started since it was made', () => {
  const before = Date.now();
  const traffic = after({ id: 7, method: 'tools/call', params: { name: 'spawn_agent' } });
  expect(traffic.lostSince).toBeNull();
  traffic.hubLost();
  expect(traffic.lostSince).toBeGreaterThanOrEqual(before);
  const [answer] = traffic.answerLost(['run_a (coder, running)', 'run_b (qa, queued)']);
  expect(JSON.parse(answer!).error).toMatchObject({
    message: expect.stringMatching(/run_a \(coder, running\), run_b \(qa, queued\)\..*get_result/),
    data: { code: 'HUB_RESTARTED', tool_name: 'spawn_agent' },
  });
  expect(traffic.lostSince).toBeNull();
});

test.each(['ask_user', 'ask_person'])(
  'a question to a person is asked again of the next hub (%s): an error would be taken for its answer',
  name => {
    const ASK = {
      id: 3,
      method: 'tools/call',
      params: { name, arguments: { question: 'May I?' } },
    };
    const traffic = after(CALL, ASK);
    traffic.hubLost();
    expect(traffic.answerLost().map(text => JSON.parse(text))).toMatchObject([{ id: 2 }]);
    expect(replayed(traffic)).toMatchObject([ASK]);
  },
);

test('a cancelled call is neither answered nor repeated', () => {
  const traffic = after(CALL, LIST, { method: 'notifications/cancelled', params: { requestId: 2 } });
  traffic.hubLost();
  expect(traffic.answerLost()).toEqual([]);
  expect(replayed(traffic)).toMatchObject([LIST]);
});

test('a refusal answers everything that waits with why and what to do, and a handshake that was refused is forgotten', () => {
  const traffic = after(INITIALIZE, CALL);
  const answers = traffic.refuse({ code: 'DISK_FULL', message: 'No space', suggestions: ['Free some.'] });
  const error = { code: -32000, message: 'DISK_FULL: No space. Free some.', data: { code: 'DISK_FULL' } };
  expect(answers.map(text => JSON.parse(text))).toMatchObject([
    { id: 0, error },
    { id: 2, error },
  ]);
  expect(traffic.open).toBe(0);
  expect(replayed(traffic)).toEqual([]);
});

test('a stream of notifications is nobody waiting: it survives a refusal and begins for the client only once', () => {
  const traffic = after({ id: 's', method: 'subscriptions/listen' });
  const began = line({
    method: 'notifications/subscriptions/acknowledged',
    params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 's' } },
  });
  expect(traffic.open).toBe(0);
  expect(traffic.fromHub(began)).toBe(true);
  expect(traffic.refuse({ code: 'X', message: 'y' })).toEqual([]);
  expect(replayed(traffic)).toMatchObject([{ id: 's' }]);
  expect(traffic.fromHub(began)).toBe(false);
});

test.each([
  ['a request', LIST, true],
  ['a notice', INITIALIZED, true],
  ['an answer to a hub that is gone', { id: 5, result: {} }, true],
  ['a request with an id that is none', { id: {}, method: 'ping' }, false],
  ['a request with an id that no hub takes for one', { id: 1.5, method: 'ping' }, false],
  ['an object that is no message', { hello: 1 }, false],
])('%s needs to wait for a hub by itself: not %s', (_what, message, isKept) => {
  expect(new Traffic().fromClient(line(message))).toBe(isKept);
});

test.each(['not json\n', '[]\n', 'null\n', '5\n'])(
  'a malformed line waits for a hub to answer it: %j',
  text => {
    expect(new Traffic().fromClient(Buffer.from(text))).toBe(false);
  },
);

test.each([
  ['a fraction', line({ id: 1.5, method: 'ping' })],
  ['more than a number can hold', line({ id: 2 ** 53, method: 'ping' })],
  [
    'a number in a line that is not UTF-8',
    Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping\xff"}\n', 'latin1'),
  ],
])('no client waits for the answer to an invalid id: %s', (_what, text) => {
  const traffic = new Traffic();
  traffic.fromClient(text);
  expect(traffic.open).toBe(0);
});

test('an empty line does not', () => {
  expect(new Traffic().fromClient(Buffer.from(' \r\n'))).toBe(true);
});

test('a long answer is known by its end, whatever stands inside it', () => {
  const filler = `${'x'.repeat(70_000)},"jsonrpc":"2.0","id":1}`;
  const inside = { filler, last: { jsonrpc: '2.0', id: 1 } };
  for (const id of [2, 'two "quoted"', -7]) {
    const traffic = after(LIST, { id, method: 'tools/call' });
    const text = `{"result":${JSON.stringify(inside)},"jsonrpc":"2.0","id":${JSON.stringify(id)}}\n`;
    expect(traffic.fromHub(Buffer.from(text))).toBe(true);
    expect(replayed(traffic)).toMatchObject([LIST]);
  }
  const traffic = after(LIST, CALL);
  traffic.fromHub(line({ id: 2, result: inside }));
  expect(replayed(traffic)).toMatchObject([LIST]);
});
