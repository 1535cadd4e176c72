import { openContext, reportError } from '../cli/context.ts';
import { EXIT } from '../cli/exit-codes.ts';
import { overviewCommand } from '../cli/runs/overview.ts';
import { asSquadError } from '../schema/error.ts';

// The reader of the output has closed the pipe, as in `squad | head`.
process.stdout.on('error', () => process.exit(EXIT.interrupted));

void overviewCommand(openContext({}))
  .catch(thrown => reportError(asSquadError(thrown), false))
  .then(code => {
    process.exitCode = code;
  });
