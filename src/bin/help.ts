/** Prints what needs no command: the help and the version. The build wrote both, because loading every command takes several times as long as starting Node. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT } from '../cli/exit-codes.ts';
import { ownCommand, withOwnCommand } from '../cli/own-command.ts';

declare const SQUAD_VERSION: string;

const [, , word = ''] = process.argv;
// `squad --help | head -1`: the reader is gone.
process.stdout.on('error', () => process.exit(EXIT.interrupted));
process.stdout.write(/version|V/.test(word) ? `${SQUAD_VERSION}\n` : help());

function help(): string {
  const text = readFileSync(join(__dirname, 'help.txt'), 'utf8');
  return withOwnCommand(text).replace(/^Usage: squad/, `Usage: ${ownCommand().name}`);
}
