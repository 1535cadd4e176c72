import { randomBytes } from 'node:crypto';
import { type ClientRequest, request } from 'node:http';
import { z } from 'zod';
import type { FrameHead } from '../base/frames.ts';
import type { Run } from '../schema/run.ts';

export interface DeskPorts {
  /** URL of the hub's MCP endpoint. Null if its port could not be opened. */
  url(): Promise<string | null>;
  /** Finds the run with this token. Null if there is none, or if it has ended. */
  runWith(token: string): Run | null;
}

type Send = (head: object, body?: Buffer) => void;

interface Call {
  parts: { head: object; body: Buffer | undefined }[];
  send: Send;
  request: ClientRequest | null;
}

const id = z.string().regex(/^[0-9a-f]+-\d+$/);
const Message = z.discriminatedUnion('t', [
  z.object({
    t: z.literal('call'),
    id,
    method: z.enum(['POST', 'DELETE']),
    headers: z.record(z.string().max(100), z.string().max(10_000)),
    /** Id of the hub process to which the call may have been sent before. */
    sentTo: z.string().max(100),
    have: z.number().int().nonnegative().default(0),
  }),
  z.object({ t: z.literal('open'), ids: z.array(id).max(10_000) }),
  z.object({ t: z.literal('got'), id }),
  z.object({ t: z.literal('drop'), id }),
]);

/** Maximum number of calls that a machine may have open at once. */
const MAX_CALLS = 200;
const PART = 256 * 1024;

/**
 * Answers requests of agents on other machines by forwarding them to the hub's own port. A token is accepted only from
 * the machine of its run. Each call is made once, and its answer is kept until the machine has received it.
 */
export class Desk {
  private readonly ports: DeskPorts;
  private readonly calls = new Map<string, Call>();
  /**
   * Random id of this hub process. The door stores it with each call, to know which hub process may have made the
   * call.
   */
  readonly id = randomBytes(8).toString('hex');

  constructor(ports: DeskPorts) {
    this.ports = ports;
  }

  take(machine: string, head: FrameHead, body: Buffer, send: Send): void {
    const message = Message.parse(head);
    if (message.t === 'open') {
      this.dropOthers(machine, message.ids);
      return;
    }
    const key = `${machine}/${message.id}`;
    const known = this.calls.get(key);
    if (message.t !== 'call') {
      this.calls.delete(key);
      if (message.t === 'drop') known?.request?.destroy();
      return;
    }
    if (known) {
      known.send = send;
      for (const part of known.parts.slice(message.have)) send(part.head, part.body);
      return;
    }
    const call: Call = { parts: [], send, request: null };
    this.calls.set(key, call);
    const answer = answerer(call, message.id);
    const refusal = this.refusalOf(machine, message);
    if (refusal) refuse(answer, ...refusal);
    else void this.ask(call, message, body, answer);
  }

  /**
   * Drops calls that are not open any more at the door, the machine's port for agents. Their `got` or `drop` message
   * was lost with a connection.
   */
  private dropOthers(machine: string, ids: readonly string[]): void {
    const open = new Set(ids.map(each => `${machine}/${each}`));
    for (const [key, { request: asked }] of this.calls) {
      if (!key.startsWith(`${machine}/`) || open.has(key)) continue;
      this.calls.delete(key);
      asked?.destroy();
    }
  }

  private refusalOf(
    machine: string,
    { sentTo, headers }: { sentTo: string; headers: Record<string, string> },
  ): Refusal | null {
    // Refuses a call that may already have been made by another hub process. A call that was sent to this process and
    // is unknown here never arrived.
    if (sentTo !== this.id)
      return [503, 'HUB_RESTARTED', 'The hub was restarted while this call was in progress'];
    const open = [...this.calls.keys()].filter(key => key.startsWith(`${machine}/`)).length;
    if (open > MAX_CALLS) return [429, 'NOT_ALLOWED', `${machine} has more than ${MAX_CALLS} calls open`];
    const [, token = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? [];
    if (this.ports.runWith(token)?.options.machine === machine) return null;
    return [401, 'NOT_ALLOWED', `This is not the token of a run on ${machine}`];
  }

  private async ask(
    call: Call,
    { method, headers }: { method: string; headers: Record<string, string> },
    body: Buffer,
    answer: Answer,
  ): Promise<void> {
    const url = await this.ports.url();
    if (url === null) {
      refuse(answer, 503, 'HUB_UNREACHABLE', 'The port of the hub is not open');
      return;
    }
    call.request = request(
      url,
      { method, headers: { ...headers, 'content-length': body.length } },
      response => {
        const type = response.headers['content-type'];
        const session = response.headers['mcp-session-id'];
        answer({
          status: response.statusCode,
          headers: {
            ...(type !== undefined && { 'content-type': type }),
            ...(session !== undefined && { 'mcp-session-id': session }),
          },
        });
        response.on('data', (chunk: Buffer) => {
          for (let at = 0; at < chunk.length; at += PART) answer({}, chunk.subarray(at, at + PART));
        });
        response.on('end', () => answer({ end: true }));
        response.on('error', () => answer({ end: true }));
      },
    );
    call.request.on('error', ({ message }) => {
      if (call.parts.length === 0) refuse(answer, 502, 'HUB_UNREACHABLE', message);
    });
    call.request.end(body);
  }
}

type Refusal = [status: number, code: string, message: string];
type Answer = (head: object, body?: Buffer) => void;

/** Numbers the parts of an answer, so that the machine can drop a part that arrives twice. */
const answerer =
  (call: Call, id: string): Answer =>
  (head, body) => {
    const part = { head: { t: 'answer', id, part: call.parts.length, ...head }, body };
    call.parts.push(part);
    call.send(part.head, part.body);
  };

function refuse(answer: Answer, ...[status, code, message]: Refusal): void {
  const text = JSON.stringify({ error: { code, message } });
  answer({ status, headers: { 'content-type': 'application/json' } });
  answer({ end: true }, Buffer.from(text));
}
