import { EXIT } from '../cli/exit-codes.ts';
import { main } from '../cli/main.ts';

// `squad log RUN | head`: the reader is gone.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(EXIT.interrupted);
  });

void main(process.argv).then(code => {
  process.exitCode = code;
});
