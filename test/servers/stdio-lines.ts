import type { Message } from './message.ts';

/** Reads messages from standard input, one a line, and ends the program with it. */
export function readLines(take: (message: Message) => void, endsWithInput = true): void {
  let rest = '';
  process.stdin.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    // Answers to requests that came together leave together.
    process.stdout.cork();
    for (const line of lines) if (line.trim() !== '') take(JSON.parse(line) as Message);
    process.stdout.uncork();
  });
  if (endsWithInput) process.stdin.on('end', () => process.exit(0));
  // Whoever read us is gone: there is nobody left to tell.
  process.stdout.on('error', () => process.exit(0));
}

export function sendLine(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
