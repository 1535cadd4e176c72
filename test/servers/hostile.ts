import { readFileSync } from 'node:fs';
import { argumentsOf, type Behaviour, ECHO, type Stage } from './hostile/behaviour.ts';
import { BEHAVIOURS } from './hostile/behaviours.ts';
import { errorOf, type Message, resultOf, text, welcome } from './message.ts';
import { readLines, sendLine } from './stdio-lines.ts';

/**
 * `hostile.ts BEHAVIOUR` behaves so from the start. With the variable BEHAVIOUR_FILE the word in that file counts instead,
 * whenever there is one, and it is looked at before every message.
 */
const [fromTheStart = 'honest'] = process.argv.slice(2);

const stage: Stage = {
  send(message) {
    const { id } = message as Message;
    const at = stage.open.findIndex(call => call.id === id);
    if (at >= 0) stage.open.splice(at, 1);
    sendLine(message);
  },
  raw: bytes => process.stdout.write(bytes),
  die: code => process.stdout.write('', () => process.exit(code)),
  honest,
  open: [],
  calls: 0,
};

const atStart = behaviour();
if (atStart.stubborn) process.on('SIGTERM', () => {});
atStart.started?.(stage);
readLines(take, !atStart.stubborn);
// Without input there is nothing else that keeps a stubborn one alive.
if (atStart.stubborn) setInterval(() => {}, 60_000);

function take(message: Message): void {
  const now = behaviour();
  if (message.method === 'tools/call') {
    stage.calls++;
    stage.open.push(message);
  }
  const act = message.method === undefined ? undefined : now.on?.[message.method];
  if (act?.(message, stage) !== true) honest(message);
}

function honest({ id, method, params = {}, ...rest }: Message) {
  if (id === undefined || method === undefined) return;
  switch (method) {
    case 'initialize':
      return stage.send(
        resultOf(id, welcome('hostile', params, { tools: { listChanged: true }, logging: {} })),
      );
    case 'tools/list':
      return stage.send(resultOf(id, { tools: behaviour().tools?.(stage) ?? [ECHO] }));
    case 'tools/call':
      return stage.send(resultOf(id, { content: [text(String(argumentsOf({ params, ...rest }).nonce))] }));
    case 'ping':
      return stage.send(resultOf(id, {}));
    default:
      return stage.send(errorOf(id, -32601, 'Method not found'));
  }
}

function behaviour(): Behaviour {
  const name = wordIn(process.env.BEHAVIOUR_FILE) || fromTheStart;
  const found = BEHAVIOURS[name];
  if (!found) throw new Error(`There is no behaviour ${name}`);
  return found;
}

function wordIn(file: string | undefined): string {
  if (!file) return '';
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return ''; // not written yet
  }
}
