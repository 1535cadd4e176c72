import { type Message, resultOf, text, welcome } from './message.ts';
import { readLines, sendLine } from './stdio-lines.ts';

/** A server that answers at once and does not want to go: neither the end of its input nor a signal it can hear ends it. */
process.on('SIGTERM', () => {});
setInterval(() => {}, 60_000);

readLines(({ id, method, params }: Message) => {
  if (method === 'initialize') sendLine(resultOf(id, welcome('lingering', params)));
  else if (method === 'tools/list') {
    const inputSchema = { type: 'object', properties: {} };
    sendLine(resultOf(id, { tools: [{ name: 'stay', description: 'Is there.', inputSchema }] }));
  } else if (method === 'tools/call') sendLine(resultOf(id, { content: [text('here')] }));
}, false);
