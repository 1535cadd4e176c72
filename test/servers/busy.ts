import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { type Message, resultOf, welcome } from './message.ts';
import { readLines, sendLine } from './stdio-lines.ts';

/**
 * A server that is never done: its one tool starts a shell with a child, in a session of their own, and gives no answer. Its
 * own pid and those of both are appended to the file it is given.
 */
const [file = '/dev/null'] = process.argv.slice(2);
appendFileSync(file, `${process.pid}\n`);

readLines(({ id, method, params }: Message) => {
  if (method === 'initialize') sendLine(resultOf(id, welcome('busy', params)));
  else if (method === 'tools/list') {
    const inputSchema = { type: 'object', properties: {} };
    sendLine(resultOf(id, { tools: [{ name: 'work', description: 'Works on and on.', inputSchema }] }));
  } else if (method === 'tools/call')
    spawn('/bin/sh', ['-c', 'echo $$ >> "$0"; sleep 600 & echo $! >> "$0"; wait', file], {
      detached: true,
      stdio: 'ignore',
    }).unref();
});
