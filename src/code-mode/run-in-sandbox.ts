import { startPiped } from '../process/piped-child.ts';
import type { CodeModeLimits } from '../schema/model-spec.ts';
import { createCappedText } from './capped-text.ts';
import type { CodeResult, CodeTool } from './code-mode.ts';
import { createFrameReader, toFrame } from './frames.ts';
import { type HostMessage, readGuestMessage } from './messages.ts';
import { broken, done, failed, limited, mostPrinted, notAwaited, type Outcome, vanished } from './outcome.ts';
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
    if (printed > mostPrinted(limits)) end(limited('output', limits, calls.inFlight()));
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
