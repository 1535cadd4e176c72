import { type Message, resultOf, text, welcome } from './message.ts';
import { readLines, sendLine } from './stdio-lines.ts';

/** A server of the older era whose tools ask their client something before they answer, and then repeat the client's answer. */
const FORMS: Record<string, object> = {
  register: {
    message: 'Who is it for?',
    requestedSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', title: 'Name' },
        size: { type: 'string', enum: ['S', 'M'] },
        copies: { type: 'integer' },
      },
      required: ['name'],
    },
  },
  /** Says what to end, to see what becomes of the question. */
  leave: { message: `${process.pid}`, requestedSchema: { type: 'object', properties: {} } },
  publish: { message: 'Publish it?', requestedSchema: { type: 'object', properties: {} } },
  unlock: {
    message: 'Please type your password',
    requestedSchema: { type: 'object', properties: { password: { type: 'string' } } },
  },
};

const asked = new Map<Message['id'], Message['id']>();
let last = 0;

readLines(({ id, method, params = {}, result, error }) => {
  if (method === 'initialize') return sendLine(resultOf(id, welcome('asking', params)));
  if (method === 'tools/list')
    return sendLine(
      resultOf(id, {
        tools: Object.keys(FORMS).map(name => ({
          name,
          description: 'Asks.',
          inputSchema: { type: 'object' },
        })),
      }),
    );
  if (method === 'tools/call') {
    const question = `question ${++last}`;
    asked.set(question, id);
    return sendLine({
      jsonrpc: '2.0',
      id: question,
      method: 'elicitation/create',
      params: FORMS[String(params.name)],
    });
  }
  if (method === undefined && asked.has(id))
    sendLine(resultOf(asked.get(id), { content: [text(JSON.stringify(result ?? error))] }));
});
