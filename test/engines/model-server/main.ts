/** Runs the model server by hand: prints its address, then each request as a JSON line. */
import { startModelServer } from './server.ts';

const FOR_EVER = 2 ** 31 - 1;

const server = await startModelServer(Number(process.argv[2] ?? 0));
console.log(server.url);
for (let printed = 0; ; printed++) {
  await server.waitForRequest(() => server.requests.length > printed, FOR_EVER);
  const { system, prompt, tools, turns, body, headers, ...call } = server.requests[printed]!;
  console.log(
    JSON.stringify({
      ...call,
      tools: tools.length,
      system: system.length,
      turns: turns.length,
      bytes: body.length,
      prompt,
    }),
  );
}
