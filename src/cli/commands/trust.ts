import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { homeFolder } from '../../link/home.ts';
import { SquadError } from '../../schema/error.ts';
import { isTrusted, trust, untrust } from '../../workspace/trust.ts';
import { agreed } from '../agreed.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { inspect } from '../inspect.ts';
import { printJson } from '../output/json.ts';
import { sanitize } from '../output/sanitize.ts';
import { serverSummaryLines } from '../output/server-summary.ts';
import { refuseAgents } from '../refuse-agents.ts';

export interface TrustOptions {
  yes?: boolean;
  remove?: boolean;
}

/** `squad trust`: shows what came with this repository and names commands, and lets it take effect. By content: a change asks again. */
export async function trustCommand(
  given: string[],
  options: TrustOptions,
  context: CliContext,
): Promise<number> {
  const home = homeFolder(process.env);
  await refuseAgents();
  const files = given.length > 0 ? given.map(file => resolve(file)) : (await inspect(context)).untrusted;
  if (files.length === 0) {
    if (context.json) printJson(context.out, { files: [] });
    else print(context, ['Nothing in this workspace waits for your trust.']);
    return EXIT.done;
  }
  const results: { file: string; trusted: boolean }[] = [];
  for (const file of files) {
    const content = await readFile(file, 'utf8').catch(thrown => {
      throw unreadable(file, thrown);
    });
    if (options.remove) {
      await untrust(home, file);
      results.push({ file, trusted: false });
    } else {
      const known = await isTrusted(home, file, content);
      if (!known && !context.json)
        print(context, [
          context.style.bold(file),
          sanitize(content.trimEnd()),
          '',
          ...serverSummaryLines(file, content, context),
        ]);
      const yes =
        known ||
        options.yes ||
        (await agreed(
          'Squad will run the commands named here. Trust it?',
          'Read the file, then: squad trust --yes',
          context,
        ));
      if (yes && !known) await trust(home, file, content);
      results.push({ file, trusted: yes });
    }
  }
  if (context.json) printJson(context.out, { files: results });
  else
    print(
      context,
      results.map(({ file, trusted }) => `${trusted ? 'trusted' : 'not trusted'}  ${file}`),
    );
  return EXIT.done;
}

function unreadable(file: string, cause: NodeJS.ErrnoException): SquadError {
  if (cause.code === 'ENOENT')
    return new SquadError('INVALID_INPUT', `There is no file ${file}`, {
      suggestions: ['squad trust   without a name shows what waits here'],
      cause,
    });
  const why = cause.code === 'EISDIR' ? 'it is a folder' : cause.message;
  return new SquadError('INVALID_INPUT', `${file} cannot be read: ${why}`, { cause });
}
