import { startPiped } from '../process/piped-child.ts';
import type { CodeModeLimits } from '../schema/model-spec.ts';
import { createCappedText, cutText } from './capped-text.ts';
import type { CodeResult, CodeTool } from './code-mode.ts';
import { createFrameReader, toFrame } from './frames.ts';
import { type GuestMessage, type HostMessage, readGuestMessage } from './messages.ts';
import type { Sandbox } from './sandbox.ts';
import { createToolCalls } from './tool-calls.ts';
import { watchTree } from './watchdog.ts';

export interface SandboxRun {
  program: string;
  tools: ReadonlyMap<string, CodeTool>;
  limits: CodeModeLimits;
  sandbox: Sandbox;
  signal: AbortSignal;
}

type Outcome = Pick<CodeResult, 'ok' | 'returned' | 'error' | 'limit'>;

/** What may be printed before a program is ended: more than is kept, so that a chatty one can still come to its end. */
const MOST_PRINTED = (chars: number) => 1024 * 1024 + 4 * chars;
const MOST_PROGRAM_CHARS = 1024 * 1024;
/** Node's own last words are a few kilobytes. */
const MOST_STDERR = 1024 * 1024;

/** One program, in a process of its own. When this settles nothing of it is left. Rejects only when it is aborted. */
export async function runInSandbox({
  program,
  tools,
  limits,
  sandbox,
  signal,
}: SandboxRun): Promise<CodeResult> {
  signal.throwIfAborted();
  const output = createCappedText(limits.outputChars);
  if (program.length > MOST_PROGRAM_CHARS)
    return {
      ...failed(`The program is longer than ${MOST_PROGRAM_CHARS} characters.`),
      output: '',
      toolCalls: 0,
    };

  const child = startPiped({ argv: sandbox.command(limits.memoryMb), cwd: '/', env: {} });
  const { promise: over, resolve } = Promise.withResolvers<Outcome>();
  const calls = createToolCalls(tools, child.stdin);
  let printed = 0;
  let complaint = '';
  let isOver = false;

  function end(outcome: Outcome): void {
    isOver = true;
    resolve(outcome);
  }

  function take(body: Buffer): void {
    if (isOver) return;
    const message = readGuestMessage(body);
    if (message === null) end(broken());
    else if (message.type === 'print') print(message.text);
    else if (message.type === 'call') {
      if (!calls.start(message, body.length)) end(broken());
    } else end(message.type === 'done' ? done(message, limits) : failed(message.error));
  }

  function print(text: string): void {
    output.add(text);
    printed += text.length;
    if (printed > MOST_PRINTED(limits.outputChars)) end(limited('output', limits, calls.inFlight()));
  }

  const frames = createFrameReader(take);
  child.stdout.on('data', (chunk: Buffer) => {
    try {
      frames.push(chunk);
    } catch {
      end(broken());
    }
  });
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString('utf8');
    if (complaint.length > MOST_STDERR) end(broken());
  });
  // Its last words are read before its end is judged.
  child.stdout.once('close', () => void child.ended.then(how => end(vanished(how, complaint, limits))));
  const onAbort = () => end(failed('It was cancelled.'));
  signal.addEventListener('abort', onAbort, { once: true });
  const stopWatching =
    child.pid === null
      ? () => {}
      : watchTree(child.pid, limits, limit => end(limited(limit, limits, calls.inFlight())));
  const run: HostMessage = { type: 'run', program, tools: [...tools.keys()], mostChars: limits.outputChars };
  child.stdin.write(toFrame(run));

  const outcome = await over;
  const unfinished = outcome.ok ? calls.inFlight() : [];
  stopWatching();
  signal.removeEventListener('abort', onAbort);
  calls.cancelAll();
  child.kill();
  child.stdout.destroy();
  child.stderr.destroy();
  child.stdin.destroy();
  await child.ended;
  signal.throwIfAborted();
  if (unfinished.length > 0) output.add(notAwaited(unfinished));
  const room = limits.outputChars - (outcome.returned?.length ?? 0);
  return { ...outcome, output: output.text(room), toolCalls: calls.count() };
}

function done(
  { returned, omitted = 0, rejections }: GuestMessage & { type: 'done' },
  limits: CodeModeLimits,
): Outcome {
  const value =
    returned === undefined ? null : cutText(returned, limits.outputChars, returned.length + omitted);
  if (rejections.length === 0) return { ok: true, returned: value, error: null, limit: null };
  return {
    ...failed(rejections.map(each => `A promise failed and nobody caught it. ${each}`).join('\n')),
    returned: value,
  };
}

const failed = (error: string): Outcome => ({ ok: false, returned: null, error, limit: null });

/** Only a guest that a program has taken over says such things. */
const broken = (): Outcome => failed('The sandbox was ended: it said something that no program can say.');

function limited(limit: 'time' | 'memory' | 'output', limits: CodeModeLimits, inFlight: string[]): Outcome {
  const what = {
    time: `it was not done after ${limits.timeoutMs / 1000} s`,
    memory: `it took more than ${limits.memoryMb} MB of memory`,
    output: `it printed more than ${MOST_PRINTED(limits.outputChars)} characters`,
  }[limit];
  const cancelled = inFlight.length === 0 ? '' : ` Cancelled with it: ${counted(inFlight)}.`;
  return { ...failed(`The program was ended: ${what}.${cancelled}`), limit };
}

function vanished(
  { code, signal, failure }: { code: number | null; signal: string | null; failure: Error | null },
  complaint: string,
  limits: CodeModeLimits,
): Outcome {
  if (/heap out of memory|allocation failed/i.test(complaint)) return limited('memory', limits, []);
  const how = failure?.message ?? (signal ? `by ${signal}` : `with code ${code}`);
  const words = complaint.trim().split('\n')[0]?.slice(0, 500);
  return failed(`The sandbox ended by itself, ${how}${words ? `: ${words}` : '.'}`);
}

const notAwaited = (names: string[]): string =>
  `[The program returned without waiting for ${counted(names)}: cancelled, and may have taken effect or not]\n`;

/** `read (3), write`. */
function counted(names: string[]): string {
  const each = [...Map.groupBy(names, name => name)];
  return each.map(([name, of]) => (of.length > 1 ? `${name} (${of.length})` : name)).join(', ');
}
