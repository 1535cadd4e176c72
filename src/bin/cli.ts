import { EXIT } from '../cli/exit-codes.ts';
import { main } from '../cli/main.ts';

// The reader of the output has closed the pipe, as in `squad log RUN | head`.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(EXIT.interrupted);
  });

void main(process.argv).then(code => {
  process.exitCode = code;
});
