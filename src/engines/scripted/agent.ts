import { spawn } from 'node:child_process';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SquadAccess } from './call-squad.ts';
import type { EventLine } from './event-line.ts';
import { parseScript, quantity, type Step, scriptForTurn, toolCall } from './script.ts';

type Body = EventLine extends infer E ? (E extends { at: number } ? Omit<E, 'at'> : never) : never;

const emit = (body: Body) => process.stdout.write(`${JSON.stringify({ at: Date.now(), ...body })}\n`);

// Modules that need zod are imported where they are used, because zod takes longer to load than most scripts take to
// run.
class Failed extends Error {
  readonly code?: 'ENGINE_RATE_LIMITED';

  constructor(message: string, code?: Failed['code']) {
    super(message);
    this.code = code;
  }
}

/** Runs the script in the prompt. Always prints an end event, except when it crashes. */
export async function scriptedAgent(prompt: string, squad: SquadAccess, continues: boolean): Promise<number> {
  const { env } = squad;
  const said: string[] = [];
  let report = '';
  emit({ type: 'start', scripted: true });
  try {
    const prompts = await rememberChat(env.SQUAD_SCRIPTED_CHAT, prompt, continues);
    const steps = scriptForTurn(prompts) ?? unscripted(prompt, env);
    for await (const step of inOrder(steps)) {
      if (step.verb === 'report') report = text(step);
      else if (step.verb === 'exit') return Number(step.rest);
      else await perform(step, said, squad);
    }
    emit({ type: 'end', ok: true, answer: report || said.join('\n'), error: null });
    return 0;
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown.message : String(thrown);
    const code = thrown instanceof Failed && thrown.code ? { code: thrown.code } : {};
    emit({ type: 'end', ok: false, answer: report || said.join('\n'), error, ...code });
    return 1;
  }
}

/** Steps for a prompt without a script: print the input. */
function unscripted(prompt: string, env: NodeJS.ProcessEnv): Step[] {
  const role = env.SQUAD_SCRIPTED_ROLE ? `Role ${env.SQUAD_SCRIPTED_ROLE}` : 'No role';
  const words = `Scripted agent, no model was called. ${role}, a prompt of ${Buffer.byteLength(prompt)} bytes, folder ${process.cwd()}.`;
  return [{ verb: 'say', rest: words, body: '' }];
}

/**
 * Yields all steps, including those of `follow` files. A file is read when its step is reached, because an earlier
 * step may write it.
 */
async function* inOrder(steps: Step[], depth = 0): AsyncGenerator<Step> {
  if (depth > MAX_DEPTH) throw new Failed(`Scripts follow each other more than ${MAX_DEPTH} deep`);
  for (const step of steps)
    if (step.verb === 'follow') yield* inOrder(parseScript(await readFile(step.rest, 'utf8')), depth + 1);
    else yield step;
}

const MAX_DEPTH = 10;

async function perform(step: Step, said: string[], squad: SquadAccess): Promise<void> {
  switch (step.verb) {
    case 'say':
      said.push(text(step));
      return void emit({ type: 'text', text: text(step) });
    case 'stderr':
      return void process.stderr.write(`${text(step)}\n`);
    case 'write':
    case 'append':
      emit({ type: 'tool', name: step.verb, detail: step.rest, edits: true });
      await mkdir(dirname(step.rest), { recursive: true });
      return (step.verb === 'write' ? writeFile : appendFile)(step.rest, step.body);
    case 'run':
    case 'try':
      return shell(step.rest, step.verb === 'run', said);
    case 'call':
      return call(step.rest, said, squad);
    case 'insist':
      return insist(step.rest, said, squad);
    case 'ask':
      return answer(step.rest, said, squad);
    case 'leave':
      return void spawn('/bin/sh', ['-c', step.rest], { detached: true, stdio: 'ignore' }).unref();
    case 'sleep':
      return void (await sleep(quantity(step.rest)));
    case 'await':
      return awaitFile(step.rest);
    case 'flood':
      return flood(quantity(step.rest));
    case 'usage': {
      const [input = null, output = null, cached = null, costUsd = null] = step.rest.split(' ').map(Number);
      return void emit({ type: 'usage', input, output, cached, costUsd });
    }
    case 'deafen':
      return void process.on('SIGTERM', () => {});
    case 'hang':
      return new Promise(() => setInterval(() => {}, 60_000));
    case 'replay':
      return replay(step.rest);
    case 'fail':
      throw new Failed(text(step) || 'the script says so');
    case 'limit':
      throw new Failed(`The usage limit is reached. ${text(step)}`.trim(), 'ENGINE_RATE_LIMITED');
  }
}

const text = ({ rest, body }: Step) => [rest, body.trimEnd()].filter(Boolean).join('\n');

async function shell(command: string, mustSucceed: boolean, said: string[]): Promise<void> {
  emit({ type: 'tool', name: 'run', detail: command });
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', chunk => {
      output = (output + chunk).slice(-4000);
    });
  const code = await new Promise<number>(settle =>
    child.once('close', (exit, signal) => settle(exit ?? (signal ? 128 : 1))),
  );
  const words = `$ ${command}\n${output.trimEnd()}${code === 0 ? '' : `\n(exit code ${code})`}`;
  said.push(words);
  emit({ type: 'text', text: words });
  if (code !== 0 && mustSucceed) throw new Failed(`"${command}" failed with exit code ${code}`);
}

/** A refusal by Squad is an ordinary answer. The script ends only if Squad cannot be reached. */
async function call(words: string, said: string[], squad: SquadAccess): Promise<void> {
  const { tool, args } = toolCall(words);
  emit({ type: 'tool', name: tool, detail: words.slice(tool.length).trim() });
  const { callSquad } = await import('./call-squad.ts');
  const { ok, text } = await callSquad(squad, tool, args);
  const answer = `${tool}${ok ? '' : ' refused'}: ${text}`;
  said.push(answer);
  emit({ type: 'text', text: answer });
}

async function insist(words: string, said: string[], squad: SquadAccess): Promise<void> {
  for (const until = performance.now() + 60_000; ; await sleep(100))
    try {
      return await call(words, said, squad);
    } catch (thrown) {
      if (performance.now() > until) throw thrown;
    }
}

async function answer(words: string, said: string[], squad: SquadAccess): Promise<void> {
  emit({ type: 'tool', name: 'ask_user', detail: words });
  const { ask } = await import('./ask.ts');
  const { ok, text } = await ask(squad, words);
  const line = `${ok ? 'The answer is' : 'ask_user refused'}: ${text}`;
  said.push(line);
  emit({ type: 'text', text: line });
}

async function awaitFile(path: string): Promise<void> {
  for (const until = performance.now() + 60_000; !existsSync(path); await sleep(20))
    if (performance.now() > until) throw new Failed(`${path} did not appear within a minute`);
}

/** Stores the prompts of a chat, newest last. */
async function rememberChat(file: string | undefined, prompt: string, continues: boolean): Promise<string[]> {
  if (!file) return [prompt];
  if (continues && !existsSync(file)) throw new Failed('This chat is not known to the scripted engine');
  const prompts: string[] = existsSync(file) ? JSON.parse(await readFile(file, 'utf8')) : [];
  prompts.push(prompt);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // The file is replaced by a rename, because this process can be killed while it writes.
  const draft = `${file}.${process.pid}.tmp`;
  await writeFile(draft, JSON.stringify(prompts), { mode: 0o600 });
  await rename(draft, file);
  if (prompts.length > 1) emit({ type: 'text', text: `Turn ${prompts.length} of this chat.` });
  return prompts;
}

export const promptFromStdin = () => readFileSync(0, 'utf8');

/** Prints about `bytes` of event lines, as fast as the reader takes them. */
export async function flood(bytes: number): Promise<void> {
  const line = `${JSON.stringify({ at: Date.now(), type: 'text', text: 'flood '.repeat(160).trim() })}\n`;
  const chunk = line.repeat(64);
  for (let written = 0; written < bytes; written += chunk.length) await write(chunk);
}

/** Replays a recorded output with its original delays. The end of the recording becomes the end of the turn. */
export async function replay(file: string): Promise<void> {
  const { parseEventLine } = await import('./event-line.ts');
  let last: number | null = null;
  let ended = false;
  for await (const line of createInterface({
    input: createReadStream(file),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    const at = timeOf(line);
    if (at !== null && last !== null && at > last) await sleep(Math.min(at - last, 60_000));
    last = at ?? last;
    await write(`${line}\n`);
    ended ||= parseEventLine(line).some(event => event.type === 'end');
  }
  if (ended) process.exit(0);
}

function timeOf(line: string): number | null {
  try {
    const { at } = JSON.parse(line);
    return typeof at === 'number' ? at : null;
  } catch {
    return null; // plain output is printed without delay
  }
}

const write = (text: string) =>
  new Promise<void>(settle => (process.stdout.write(text) ? settle() : process.stdout.once('drain', settle)));
