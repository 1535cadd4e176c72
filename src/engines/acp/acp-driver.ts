import { isAbsolute, relative, resolve } from 'node:path';
import {
  type Driver,
  type DriverEvent,
  type DriverStart,
  type EngineAsk,
  SQUAD_SERVER,
} from '../../core/ports/engine.ts';
import { type Fields, fields, fieldsOf, list, text } from '../json-line.ts';

/** Ids of the first requests. */
export const SESSION_REQUEST = 'session';
export const PROMPT_REQUEST = 'prompt';

/** Behaviour of an agent that the protocol does not define. */
export interface AcpTraits {
  /** True if a prompt joins the running one. Other agents may end the running one. */
  joins?: true;
  /** True if the agent asks only for what its own settings do not allow, so that only the user can allow it. */
  asksForRest?: true;
  /**
   * When the agent gets the reason of a refused permission, which Squad sends as its next prompt. `ends_turn`: always,
   * because the refusal ends its turn. `interrupts`: always, because Squad interrupts it. By default only if the agent
   * does not continue after the refusal.
   */
  refusal?: 'ends_turn' | 'interrupts';
  /** True if the agent does not exit when its input ends, while an MCP server runs. */
  staysOpen?: true;
}

/**
 * Driver for agents of the Agent Client Protocol, version 1. The protocol has no message into a running turn: many
 * agents cancel the running prompt when another one arrives. Therefore a message needs an agent that is idle or
 * interrupted, or that is known to read it.
 */
export function acpDriver(start: DriverStart, traits: AcpTraits = {}): Driver {
  const { prompt, cwd, chatId, continues, options } = start;
  const waiting = new Set<string>();
  const running = new Set<string>();
  const asked = new Map<string, { params: Fields; content: string }>();
  const answered = new Set<string>();
  /** Reasons of refusals. They are sent as a prompt if the turn ends before the model has continued. */
  let reasons: string[] = [];
  let session: string | null = null;
  /** Parameters of the request that opens the session. */
  let opening: Fields = {};
  let isInterrupted = false;
  let hasPrompt = false;
  let hasFailed = false;

  const promptLine = (id: string, content: string): string =>
    request(id, 'session/prompt', { sessionId: session, prompt: [{ type: 'text', text: content }] });

  function permission(id: string, params: Fields): DriverEvent[] {
    if (answered.has(id)) return [];
    const ask = askOf(id, params);
    const content = JSON.stringify([ask.tool, ask.input, params.options]);
    const before = asked.get(id);
    asked.set(id, { params, content });
    // An answer names only the id of the request. A second request with the same id and other content is refused,
    // because the user approved the first content.
    if (before !== undefined && before.content !== content)
      return [
        { type: 'withdrawn', id },
        { type: 'send', lines: [choice(id, params, false)] },
      ];
    if (before !== undefined) return [];
    const isAllowed = traits.asksForRest !== true && isPermitted(fields(params.toolCall), start);
    if (!isAllowed && options.approvals === 'ask') return [{ type: 'asked', ask }];
    return [{ type: 'send', lines: [choice(id, params, isAllowed)] }];
  }

  function response(id: string, line: Fields): DriverEvent[] {
    const failed = line.error !== undefined;
    if (id === SESSION_REQUEST) return opened(fields(line.result), failed);
    if (id === 'init' && failed) hasFailed = true;
    if (!running.delete(id)) return [];
    if (!failed) waiting.delete(id);
    isInterrupted = false;
    // The turn has ended, so its open questions are withdrawn.
    const events: DriverEvent[] = [...asked.keys()].map(ask => ({ type: 'withdrawn', id: ask }));
    asked.clear();
    const why = reasons;
    reasons = [];
    if (why.length > 0 && !failed)
      events.push({ type: 'send', lines: [promptLine(`why-${id}`, why.join('\n'))] });
    return events;
  }

  /** Ends what the agent does. Some agents then wait until all their questions are answered. */
  function cancel(...replies: string[]): string[] {
    const rest = [...asked.keys()].filter(
      id => !answered.has(id) && !replies.some(line => idOf(line) === id),
    );
    const cancelled = rest.map(id => reply(id, CANCELLED));
    return [notification('session/cancel', { sessionId: session }), ...replies, ...cancelled];
  }

  function opened(result: Fields, failed: boolean): DriverEvent[] {
    // Some agents can only resume a session, without sending its old messages again.
    if (failed && continues && opening.isResumed !== true)
      return [{ type: 'send', lines: [request(SESSION_REQUEST, 'session/resume', opening)] }];
    session = text(result.sessionId) ?? (failed ? null : chatId);
    hasFailed = session === null;
    return hasFailed || hasPrompt ? [] : [{ type: 'send', lines: [promptLine(PROMPT_REQUEST, prompt)] }];
  }

  return {
    open() {
      const servers = { cwd, mcpServers: serversOf(start) };
      const isContinued = continues && chatId !== null;
      return [
        request('init', 'initialize', {
          protocolVersion: 1,
          clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
          clientInfo: { name: 'squad', title: 'Squad', version: '1' },
        }),
        isContinued
          ? request(SESSION_REQUEST, 'session/load', { sessionId: chatId, ...servers })
          : request(SESSION_REQUEST, 'session/new', servers),
      ];
    },
    answer({ id }: EngineAsk, answer) {
      const params = asked.get(id)?.params ?? {};
      if (answer.isGiven) return [choice(id, params, true)];
      const refusal = choice(id, params, false, answer.why);
      return traits.refusal === 'interrupts' ? cancel(refusal) : [refusal];
    },
    get isReady() {
      return session !== null && hasPrompt;
    },
    get hasBegun() {
      return hasPrompt;
    },
    say: (id, content) =>
      running.size > 0 && !isInterrupted && traits.joins !== true ? null : [promptLine(id, content)],
    interrupt: () => (running.size === 0 ? [] : cancel()),
    waiting,
    sent(line) {
      const event = fieldsOf(line);
      const id = text(event?.id);
      if (event?.method === 'session/prompt' && id !== null) {
        waiting.add(id);
        running.add(id);
        if (id === PROMPT_REQUEST) hasPrompt = true;
      } else if (event?.method === 'session/cancel') {
        isInterrupted = true;
        reasons = [];
      } else if (id === SESSION_REQUEST)
        opening = {
          ...fields(event?.params),
          ...(event?.method === 'session/resume' && { isResumed: true }),
        };
      else if (event && event.method === undefined) {
        answered.add(JSON.stringify(event.id));
        const why = text(fields(fields(event.result)._meta).why);
        if (why !== null) reasons.push(why);
      }
    },
    read(line) {
      const event = fieldsOf(line);
      if (event === null) return [];
      const method = text(event.method);
      if (method === null) return response(text(event.id) ?? '', event);
      if (event.id === undefined) {
        const update = fields(fields(event.params).update).sessionUpdate;
        const isFurther = update === 'agent_message_chunk' || update === 'tool_call';
        // The model has continued, so it does not need the reasons.
        if (isFurther && traits.refusal === undefined) reasons = [];
        return [];
      }
      const id = JSON.stringify(event.id);
      if (method === 'session/request_permission') return permission(id, fields(event.params));
      return answered.has(id) ? [] : [{ type: 'send', lines: [unknown(id)] }];
    },
    tooLong(beginning) {
      const isRequest = beginning.includes('"method":"session/request_permission"');
      const id = isRequest && /"id":(\d+|"[^"\\]*")/.exec(beginning)?.[1];
      if (id) return answered.has(id) ? [] : [{ type: 'send', lines: [choice(id, {}, false)] }];
      const answers = !beginning.includes('"method"') && /"id":"([^"\\]+)"/.exec(beginning)?.[1];
      return answers ? response(answers, {}) : [];
    },
    staysOpen: traits.staysOpen === true,
    get isIdle() {
      return hasFailed || (hasPrompt && running.size === 0);
    },
  };
}

const request = (id: string, method: string, params: Fields): string => {
  const { isResumed: _, ...given } = params;
  return JSON.stringify({ jsonrpc: '2.0', id, method, params: given });
};

const notification = (method: string, params: Fields): string =>
  JSON.stringify({ jsonrpc: '2.0', method, params });

/** `id` is JSON, because ids of agents may be numbers. */
const reply = (id: string, result: Fields): string =>
  JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(id), result });

const unknown = (id: string): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: JSON.parse(id),
    error: { code: -32601, message: 'Squad does not know this request' },
  });

const idOf = (line: string): string => JSON.stringify(fieldsOf(line)?.id);

const CANCELLED = { outcome: { outcome: 'cancelled' } };

/**
 * Chooses an option by its kind, because each agent has its own ids. Only permission for one use is ever given. The
 * reason of a refusal is for the next hub, which reads the line again. Agents ignore it.
 */
function choice(id: string, params: Fields, isGiven: boolean, why?: string): string {
  const kind = isGiven ? 'allow_once' : 'reject_once';
  const optionId = text(list(params.options).find(option => option.kind === kind)?.optionId);
  const outcome = optionId ? { outcome: { outcome: 'selected', optionId } } : CANCELLED;
  return reply(id, { ...outcome, ...(why !== undefined && { _meta: { why } }) });
}

function askOf(id: string, { toolCall }: Fields): EngineAsk {
  const { title, kind, rawInput, locations, content } = fields(toolCall);
  const paths = list(locations).flatMap(location => text(location.path) ?? []);
  const input = { title, ...fields(rawInput), ...(paths.length > 0 && { paths }), content };
  return { id, tool: text(kind) ?? 'tool', input };
}

/** Kinds of tools that change nothing. */
const LOOKING = ['read', 'search', 'think'];

/** True if the role allows the tool without asking. The kind of the tool is as the agent reports it. */
function isPermitted({ kind, locations }: Fields, { cwd, options }: DriverStart): boolean {
  const { permission } = options;
  if (permission === 'full' || LOOKING.includes(text(kind) ?? '')) return true;
  const paths = list(locations).flatMap(location => text(location.path) ?? []);
  return permission === 'edit' && paths.every(path => isBelow(cwd, resolve(cwd, path)));
}

function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}

/** Squad's server is a program that the agent starts. Inside a sandbox that program could not reach the hub. */
function serversOf({ endpoint, options }: DriverStart): Fields[] {
  if (endpoint === null) return [];
  const { url, token, relay } = endpoint;
  if (options.sandbox.level === 'off')
    return [{ name: SQUAD_SERVER, command: relay.command, args: relay.args, env: [] }];
  const headers = [{ name: 'Authorization', value: `Bearer ${token}` }];
  return [{ type: 'http', name: SQUAD_SERVER, url, headers }];
}
