import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CERTIFICATE, KEY } from '../../test/servers/github/certificate.ts';
import { apiFetch } from './octokit-client.ts';

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const answering: RequestListener = (request, response) => response.end(`${request.method} ${request.url}`);

test('requests use the proxy of the environment', async () => {
  const proxy = await listening(createServer(answering));
  const answer = await apiFetch({ http_proxy: `http://${proxy}` })('http://github.invalid/api/v3/repos', {});
  expect(await answer.text()).toBe('GET http://github.invalid/api/v3/repos');
});

test('and past it where the environment says so', async () => {
  const host = await listening(createServer(answering));
  const fetch = apiFetch({ http_proxy: 'http://127.0.0.1:1', no_proxy: '127.0.0.1' });
  expect(await (await fetch(`http://${host}/x`, {})).text()).toBe('GET /x');
});

test.each(['NODE_EXTRA_CA_CERTS', 'GIT_SSL_CAINFO', 'SSL_CERT_FILE'])(
  'a host with a certificate of its own is trusted by %s, and by nothing less',
  async name => {
    const host = await listening(createSecureServer({ cert: CERTIFICATE, key: KEY }, answering));
    const folder = mkdtempSync(join(tmpdir(), 'squad-certificate-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'own.pem');
    writeFileSync(file, CERTIFICATE);
    const ask = (env: Record<string, string>) => apiFetch(env)(`https://${host}/x`, { method: 'GET' });
    expect((await ask({ [name]: file })).status).toBe(200);
    await expect(ask({})).rejects.toThrow(/self-signed/);
    await expect(ask({ [name]: join(folder, 'missing.pem') })).rejects.toThrow(/self-signed/);
  },
);

test('an answer without end is given up', async () => {
  const host = await listening(
    createServer((_, response) => {
      const more = () => {
        while (response.write(Buffer.alloc(1024 * 1024)));
        response.once('drain', more);
      };
      more();
    }),
  );
  await expect(apiFetch({})(`http://${host}/`, {})).rejects.toThrow('too large');
});
