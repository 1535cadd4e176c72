import { hasEnded } from './check-run.ts';
import type { RunFacts } from './facts.ts';

/** Every line it wrote is there, once, byte for byte; of one that was stopped, every line it had written by then. */
export function checkOutput(facts: RunFacts): string[] {
  const { member, result, run } = facts;
  const problems = member.engine === 'scripted' ? checkEventLines(facts) : checkBytes(facts);
  if (run.status === 'completed') problems.push(...checkAnswer(facts));
  if (result.status !== run.status) problems.push(`its result says ${result.status}`);
  return problems;
}

const noted = ({ side }: RunFacts): number =>
  Math.max(0, ...side.map(line => Number(/^line (\d+)$/.exec(line)?.[1] ?? 0)));

function checkBytes(facts: RunFacts): string[] {
  return (['stdout', 'stderr'] as const).flatMap(stream => {
    const lines = facts.member[stream];
    const whole = Buffer.from(lines.map(line => `${line}\n`).join(''));
    const wasStopped = ['cancelled', 'timeout'].includes(facts.run.status);
    const found = hasEnded(facts) && !wasStopped ? facts[stream] : withoutObituary(facts[stream]);
    if (found.equals(whole)) return [];
    if (hasEnded(facts)) return [`its ${stream} is not what it wrote: ${difference(found, whole)}`];
    if (!whole.subarray(0, found.length).equals(found))
      return [`its ${stream} holds what it never wrote: ${difference(found, whole)}`];
    const least = lines.slice(0, noted(facts)).map(line => `${line}\n`);
    const missing = Buffer.byteLength(least.join('')) - found.length;
    return missing > 0 ? [`its ${stream} lacks ${missing} bytes it had written`] : [];
  });
}

/** The agent is a shell: when a program of its own is killed it says so, just before it is killed itself. */
function withoutObituary(output: Buffer): Buffer {
  const text = output.toString();
  return /^(Killed|Terminated)$/m.test(text)
    ? Buffer.from(text.replace(/^(Killed|Terminated)\n/gm, ''))
    : output;
}

function difference(found: Buffer, whole: Buffer): string {
  const at = found.findIndex((byte, i) => byte !== whole[i]);
  return `${found.length} of ${whole.length} bytes${at < 0 ? '' : `, first wrong at ${at}: ${JSON.stringify(found.subarray(at, at + 40).toString())}`}`;
}

function checkEventLines(facts: RunFacts): string[] {
  const { member, stdout } = facts;
  const lines = stdout.toString().split('\n');
  const unfinished = lines.pop();
  const events = lines.map(line => JSON.parse(line) as { type: string; text?: string; answer?: string });
  const problems: string[] = [];
  if (unfinished !== '' && hasEnded(facts)) problems.push('its last line is cut');
  const texts = events.filter(({ type }) => type === 'text').map(({ text }) => text!);
  const said = texts.filter(text => !text.startsWith('flood'));
  const floods = texts.length - said.length;
  const expected = member.stdout.slice(0, said.length);
  const isRight = said.length >= noted(facts) && said.every((text, i) => text === expected[i]);
  if (!isRight || (hasEnded(facts) && said.length !== member.stdout.length))
    problems.push(`it said ${JSON.stringify(said)} instead of ${JSON.stringify(member.stdout)}`);
  if (hasEnded(facts) && floods !== member.floods)
    problems.push(`its flood has ${floods} lines instead of ${member.floods}`);
  return problems;
}

/** Checks the result that a caller gets. A long output is cut in the middle and keeps its end. */
function checkAnswer({ member, result }: RunFacts): string[] {
  const whole = member.answer ?? member.stdout.map(line => `${line}\n`).join('');
  const given = result.result ?? '';
  if (given === whole) return [];
  const isCut = result.truncated === true && given.endsWith(`${member.stdout.at(-1)}\n`);
  return isCut ? [] : [`its answer is ${JSON.stringify(given.slice(0, 200))}`];
}
