/**
 * Prints the help and the version, which need no command. The build writes both texts, because loading every command
 * takes several times as long as starting Node.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT } from '../cli/exit-codes.ts';
import { ownCommand, withOwnCommand } from '../cli/own-command.ts';

declare const SQUAD_VERSION: string;

const [, , word = ''] = process.argv;
// The reader of the output has closed the pipe, as in `squad --help | head -1`.
process.stdout.on('error', () => process.exit(EXIT.interrupted));
process.stdout.write(/version|V/.test(word) ? `${SQUAD_VERSION}\n` : help());

function help(): string {
  const text = readFileSync(join(__dirname, 'help.txt'), 'utf8');
  return withOwnCommand(text).replace(/^Usage: squad/, `Usage: ${ownCommand().name}`);
}
