import { appendFileSync, readFileSync } from 'node:fs';
import { errorOf, type Json, type Message, noticeOf, resultOf, text, welcome } from '../servers/message.ts';
import { readLines, sendLine } from '../servers/stdio-lines.ts';

/**
 * A server that offers what the file OFFER_FILE says, read anew for every message, and keeps whatever reaches it in RECORD_FILE: first
 * how it was started, then each request, one line of JSON each.
 */
const { OFFER_FILE, RECORD_FILE } = process.env;

record({ started: { args: process.argv.slice(2), env: process.env, cwd: process.cwd() } });
readLines(take);

function take(message: Message): undefined {
  const { id, method, params = {} } = message;
  if (method === undefined || id === undefined) return;
  record({ method, params });
  const {
    tools = [],
    resources = [],
    resourceTemplates = [],
    prompts = [],
    says,
    tells,
    told,
    holds,
  } = offer();
  const answer = (result: Json) => void sendLine(resultOf(id, result));
  switch (method) {
    case 'initialize':
      return answer({
        ...welcome('recorder', params, {
          tools: { listChanged: true },
          resources: { listChanged: true },
          prompts: { listChanged: true },
          completions: {},
        }),
      });
    case 'tools/list':
      return answer({ tools });
    case 'resources/list':
      return answer({ resources });
    case 'resources/templates/list':
      return answer({ resourceTemplates });
    case 'prompts/list':
      return answer({ prompts });
    case 'tools/call':
      if (told) sendLine(noticeOf('notifications/tools/list_changed'));
      if (tells) process.stderr.write(`${tells}\n`);
      if (holds) return;
      return answer({ content: [text(says ?? JSON.stringify(params))] });
    case 'resources/read':
      return answer({ contents: [{ uri: params.uri, text: says ?? 'read' }] });
    case 'prompts/get':
      return answer({ messages: [{ role: 'user', content: text(says ?? 'prompt') }] });
    case 'completion/complete':
      return answer({ completion: { values: ['completed'] } });
    default:
      return void sendLine(errorOf(id, -32601, 'Method not found'));
  }
}

function record(line: object): void {
  if (RECORD_FILE) appendFileSync(RECORD_FILE, `${JSON.stringify(line)}\n`);
}

function offer(): Offer {
  return OFFER_FILE ? (JSON.parse(readFileSync(OFFER_FILE, 'utf8')) as Offer) : { tools: [] };
}

export interface Offer {
  tools?: unknown[];
  resources?: unknown[];
  resourceTemplates?: unknown[];
  prompts?: unknown[];
  /** The text of every result, instead of what was asked. */
  says?: string;
  /** Text that the server writes to its log at every call. */
  tells?: string;
  /** Every call is answered after a notice that the list of tools has changed. */
  told?: boolean;
  /** No call is answered. */
  holds?: boolean;
}
