import type { Driver, DriverEvent, DriverStart, EngineAnswer, EngineAsk } from '../../core/ports/engine.ts';
import { asksUser } from '../asks-user.ts';
import { type Fields, fields, fieldsOf, list, text } from '../json-line.ts';
import { answersAt, questionForm } from '../question-form.ts';
import { RUN_SERVER } from './codex-command.ts';
import { codexSandboxMode } from './codex-permissions.ts';

/** Ids of the first requests. Requests of Squad have strings as ids, because Codex numbers its own requests. */
export const THREAD_REQUEST = 'thread';
export const PROMPT_REQUEST = 'prompt';

/**
 * Driver for `codex app-server`: JSON-RPC without the `jsonrpc` field. A message is a `turn/start` request, which joins
 * the running turn, or starts one. Its id is also the `clientId` of the item that Codex reports when its model gets the
 * message.
 */
export function codexDriver({ prompt, cwd, model, chatId, continues, options }: DriverStart): Driver {
  /** Messages that have not reached the model yet. */
  const waiting = new Set<string>();
  /** Messages that Codex has but may not have given to its model yet. */
  const pending = new Set<string>();
  /** Maps each message that Codex has accepted to its turn. */
  const turnOf = new Map<string, string>();
  const running = new Set<string>();
  const completed = new Set<string>();
  const asked = new Map<string, { method: string; params: Fields; content: string }>();
  const answered = new Set<string>();
  /** File changes by the id of the Codex item, because a request for permission contains only that id. */
  const changes = new Map<string, unknown>();
  let thread: string | null = null;
  let hasPrompt = false;
  let hasFailed = false;

  const message = (id: string, content: string): string =>
    JSON.stringify({
      id,
      method: 'turn/start',
      params: {
        threadId: thread,
        clientUserMessageId: id,
        input: [{ type: 'text', text: content, text_elements: [] }],
        ...(options.outputSchema && { outputSchema: options.outputSchema }),
      },
    });

  function open(): string[] {
    const { approvalPolicy, sandbox } = codexSandboxMode(options);
    const settings = { cwd, ...(model !== null && { model }), approvalPolicy, sandbox };
    const before = continues ? chatId : options.forksChat;
    const method = continues ? 'thread/resume' : 'thread/fork';
    return [
      { id: 'init', method: 'initialize', params: { clientInfo: CLIENT } },
      { method: 'initialized' },
      before === null
        ? { id: THREAD_REQUEST, method: 'thread/start', params: settings }
        : { id: THREAD_REQUEST, method, params: { threadId: before, ...settings } },
    ].map(line => JSON.stringify(line));
  }

  function request(id: string, method: string, params: Fields): DriverEvent[] {
    if (answered.has(id)) return [];
    const ask = askOf(id, method, params, changes);
    if (ask === null) return [refuse(id)];
    const content = JSON.stringify([method, ask.tool, ask.input]);
    const before = asked.get(id);
    asked.set(id, { method, params, content });
    // An answer names only the id of the request. A second request with the same id and other content is refused,
    // because the user approved the first content.
    if (before !== undefined && before.content !== content)
      return [
        { type: 'withdrawn', id },
        { type: 'send', lines: [reply(id, result(method, params, false))] },
      ];
    if (before !== undefined) return [];
    if (asksUser(options)) return [{ type: 'asked', ask }];
    return [{ type: 'send', lines: [reply(id, unasked(method, params))] }];
  }

  function response(id: string, line: Fields): DriverEvent[] {
    const failed = line.error !== undefined;
    if (failed && (id === 'init' || id === THREAD_REQUEST)) hasFailed = true;
    if (failed) pending.delete(id);
    const { thread: opened, turn } = fields(line.result);
    if (id === THREAD_REQUEST) thread = text(fields(opened).id);
    const turnId = text(fields(turn).id);
    if (turnId !== null && waiting.has(id)) {
      turnOf.set(id, turnId);
      begin(turnId);
      if (completed.has(turnId)) pending.delete(id);
    }
    return thread !== null && !hasPrompt ? [{ type: 'send', lines: [message(PROMPT_REQUEST, prompt)] }] : [];
  }

  function begin(turn: string): void {
    if (!completed.has(turn)) running.add(turn);
  }

  /** A message that did not reach the model before its turn ended is lost for Codex. */
  function complete(turn: string): void {
    running.delete(turn);
    completed.add(turn);
    for (const [id, of] of turnOf) if (of === turn) pending.delete(id);
  }

  function notified(method: string, params: Fields): DriverEvent[] {
    if (method === 'serverRequest/resolved') {
      const id = JSON.stringify(params.requestId);
      return asked.has(id) && !answered.has(id) ? [{ type: 'withdrawn', id }] : [];
    }
    if (params.threadId !== thread) return [];
    const turn = text(fields(params.turn).id);
    if (method === 'turn/started' && turn !== null) begin(turn);
    if (method === 'turn/completed' && turn !== null) complete(turn);
    if (method === 'item/started') {
      const item = fields(params.item);
      if (item.type === 'userMessage') taken(text(item.clientId) ?? '');
      if (item.type === 'fileChange') changes.set(text(item.id) ?? '', item.changes);
    }
    return [];
  }

  function taken(id: string): void {
    waiting.delete(id);
    pending.delete(id);
  }

  return {
    open,
    answer({ id }: EngineAsk, answer: EngineAnswer) {
      const { method, params } = asked.get(id) ?? { method: '', params: {} };
      const line = reply(
        id,
        result(method, params, answer.isGiven, answer.isGiven ? answer.values : undefined),
      );
      // Codex tells its model only that the user refused, so the reason is sent as a message before.
      return answer.isGiven ? [line] : [message(`no-${id}`, answer.why), line];
    },
    get isReady() {
      return thread !== null && hasPrompt;
    },
    get hasBegun() {
      return hasPrompt;
    },
    say: (id, content) => [message(id, content)],
    interrupt(id) {
      const turnId = [...running].at(-1);
      if (turnId === undefined) return [];
      return [JSON.stringify({ id, method: 'turn/interrupt', params: { threadId: thread, turnId } })];
    },
    waiting,
    sent(line) {
      const event = fieldsOf(line);
      if (event?.method === 'turn/start') {
        const id = text(event.id) ?? '';
        waiting.add(id);
        pending.add(id);
        if (id === PROMPT_REQUEST) hasPrompt = true;
      } else if (event && event.method === undefined) answered.add(JSON.stringify(event.id));
    },
    read(line) {
      const event = fieldsOf(line);
      const method = text(event?.method);
      if (event === null) return [];
      if (method === null) return response(text(event.id) ?? '', event);
      const params = fields(event.params);
      return event.id === undefined
        ? notified(method, params)
        : request(JSON.stringify(event.id), method, params);
    },
    tooLong(beginning) {
      const method = /^\{"method":"([^"\\]+)"/.exec(beginning)?.[1];
      const id = /^\{"method":"[^"\\]+","id":(\d+|"[^"\\]*")/.exec(beginning)?.[1];
      if (method && id) {
        if (answered.has(id)) return [];
        const answer = result(method, {}, false);
        return [answer ? { type: 'send', lines: [reply(id, answer)] } : refuse(id)];
      }
      const turn = method === 'turn/completed' && /"turn":\{"id":"([^"\\]+)"/.exec(beginning)?.[1];
      if (turn) complete(turn);
      const client = method === 'item/started' && /"clientId":"([^"\\]+)"/.exec(beginning)?.[1];
      if (client) taken(client);
      return [];
    },
    get isIdle() {
      return hasFailed || (hasPrompt && pending.size === 0 && running.size === 0);
    },
  };
}

const CLIENT = { name: 'squad', title: 'Squad', version: '1' };

const COMMAND = 'item/commandExecution/requestApproval';
const FILES = 'item/fileChange/requestApproval';
const PERMISSIONS = 'item/permissions/requestApproval';
const ELICITATION = 'mcpServer/elicitation/request';
const QUESTIONS = 'item/tool/requestUserInput';
/** Codex's tool with which its model asks the user. */
const DIALOG = 'request_user_input';

/** Converts a request of Codex to a question. Null for requests that no person has to answer. */
function askOf(
  id: string,
  method: string,
  params: Fields,
  changes: ReadonlyMap<string, unknown>,
): EngineAsk | null {
  const { command, cwd, reason, grantRoot: root, networkApprovalContext: network, questions } = params;
  if (method === COMMAND)
    return { id, tool: command ? 'shell' : 'network', input: known({ command, reason, network, cwd }) };
  if (method === FILES) {
    const changed = list(changes.get(text(params.itemId) ?? ''));
    const path = changed.map(change => text(change.path)).join(', ');
    return { id, tool: 'file_change', input: known({ path, reason, root, changes: changed }) };
  }
  if (method === PERMISSIONS)
    return { id, tool: 'more permissions', input: known({ permissions: params.permissions, reason, cwd }) };
  if (method === QUESTIONS)
    return { id, tool: DIALOG, input: known({ questions }), form: formOf(list(questions)) };
  if (method !== ELICITATION) return null;
  const { serverName, message, url, _meta: meta, requestedSchema } = params;
  const server = serverName === RUN_SERVER ? 'squad' : (text(serverName) ?? '');
  const ask = { id, tool: `MCP server ${server}`, input: known({ message, url, meta }) };
  // A form has fields that need values, which a yes does not give.
  const needsValues = Object.keys(fields(fields(requestedSchema).properties)).length > 0;
  return needsValues ? { ...ask, form: { message, requestedSchema } } : ask;
}

/** A form with a secret answer is refused, because answers are stored and shown. */
const formOf = (questions: Fields[]): Fields => ({
  ...questionForm(questions),
  ...(questions.some(({ isSecret }) => isSecret === true) && { mode: 'secret' }),
});

const known = (values: Fields): Fields =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined));

/** Result of a request for permission or for values. Null for other requests. */
function result(method: string, params: Fields, isGiven: boolean, values: Fields = {}): Fields | null {
  if (method === COMMAND || method === FILES) return { decision: isGiven ? 'accept' : 'decline' };
  if (method === PERMISSIONS)
    return { permissions: isGiven ? known(fields(params.permissions)) : {}, scope: 'turn' };
  if (method === ELICITATION)
    return { action: isGiven ? 'accept' : 'decline', content: isGiven ? values : null, _meta: null };
  if (method === QUESTIONS) {
    const asked = isGiven ? list(params.questions) : [];
    const answers = asked.map(({ id }, i) => [id, { answers: answersAt(values, i) }]);
    return { answers: Object.fromEntries(answers) };
  }
  return null;
}

/** Answer if nobody can be asked: that of `codex exec`, which cancels forms. */
const unasked = (method: string, params: Fields): Fields | null =>
  method === ELICITATION ? { action: 'cancel', content: null, _meta: null } : result(method, params, false);

/** `id` is JSON, because Codex's ids are numbers. */
const reply = (id: string, answer: Fields | null): string =>
  JSON.stringify({ id: JSON.parse(id), result: answer });

const refuse = (id: string): DriverEvent => ({
  type: 'send',
  lines: [
    JSON.stringify({
      id: JSON.parse(id),
      error: { code: -32601, message: 'Squad does not know this request' },
    }),
  ],
});
