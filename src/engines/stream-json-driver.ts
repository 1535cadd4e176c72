import { randomUUID } from 'node:crypto';
import type { Driver, DriverEvent, DriverStart, EngineAsk } from '../core/ports/engine.ts';
import { asksUser } from './asks-user.ts';
import { type Fields, fields, fieldsOf, list, text } from './json-line.ts';
import { longLineType } from './long-line.ts';
import { answersAt, questionForm } from './question-form.ts';

/** How a CLI differs from Claude Code. */
interface Dialect {
  /**
   * True if the CLI repeats the id of a message when it reads the message. One result can then answer several messages.
   * Otherwise there is one result for each message, in order.
   */
  repeatsMessages: boolean;
}

/** Driver for `--input-format stream-json` and its control protocol, of Claude Code and Qwen Code. */
export function streamJsonDriver(
  { prompt, options }: Pick<DriverStart, 'prompt' | 'options'>,
  { repeatsMessages }: Dialect = { repeatsMessages: true },
): Driver {
  /** Messages that the agent has not read yet. */
  const waiting = new Set<string>();
  const asked = new Map<string, string>();
  const answered = new Set<string>();
  /**
   * Messages that have no result yet, oldest first, for a CLI that does not repeat message ids. The CLI is answering
   * the first one.
   */
  const unanswered: string[] = [];
  let isWorking = true;
  let hasBegun = false;

  function request(id: string, line: Fields): DriverEvent[] {
    if (answered.has(id)) return [];
    const use = fields(line.request);
    const tool = text(use.tool_name);
    if (use.subtype !== 'can_use_tool' || tool === null) return [refuse(id, UNKNOWN_REQUEST)];
    const content = JSON.stringify([tool, use.input]);
    const before = asked.get(id);
    // An answer names only the id of the request. A second request with the same id and other content is refused,
    // because the user approved the first content.
    if (before !== undefined && before !== content)
      return [
        { type: 'withdrawn', id },
        { type: 'send', lines: [deny(id, CHANGED)] },
      ];
    if (before !== undefined) return [];
    asked.set(id, content);
    if (!asksUser(options)) return [{ type: 'send', lines: [deny(id, UNASKED)] }];
    const input = fields(use.input);
    const form = tool === DIALOG ? { form: questionForm(list(input.questions)) } : {};
    return [{ type: 'asked', ask: { id, tool, input, ...form } }];
  }

  /**
   * Called when the CLI has answered its oldest message. Its open questions belonged to that message, so they are
   * withdrawn.
   */
  function nextMessage(): DriverEvent[] {
    unanswered.shift();
    waiting.delete(unanswered[0] ?? '');
    isWorking = unanswered.length > 0;
    return [...asked.keys()]
      .filter(id => !answered.has(id))
      .map(id => {
        answered.add(id);
        return { type: 'withdrawn', id };
      });
  }

  return {
    // Qwen Code asks for permission only after this request. Claude Code does not need it.
    open: () => [...(repeatsMessages ? [] : [control('init', 'initialize')]), message(randomUUID(), prompt)],
    answer: ({ id, input }: EngineAsk, answer) => [
      answer.isGiven
        ? response(id, { behavior: 'allow', updatedInput: { ...input, ...answersTo(input, answer.values) } })
        : deny(id, answer.why),
    ],
    isReady: true,
    // The CLI has its prompt from the start, but has not read it before it prints something else than replies.
    get hasBegun() {
      return hasBegun;
    },
    say: (id, text) => [message(id, text)],
    interrupt: id => [control(id, 'interrupt')],
    waiting,
    sent(line) {
      const event = fieldsOf(line);
      const id = text(event?.uuid);
      if (event?.type === 'user' && id !== null) {
        if (repeatsMessages || unanswered.length > 0) waiting.add(id);
        if (!repeatsMessages) unanswered.push(id);
      }
      if (event?.type !== 'control_response') return;
      const answer = text(fields(event.response).request_id);
      if (answer !== null) answered.add(answer);
    },
    read(line) {
      const event = fieldsOf(line);
      const id = text(event?.request_id);
      if (event !== null && event.type !== 'control_response') hasBegun = true;
      if (event?.type === 'control_request' && id !== null) return request(id, event);
      if (event?.type === 'control_cancel_request' && id !== null) return [{ type: 'withdrawn', id }];
      if (event?.type === 'result' && !repeatsMessages) return nextMessage();
      if (event?.type === 'result') isWorking = false;
      else if (event?.type === 'user') {
        if (waiting.delete(text(event.uuid) ?? '')) isWorking = true;
      } else if (event?.type === 'assistant' || isStart(event)) isWorking = true;
      return [];
    },
    tooLong(beginning) {
      const type = longLineType(beginning);
      hasBegun = true;
      // In Claude Code's result line the type is the last field, so the type of a cut line may be unknown.
      if (type === 'result' && !repeatsMessages) return nextMessage();
      if (type === 'result' || type === 'unknown') isWorking = false;
      const id = type === 'control_request' && /"request_id"\s*:\s*"([^"\\]+)"/.exec(beginning)?.[1];
      if (!id || answered.has(id)) return [];
      return [{ type: 'send', lines: [deny(id, TOO_LONG)] }];
    },
    get isIdle() {
      return !isWorking && waiting.size === 0;
    },
  };
}

/** Claude Code's tool with which its model asks the user. */
export const DIALOG = 'AskUserQuestion';

function answersTo(input: Fields, values: Fields | undefined): Fields {
  if (values === undefined) return {};
  const answers = list(input.questions).map(({ question }, i) => [question, answersAt(values, i).join(', ')]);
  return { answers: Object.fromEntries(answers) };
}

const isStart = (event: Fields | null): boolean => event?.type === 'system' && event.subtype === 'init';

const control = (id: string, subtype: string): string =>
  JSON.stringify({ type: 'control_request', request_id: id, request: { subtype } });

const message = (id: string, content: string): string =>
  JSON.stringify({
    type: 'user',
    message: { role: 'user', content },
    parent_tool_use_id: null,
    session_id: '',
    uuid: id,
  });

const response = (id: string, answer: Fields): string =>
  JSON.stringify({
    type: 'control_response',
    response: { subtype: 'success', request_id: id, response: answer },
  });

const deny = (id: string, why: string): string => response(id, { behavior: 'deny', message: why });

const refuse = (id: string, error: string): DriverEvent => ({
  type: 'send',
  lines: [
    JSON.stringify({ type: 'control_response', response: { subtype: 'error', request_id: id, error } }),
  ],
});

const UNKNOWN_REQUEST = 'Squad does not know this request';
const UNASKED =
  'Not allowed: this agent has no permission for it, and nobody can be asked. Continue without it.';
const CHANGED = 'Not allowed: the request was changed while the user was asked. Ask again.';
const TOO_LONG =
  'Not allowed: the arguments have more than 8 MiB, which is more than a person can read. Use smaller ones.';
