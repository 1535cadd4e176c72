import type { Era, Face } from '../face/face.ts';
import { httpRig } from './http-rig.ts';
import { socketRig } from './socket-client.ts';
import { until } from './until.ts';

export type EdgeName = 'HTTP' | 'a socket';
export type Message = Record<string, unknown> & { id?: unknown };

/** A client of one protocol version over one transport, without an SDK. */
export interface Edge {
  /** Sends a request as a client of that protocol version would. Returns all messages up to the answer, as text. */
  ask(method: string, params: Record<string, unknown>, id: number | string): Promise<string[]>;
  close(): Promise<void>;
}

const HELLO = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } };

export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Builds a message of a protocol version. Modern messages contain the client's identity in `_meta`. */
export function message(era: Era, method: string, params: Record<string, unknown>, id?: number | string) {
  const { _meta, ...others } = params as { _meta?: object };
  const meta = era === 'modern' ? { ...ENVELOPE, ..._meta } : _meta;
  return { jsonrpc: '2.0', id, method, params: { ...others, ...(meta && { _meta: meta }) } };
}

export function httpHeaders(
  era: Era,
  method: string,
  params: Record<string, unknown>,
): Record<string, string> {
  if (era === 'legacy') return { 'mcp-protocol-version': '2025-11-25' };
  const named = typeof params.name === 'string' ? { 'mcp-name': params.name } : undefined;
  return { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...named };
}

export function openEdge(edge: EdgeName, era: Era, face: Face): Promise<Edge> {
  return edge === 'HTTP' ? overHttp(era, face) : overSocket(era, face);
}

async function overHttp(era: Era, face: Face): Promise<Edge> {
  const rig = await httpRig({ build: () => face });
  const session: Record<string, string> = {};
  if (era === 'legacy') {
    const opened = await rig.post(JSON.stringify(message(era, 'initialize', HELLO, 'hello')));
    await opened.text();
    session['mcp-session-id'] = opened.headers.get('mcp-session-id') ?? '';
  }
  return {
    async ask(method, params, id) {
      const headers = { ...session, ...httpHeaders(era, method, params) };
      return messagesOf(await rig.post(JSON.stringify(message(era, method, params, id)), headers));
    },
    close: () => rig.close(),
  };
}

/** Returns the messages of an HTTP response, which is one JSON body or an event stream. */
export async function messagesOf(response: Response): Promise<string[]> {
  const text = await response.text();
  if (response.headers.get('content-type')?.startsWith('application/json')) return [text];
  const lines = text.split('\n').filter(line => line.startsWith('data: '));
  return lines.map(line => line.slice('data: '.length));
}

async function overSocket(era: Era, face: Face): Promise<Edge> {
  const rig = await socketRig({ build: () => face });
  const { socket, texts } = await rig.raw();
  const edge: Edge = {
    async ask(method, params, id) {
      const from = texts.length;
      socket.write(`${JSON.stringify(message(era, method, params, id))}\n`);
      const isAnswer = (line: string) => (JSON.parse(line) as Message).id === id;
      await until(() => texts.slice(from).some(isAnswer), `the answer to ${id}`);
      return texts.slice(from);
    },
    close: () => rig.close(),
  };
  await edge.ask(era === 'legacy' ? 'initialize' : 'server/discover', era === 'legacy' ? HELLO : {}, 'hello');
  return edge;
}
