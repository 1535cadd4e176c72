import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { guardLoopback } from './guard-loopback.ts';

describe('the loopback guard', () => {
  it.each([
    [{ host: '127.0.0.1:1' }, true],
    [{ host: '[::1]:8080' }, true],
    [{ host: 'localhost' }, true],
    [{ host: 'evil.example' }, false],
    [{ host: 'localhost.evil.example' }, false],
    [{ host: 'localhost', origin: 'http://localhost:5' }, true],
    [{ host: 'localhost', origin: 'https://evil.example' }, false],
    [{ host: 'localhost', origin: 'null' }, false],
  ])('%j passes: %s', async (headers, passes) => {
    const guard = guardLoopback();
    const server = createServer((request, response) => {
      // fetch does not let a test choose these two.
      Object.assign(request.headers, headers);
      if (guard(request, response)) response.end('in');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const { status } = await fetch(`http://127.0.0.1:${port}`);
    server.close();
    server.closeAllConnections();
    expect(status).toBe(passes ? 200 : 403);
  });
});
