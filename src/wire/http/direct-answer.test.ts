import { afterEach, describe, expect, it } from 'vitest';
import type { Era } from '../face/face.ts';
import { type Edge, type EdgeName, openEdge } from '../testing/edges.ts';
import { type FarFace, farFace } from '../testing/far-face.ts';

type Params = Record<string, unknown>;

const CASES: [what: string, params: Params][] = [
  ['a result', { name: 'far__echo', arguments: { z: [1, { 'ü"\u2028': null }], a: '' } }],
  ['a call without arguments', { name: 'far__echo' }],
  ['a result without content', { name: 'far__bare', arguments: {} }],
  ['a failure of the tool, with meta of its own', { name: 'far__refuses', arguments: {} }],
  ["meta that is the other server's business", { name: 'far__echo', _meta: { 'example/trace': { a: 1 } } }],
  ['progress under a number', { name: 'far__steps', arguments: {}, _meta: { progressToken: 7 } }],
  ['progress under a word', { name: 'far__steps', arguments: {}, _meta: { progressToken: 'p/1' } }],
  ['progress nobody asked for', { name: 'far__steps', arguments: {} }],
];

const ERRORS: [what: string, name: string, error: unknown][] = [
  [
    'an unknown tool',
    'far__nowhere',
    { code: -32602, message: 'Unknown tool: far__nowhere', data: { tool_name: 'far__nowhere' } },
  ],
  ["another server's error", 'far__fails', { code: -32050, message: 'Out of paper', data: { tray: 2 } }],
  ['an error with a number of its own', 'far__plainly', { code: 7, message: 'Its own number' }],
  ['an error whose number has changed', 'far__gone', { code: -32602, data: { uri: 'x://y' } }],
  ["a caller's mistake", 'far__mistake', { code: -32602, data: { suggestions: ['Give another.'] } }],
  ['a bug', 'far__crash', { code: -32603 }],
];

const opened: Edge[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map(edge => edge.close()));
});

async function both(edge: EdgeName, era: Era): Promise<{ far: FarFace; direct: Edge; sdk: Edge }> {
  const far = farFace({ direct: true });
  const direct = await openEdge(edge, era, far.face);
  const sdk = await openEdge(edge, era, farFace({ direct: false }).face);
  opened.push(direct, sdk);
  return { far, direct, sdk };
}

const parsed = (texts: string[]) => texts.map(text => JSON.parse(text));

describe.each<[Era, EdgeName]>([
  ['legacy', 'HTTP'],
  ['modern', 'HTTP'],
  ['legacy', 'a socket'],
  ['modern', 'a socket'],
])('past the SDK, a %s client over %s', (era, edge) => {
  it.each(CASES)('hears the same: %s', async (_what, params) => {
    const { far, direct, sdk } = await both(edge, era);
    for (const id of [1, 'a "word"', -5, '']) {
      const said = await direct.ask('tools/call', params, id);
      expect(parsed(said)).toEqual(parsed(await sdk.ask('tools/call', params, id)));
      expect(parsed(said).at(-1)).toMatchObject({ id, result: { content: expect.anything() } });
    }
    expect(far.past).toHaveLength(4);
  });

  it.each(ERRORS)('hears the same to the byte: %s', async (_what, name, error) => {
    const { far, direct, sdk } = await both(edge, era);
    const said = await direct.ask('tools/call', { name, arguments: {} }, 'x');
    expect(said).toEqual(await sdk.ask('tools/call', { name, arguments: {} }, 'x'));
    expect(parsed(said)).toMatchObject([{ id: 'x', error }]);
    expect(far.past).toHaveLength(1);
  });

  it('hands on what was meant for the tool, and nothing that was meant for us', async () => {
    const { far, direct } = await both(edge, era);
    const call = { name: 'far__echo', arguments: { a: 1 } };
    const _meta = { progressToken: 9, 'example/trace': 1 };
    await direct.ask('tools/call', { ...call, _meta }, 1);
    await direct.ask('tools/call', { ...call, _meta: { progressToken: 9 } }, 2);
    await direct.ask('tools/call', call, 3);
    await direct.ask('tools/call', { name: 'far__echo' }, 4);
    expect(far.past).toEqual([
      { ...call, _meta: { 'example/trace': 1 } },
      call,
      call,
      { name: 'far__echo', arguments: {} },
    ]);
  });

  it('gets the list the SDK would send, byte for byte and for itself alone', async () => {
    const { direct, sdk } = await both(edge, era);
    const said = await direct.ask('tools/list', {}, 'l');
    // The SDK is made to answer this one: it has a key that is reserved for the protocol.
    const odd = { _meta: { 'io.modelcontextprotocol/odd': 1 } };
    expect(said).toEqual(await sdk.ask('tools/list', odd, 'l'));
    expect(await direct.ask('tools/list', {}, 'l')).toEqual(said);
    const [{ result }] = parsed(said);
    expect(result.tools).toHaveLength(10);
    expect(result.cacheScope).toBe(era === 'modern' ? 'private' : undefined);
  });

  it.each<[string, Params]>([
    ['a task', { name: 'far__echo', arguments: {}, task: {} }],
    ['state of an earlier round', { name: 'far__echo', arguments: {}, requestState: 'x' }],
    ['arguments that are a list', { name: 'far__echo', arguments: [] }],
    ['a token that cannot be one', { name: 'far__echo', _meta: { progressToken: {} } }],
    ['meta that is none', { name: 'far__echo', _meta: { 'io.modelcontextprotocol/clientInfo': 5 } }],
    [
      'a name that means something',
      { name: 'far__echo', arguments: JSON.parse('{"__proto__":{"a":1},"b":2}') },
    ],
    ['a cursor', { cursor: 'x' }],
  ])('is left to the SDK with what is not plain: %s', async (_what, params) => {
    const { far, direct, sdk } = await both(edge, era);
    const method = 'cursor' in params ? 'tools/list' : 'tools/call';
    const said = parsed(await direct.ask(method, params, 1));
    expect(said).toEqual(parsed(await sdk.ask(method, params, 1)));
    expect(far.past).toEqual([]);
  });
});
