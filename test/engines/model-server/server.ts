/** A model API on loopback that does what the prompt tells it to. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerFor } from './answer.ts';
import { anthropic } from './anthropic.ts';
import { chatCompletions } from './chat-completions.ts';
import type { Answer, Conversation, WireFormat } from './conversation.ts';
import { gemini } from './gemini.ts';
import { Ledger, type ModelCall } from './ledger.ts';
import { otherAnswer } from './other-paths.ts';
import { responses } from './responses.ts';
import { type NextStep, nextStep } from './script.ts';
import { fullName } from './tool-choice.ts';

const FORMATS: WireFormat[] = [anthropic, responses, chatCompletions, gemini];

export interface ModelServer extends AsyncDisposable {
  /** `http://HOST:PORT`, without a path. */
  url: string;
  requests: readonly ModelCall[];
  /** Usage of all answers, or of the answers with this tag or model. */
  usage: Ledger['usage'];
  /** The first request of a tag: its `at` is when the agent got that far. */
  first: Ledger['first'];
  /** Resolves with the first request that fits, past or to come; rejects after the limit (30 s unless told). */
  waitForRequest(fits: (call: ModelCall) => boolean, limitMs?: number): Promise<ModelCall>;
  close(): Promise<void>;
}

export async function startModelServer(port = 0, host = '127.0.0.1'): Promise<ModelServer> {
  const ledger = new Ledger();
  const server = createServer((request, response) => {
    serve(request, response, ledger).catch(error =>
      send(response, 500, { error: { message: String(error) } }),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve);
  });
  const close = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve());
      // Requests that hang on purpose would keep the server open.
      server.closeAllConnections();
    });
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    requests: ledger.requests,
    usage: filter => ledger.usage(filter),
    first: tag => ledger.first(tag),
    waitForRequest: (fits, limitMs = 30_000) => ledger.waitFor(fits, limitMs),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function serve(request: IncomingMessage, response: ServerResponse, ledger: Ledger): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const body = await bodyOf(request);
  const call = callFrom(request, url, body);
  const format = request.method === 'POST' ? FORMATS.find(({ matches }) => matches(url.pathname)) : undefined;
  if (!format) {
    const { status, body: answer } = otherAnswer(url.pathname, body);
    ledger.add({ ...call, status });
    return send(response, status, request.method === 'HEAD' ? undefined : answer);
  }
  let conversation: Conversation;
  let next: NextStep;
  try {
    conversation = format.read(JSON.parse(body), url);
    next = nextStep(conversation);
  } catch (error) {
    ledger.add({ ...call, status: 400 });
    return send(response, 400, format.error(400, `the scripted model cannot read this request: ${error}`));
  }
  const attempt = ledger.attempts(next.tag, next.number);
  describe(call, conversation, next);
  ledger.add(call);
  reply(response, format, conversation, next, attempt, call);
  ledger.changed();
}

/** The answer to an account whose usage limit is reached: headers of Anthropic, and the error of OpenAI for Codex. */
function sendLimit(response: ServerResponse, status: number, format: WireFormat, until: number): void {
  const unified = {
    status: 'rejected',
    reset: until,
    'representative-claim': 'five_hour',
    '5h-reset': until,
  };
  for (const [name, value] of Object.entries(unified))
    response.setHeader(`anthropic-ratelimit-unified-${name}`, value);
  const message = 'The usage limit has been reached';
  const error = { type: 'usage_limit_reached', message, plan_type: 'plus', resets_at: until };
  send(response, status, format === responses ? { error } : format.error(status, message));
}

function reply(
  response: ServerResponse,
  format: WireFormat,
  conversation: Conversation,
  { step }: NextStep,
  attempt: number,
  call: ModelCall,
): void {
  const { status = 200, times = Number.POSITIVE_INFINITY, hang, garbage, retryAfter, limitedUntil } = step;
  if (hang === 'headers') return;
  call.status = attempt < times ? status : 200;
  if (call.status !== 200) {
    if (retryAfter) response.setHeader('retry-after', retryAfter);
    if (limitedUntil === undefined)
      send(response, status, format.error(status, step.message ?? `scripted ${status}`, retryAfter));
    else sendLimit(response, status, format, limitedUntil);
    return;
  }
  const type = conversation.stream ? 'text/event-stream' : 'application/json';
  response.writeHead(200, { 'content-type': type });
  if (hang === 'stream') response.flushHeaders();
  else if (garbage) response.end('data: {"half": tru\n\ndata: <html>\n\n');
  else {
    const answer = answerFor(step, conversation);
    const text = inFormat(format, answer, conversation);
    if (step.cut) {
      const half = text.slice(0, text.length / 2);
      if (step.cut === 'answer') response.end(half);
      else response.write(half, () => response.destroy());
      return;
    }
    call.usage = answer.usage;
    response.end(text);
  }
}

const inFormat = (format: WireFormat, answer: Answer, conversation: Conversation): string =>
  conversation.stream
    ? format.events(answer, conversation).join('')
    : JSON.stringify(format.whole(answer, conversation));

const callFrom = ({ method = '', headers }: IncomingMessage, url: URL, body: string): ModelCall => ({
  at: performance.timeOrigin + performance.now(),
  method,
  path: url.pathname,
  userAgent: headers['user-agent'] ?? '',
  headers,
  body,
  model: null,
  tag: null,
  step: null,
  tools: [],
  system: '',
  prompt: '',
  turns: [],
  toolResults: [],
  status: null,
  usage: null,
});

function describe(call: ModelCall, { model, system, turns, tools }: Conversation, next: NextStep): void {
  const { tag, number, prompt } = next;
  const toolResults = turns.filter(({ by }) => by === 'tool').map(({ text }) => text);
  Object.assign(call, {
    model,
    system,
    tag,
    step: number,
    prompt,
    turns,
    toolResults,
    tools: tools.map(fullName),
  });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(body === undefined ? '' : JSON.stringify(body));
}
