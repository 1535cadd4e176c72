import type { Client } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, it } from 'vitest';
import type { Era, Face } from '../face/face.ts';
import { type FarFace, farFace } from '../testing/far-face.ts';
import { httpRig } from '../testing/http-rig.ts';
import { socketRig } from '../testing/socket-client.ts';
import { until } from '../testing/until.ts';

let far: FarFace;
let close = async () => {};
afterEach(() => close());

async function connect(edge: string, era: Era): Promise<Client> {
  far = farFace({ direct: true });
  const build = (): Face => far.face;
  const rig = edge === 'HTTP' ? await httpRig({ build }) : await socketRig({ build });
  close = () => rig.close();
  return rig.client(era);
}

describe.each<[Era, string]>([
  ['legacy', 'HTTP'],
  ['modern', 'HTTP'],
  ['legacy', 'a socket'],
  ['modern', 'a socket'],
])('a real %s client over %s, answered past the SDK of the server', (era, edge) => {
  it('lists, calls and reads errors', { tags: ['R6'] }, async () => {
    const client = await connect(edge, era);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('far__echo');
    const echoed = await client.callTool({ name: 'far__echo', arguments: { a: 'ü\u2028' } });
    expect(echoed.structuredContent).toEqual({ args: { a: 'ü\u2028' } });
    expect(await client.callTool({ name: 'far__refuses' })).toMatchObject({ isError: true });
    await expect(client.callTool({ name: 'far__fails' })).rejects.toMatchObject({
      code: -32050,
      data: { tray: 2 },
    });
    await expect(client.callTool({ name: 'far__nowhere' })).rejects.toMatchObject({ code: -32602 });
    expect(far.past).toHaveLength(4);
  });

  it('gets progress before the result, always rising', async () => {
    const client = await connect(edge, era);
    const seen: unknown[] = [];
    const result = await client.callTool(
      { name: 'far__steps', arguments: {} },
      { onprogress: notice => seen.push(notice) },
    );
    expect(result.content).toEqual([{ type: 'text', text: 'told' }]);
    expect(seen).toEqual([
      { progress: 1, total: 4, message: 'one' },
      { progress: 2 },
      { progress: 3, total: 4, message: 'three' },
      { progress: 4, total: 4 },
    ]);
    expect(far.past).toHaveLength(1);
  });

  it('cancels one call and continues the others', async () => {
    const client = await connect(edge, era);
    const stop = new AbortController();
    const hold = (key: string, signal?: AbortSignal) =>
      client.callTool({ name: 'far__hold', arguments: { key } }, signal && { signal });
    const dropped = hold('dropped', stop.signal);
    const kept = hold('kept');
    await until(() => far.held.length === 2, 'both calls');
    stop.abort('enough');
    await expect(dropped).rejects.toThrow();
    await until(() => far.aborted.length === 1, 'the signal');
    expect(far.aborted).toEqual(['dropped']);
    for (const { release } of far.held) release();
    expect((await kept).content).toEqual([{ type: 'text', text: 'held kept' }]);
  });
});
