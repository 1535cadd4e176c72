import { serveStream } from '../../src/wire/stream/serve-stream.ts';
import { fixtureFace } from './fixture.ts';

/** The reference server over standard input and output. */
const face = fixtureFace(() => connection.notices);
const connection = serveStream({ input: process.stdin, output: process.stdout, build: () => face });
await connection.closed;
process.exit(0);
