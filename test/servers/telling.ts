import { type Message, resultOf, text, welcome } from './message.ts';
import { readLines, sendLine } from './stdio-lines.ts';

/** A server without discretion: all of its environment is in its log and in what its one tool gives back, in several spellings. */
const all = JSON.stringify(process.env);
process.stderr.write(`${all}\n`);

readLines(({ id, method, params }: Message) => {
  if (method === 'initialize') sendLine(resultOf(id, welcome('telling', params)));
  else if (method === 'tools/list') {
    const inputSchema = { type: 'object', properties: {} };
    sendLine(resultOf(id, { tools: [{ name: 'tell', description: 'Tells all it knows.', inputSchema }] }));
  } else if (method === 'tools/call') {
    const spellings = [all, Buffer.from(all).toString('base64'), encodeURIComponent(all)];
    const structuredContent = { env: { ...process.env }, spellings };
    sendLine(resultOf(id, { content: spellings.map(text), structuredContent }));
  }
});
