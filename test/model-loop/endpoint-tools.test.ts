import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import type { ToolAnswer } from '../../src/model-loop/tool.ts';
import { endpointTools } from '../../src/model-loop/toolbox.ts';
import { type EndpointTool, said, startToolEndpoint } from './tool-endpoint.ts';

const never = new AbortController().signal;

async function answerOf(answer: EndpointTool['answer']): Promise<ToolAnswer> {
  await using endpoint = await startToolEndpoint([{ name: 'it', answer }]);
  const [tool] = await endpointTools(endpoint, never);
  return await tool!.call({ a: 1 }, never);
}

test('an answer may be an event stream with progress messages before it', async () => {
  const answer = await answerOf((_call, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': hello\n\n');
    response.write(
      `event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n`,
    );
    response.write('data: {"jsonrpc":"2.0","id":1,\n');
    response.end(`data: "result":${JSON.stringify(said('at last'))}}\n\n`);
  });
  expect(answer).toEqual({ ok: true, parts: [{ type: 'text', text: 'at last' }] });
});

test('images are kept, and unsupported content becomes a note', async () => {
  const content = [
    { type: 'text', text: 'see' },
    { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'note://a', name: 'a' },
    { type: 'resource', resource: { uri: 'note://b', text: 'the note' } },
  ];
  const { parts } = await answerOf(() => ({ content }));
  expect(parts).toEqual([
    { type: 'text', text: 'see' },
    { type: 'image', mediaType: 'image/png', data: 'AAAA' },
    { type: 'text', text: '[audio, audio/wav: cannot be shown]' },
    { type: 'text', text: '[a: note://a]' },
    { type: 'text', text: 'the note' },
  ]);
});

test('structured content is kept with the text, and replaces missing text', async () => {
  expect(await answerOf(() => ({ content: [], structuredContent: { sum: 3 } }))).toEqual({
    ok: true,
    parts: [{ type: 'text', text: '{"sum":3}' }],
    structured: { sum: 3 },
  });
});

test('failures are answers with the original message', async () => {
  const refused = await answerOf((_call, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"There is no such tool"}}');
  });
  expect(refused).toEqual({ ok: false, parts: [{ type: 'text', text: 'There is no such tool' }] });
  const stopping = await answerOf((_call, response) => void response.writeHead(503).end('stopping'));
  expect(stopping).toEqual({ ok: false, parts: [{ type: 'text', text: 'HTTP 503: stopping' }] });
  const gone = await answerOf((_call, response) => void response.destroy());
  expect(gone).toMatchObject({ ok: false, parts: [{ text: expect.stringContaining('Cannot reach Squad') }] });
});

test('an aborted call ends at once', async () => {
  const stop = new AbortController();
  await using endpoint = await startToolEndpoint([
    { name: 'slow', answer: () => void stop.abort(new Error('enough')) },
  ]);
  const [tool] = await endpointTools(endpoint, never);
  await expect(tool!.call({}, stop.signal)).rejects.toThrow('enough');
  await expect.poll(() => endpoint.dropped).toEqual(['slow']);
});

test('a call that no hub received is sent to the next one; one that was cut off is not', async () => {
  const first = await startToolEndpoint([{ name: 'it', answer: () => said('first') }]);
  await using hubs = new AsyncDisposableStack();
  let lost = 0;
  const onLost = async () => {
    if (lost++ > 0) return;
    const { port } = new URL(first.url);
    const answers = [() => said('next'), (_: unknown, response: ServerResponse) => void response.destroy()];
    const answer: EndpointTool['answer'] = (...call) => answers.shift()!(...call);
    hubs.use(await startToolEndpoint([{ name: 'it', answer }], Number(port)));
  };
  const [tool] = await endpointTools({ url: first.url, token: first.token, onLost }, never);
  await first[Symbol.asyncDispose]();
  expect(await tool!.call({}, never)).toEqual({ ok: true, parts: [{ type: 'text', text: 'next' }] });
  expect(lost).toBe(1);
  expect(await tool!.call({}, never)).toMatchObject({ ok: false });
  expect(lost).toBe(2);
});
